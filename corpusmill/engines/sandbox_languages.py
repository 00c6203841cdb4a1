"""The languages that the sandbox runs: which commands compile and run a program, what they see, what they may use.

A toolchain is looked for when its language is asked for, on PATH and where its own installer puts it; its folders are
then shown to the jail, read-only. A program's commands are spelled for its folder: names of files are relative to it.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from corpusmill.engines.sandbox_jail import SYSTEM_FOLDERS
from corpusmill.engines.sandbox_limits import COMPILE_LIMITS, Limits, SandboxError

Language = Literal["python", "javascript", "java", "cpp", "rust", "go"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


LIMITS: Mapping[Language, Limits] = {
    "python": Limits(),
    "javascript": Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=1 << 30, num_processes=32, num_files=256),
    "java": Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=1 << 30, num_processes=64, num_files=256),
    "cpp": Limits(),
    "rust": Limits(num_processes=16),
    "go": Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=1 << 30, num_processes=32),
}
"""What a program may use where the caller says nothing: runtimes with threads and a heap of their own need more."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """The text of a program and what it is given."""

    files: Mapping[str, str]
    """Path below the program's folder -> text."""
    main: str | None = None
    """File that is run (of Java the class); by default `main` with the language's ending, the only file, or the Java
    class with the last `main`. Compiled files of C++, Go and Java are all that there are."""
    stdin: str = ""
    arguments: tuple[str, ...] = ()
    compiler_arguments: tuple[str, ...] = ()
    """Such as `--test` for Rust's test harness."""

    def __post_init__(self) -> None:
        if not self.files:
            raise ValueError("a program needs at least one file; got none")
        for name in self.files:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or name in ("", "."):
                raise ValueError(
                    f"a program's files lie in its folder: wanted a relative path without .., got {name!r}"
                )


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command of a program, compiling it or running it."""

    argv: tuple[str, ...]
    """Empty for Python, which runs in the jail's own interpreter."""
    limits: Limits
    is_compile: bool = False
    reserves_addresses: bool = False
    """Its runtime reserves more address space than it uses, so that only used memory can be bounded."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """What a language needs of the machine."""

    steps: Callable[[Program, Limits], list[Step]]
    shown: tuple[str, ...] = ()
    """Folders and files that the jail shows besides the system's."""


def program(language: Language, source: str, **given: object) -> Program:
    """Return the program that is this one text, in a file named as the language wants it."""
    name = f"{_java_public_class(source) or 'Main'}.java" if language == "java" else _MAIN[language]
    return Program(files={name: source}, **given)  # type: ignore[arg-type]


@lru_cache
def toolchain(language: Language) -> Toolchain:
    """Find the language's toolchain; raises SandboxError that says what to install where there is none."""
    if language not in LANGUAGES:
        raise ValueError(f"the sandbox runs {', '.join(LANGUAGES)}; got {language!r}")
    return _FIND[language]()


def _python() -> Toolchain:
    return Toolchain(steps=lambda program, limits: [Step(argv=(), limits=limits)])


def _javascript() -> Toolchain:
    node = _executable("node", install="Node.js (Debian: nodejs)")

    def steps(program: Program, limits: Limits) -> list[Step]:
        heap = f"--max-old-space-size={(limits.memory_bytes >> 20) * 3 // 4}"
        main = _main_file(program, ".mjs" if "main.mjs" in program.files else ".js")
        return [Step(argv=(node, heap, main, *program.arguments), limits=limits, reserves_addresses=True)]

    return Toolchain(steps=steps, shown=_shown(node))


