"""What a text becomes before shingles are made of it."""

import numpy as np
import pytest

from corpusmill.dedup.parameters import SHINGLES
from corpusmill.dedup.shingles import hash_tokens
from corpusmill.dedup.tokens import character_table


def hashes(text: str, kind: str) -> list[int]:
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    out = np.empty(len(data) + 1, dtype=np.uint64)
    count = hash_tokens(data, 0, len(data), SHINGLES.index(kind), character_table(), out)
    return out[:count].tolist()


def expected(tokens: list[str], kind: str) -> list[int]:
    return [value for token in tokens for value in hashes(token, kind)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("  snake_case x2 3.14 ", ["snake_case", "x2", "3", "14"]),
        ("don't—stop…now", ["don", "t", "stop", "now"]),
        ("ÀÉÎ straße ΣΑΣ Ёж", ["àéî", "straße", "σασ", "ёж"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("東京tower は日本", ["東", "京", "tower", "は", "日", "本"]),
        ("soft\u00adhyphen zero\u200dwidth \ufeffbom", ["softhyphen", "zerowidth", "bom"]),
        ("𝔘nicode 😀 𠀋", ["𝔘nicode", "𠀋"]),
        ("...", []),
        ("", []),
    ],
)
def test_words_are_lower_cased_runs_and_unspaced_scripts_go_by_character(text, words):
    found = hashes(text, "word")
    assert found == expected(words, "word")
    assert len(found) == len(words)


def test_characters_keep_punctuation_and_fold_white_space():
    assert hashes("  A \n\t b! ", "character") == hashes("a b!", "character")
    assert len(hashes("a b!", "character")) == 4
    assert hashes("a b!", "character") != hashes("a b", "character")


@pytest.mark.parametrize(
    ("code", "same_as"),
    [
        ("x = 1  # why\ny = 2", "x = 1 y = 2"),
        ("int a; // note\nint b;", "int a; int b;"),
        ("f(/* one\n two */ 3)", "f( 3)"),
        ("/* never closed", ""),
        ("#!/bin/sh\nls", "ls"),
        ("## Title\nx", "x"),
        ("X = Y", "x=y"),
    ],
)
def test_code_leaves_out_comments_and_white_space(code, same_as):
    assert hashes(code, "code") == hashes(same_as, "code")


@pytest.mark.parametrize(
    ("code", "num_tokens"),
    [
        ('url = "http://x.org/a"', 13),
        ("#include <a.h>", 7),
        ("s = '# no comment'", 7),
        ("s = 'it\\'s // still'; y", 13),
        ("a.b(c)[0]", 9),
    ],
)
def test_code_keeps_what_only_looks_like_a_comment(code, num_tokens):
    assert len(hashes(code, "code")) == num_tokens


def test_a_lone_quote_spoils_only_its_line():
    assert hashes("don't # a\nx # b\ny", "code") == hashes("don't # a\nx\ny", "code")
