"""Texts to packed sequences: written-out rows, and every token in one piece."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.counts import Counts
from corpusmill.mix import pack, tokenize
from corpusmill.mix.pack import PackingCounts, tokenize_and_pack
from corpusmill.mix.tokenize import Tokenization, decode_pieces, open_tokenizer
from tests.mix.packing import documents, pack_texts


def texts_of(rows: list[dict], tokenizer_file: str) -> dict[str, str]:
    """Put each document together again from its pieces, wherever they lie."""
    pieces: dict[str, list[tuple[int, list[int]]]] = {}
    for row in rows:
        end = 0
        for doc_id, length, start in zip(row["doc_ids"], row["lengths"], row["starts"], strict=True):
            pieces.setdefault(doc_id, []).append((start, row["tokens"][end : end + length]))
            end += length
        assert end == len(row["tokens"])
    tokenizer = open_tokenizer(tokenizer_file)
    return {
        doc_id: tokenizer.decode([token for _, tokens in sorted(held) for token in tokens], skip_special_tokens=False)
        for doc_id, held in pieces.items()
    }


def test_written_out(tokenizer_file):
    rows, counts = pack_texts("abcdefg", "xyz", "", "pq", tokenizer_file=tokenizer_file, sequence_length=5, seed=1)
    pieces = [
        [
            *zip(
                decode_pieces(row["tokens"], lengths=row["lengths"], tokenizer_file=tokenizer_file),
                row["doc_ids"],
                row["starts"],
                strict=True,
            )
        ]
        for row in rows
    ]
    assert sorted(pieces) == [[("abcde", "d0", 0)], [("fg", "d0", 5), ("xyz", "d1", 0)], [("pq", "d3", 0)]]
    assert [row["sequence"] for row in rows] == [0, 1, 2]
    assert counts == PackingCounts(
        sequence_length=5, num_documents=4, num_empty=1, num_cut=1, num_tokens=12, num_pieces=4, num_sequences=3
    )
    assert counts.to_counts() == Counts(rows_in=4, kept=3, dropped={"no_tokens": 1})
    assert counts.fill == 12 / 15


def test_an_end_token_is_appended_to_each_document_and_counted(tokenizer_file):
    rows, counts = pack_texts("ab", "", tokenizer_file=tokenizer_file, sequence_length=8, eos_token="<|end|>")
    assert texts_of(rows, tokenizer_file) == {"d0": "ab<|end|>", "d1": "<|end|>"}
    assert (counts.num_tokens, counts.num_eos_tokens, counts.num_empty) == (4, 2, 0)


def test_case_24_boundaries_are_explicit(tokenizer_file):
    """Texts that spell the end token, end in the middle of a block or have no end at all swallow no neighbour."""
    texts = ("one <|end|> still one", "<|end|>", "two", "x" * 40, "<|start|>y")
    rows, counts = pack_texts(*texts, tokenizer_file=tokenizer_file, sequence_length=16, seed=3)
    assert texts_of(rows, tokenizer_file) == {f"d{number}": text for number, text in enumerate(texts)}
    assert counts.num_tokens == sum(len(text) for text in texts) == sum(len(row["tokens"]) for row in rows)
    assert max(token for row in rows for token in row["tokens"]) < 256, "a special token was read from a text"


@given(st.lists(st.text(max_size=30), max_size=20), st.integers(1, 40), st.booleans(), st.integers(0, 99))
def test_tokens_in_are_tokens_out(tokenizer_file, texts, sequence_length, ended, seed):
    settings = {"sequence_length": sequence_length, "seed": seed, "eos_token": "<|end|>" if ended else None}
    rows, counts = pack_texts(*texts, tokenizer_file=tokenizer_file, **settings)
    end = "<|end|>" if ended else ""
    assert texts_of(rows, tokenizer_file) == {
        f"d{number}": text + end for number, text in enumerate(texts) if text + end
    }
    assert all(0 < len(row["tokens"]) <= sequence_length for row in rows)
    assert counts.num_tokens == sum(len(text.encode()) + ended for text in texts)
    assert counts.num_eos_tokens == ended * len(texts)
    counts.to_counts().check()


def test_same_seed_same_bytes_and_another_seed_another_order(tokenizer_file):
    texts = ["w" * size for size in range(1, 60)]
    first, again, other = (
        pack_texts(*texts, tokenizer_file=tokenizer_file, sequence_length=64, seed=seed)[0] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert sorted(row["doc_ids"] for row in first) == sorted(row["doc_ids"] for row in other)


def test_windows_and_batches_bound_memory_and_lose_nothing(tokenizer_file, monkeypatch):
    monkeypatch.setattr(pack, "WINDOW_TOKENS", 50)
    monkeypatch.setattr(tokenize, "BATCH_BYTES", 20)
    texts = ["w" * size for size in (1, 30, 7, 7, 7, 90, 2, 20, 20)]
    tokenization = Tokenization(tokenizer_file=tokenizer_file, sequence_length=8)
    tables = list(tokenize_and_pack([documents(*texts)], tokenization=tokenization, first_sequence=100))
    rows = [row for table in tables for row in table.to_pylist()]
    assert len(tables) == 3
    assert [row["sequence"] for row in rows] == list(range(100, 100 + len(rows)))
    assert texts_of(rows, tokenizer_file) == {f"d{number}": text for number, text in enumerate(texts)}


def test_no_documents_make_no_sequences(tokenizer_file):
    rows, counts = pack_texts(tokenizer_file=tokenizer_file, sequence_length=8)
    assert (rows, counts.num_documents, counts.num_sequences, counts.fill) == ([], 0, 0, 0.0)


def test_the_version_is_the_content_and_the_end_token_not_the_path(tokenizer_file, tmp_path):
    copy, changed = tmp_path / "copy.json", tmp_path / "changed.json"
    with open(tokenizer_file, encoding="utf-8") as file:
        content = file.read()
    copy.write_text(content, encoding="utf-8")
    changed.write_text(content.replace("<|end|>", "<|fin|>"), encoding="utf-8")
    version = Tokenization(tokenizer_file=tokenizer_file, sequence_length=8).version()
    assert Tokenization(tokenizer_file=str(copy), sequence_length=16, seed=5).version() == version
    assert Tokenization(tokenizer_file=str(changed), sequence_length=8).version() != version
    assert Tokenization(tokenizer_file=tokenizer_file, sequence_length=8, eos_token="<|end|>").version() != version


def test_bad_tokenizer_settings_are_named(tokenizer_file, tmp_path):
    bad = tmp_path / "tokenizer.json"
    bad.write_text("{}")
    with pytest.raises(ValueError, match=r"tokenizer.json is no Hugging Face tokenizer file"):
        pack_texts("a", tokenizer_file=str(bad), sequence_length=8)
    with pytest.raises(ValueError, match="there is no tokenizer file at nowhere"):
        pack_texts("a", tokenizer_file="nowhere", sequence_length=8)
    with pytest.raises(
        ValueError, match=r"no token '</s>' to end documents with; it has \['<\|end\|>', '<\|start\|>'\]"
    ):
        pack_texts("a", tokenizer_file=tokenizer_file, sequence_length=8, eos_token="</s>")
    with pytest.raises(ValueError, match="sequence_length must be at least 1, got 0"):
        Tokenization(tokenizer_file=tokenizer_file, sequence_length=0)
