"""Shards on the plain engine: resume, garbled checkpoints, failures, the ledger."""

import json
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pytest
import toy_shards

from corpusmill.counts import Counts
from corpusmill.engines.plain import PlainEngine
from corpusmill.engines.shard import MAX_SAMPLES, ShardContext, ShardOutcome, read_checkpoint, spell_checkpoint
from corpusmill.engines.shards import ShardPlan, ShardsFailedError, ShardsRefusedError, run_shards, total
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake

TABLE = "curated/toy/words"
INPUTS = [
    {"words": ["apple", "a", "pear"]},
    {"words": ["plum"]},
    {"words": ["of", "fig", "cherry", "quince"]},
]


@pytest.fixture
def lake(tmp_path):
    lake = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "lake"))))
    yield lake
    lake.close()


@pytest.fixture
def visits(tmp_path):
    """A file to which the toy writes the first word of every shard that it really makes."""
    file = tmp_path / "visits"
    file.touch()
    return file


def plan_of(function="measure", inputs=INPUTS, **parameters) -> ShardPlan:
    return ShardPlan(
        function=f"toy_shards:{function}",
        inputs=inputs,
        parameters={"min_length": 3, **parameters},
        schema=toy_shards.SCHEMA,
    )


def run(lake, plan, on_progress=None) -> list[ShardOutcome]:
    attempt = lake.begin(TABLE, "a", plan.schema)
    return run_shards(plan, engine=PlainEngine(), lake=lake, attempt=attempt, on_progress=on_progress)


def committed_words(lake, outcomes) -> list[str]:
    attempt = lake.begin(TABLE, "a", toy_shards.SCHEMA)
    lake.commit(attempt, total(outcomes).files, {})
    return sorted(lake.read(TABLE)["word"].to_pylist())


def test_rows_counts_notes_and_samples_arrive(lake):
    outcomes = run(lake, plan_of())
    totals = total(outcomes)
    assert totals.counts == Counts(rows_in=8, kept=6, dropped={"too_short": 2})
    assert totals.notes == {"characters": 31}
    assert totals.samples[:2] == [{"word": "apple"}, {"word": "a"}]
    assert (totals.num_shards, totals.num_reused) == (3, 0)
    assert [outcome.counts.rows_in for outcome in outcomes] == [3, 1, 4]  # in the order of the inputs
    assert committed_words(lake, outcomes) == ["apple", "cherry", "fig", "pear", "plum", "quince"]


def test_second_attempt_uses_what_the_first_finished(lake, visits):
    plan = plan_of(visits=str(visits))
    first = run(lake, plan)
    second = run(lake, plan)
    assert visits.read_text().split() == ["apple", "plum", "of"]
    assert [outcome.reused for outcome in second] == [True, True, True]
    assert [replace(outcome, reused=False) for outcome in second] == first


def test_only_a_changed_shard_is_made_again(lake, visits):
    run(lake, plan_of(visits=str(visits)))
    changed = [INPUTS[0], {"words": ["plums"]}, INPUTS[2]]
    outcomes = run(lake, plan_of(inputs=changed, visits=str(visits)))
    assert visits.read_text().split() == ["apple", "plum", "of", "plums"]
    assert [outcome.reused for outcome in outcomes] == [True, False, True]


@pytest.mark.s3
def test_shards_resume_on_s3(s3_server, s3_root, tmp_path, visits):
    store = StoreSettings(root=s3_root, endpoint=s3_server.endpoint)
    lake = Lake(LakeSettings(store=store, catalog=f"sqlite:///{tmp_path}/catalog.db"))
    plan = plan_of(visits=str(visits))
    run(lake, plan)
    outcomes = run(lake, plan)
    assert visits.read_text().split() == ["apple", "plum", "of"]
    assert [outcome.reused for outcome in outcomes] == [True, True, True]
    assert committed_words(lake, outcomes) == ["apple", "cherry", "fig", "pear", "plum", "quince"]
    lake.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: replace(plan, parameters={**plan.parameters, "min_length": 2}),
        lambda plan: replace(plan, function="toy_shards:measure_or_fail"),
        lambda plan: replace(plan, schema=pa.schema([*toy_shards.SCHEMA][:1])),
    ],
    ids=["parameters", "function", "schema"],
)
def test_what_changes_the_rows_changes_the_names(change):
    plan = plan_of()
    assert not set(plan.fingerprints()) & set(change(plan).fingerprints())


@pytest.mark.parametrize(
    "garble",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"kept": 1', b'"kept": 2'),
        lambda data: b"[]",
        lambda data: b"\xff\xfe",
    ],
    ids=["empty", "cut", "changed", "other_json", "no_text"],
)
def test_case_4_only_the_shard_of_a_garbled_checkpoint_is_rebuilt(lake, visits, garble):
    plan = plan_of(visits=str(visits))
    run(lake, plan)
    name = plan.fingerprints()[1]
    (key,) = [item.key for item in lake.store.list("staging/") if name in item.key]
    before = lake.store.read(key)
    lake.store.write(key, garble(before))
    assert lake.store.read(key) != before
    outcomes = run(lake, plan)
    assert visits.read_text().split() == ["apple", "plum", "of", "plum"]
    assert committed_words(lake, outcomes) == ["apple", "cherry", "fig", "pear", "plum", "quince"]


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_shard_whose_file_is_not_what_was_written_is_rebuilt(lake, visits, damage):
    plan = plan_of(visits=str(visits))
    path = run(lake, plan)[1].files[0].path
    if damage == "gone":
        lake.store.delete([lake.store.key(path)])
    else:
        lake.store.write(lake.store.key(path), lake.store.read(path)[:-1])
    outcomes = run(lake, plan)
    assert visits.read_text().split() == ["apple", "plum", "of", "plum"]
    assert committed_words(lake, outcomes) == ["apple", "cherry", "fig", "pear", "plum", "quince"]


