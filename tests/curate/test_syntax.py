"""Syntax of source files: a valid and a broken one in every language that has a parser."""

import pytest

from corpusmill.curate.syntax import LANGUAGES, syntax_error_share

VALID = {
    "C": "#include <stdio.h>\nint main(void) { return 0; }\n",
    "C++": "template <typename T> class A { public: T get() const { return t_; } private: T t_; };\n",
    "CSS": "a:hover { color: red; }\n",
    "Go": "package main\n\nfunc main() { x := []int{1, 2}; _ = x }\n",
    "JSON": '{"a": [1, 2]}',
    "Java": "class A { int f(int b) { return b + 1; } }\n",
    "JavaScript": "export const f = async (a) => { await g(`x${a}`); };\n",
    "Lua": "local function f(a) return a + 1 end\nprint(f(1))\n",
    "PHP": "<?php\nfunction f(int $a): int { return $a + 1; }\n",
    "Python": "async def f(a, /, *, b=1) -> int:\n    return a if (c := b) else c\n",
    "Ruby": "class A\n  def f(b)\n    b.map { |x| x + 1 }\n  end\nend\n",
    "Rust": "fn main() { let x: Vec<u8> = vec![1]; println!(\"{x:?}\"); }\n",
    "Scala": "object A { def f(b: Int): Int = b + 1 }\n",
    "Shell": "for f in *.txt; do echo \"$f\"; done\n",
    "TOML": "a = 1\n[b]\n",
    "TypeScript": "interface A { b: string }\nconst f = (a: A): number => a.b.length;\n",
}  # fmt: skip


def test_there_is_a_case_for_every_language():
    assert sorted(VALID) == sorted(LANGUAGES)
    assert len(LANGUAGES) >= 10


@pytest.mark.parametrize("language", LANGUAGES)
def test_valid_files_have_no_error(language):
    assert syntax_error_share(VALID[language], language) == 0


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"PHP"}))  # in PHP, all outside its tags is text
def test_prose_is_no_program(language):
    assert syntax_error_share("The river, (runs past: the old mill; and {the people\n" * 5, language) > 0


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("Python", "print 'python 2'\n"),
        ("Python", "x = " + "(" * 10_000),
        ("Python", "x = " + "-" * 100_000 + "1"),
        ("Python", "a\x00b"),
        ("JSON", "[" * 100_000),
        ("TOML", "a = "),
    ],
)
def test_strict_parsers_say_no(language, text):
    assert syntax_error_share(text, language) == 1


def test_one_broken_line_of_many_is_a_small_share():
    text = VALID["C"] + "int f(int a) { return a; }\n" * 100
    assert 0 < syntax_error_share(text + "int g( { return 1; }\n", "C") < 0.05
    assert syntax_error_share(text, "C") == 0


@pytest.mark.parametrize("language", ["Fortran", None])
def test_languages_without_a_parser_are_not_judged(language):
    assert syntax_error_share("x", language) is None


def test_odd_texts_end():
    for text in ("", "\ufeff", "\x00" * 1000, "\ud800", "a\r\nb\rc", "שלום 你好"):
        assert 0 <= syntax_error_share(text, "Rust") <= 1
