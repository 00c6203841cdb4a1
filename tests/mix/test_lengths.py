"""Several lengths: documents go to the one that suits them, phases name theirs, and caps count each by itself."""

import re
from dataclasses import replace

import numpy as np
import pytest

from corpusmill.mix.best_fit import pack_best_fit
from corpusmill.mix.inventory import LENGTH_SEQUENCES, Inventory, pin_partition
from corpusmill.mix.lengths import by_length
from corpusmill.mix.live import Live
from corpusmill.mix.mixture import Group, Mixture, Phase
from corpusmill.mix.pack import packed_state
from corpusmill.mix.past import Past
from corpusmill.mix.plan import Plan
from corpusmill.mix.solve import plan
from corpusmill.mix.tokenize import Tokenization
from corpusmill.stream.schedule import schedule_batches
from tests.mix.held import WEB_CODE, component, mixture, pin
from tests.mix.packing import pack_texts

LONG = Inventory(
    pins=[
        *(replace(one, bucket=0) for one in WEB_CODE.pins),
        pin("web", sequences=20, tokens=800, sequence_length=40, bucket=1),
        pin("code", sequences=10, tokens=300, sequence_length=40, bucket=1),
    ]
)
PHASES = (
    Phase(name="short", weight=0.8),
    Phase(name="long", weight=0.2, sequence_length=40, weights={"code": 0.5, "web": 0.5}),
)
FIXED = replace(component("code", 1), weight=None, tokens=9)
PLAIN = (PHASES[0], replace(PHASES[1], weights={}))
WARMED = mixture(component("web", 0.7), component("code", 0.3), phases=PHASES, budget_tokens=1000)