def test_case_19_kill_in_the_middle_of_a_shard_costs_that_shard_only(lake, visits, tmp_path):
    trigger = tmp_path / "trigger"
    trigger.touch()
    parameters = {"min_length": 3, "visits": str(visits), "fatal": "of", "trigger": str(trigger)}
    inputs = [*INPUTS, {"words": ["grape"]}]
    arguments = [json.dumps(value) for value in (lake.settings.to_json(), inputs, parameters)]
    killed = subprocess.run([sys.executable, "-m", "toy_run", *arguments], check=False)
    assert killed.returncode == -9
    plan = plan_of("measure_or_die", inputs=inputs, visits=str(visits), fatal="of", trigger=str(trigger))
    outcomes = run(lake, plan)
    assert visits.read_text().split() == ["apple", "plum", "of", "of", "grape"]
    assert [outcome.reused for outcome in outcomes] == [True, True, False, False]
    assert committed_words(lake, outcomes) == ["apple", "cherry", "fig", "grape", "pear", "plum", "quince"]


def test_failed_shard_is_named_with_its_cause_and_the_others_are_kept(lake, visits):
    plan = plan_of("measure_or_fail", bad="plum", visits=str(visits))
    with pytest.raises(ShardsFailedError) as raised:
        run(lake, plan)
    assert str(raised.value) == (
        "1 of 3 shards failed, 2 are finished and will be used by the next attempt. "
        'shard 2 of 3 ({"words": ["plum"]}): OSError: the disk is full'
    )
    assert "measure_or_fail" in raised.value.__notes__[0]
    with pytest.raises(ShardsFailedError):
        run(lake, plan)
    assert visits.read_text().split() == ["apple", "of"]


def test_many_failures_end_the_run_early(lake, visits):
    inputs = [{"words": ["bad", str(index)]} for index in range(100)]
    with pytest.raises(ShardsFailedError, match="11 of 100 shards failed"):
        run(lake, plan_of("measure_or_fail", inputs=inputs, bad="bad"))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("lose_a_row", "3 in, 2 kept, 0 dropped, 0 failed: 1 unaccounted for"),
        ("wrong_type", "column length must be int32, got string"),
        ("nowhere", "toy_shards has no 'nowhere'"),
    ],
)
def test_shard_function_that_breaks_its_promise_fails(lake, function, message):
    with pytest.raises(ShardsFailedError, match=message):
        run(lake, plan_of(function, inputs=INPUTS[:1]))


def test_what_a_shard_function_refuses_is_told_alone_and_not_tried_again(lake):
    with pytest.raises(ShardsRefusedError) as raised:
        run(lake, plan_of("refuse"))
    assert str(raised.value) == "wanted other words; write those [3 of 3 shards]"


def test_a_full_disk_is_told_alone_and_not_tried_again(lake):
    with pytest.raises(ShardsRefusedError) as raised:
        run(lake, plan_of("fill_the_disk"))
    wanted = f"wanted to write a file in {lake.store.settings.root}, but there is no room on its disk: [Errno 28]"
    assert str(raised.value).startswith(wanted) and str(raised.value).endswith("stays [3 of 3 shards]")


def test_equal_inputs_are_refused():
    with pytest.raises(ValueError, match=r"got the same for shard 1 and shard 3: \{'words': \['plum'\]\}"):
        plan_of(inputs=[INPUTS[1], INPUTS[0], INPUTS[1]]).fingerprints()


def test_progress_counts_reused_and_new_shards(lake):
    run(lake, plan_of(inputs=INPUTS[:2]))
    seen = []
    run(lake, plan_of(), on_progress=lambda outcome, done, of: seen.append((outcome.reused, done, of)))
    assert seen == [(True, 1, 3), (True, 2, 3), (False, 3, 3)]


def test_no_inputs_make_no_shards(lake):
    assert run(lake, plan_of(inputs=[])) == []


def test_shard_without_rows_makes_no_file(lake):
    (outcome,) = run(lake, plan_of(inputs=[{"words": ["a", "of"]}]))
    assert outcome.files == []
    assert outcome.counts == Counts(rows_in=2, dropped={"too_short": 2})


@pytest.mark.parametrize(
    ("character", "width"), [("x", 1000), ("你", 250), ("😀", 125), ("\x01", 250), ('"', 500)], ids=ascii
)
def test_long_sample_is_cut_and_ends_no_shard(lake, character, width):
    context = ShardContext(lake.store)
    context.sample({"title": character * 5000, "share": 0.5, "text": character * 5000, "failure": None})
    context.example("short", "0", {"text": character * 5000})
    assert context.samples == [{"title": character * width, "share": 0.5, "text": character * width, "failure": None}]
    assert len(json.dumps(context.examples["short"][0])) < 4100


def test_samples_stay_bounded():
    outcome = ShardOutcome(fingerprint="f", files=[], counts=Counts(), samples=[{"row": 1}] * MAX_SAMPLES)
    assert len(total([outcome, outcome]).samples) == MAX_SAMPLES


def test_total_refuses_lost_rows():
    outcome = ShardOutcome(fingerprint="f", files=[], counts=Counts(rows_in=2, kept=1))
    with pytest.raises(ValueError, match="1 unaccounted for"):
        total([outcome])


def test_checkpoint_returns_what_was_written(lake):
    (outcome,) = run(lake, plan_of(inputs=INPUTS[:1]))
    assert read_checkpoint(spell_checkpoint(outcome)) == outcome
