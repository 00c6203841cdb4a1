"""Every language through the same door: compiled, run, told how it ended, and never beyond its limits."""

import gzip
import itertools
import json
import os
from pathlib import Path
from typing import get_args

import pytest

from corpusmill.engines import sandbox_languages
from corpusmill.engines.sandbox import Limits, SandboxError, run_programs_in
from corpusmill.engines.sandbox_languages import LANGUAGES, LIMITS, Program, program, toolchain
from corpusmill.synthesize.verify.behaviour import Executed
from tests.engines.test_sandbox import namespaces_are_permitted

TASKS = Path(__file__).parents[3] / "shared" / "data" / "code_exec_mxeval" / "mbxp_canonical.jsonl.gz"


def test_a_check_names_the_languages_that_the_sandbox_runs():
    assert get_args(Executed) == LANGUAGES


GREETS = {
    "python": "import sys\nprint(sum(map(int, input().split())), *sys.argv[1:])",
    "javascript": (
        "const given = require('fs').readFileSync(0, 'utf8').trim().split(' ').map(Number);\n"
        "console.log(given.reduce((a, b) => a + b), ...process.argv.slice(2));"
    ),
    "java": (
        "// class Wrong { static void main(\nimport java.util.*;\n"
        "class Helper { static int sum(Scanner in) { int s = 0; while (in.hasNextInt()) s += in.nextInt(); return s; } }\n"
        "class Greeter { static class Inner {}\npublic static void main(String[] words) {\n"
        'System.out.println(Helper.sum(new Scanner(System.in)) + " " + String.join(" ", words)); } }'
    ),
    "cpp": (
        "#include <iostream>\nint main(int n, char** words) { int a, s = 0; while (std::cin >> a) s += a;\n"
        "std::cout << s; for (int i = 1; i < n; i++) std::cout << ' ' << words[i]; std::cout << '\\n'; }"
    ),
    "rust": (
        "use std::io::Read;\nfn main() { let mut given = String::new();\n"
        "std::io::stdin().read_to_string(&mut given).unwrap();\n"
        "let sum: i32 = given.split_whitespace().map(|one| one.parse::<i32>().unwrap()).sum();\n"
        'println!("{} {}", sum, std::env::args().skip(1).collect::<Vec<_>>().join(" ")); }'
    ),
    "go": (
        'package main\nimport ("bufio"; "fmt"; "os"; "strconv"; "strings")\nfunc main() { sum := 0\n'
        "words := bufio.NewScanner(os.Stdin)\nwords.Split(bufio.ScanWords)\n"
        "for words.Scan() { n, _ := strconv.Atoi(words.Text()); sum += n }\n"
        'fmt.Println(sum, strings.Join(os.Args[1:], " ")) }'
    ),
}
LEAVES = {
    "python": "import sys\nprint('half', flush=True)\nsys.exit(7)",
    "javascript": "console.log('half'); process.exitCode = 7;",
    "java": 'class Main { public static void main(String[] a) { System.out.println("half"); System.exit(7); } }',
    "cpp": '#include <cstdio>\nint main() { puts("half"); return 7; }',
    "rust": 'fn main() { println!("half"); std::process::exit(7); }',
    "go": 'package main\nimport ("fmt"; "os")\nfunc main() { fmt.Println("half"); os.Exit(7) }',
}
RAISES = {
    "python": ("[][3]", "IndexError"),
    "javascript": ("null.x", "TypeError"),
    "java": ("class Main { public static void main(String[] a) { int x = a[3].length(); } }", "ArrayIndexOutOfBounds"),
    "cpp": ("#include <vector>\nint main() { return std::vector<int>().at(3); }", "out_of_range"),
    "rust": ("fn main() { let v: Vec<i32> = std::env::args().map(|_| 1).collect(); v[v.len() + 2]; }", "panicked"),
    "go": (
        'package main\nimport "os"\nfunc main() { println(os.Args[3]) }',
        "panic: runtime error: index out of range",
    ),
}
BROKEN = {
    "java": ('class Main { public static void main(String[] a) { int x = "no"; } }', "incompatible types"),
    "cpp": ("int main() { return nothing; }", "'nothing' was not declared"),
    "rust": ('fn main() { let x: i32 = "no"; }', "mismatched types"),
    "go": ('package main\nfunc main() { var x int = "no" }', 'cannot use "no"'),
}
LOOPS = {
    "python": "while True: pass",
    "javascript": "for (;;) {}",
    "java": "class Main { public static void main(String[] a) { for (long n = 0; ; n++) if (n < 0) break; } }",
    "cpp": "int main() { for (volatile int n = 0; ; n++) {} }",
    "rust": "fn main() { let mut n = 0u8; loop { n = std::hint::black_box(n.wrapping_add(1)); } }",
    "go": "package main\nfunc main() { for n := 0; ; n++ {} }",
}
GREEDY = {
    "python": "x = []\nwhile True: x.append(bytearray(b'1') * (64 << 20))",
    "javascript": "const x = []; for (;;) x.push(Buffer.alloc(64 << 20, 1));",
    "java": (
        "class Main { public static void main(String[] a) { var x = new java.util.ArrayList<byte[]>();\n"
        "for (;;) { byte[] b = new byte[16 << 20]; java.util.Arrays.fill(b, (byte) 1); x.add(b); } } }"
    ),
    "cpp": "#include <cstring>\nint main() { for (;;) memset(new char[64 << 20], 1, 64 << 20); }",
    "rust": "fn main() { let mut x = vec![]; loop { x.push(vec![1u8; 64 << 20]); } }",
    "go": (
        "package main\nfunc main() { x := [][]byte{}\nfor { b := make([]byte, 64<<20)\nfor n := range b { b[n] = 1 }\n"
        "x = append(x, b) } }"
    ),
}
IS_ROOT = {
    "python": "import os\nprint(0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid()))",
    "javascript": "console.log([process.getuid(), process.geteuid(), process.getgid()].includes(0));",
    "cpp": '#include <unistd.h>\n#include <cstdio>\nint main() { puts(getuid() && geteuid() && getgid() ? "False" : "True"); }',
}
TOLD_OF_MEMORY = {
    "python": "MemoryError",
    "javascript": "Array buffer allocation failed",
    "java": "OutOfMemoryError",
    "cpp": "bad_alloc",
    "rust": "memory allocation of 67108864 bytes failed",
    "go": "out of memory",
}


