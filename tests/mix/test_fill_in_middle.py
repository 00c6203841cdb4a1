"""Rearranged pieces: what is undone is the text, whole in one sequence, and every token is accounted for."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from corpusmill.mix.fill_in_middle import draw, restore
from corpusmill.mix.tokenize import FillInMiddle, Tokenization, open_tokenizer, sentinel_tokens
from corpusmill.sentinels import KNOWN_SENTINELS, Sentinels
from tests.mix.packing import pack_texts

END = "<|end|>"
MARKS = Sentinels(prefix="<P>", suffix="<S>", middle="<M>")
RULE = FillInMiddle(rate=1.0, sentinels=MARKS)
PYTHON = 'def area(radius):\n    """Größe."""\n    return 3.14 * radius ** 2\n\n\n'


@pytest.fixture(scope="session")
def code_tokenizer(tmp_path_factory) -> str:
    """A BPE of whole words, trained on a text, with sentinels that it does not hold for special."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[END], initial_alphabet=alphabet, min_frequency=1, show_progress=False
    )
    tokenizer.train_from_iterator([PYTHON], trainer)
    tokenizer.add_tokens(list(MARKS.marks))
    return saved(tokenizer, tmp_path_factory.mktemp("code"))


@pytest.fixture(scope="session")
def spaced_tokenizer(tmp_path_factory) -> str:
    """One that begins every text with a space, so that parts by themselves do not spell the whole."""
    tokenizer = Tokenizer(
        models.BPE(vocab={"▁": 0, **{letter: n + 1 for n, letter in enumerate("abcdefgh")}}, merges=[])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([END, *MARKS.marks])
    return saved(tokenizer, tmp_path_factory.mktemp("spaced"))


def saved(tokenizer: Tokenizer, folder: Path) -> str:
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder / "tokenizer.json")


def undone(rows: list[dict], tokenizer_file: str) -> dict[str, list[tuple[int, bool, list[int]]]]:
    """Return by document each piece's start, whether it is rearranged, and its tokens in the order of the text."""
    tokenizer = open_tokenizer(tokenizer_file)
    sentinels, end = sentinel_tokens(tokenizer, MARKS), tokenizer.token_to_id(END)
    found: dict[str, list[tuple[int, bool, list[int]]]] = {}
    for row in rows:
        at = 0
        for doc_id, start, length in zip(row["doc_ids"], row["starts"], row["lengths"], strict=True):
            tokens = row["tokens"][at : at + length]
            at += length
            # A text that holds a sentinel stays as it is; every other one that is rearranged begins with one.
            is_rearranged = tokens[0] == sentinels[0] and sum(map(tokens.count, sentinels)) == 3
            tail = [end] if tokens[-1] == end else []
            body = tokens[: len(tokens) - len(tail)]
            plain = restore(body, sentinels) + tail if is_rearranged else tokens
            found.setdefault(doc_id, []).append((start, is_rearranged, plain))
    return {doc_id: sorted(pieces) for doc_id, pieces in found.items()}


def test_written_out(code_tokenizer):
    """Ten letters that are tokens of their own: a share of 1 in each order."""
    tokenizer = open_tokenizer(code_tokenizer)
    draws = draw("d0", seed=3, number=0)
    one, other = draws.places(10)
    parts = {"prefix": "ABCDEFGHIJ"[:one], "middle": "ABCDEFGHIJ"[one:other], "suffix": "ABCDEFGHIJ"[other:]}
    assert all(parts.values())
    for share, wanted in [(0.0, "<P>{prefix}<S>{suffix}<M>{middle}"), (1.0, "<P><S>{suffix}<M>{prefix}{middle}")]:
        rule = FillInMiddle(rate=1.0, suffix_first_share=share, sentinels=MARKS)
        [row], counts = pack_texts(
            "ABCDEFGHIJ",
            tokenizer_file=code_tokenizer,
            sequence_length=20,
            seed=3,
            eos_token=END,
            fill_in_middle=rule,
        )
        assert tokenizer.decode(row["tokens"], skip_special_tokens=False) == wanted.format(**parts) + END
        assert (row["starts"], row["lengths"]) == ([0], [14])
        assert (counts.num_tokens, counts.num_sentinel_tokens, counts.num_split_tokens) == (14, 3, 0)