def test_each_document_goes_whole_to_the_shortest_length_that_holds_it(tokenizer_file):
    texts = ("a" * 4, "b" * 5, "c" * 9, "d" * 23, "", "e" * 3)
    rows, short, middle, long = pack_texts(
        *texts, tokenizer_file=tokenizer_file, sequence_length=4, longer_lengths=(6, 10)
    )
    held = [
        (row["sequence"] // LENGTH_SEQUENCES, sorted(zip(row["doc_ids"], row["starts"], row["lengths"], strict=True)))
        for row in rows
    ]
    # The gap of 7 behind the rest of d takes b whole: of what waits for shorter lengths, every second one may.
    assert sorted(held) == [
        (0, [("d0", 0, 4)]),
        (0, [("d5", 0, 3)]),
        (2, [("d1", 0, 5), ("d3", 20, 3)]),
        (2, [("d2", 0, 9)]),
        (2, [("d3", 0, 10)]),
        (2, [("d3", 10, 10)]),
    ]
    assert [
        (one.sequence_length, one.num_documents, one.num_empty, one.num_tokens) for one in (short, middle, long)
    ] == [
        (4, 3, 1, 7),
        (6, 0, 0, 0),
        (10, 3, 0, 37),
    ]
    assert (long.num_cut, long.num_sequences, long.num_pieces) == (1, 4, 5)


def test_tokens_of_all_lengths_are_the_tokens_that_came(tokenizer_file):
    sizes = np.random.default_rng(5).lognormal(3, 1.2, 300).astype(int)
    rows, *counts = pack_texts(
        *("x" * size for size in sizes), tokenizer_file=tokenizer_file, sequence_length=32, longer_lengths=(128, 512)
    )
    assert sum(one.num_tokens for one in counts) == sizes.sum() == sum(len(row["tokens"]) for row in rows)
    assert sum(one.num_documents for one in counts) == 300
    for number, one in enumerate(counts):
        mine = [row for row in rows if row["sequence"] // LENGTH_SEQUENCES == number]
        assert [row["sequence"] % LENGTH_SEQUENCES for row in mine] == list(range(one.num_sequences))
        assert sum(len(row["tokens"]) for row in mine) == one.num_tokens
        assert all(len(row["tokens"]) <= one.sequence_length for row in mine)
    assert all(one.fill > 0.95 for one in counts[1:])


def test_fillers_open_no_bin():
    bins = pack_best_fit(np.array([5, 7]), capacity=8, fillers=np.array([1, 3, 2, 2, 1]))
    assert bins.tolist() == [1, 0, 0, 1, -1, -1, -1]


def test_a_partition_of_several_lengths_has_a_pin_each():
    tokenization = Tokenization(tokenizer_file="t", sequence_length=4, longer_lengths=(8,))
    state = {
        "tokenizer": "t1",
        "lengths": [{"sequence_length": n, "num_tokens": n + 1, "num_sequences": 2} for n in (4, 8)],
    }
    pins = pin_partition("t", partition="s1", content_hash="h", num_sequences=4, state=state)
    assert [(one.sequence_length, one.num_tokens, one.num_sequences, one.bucket) for one in pins] == [
        (4, 5, 2, 0),
        (8, 9, 2, 1),
    ]
    assert tokenization.lengths == (4, 8)
    with pytest.raises(ValueError, match=r"state lacks \['num_tokens'\]"):
        pin_partition(
            "t",
            partition="s1",
            content_hash="h",
            num_sequences=4,
            state={"tokenizer": "t1", "lengths": [{"sequence_length": 4, "num_sequences": 1}]},
        )


@pytest.mark.parametrize("longer", [(4,), (3,), (8, 8), (16, 8)])
def test_lengths_that_do_not_go_up_are_refused(longer):
    with pytest.raises(ValueError, match="longer_lengths must go up from sequence_length, got"):
        Tokenization(tokenizer_file="t", sequence_length=4, longer_lengths=longer)


def test_a_phase_reads_the_sequences_of_its_length():
    made = plan(WARMED, LONG)
    assert [(one.name, made.length_of(one), one.num_sequences) for one in made.components] == [
        ("web", 10, 100),
        ("web:40", 40, 20),
        ("code", 10, 200),
        ("code:40", 40, 10),
    ]
    assert [(one.name, one.sequence_length, one.planned_tokens) for one in made.phases] == [
        ("short", None, (560, 0, 240, 0)),
        ("long", 40, (0, 100, 0, 100)),
    ]
    # 100 tokens of each, in sequences of 40 and of 30 tokens as the mean one is: 2.5 and 3.3 of them.
    assert made.phases[1].order_weights == (0, 3, 0, 3)
    found = made.order().locate(np.arange(made.num_positions))
    lengths = [made.length_of(made.components[number]) for number in found.component_T]
    assert lengths == [made.length_at(position) for position in range(made.num_positions)]
    assert Plan.from_json(made.to_json()) == made


def test_blocks_hold_as_many_tokens_of_each_length(monkeypatch):
    monkeypatch.setattr("corpusmill.mix.solve.BLOCK_BYTES", 4 * 10 * 8)
    made = plan(WARMED, LONG)
    assert (made.block_sequences, made.blocks) == (8, [8, 2, 8, 2])
    assert made.order().block_C.tolist() == made.blocks


def test_a_mixture_of_one_length_is_planned_as_before():
    plain = replace(WARMED, phases=(Phase(name="short", weight=0.8), Phase(name="more", weight=0.2)))
    named = replace(plain, phases=tuple(replace(phase, sequence_length=10) for phase in plain.phases))
    assert by_length(plain) is plain
    assert plan(named, WEB_CODE).version == plan(plain, WEB_CODE).version


def test_caps_count_each_length_by_itself():
    wanted = replace(WARMED, budget_tokens=1600, phases=(PHASES[0], replace(PHASES[1], weight=0.8)))
    with pytest.raises(ValueError, match=r"'code:40' is short by 100 tokens .*code:40=1\.334"):
        plan(wanted, LONG)


def test_a_component_that_weighs_nothing_at_a_length_needs_no_table_of_it():
    phases = (PHASES[0], replace(PHASES[1], weights={"web": 1, "code": 0}))
    made = plan(replace(WARMED, phases=phases), Inventory(pins=[one for one in LONG.pins if one.num_tokens != 300]))
    assert [one.name for one in made.components] == ["web", "web:40", "code"]


def test_groups_share_among_those_of_the_phase_s_length():
    wanted = mixture(
        component("web", 1, group="text"),
        component("code", 1, group="text", sequence_length=10),
        groups=(Group(name="text", weight=1),),
        phases=(PHASES[0], Phase(name="long", weight=0.2, sequence_length=40)),
        budget_tokens=1000,
    )
    assert [one.planned_tokens for one in plan(wanted, LONG).phases] == [(400, 0, 400), (0, 200, 0)]


def test_a_change_of_weights_keeps_the_lengths():
    wanted = replace(WARMED, components=tuple(replace(one, max_epochs=3) for one in WARMED.components))
    made = plan(wanted, LONG)
    later = plan(wanted, LONG, past=Past(plan=made, position=made.num_positions - 2))
    assert [one.name for one in later.components] == [one.name for one in made.components]
    before = range(made.num_positions - 2)
    assert [later.length_at(position) for position in before] == [made.length_at(position) for position in before]
    assert later.order().locate(before).index_T.tolist() == made.order().locate(before).index_T.tolist()


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            replace(WARMED, phases=(PHASES[0], replace(PHASES[1], sequence_length=20))),
            "component 'web:20' is packed to [10, 40] tokens, mixture 'demo' wants 20",
        ),
        (
            replace(WARMED, components=(component("web", 0.7, sequence_length=20), component("code", 0.3))),
            "component 'web' is read in sequences of 20 tokens only, and the phases are of [10, 40] tokens",
        ),
        (
            replace(WARMED, components=(component("web", 0.7, sequence_length=10), component("code", 0.3))),
            "component 'web' is read in sequences of 10 tokens only, and phase 'long' asks for it in others",
        ),
        (
            replace(
                WARMED,
                components=(component("web", 0.7), component("code", 0.3, live=Live(expected_tokens=99))),
                phases=PLAIN,
            ),
            "component 'code' is live, and mixture 'demo' has sequences of several lengths",
        ),
        (
            replace(WARMED, components=(component("web", 0.7), FIXED), phases=PLAIN),
            "component 'code': a fixed number of tokens is spread over the whole stream, whose phases are of [10, 40] tokens",
        ),
        (
            replace(WARMED, components=(component("web", 0.7, sequence_length=10),), phases=PLAIN),
            "no component is read in phase 'long', in sequences of 40 tokens",
        ),
    ],
)
def test_what_no_length_has_is_refused(wanted: Mixture, message: str):
    with pytest.raises(ValueError, match=re.escape(message)):
        plan(wanted, LONG)


