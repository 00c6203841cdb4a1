"""Programming language and content type of a file, by its name. What is not listed here is no text to read."""

_HTML = ("HTML", "text/html")
_C = ("C", "text/x-c")
_CPP = ("C++", "text/x-c++")
_JAVASCRIPT = ("JavaScript", "text/javascript")
_TYPESCRIPT = ("TypeScript", "text/x-typescript")
_SHELL = ("Shell", "text/x-shellscript")
_FORTRAN = ("Fortran", "text/x-fortran")
_RST = ("reStructuredText", "text/x-rst")

_BY_SUFFIX = {
    "bash": _SHELL,
    "bats": _SHELL,
    "c": _C,
    "cc": _CPP,
    "cpp": _CPP,
    "cs": ("C#", "text/x-csharp"),
    "css": ("CSS", "text/css"),
    "cxx": _CPP,
    "f": _FORTRAN,
    "f90": _FORTRAN,
    "go": ("Go", "text/x-go"),
    "h": _C,
    "hpp": _CPP,
    "hs": ("Haskell", "text/x-haskell"),
    "htm": _HTML,
    "html": _HTML,
    "java": ("Java", "text/x-java"),
    "jl": ("Julia", "text/x-julia"),
    "js": _JAVASCRIPT,
    "json": ("JSON", "application/json"),
    "kt": ("Kotlin", "text/x-kotlin"),
    "lua": ("Lua", "text/x-lua"),
    "md": ("Markdown", "text/markdown"),
    "mjs": _JAVASCRIPT,
    "ml": ("OCaml", "text/x-ocaml"),
    "mli": ("OCaml", "text/x-ocaml"),
    "php": ("PHP", "text/x-php"),
    "pl": ("Perl", "text/x-perl"),
    "pm": ("Perl", "text/x-perl"),
    "pxd": ("Cython", "text/x-cython"),
    "py": ("Python", "text/x-python"),
    "pyi": ("Python", "text/x-python"),
    "pyx": ("Cython", "text/x-cython"),
    "r": ("R", "text/x-r"),
    "rb": ("Ruby", "text/x-ruby"),
    "rs": ("Rust", "text/x-rust"),
    "rst": _RST,
    "scala": ("Scala", "text/x-scala"),
    "sh": _SHELL,
    "sql": ("SQL", "text/x-sql"),
    "swift": ("Swift", "text/x-swift"),
    "tex": ("TeX", "text/x-tex"),
    "toml": ("TOML", "text/x-toml"),
    "ts": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "txt": ("Text", "text/plain"),
    "xhtml": ("HTML", "application/xhtml+xml"),
    "yaml": ("YAML", "text/x-yaml"),
    "yml": ("YAML", "text/x-yaml"),
}

LANGUAGES = tuple(dict.fromkeys(language for language, _ in _BY_SUFFIX.values()))
SUFFIXES = tuple(f".{suffix}" for suffix in _BY_SUFFIX)


def file_type(path: str) -> tuple[str, str] | None:
    """Return (language, content type) of the file at `path`, or None when it is not known as text."""
    name = path.rsplit("/", 1)[-1]
    _, dot, suffix = name.rpartition(".")
    return _BY_SUFFIX.get(suffix.lower()) if dot else None