def test_a_word_that_is_cut_has_the_tokens_of_its_halves(code_tokenizer):
    tokenizer = open_tokenizer(code_tokenizer)
    sentinels = sentinel_tokens(tokenizer, MARKS)
    rule = FillInMiddle(rate=1.0, suffix_first_share=0.0, sentinels=MARKS)
    rows, counts = pack_texts(
        *[" return radius"] * 40, tokenizer_file=code_tokenizer, sequence_length=64, fill_in_middle=rule
    )
    assert len(tokenizer.encode(" return radius").ids) == 2 and counts.num_split_tokens > 40
    assert counts.num_tokens == 40 * (2 + 3) + counts.num_split_tokens
    part: list[int] = []
    for token in [token for row in rows for token in row["tokens"]]:
        if token in sentinels:
            assert part == tokenizer.encode(tokenizer.decode(part)).ids
            part = []
        else:
            part.append(token)


@given(
    st.lists(st.text("ab é€😀\nreturn", max_size=60), max_size=8),
    st.integers(4, 40),
    st.booleans(),
    st.integers(0, 99),
    st.sampled_from([0.3, 1.0]),
    st.sampled_from([(), (20,), (9, 33)]),
)
def test_what_is_undone_is_the_text_and_tokens_out_are_tokens_in_and_sentinels(
    code_tokenizer, texts, length, ended, seed, rate, longer
):
    rows, *counts = pack_texts(
        *texts,
        tokenizer_file=code_tokenizer,
        sequence_length=length,
        longer_lengths=tuple(length + more for more in longer),
        eos_token=END if ended else None,
        seed=seed,
        fill_in_middle=FillInMiddle(rate=rate, sentinels=MARKS),
    )
    tokenizer = open_tokenizer(code_tokenizer)
    found = undone(rows, code_tokenizer)
    end = END if ended else ""
    assert {
        doc_id: tokenizer.decode([token for *_, tokens in pieces for token in tokens], skip_special_tokens=False)
        for doc_id, pieces in found.items()
    } == {f"d{number}": text + end for number, text in enumerate(texts) if text + end}
    given = sum(len(tokenizer.encode(text).ids) + ended for text in texts)
    told = [(one.num_tokens, one.num_sentinel_tokens + one.num_split_tokens, one.num_sentinel_tokens) for one in counts]
    tokens, added, sentinels = (sum(numbers) for numbers in zip(*told, strict=True))
    assert tokens == given + added == sum(len(row["tokens"]) for row in rows)
    assert sentinels == 3 * sum(is_rearranged for pieces in found.values() for _, is_rearranged, _ in pieces)
    longest = length + (max(longer) if longer else 0)
    assert all(0 < len(row["tokens"]) <= longest for row in rows)


def test_a_long_document_is_cut_first_and_each_piece_is_whole_in_one_sequence(code_tokenizer):
    text = PYTHON * 20
    rows, counts = pack_texts(text, tokenizer_file=code_tokenizer, sequence_length=32, fill_in_middle=RULE)
    [pieces] = undone(rows, code_tokenizer).values()
    assert all(is_rearranged for _, is_rearranged, _ in pieces) and len(pieces) == counts.num_rearranged > 5
    ids = open_tokenizer(code_tokenizer).encode(text).ids
    assert [start for start, *_ in pieces] == list(range(0, len(ids), 29))
    assert counts.num_cut == 1 and counts.num_documents == 1


