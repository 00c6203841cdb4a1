"""Benchmark items in documents: what counts as found, what does not, and where it stands."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.contamination import CONTAMINATION, find_contamination, min_share
from corpusmill.curate.contamination_build import build_index
from corpusmill.curate.contamination_index import ContaminationIndex
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.curate.contamination_words import normal_text, read_words, word_table

DATA = Path(__file__).parents[2].parent / "shared" / "data"
DUCKS = (
    "Janet's ducks lay 16 eggs per day. She eats three for breakfast every morning and bakes muffins for her friends "
    "every day with four. How much does she earn at the farmers' market?"
)
SWAP = "Write a function to swap two numbers."
STAMPS = "Max bought stamps at the post office and some of the stamps had a snowflake design while others had a truck."
COLOURS = "Sort the colours red, green and blue by how often a customer asked for each of them last year in our shop."


def items(*texts: str | None, **columns: list[str | None]) -> pa.Table:
    rows = {"benchmark": ["b"] * len(texts), "item": list(map(str, range(len(texts)))), "text": texts}
    return pa.table({**{name: pa.array(values, pa.string()) for name, values in rows.items()}, **columns})


def documents(*texts: str | None) -> pa.Table:
    names = [f"d{number}" for number in range(len(texts))]
    return pa.table({"doc_id": names, "text": pa.array(texts, pa.large_string())})


@pytest.fixture(scope="module")
def index() -> ContaminationIndex:
    return build_index(items(DUCKS, SWAP, STAMPS, COLOURS))


WORDS = {
    "case and punctuation": ("How Many?! cups", "how many cups "),
    "white space and line ends": ("how\r\n\tmany\u00a0cups\u2028", "how many cups "),
    "quoting": ("> **how** _many_ `cups`", "how many cups "),
    "underscores separate": ("is_prime(n)", "is prime n "),
    "a number is 0": ("16 eggs, 2.5 cups", "0 eggs 0 cups "),
    "a number run is one number": ("1, 2, 3 ... 13", "0 "),
    "other digits": ("\u0661\u0662 x \uff11\uff12", "0 x 0 "),
    "digits in a word": ("3rd of x12", "0rd of x00 "),
    "accents, composed or not": ("Caf\u00e9 cafe\u0301 \u00dcBER", "cafe cafe uber "),
    "full width": ("\uff21\uff22\uff43", "abc "),
    "each Han character": ("\u65e5\u672c 3\u4eba", "\u65e5 \u672c 0 \u4eba "),
    "invisible characters": ("ma\u00adny\u200b cups\ufeff", "many cups "),
    "right to left": ("\u05e9\u05dc\u05d5\u05dd, \u0639\u0645", "\u05e9\u05dc\u05d5\u05dd \u0639\u0645 "),
    "NUL": ("a\x00b", "a b "),
    "nothing": ("", ""),
    "only marks": (" \n?!", ""),
}


@pytest.mark.parametrize(("text", "normal"), WORDS.values(), ids=WORDS)
def test_the_words_of_a_text(text: str, normal: str) -> None:
    assert normal_text(text) == normal


@given(st.text(max_size=60))
def test_a_normal_form_is_its_own_and_has_the_words_that_are_hashed(text: str) -> None:
    normal = normal_text(text)
    assert normal_text(normal) == normal
    data = np.frombuffer(text.encode(), np.uint8)
    hashes, starts, ends = (np.empty(len(data), kind) for kind in (np.uint64, np.uint32, np.uint32))
    count = read_words(data, 0, len(data), word_table(), (hashes, starts, ends))
    spelled = [
        normal_text(data[start:end].tobytes().decode()) for start, end in zip(starts[:count], ends[:count], strict=True)
    ]
    assert "".join(spelled) == normal
    assert len(set(spelled)) == len(set(hashes[:count].tolist()))


FOUND = {
    "verbatim": (f"Before. {DUCKS} Behind.", [("0", "whole")]),
    "other numbers": (DUCKS.replace("16", "2,300"), [("0", "whole")]),
    "other lines, case and quoting": ("> " + DUCKS.upper().replace(" ", "\n> "), [("0", "whole")]),
    "13 words of it": ("ducks lay 9 eggs per day she eats three for breakfast every morning and", [("0", "ngram")]),
    "12 words of it": ("ducks lay 9 eggs per day she eats three for breakfast every morning", []),
    "a short item as a whole": ("# write a function\n# to swap two numbers", [("1", "whole")]),
    "a short item but for a word": ("write a function to swap three numbers", []),
    "two items": (f"{STAMPS}\n{SWAP}", [("2", "whole"), ("1", "whole")]),
    "the words in another order": (" ".join(reversed(DUCKS.split())), []),
    "a number run": (" ".join(map(str, range(100))), []),
    "an alphabet": (", ".join("abcdefghijklmnopqrstuvwxyz"), []),
    "nothing": ("", []),
    "white space": (" \n\t ", []),
    "null": (None, []),
}


@pytest.mark.parametrize(("text", "expected"), FOUND.values(), ids=FOUND)
def test_what_is_found(index: ContaminationIndex, text: str | None, expected: list[tuple[str, str]]) -> None:
    found = find_contamination(documents(text), index)
    assert list(zip(found["item"].to_pylist(), found["kind"].to_pylist(), strict=True)) == expected


def test_the_rows_name_benchmark_item_and_the_characters_of_the_match(index: ContaminationIndex) -> None:
    text = f"Zürich \N{GRINNING FACE} 日本. {SWAP} Danach."
    found = find_contamination(documents("nothing here", text), index)
    start = text.index("Write")
    end = start + len(SWAP) - 1
    assert found.schema == CONTAMINATION
    assert [tuple(row.values()) for row in found.to_pylist()] == [("d1", "b", "1", start, end, 1.0, "whole")]


def test_a_lightly_edited_long_item_is_found_by_its_weight_and_a_short_one_is_not() -> None:
    words = [f"word{letter}{other}" for letter in "abcdefg" for other in "abcdefgh"]
    rules = ContaminationRules(ngram_words=40)

    def changed(length: int) -> tuple[pa.Table, pa.Table]:
        text = [*words[:length]]
        text[11] = "changed"
        return documents(" ".join([*text[:25], "added", *text[25:]])), items(" ".join(words[:length]))

    text, item = changed(56)
    found = find_contamination(text, build_index(item, rules))
    # Of 52 n-grams of 5 words a changed word breaks 5 and an added one 4.
    assert found["kind"].to_pylist() == ["weighted"]
    assert found["share"][0].as_py() == pytest.approx(43 / 52)
    text, item = changed(40)
    assert len(find_contamination(text, build_index(item, rules))) == 0


def test_the_share_that_an_item_needs_falls_with_its_length() -> None:
    assert min_share(np.array([5, 20, 35, 50, 900]), ContaminationRules()).tolist() == [1.0, 1.0, 0.9, 0.8, 0.8]


def test_what_many_items_share_is_no_evidence_and_each_of_them_is_still_found_as_a_whole() -> None:
    prompt = "Answer the following question about the history of the city by choosing exactly one of these options"
    names = [
        "Rome",
        "Paris",
        "Vienna",
        "Lisbon",
        "Madrid",
        "Prague",
        "Berlin",
        "Athens",
        "Dublin",
        "Oslo",
        "Bern",
        "Kyiv",
    ]
    many = build_index(items(*(f"{prompt} {name} {name}burg" for name in names)))
    assert len(find_contamination(documents(f"{prompt} Boston"), many)) == 0
    assert find_contamination(documents(f"{prompt} Oslo Osloburg"), many)["item"].to_pylist() == ["9"]
    few = build_index(items(*(f"{prompt} {name}" for name in names[:3])))
    assert find_contamination(documents(f"{prompt} Boston"), few)["item"].to_pylist() == ["0", "1", "2"]


def test_equal_items_are_all_named() -> None:
    twice = build_index(items(SWAP, DUCKS, SWAP.upper()))
    assert twice.num_references == 2
    assert find_contamination(documents(SWAP), twice)["item"].to_pylist() == ["0", "2"]


def test_an_answer_is_found_and_told_apart() -> None:
    answers = ["First take the eggs she eats away from the eggs that the ducks lay on every single day", None]
    with_answers = build_index(items(DUCKS, SWAP, answer=pa.array(answers, pa.string())))
    found = find_contamination(documents(answers[0]), with_answers)
    assert list(zip(found["item"].to_pylist(), found["kind"].to_pylist(), strict=True)) == [("0", "answer_whole")]


def test_items_that_cannot_be_searched_for_are_told() -> None:
    built = build_index(items("What is it?", "1 2 3 a b c d e f g", SWAP, None, "", answer=pa.nulls(5, pa.string())))
    assert built.num_references == 1
    assert [(row["item"], row["reason"]) for row in built.skipped.to_pylist()] == [
        ("0", "too_short"),
        ("1", "too_plain"),
        ("3", "too_short"),
        ("4", "too_short"),
    ]


def test_an_index_of_nothing_finds_nothing() -> None:
    for table in (items(), items("short")):
        assert len(find_contamination(documents(DUCKS), build_index(table))) == 0


def test_an_index_survives_its_buffer_and_is_named_by_its_content(index: ContaminationIndex) -> None:
    again = ContaminationIndex.from_buffer(index.to_buffer())
    assert again.fingerprint == index.fingerprint == build_index(items(DUCKS, SWAP, STAMPS, COLOURS)).fingerprint
    assert find_contamination(documents(DUCKS), again).equals(find_contamination(documents(DUCKS), index))
    others = (
        build_index(items(DUCKS, SWAP, STAMPS)),
        build_index(items(SWAP, DUCKS, STAMPS, COLOURS)),
        build_index(items(DUCKS, SWAP, STAMPS, COLOURS), ContaminationRules(min_share=0.9)),
    )
    assert len({index.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_equal_hashes_of_other_words_are_no_match(index: ContaminationIndex) -> None:
    # The index as it would be if the words of "swap two numbers" collided with those of "drop six letters".
    text = index.text.tobytes().replace(b"swap two numbers", b"drop six letters")
    arrays = {**vars(index), "text": np.frombuffer(text, np.uint8)}
    arrays.pop("fingerprint", None)
    forged = ContaminationIndex(**arrays)
    assert len(find_contamination(documents(SWAP), index)) == 1
    assert len(find_contamination(documents(SWAP), forged)) == 0


NULL = pa.array([None], pa.string())
WRONG_ITEMS = {
    "a column is missing": (pa.table({"item": ["1"], "text": ["a"]}), "have the columns benchmark, item, text"),
    "a column is unknown": (items("a").append_column("q", [["a"]]), "have the columns benchmark, item, text"),
    "a name is null": (pa.table({"benchmark": ["b"], "item": NULL, "text": ["a"]}), "needs item, got null in row 0"),
}


@pytest.mark.parametrize(("table", "message"), WRONG_ITEMS.values(), ids=WRONG_ITEMS)
def test_wrong_items_are_refused(table: pa.Table, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_index(table)


WRONG_RULES = {
    "min_item_words": ({"min_item_words": 4}, "wanted 2 <= part_words <= min_item_words <= ngram_words, got 5, 4, 13"),
    "min_share": ({"min_share": 0.2}, r"min_share must lie in \[0.5, 1\], got 0.2"),
    "share_words": ({"share_words_start": 50}, "share_words_start must lie below share_words_end, got 50 and 50"),
}


@pytest.mark.parametrize(("rules", "message"), WRONG_RULES.values(), ids=WRONG_RULES)
def test_wrong_rules_are_refused(rules: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ContaminationRules(**rules)


def test_an_unknown_rule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown setting ngrams; ContaminationRules has ngram_words"):
        ContaminationRules.from_json({"ngrams": 8})


SENTENCES = st.lists(st.sampled_from([*DUCKS.split(), *COLOURS.split(), "7", "and"]), max_size=40).map(" ".join)


@given(st.lists(SENTENCES, max_size=5), SENTENCES, SENTENCES)
def test_an_item_is_found_whatever_stands_around_it_and_in_every_batch(
    others: list[str], before: str, behind: str
) -> None:
    index = build_index(items(DUCKS, SWAP, STAMPS, COLOURS))
    texts = [*others, f"{before} | {STAMPS} | {behind}"]
    found = find_contamination(documents(*texts), index)
    hits = [row for row in found.to_pylist() if row["item"] == "2"]
    assert [(row["doc_id"], row["kind"]) for row in hits] == [(f"d{len(others)}", "whole")]
    place = len(before) + 3
    assert (hits[0]["start"], hits[0]["end"]) == (place, place + len(STAMPS) - 1)
    alone = [find_contamination(documents(*texts).slice(row, 1), index) for row in range(len(texts))]
    assert pa.concat_tables(alone).equals(found)


def test_one_line_of_many_megabytes(index: ContaminationIndex) -> None:
    line = "lorem 1 ipsum, " * 700_000
    found = find_contamination(documents(line + DUCKS + line), index)
    assert [(row["item"], row["start"]) for row in found.to_pylist()] == [("0", len(line))]


def test_real_benchmarks_in_real_code_and_problems() -> None:
    if not DATA.exists():
        pytest.skip("needs ../shared/data: GSM8K and HumanEval")
    rows = [json.loads(line) for line in (DATA / "bench_decontam/gsm8k_test.jsonl").read_text().splitlines()]
    index = build_index(items(*(row["question"] for row in rows)))
    train = [json.loads(line) for line in (DATA / "stem_gsm8k_train/gsm8k_train_2000.jsonl").read_text().splitlines()]
    found = find_contamination(documents(*(row["question"] for row in train)), index)
    assert sorted(set(found["doc_id"].to_pylist())) == ["d1314", "d20", "d406"]
    code = gzip.decompress((DATA / "code_thealgorithms/rust.jsonl.gz").read_bytes()).splitlines()
    assert len(find_contamination(documents(*(json.loads(line)["content"] for line in code)), index)) == 0