def _java() -> Toolchain:
    javac = _executable("javac", install="a JDK (Debian: default-jdk-headless)")
    home = Path(javac).parents[1]
    java, libraries = str(home / "bin" / "java"), str(home / "lib")
    lean = (
        *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-XX:ReservedCodeCacheSize=64m"),
        *("-XX:CompressedClassSpaceSize=64m", "-XX:ActiveProcessorCount=2"),
    )

    def steps(program: Program, limits: Limits) -> list[Step]:
        compiler = [f"-J{option}" for option in ("-Xmx768m", *lean)]
        sources = _sources(program, ".java")
        options = ("-encoding", "UTF-8", "-nowarn", "-d", ".classes", *program.compiler_arguments)
        heap = (f"-Xmx{(limits.memory_bytes >> 20) // 2}m", "-Xss4m")
        main = program.main or _java_main_class(program)
        return [
            _compile(javac, *compiler, *options, *sources, libraries=libraries),
            Step(
                argv=(java, *heap, *lean, "-cp", ".classes", main, *program.arguments),
                limits=limits,
                reserves_addresses=True,
                environment={"LD_LIBRARY_PATH": libraries},
            ),
        ]

    settings = {
        f"/etc/{path.parts[2]}" for path in _link_targets(home) if path.parts[1] == "etc" and len(path.parts) > 2
    }
    shown = (*_shown(javac), *sorted(folder for folder in settings if folder.startswith("/etc/java")))
    return Toolchain(steps=steps, shown=shown)


def _cpp() -> Toolchain:
    compiler = _executable("g++", install="a C++ compiler (Debian: g++)")

    def steps(program: Program, limits: Limits) -> list[Step]:
        sources = _sources(program, ".cpp", ".cc", ".cxx")
        options = ("-std=c++17", "-O1", *program.compiler_arguments)
        return [
            _compile(compiler, *options, "-o", _BINARY, *sources),
            Step(argv=(_BINARY, *program.arguments), limits=limits),
        ]

    return Toolchain(steps=steps, shown=_shown(compiler))


def _rust() -> Toolchain:
    rustc = _executable("rustc", install="Rust (https://rustup.rs, or Debian: rustc)", also=Path.home() / ".cargo/bin")
    _executable("cc", install="a C compiler for Rust's linking (Debian: gcc)")
    sysroot = _told([rustc, "--print", "sysroot"])
    compiler = os.path.join(sysroot, "bin", "rustc")

    def steps(program: Program, limits: Limits) -> list[Step]:
        main = _main_file(program, ".rs")
        # Rust's own linker looks for itself in /proc, which the jail does not show.
        options = ("--sysroot", sysroot, "--edition", "2021", "-C", "strip=debuginfo", "-C", "link-arg=-fuse-ld=bfd")
        return [
            _compile(compiler, *options, *program.compiler_arguments, "-o", _BINARY, main, libraries=f"{sysroot}/lib"),
            Step(argv=(_BINARY, *program.arguments), limits=limits),
        ]

    return Toolchain(steps=steps, shown=(sysroot,))