@pytest.mark.parametrize("length", [0, -1])
def test_lengths_that_are_none_are_refused(length):
    with pytest.raises(ValueError, match="sequence_length must be an int of at least 1, got"):
        Phase(name="p", weight=1, sequence_length=length)
    with pytest.raises(ValueError, match="sequence_length must be an int of at least 1, got"):
        component("web", 1, sequence_length=length)


def test_batches_hold_as_many_tokens_whatever_the_length_and_never_mix_them():
    made = plan(WARMED, LONG)
    [short, long] = [phase.num_positions for phase in made.phases]
    found = schedule_batches(made, position=3, batch_size=4, world_size=2)
    assert [(run.start, run.rows, run.length) for run in found.runs] == [(3, 4, 10), (short, 1, 40)]
    assert [run.num_batches for run in found.runs] == [(short - 3) // 8, long // 2]
    starts = [found.start_of(number) for number in range(found.num_batches + 1)]
    first = found.runs[0].num_batches
    assert starts[:first] == list(range(3, short - 7, 8))
    # The rest of the short phase is left, and the last batch ends on whole rows.
    assert starts[first:] == [short + 2 * number for number in range(long // 2 + 1)]
    with pytest.raises(ValueError, match="batches of 6 x 10 tokens hold no whole number of them"):
        schedule_batches(made, position=0, batch_size=6, world_size=1)
    assert schedule_batches(made, position=made.num_positions, batch_size=4, world_size=1).num_batches == 0


def test_packing_of_one_length_keeps_the_state_that_it_had(tokenizer_file):
    tokenization = Tokenization(tokenizer_file=tokenizer_file, sequence_length=4)
    _, counts = pack_texts("abc", tokenizer_file=tokenizer_file, sequence_length=4)
    assert packed_state(tokenization, [counts]) == tokenization.to_state(num_tokens=3)