@pytest.fixture(scope="module", autouse=True)
def permitted():
    if not namespaces_are_permitted():
        pytest.skip("this machine permits no namespaces")


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request):
    try:
        toolchain(request.param)
    except SandboxError as error:
        pytest.skip(str(error))
    return request.param


@pytest.fixture(scope="module")
def results(language):
    """All of a language's programs, in one jail."""
    asked = {
        "greets": program(language, GREETS[language], stdin="3 4 5\n", arguments=("two", "words")),
        "leaves": program(language, LEAVES[language]),
        "raises": program(language, RAISES[language][0]),
        "loops": program(language, LOOPS[language]),
        "is greedy": program(language, GREEDY[language]),
        "works": program(language, LEAVES[language].replace("7", "0")),
    }
    if language in BROKEN:
        asked["is broken"] = program(language, BROKEN[language][0])
    if language in IS_ROOT:
        asked["is root"] = program(language, IS_ROOT[language])
    wall = 60.0  # the loop is ended by its processor time, however busy the machine is
    limits = Limits(**{**vars(LIMITS[language]), "cpu_seconds": 2, "wall_seconds": wall})
    return dict(zip(asked, run_programs_in(language, list(asked.values()), limits=limits), strict=True))


def test_a_program_reads_its_input_and_arguments(results):
    result = results["greets"]
    assert (result.outcome, result.stdout) == ("succeeded", "12 two words\n"), result


def test_a_program_leaves_with_its_code(results):
    result = results["leaves"]
    assert (result.outcome, result.exit_code, result.stdout) == ("failed", 7, "half\n"), result


def test_an_error_is_told(language, results):
    result = results["raises"]
    assert result.outcome in ("failed", "killed") and RAISES[language][1] in result.stderr, result


@pytest.mark.parametrize("language", BROKEN, indirect=True, scope="module")
def test_what_does_not_compile_is_told_with_the_compilers_words(language, results):
    result = results["is broken"]
    assert (result.outcome, result.succeeded) == ("does_not_compile", False), result
    assert BROKEN[language][1] in (result.stderr + result.stdout).replace("‘", "'").replace("’", "'")


def test_an_endless_loop_ends_with_its_time(results):
    assert results["loops"].outcome == "timed_out", results["loops"]


def test_memory_is_bounded(language, results):
    result = results["is greedy"]
    assert result.outcome in ("failed", "killed") and TOLD_OF_MEMORY[language] in result.stderr, result


def test_the_next_program_works(results):
    assert (results["works"].outcome, results["works"].stdout) == ("succeeded", "half\n"), results["works"]


@pytest.mark.parametrize("language", IS_ROOT, indirect=True, scope="module")
def test_no_program_runs_as_root(language, results):
    """Asked in three languages; the jail is the same for all."""
    assert results["is root"].stdout.strip().lower() == "false", results["is root"]