def test_what_is_rearranged_follows_from_the_document_and_the_seed_alone(code_tokenizer):
    """Not from its neighbours; and a rate is met by a share of the documents."""
    settings = {
        "tokenizer_file": code_tokenizer,
        "sequence_length": 64,
        "fill_in_middle": FillInMiddle(sentinels=MARKS),
    }
    texts = [f"return {number}" for number in range(300)]

    def rearranged(count: int, seed: int) -> dict[str, list]:
        return undone(pack_texts(*texts[:count], seed=seed, **settings)[0], code_tokenizer)

    assert rearranged(300, 1).items() >= rearranged(20, 1).items()
    first, other = ([is_rearranged for [[_, is_rearranged, _]] in rearranged(300, s).values()] for s in (1, 2))
    assert first != other and 120 < sum(first) < 180


def test_a_tokenizer_that_begins_texts_with_a_space_is_cut_between_tokens(spaced_tokenizer):
    rows, counts = pack_texts(
        "abcdefgh", "hgf edc", tokenizer_file=spaced_tokenizer, sequence_length=32, fill_in_middle=RULE
    )
    found = undone(rows, spaced_tokenizer)
    tokenizer = open_tokenizer(spaced_tokenizer)
    assert {doc_id: tokens for doc_id, [(_, _, tokens)] in found.items()} == {
        "d0": tokenizer.encode("abcdefgh").ids,
        "d1": tokenizer.encode("hgf edc").ids,
    }
    assert (counts.num_rearranged, counts.num_split_tokens) == (2, 0)


def test_a_text_of_which_a_token_is_a_sentinel_stays_as_it_is(code_tokenizer):
    """These sentinels are no special tokens, so a text can spell them."""
    rows, counts = pack_texts("a<M>b", "plain", tokenizer_file=code_tokenizer, sequence_length=32, fill_in_middle=RULE)
    assert counts.num_rearranged == 1
    assert {doc_id: is_rearranged for doc_id, [(_, is_rearranged, _)] in undone(rows, code_tokenizer).items()} == {
        "d0": False,
        "d1": True,
    }


def test_sentinels_are_those_that_the_tokenizer_has(tokenizer_file, tmp_path):
    plain = Path(tokenizer_file).read_text(encoding="utf-8")
    for known in KNOWN_SENTINELS:
        tokenizer = Tokenizer.from_str(plain)
        tokenizer.add_special_tokens(list(known.marks))
        ids = tuple(map(tokenizer.token_to_id, known.marks))
        assert sentinel_tokens(open_tokenizer(saved(tokenizer, tmp_path)), None) == ids
    wanted = (
        r"has no sentinels for fill-in-the-middle: wanted {}, its special tokens are \['<\|end\|>', '<\|start\|>'\]"
    )
    for rule, named in [(FillInMiddle(), "the ones of a known code model"), (RULE, "<P>, <S>, <M>")]:
        with pytest.raises(ValueError, match=wanted.format(named)):
            pack_texts("a", tokenizer_file=tokenizer_file, sequence_length=8, fill_in_middle=rule)


@pytest.mark.parametrize("settings", [{"rate": 0.0}, {"rate": 1.1}, {"suffix_first_share": -0.1}])
def test_shares_that_are_none_are_refused(settings):
    with pytest.raises(ValueError, match="fill-in-the-middle needs 0 < rate <= 1"):
        FillInMiddle(**settings)


def test_sequences_that_sentinels_fill_are_refused_and_settings_survive_json(tokenizer_file):
    with pytest.raises(ValueError, match="three sentinels leave no room in sequences of 3 tokens"):
        Tokenization(tokenizer_file=tokenizer_file, sequence_length=3, fill_in_middle=RULE)
    made = Tokenization(tokenizer_file=tokenizer_file, sequence_length=8, longer_lengths=(16, 32), fill_in_middle=RULE)
    assert Tokenization.from_json(json.loads(json.dumps(made.to_json()))) == made