def _go() -> Toolchain:
    go = _executable("go", install="Go (Debian: golang-go)", also=Path("/usr/local/go/bin"))
    tools, root, version = _told([go, "env", "GOTOOLDIR", "GOROOT", "GOVERSION"]).splitlines()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "corpusmill" / version
    packages = _go_packages(go, cache)

    def steps(program: Program, limits: Limits) -> list[Step]:
        sources = _sources(program, ".go")
        options = ("-p", "main", "-importcfg", packages, "-pack", *program.compiler_arguments)
        return [
            _compile(f"{tools}/compile", *options, "-o", ".main.a", *sources),
            _compile(f"{tools}/link", "-importcfg", packages, "-o", _BINARY, ".main.a"),
            Step(
                argv=(_BINARY, *program.arguments),
                limits=limits,
                reserves_addresses=True,
                environment={"GOMAXPROCS": "2", "GOMEMLIMIT": str(limits.memory_bytes * 3 // 4)},
            ),
        ]

    shown = tuple(dict.fromkeys((os.path.realpath(root), os.path.realpath(tools), str(cache))))
    return Toolchain(steps=steps, shown=shown)


def _go_packages(go: str, cache: Path) -> str:
    """Return a file that tells where each package of Go's library is compiled; the first call of a version compiles it."""
    listed = cache / "packages"
    if not listed.exists():
        cache.mkdir(parents=True, exist_ok=True)
        settings = {"GOCACHE": str(cache / "built"), "CGO_ENABLED": "0", "GOFLAGS": "", "GOPROXY": "off"}
        line = "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}"
        told = _told([go, "list", "-export", "-f", line, "std"], environment=settings)
        with tempfile.NamedTemporaryFile("w", dir=cache, delete=False) as file:
            file.write("\n".join(line for line in told.splitlines() if line) + "\n")
        os.chmod(file.name, 0o644)
        os.replace(file.name, listed)
    return str(listed)


_BINARY = "./.program"
_MAIN: Mapping[Language, str] = {
    "python": "main.py",
    "javascript": "main.js",
    "java": "Main.java",
    "cpp": "main.cpp",
    "rust": "main.rs",
    "go": "main.go",
}
_FIND: Mapping[Language, Callable[[], Toolchain]] = {
    "python": _python,
    "javascript": _javascript,
    "java": _java,
    "cpp": _cpp,
    "rust": _rust,
    "go": _go,
}


def _compile(*argv: str, libraries: str | None = None) -> Step:
    environment = {"LD_LIBRARY_PATH": libraries} if libraries else {}
    return Step(argv=argv, limits=COMPILE_LIMITS, is_compile=True, reserves_addresses=True, environment=environment)


def python_main(program: Program) -> str:
    """Return the name of the file that a Python program runs."""
    return _main_file(program, ".py")


def _main_file(program: Program, ending: str) -> str:
    wanted = program.main or (f"main{ending}" if len(program.files) > 1 else next(iter(program.files)))
    if wanted not in program.files:
        raise ValueError(
            f"the program has no file {wanted!r} to run; it has {', '.join(program.files)}. Name one as main"
        )
    return wanted


def _sources(program: Program, *endings: str) -> list[str]:
    found = [name for name in program.files if name.endswith(endings)]
    if not found:
        raise ValueError(
            f"the program has no file to compile: wanted {' or '.join(endings)}, got {', '.join(program.files)}"
        )
    return found


def _java_public_class(source: str) -> str | None:
    """Return the name that Java wants the file to have."""
    kinds = r"(?:(?:final|abstract|sealed|strictfp)\s+)*(?:class|record|enum|interface)"
    found = re.search(rf"\bpublic\s+{kinds}\s+(\w+)", _java_code(source))
    return found[1] if found else None


def _java_main_class(program: Program) -> str:
    """Return the class of a file's top level around the last `main`, or Main where none seems to have one."""
    found = "Main"
    for code in map(_java_code, program.files.values()):
        package = re.search(r"\bpackage\s+([\w.]+)\s*;", code)
        outer, depth = None, 0
        for token in re.finditer(r"([{}])|\b(?:class|record|enum|interface)\s+(\w+)|\bvoid\s+main\s*\(", code):
            if token[1]:
                depth += 1 if token[1] == "{" else -1
            elif token[2] and depth == 0:
                outer = token[2]
            elif not token[2] and depth == 1 and outer:
                found = f"{package[1]}.{outer}" if package else outer
    return found


def _java_code(source: str) -> str:
    """Return the source without its comments and with empty strings."""
    kinds = r'//[^\n]*|/\*.*?\*/|""".*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(kinds, lambda found: " " if found[0].startswith("/") else '""', source, flags=re.S)


def _executable(name: str, *, install: str, also: Path | None = None) -> str:
    """Return the real path of a command."""
    path = os.environ.get("PATH", os.defpath)
    found = shutil.which(name, path=f"{path}{os.pathsep}{also}" if also else path)
    if found is None:
        raise SandboxError(f"running this language takes {name}, which this machine lacks: install {install}")
    real = os.path.realpath(found)
    return found if os.path.basename(real) == "rustup" else real


def _shown(executable: str) -> tuple[str, ...]:
    """Return what to show of a program that lies outside of the system's folders: its installation, never a home."""
    if any(Path(executable).is_relative_to(folder) for folder in SYSTEM_FOLDERS):
        return ()
    installation = Path(executable).parents[1]
    homes = {Path.home(), *Path.home().parents, Path("/")}
    return (executable,) if installation in homes else (str(installation),)


def _link_targets(folder: Path) -> list[Path]:
    return [path.resolve() for path in folder.rglob("*") if path.is_symlink()]


def _told(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode:
        raise SandboxError(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout.strip()