@pytest.mark.parametrize(
    ("language", "files", "main", "said"),
    [
        ("python", {"main.py": "from part.one import x\nprint(x)", "part/one.py": "x = 1"}, None, "1\n"),
        ("javascript", {"main.js": "console.log(require('./one').x)", "one.js": "exports.x = 2"}, None, "2\n"),
        ("javascript", {"main.mjs": "import {x} from './one.mjs'; console.log(x)", "one.mjs": "export const x = 3"}, None, "3\n"),
        ("cpp", {"a.cpp": '#include "b.h"\n#include <cstdio>\nint main() { printf("%d\\n", b()); }',
                 "b.cpp": "int b() { return 4; }", "b.h": "int b();"}, None, "4\n"),
        ("rust", {"main.rs": 'mod one;\nfn main() { println!("{}", one::X); }', "one.rs": "pub const X: i32 = 5;"}, None, "5\n"),
        ("go", {"a.go": "package main\nfunc main() { println(x) }", "b.go": "package main\nconst x = 6"}, None, ""),
        ("java", {"p/A.java": "package p; public class A { public static void main(String[] a) { new B().go(); } }",
                  "p/B.java": "package p; class B { void go() { System.out.println(7); } }"}, None, "7\n"),
        ("java", {"Two.java": "class One { public static void main(String[] a) { System.out.println(8); } }\n"
                              "class Two { public static void main(String[] a) { System.out.println(9); } }"}, "One", "8\n"),
    ],
    ids=["python package", "javascript", "javascript modules", "cpp", "rust", "go", "java package", "java by name"],
)  # fmt: skip
def test_a_program_of_several_files(language, files, main, said):
    try:
        toolchain(language)
    except SandboxError as error:
        pytest.skip(str(error))
    [result] = run_programs_in(language, [Program(files=files, main=main)])
    assert (result.outcome, result.stdout) == ("succeeded", said), result


def test_rusts_own_tests_run():
    source = "fn double(x: i32) -> i32 { 2 * x }\n#[test]\nfn t() { assert_eq!(double(2), 4); }"
    try:
        toolchain("rust")
    except SandboxError as error:
        pytest.skip(str(error))
    tested = [program("rust", text, compiler_arguments=("--test",)) for text in (source, source.replace("2 *", "3 *"))]
    passed, failed = run_programs_in("rust", tested)
    assert (passed.outcome, failed.outcome) == ("succeeded", "failed")
    assert "1 passed" in passed.stdout and "left: 6" in failed.stdout.replace("`", "")


@pytest.mark.parametrize("language", ["python", "javascript", "cpp", "java"])
def test_real_tasks_end_as_they_do_elsewhere(language):
    """Two solutions that pass their tests, and one of them with a comparison in the test turned round."""
    if not TASKS.exists():
        pytest.skip(f"{TASKS} is not there")
    try:
        toolchain(language)
    except SandboxError as error:
        pytest.skip(str(error))
    turned = {
        "python": ("== ", "!= "),
        "javascript": ("if(!compare", "if(compare"),
        "cpp": ("if (!(compare", "if ((compare"),
        "java": ("if (!(compare", "if ((compare"),
    }
    good = list(itertools.islice(_tasks(language), 0, 4, 3))
    programs = [program(language, text) for text in (*good, good[0].replace(*turned[language], 1))]
    results = run_programs_in(language, programs)
    assert [result.succeeded for result in results] == [True, True, False], results


def _tasks(language: str):
    with gzip.open(TASKS, "rt", encoding="utf-8") as file:
        for line in file:
            task = json.loads(line)
            if task["language"] == language:
                call = f"\ncheck({task['entry_point']})\n" if language == "python" else ""
                text = task["prompt"] + task["canonical_solution"] + task["test"] + call
                yield text.replace(
                    'const _ = require("lodash")',
                    "const _ = {isEqual: (a, b) => JSON.stringify(a) === JSON.stringify(b)}",
                )


def test_a_missing_toolchain_is_told_with_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HOME", "/nowhere")
    sandbox_languages.toolchain.cache_clear()
    try:
        with pytest.raises(SandboxError, match="takes javac, which this machine lacks: install a JDK"):
            run_programs_in("java", [program("java", LEAVES["java"])])
    finally:
        sandbox_languages.toolchain.cache_clear()


def test_a_language_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="runs python, javascript, java, cpp, rust, go; got 'cobol'"):
        run_programs_in("cobol", [Program(files={"main.cob": ""})])


@pytest.mark.parametrize("name", ["/etc/passwd", "../main.py", "a/../../b", ""])
def test_a_file_beside_the_programs_folder_is_refused(name):
    with pytest.raises(ValueError, match="lie in its folder"):
        Program(files={name: "x = 1"})


def test_the_file_to_run_must_be_there():
    with pytest.raises(ValueError, match=r"no file 'main.py' to run; it has a.py, b.py"):
        run_programs_in("python", [Program(files={"a.py": "", "b.py": ""})])


def test_a_shown_toolchain_is_never_a_home(tmp_path, monkeypatch):
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\n")
    node.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{node.parent}{os.pathsep}/usr/bin")
    sandbox_languages.toolchain.cache_clear()
    try:
        assert toolchain("javascript").shown == (str(node),)
    finally:
        sandbox_languages.toolchain.cache_clear()
