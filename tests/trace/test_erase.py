"""Erasing: nothing of what was forgotten is left in any byte, all else is as it was, and a kill at any step changes nothing."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.erased_search import where_left
from benchmarks.mixing_forget import log_shown, words_to_go
from benchmarks.mixing_lake import DATASET, MIX, make_lake, plant, run_stages
from corpusmill.lake.catalog import load_table
from corpusmill.lake.erasures import ErasureRunningError, erasing
from corpusmill.lake.tables import Lake
from corpusmill.stream.erased import ErasedError
from corpusmill.stream.loader import MixtureStream, Sample
from corpusmill.trace.erase import erase, survey
from corpusmill.trace.explain import MixTracer
from corpusmill.trace.forget import Asked, find, withdraw
from jobs.command import main
from tests.trace.killed_work import erase_all, killed, withdraw_all

SOON = 0.2


@pytest.fixture(scope="module")
def forgotten(tmp_path_factory):
    """A lake out of which two pages were withdrawn, and all made again; what its old mix reads, and where it reads them."""
    staged = make_lake(tmp_path_factory.mktemp("erase"), num_documents=6, num_words=40, files=1)
    pages = {"https://2024.test/1": staged.texts["2024"][1], "https://2025.test/3": staged.texts["2025"][3]}
    asked = Asked(urls=list(pages))
    found = find(staged.lake, asked)
    old = MixtureStream(staged.settings.lake, MIX)
    positions = [
        position
        for position in range(old.num_positions)
        if {piece.doc_id for piece in old.provenance(position).pieces} & {*found.doc_ids()}
    ]
    withdraw(staged.lake, found)
    run_stages(staged)
    log_shown(staged)
    state = Path(staged.settings.state_folder)
    shutil.copytree(state, state.parent / "before")
    return SimpleNamespace(
        staged=staged,
        pages=pages,
        old=old.mix,
        samples=[contents(sample) for sample in old],
        current=[contents(sample) for sample in MixtureStream(staged.settings.lake, MIX)],
        positions=positions,
        found=find(staged.lake, asked),
        state=state,
        before=state.parent / "before",
    )


@pytest.fixture
def lake(forgotten):
    """The lake as it was before anything was erased."""
    shutil.rmtree(forgotten.state)
    shutil.copytree(forgotten.before, forgotten.state)
    opened = Lake(forgotten.staged.settings.lake)
    yield opened
    opened.close()


def now() -> datetime:
    return datetime.now(UTC)


def contents(sample: Sample) -> tuple[bytes, bytes]:
    return sample.tokens.tobytes(), sample.lengths.tobytes()


def left(forgotten) -> dict[str, int]:
    """Return where words or URLs of the withdrawn pages are, in all bytes of the state."""
    staged = forgotten.staged
    words = words_to_go(staged, forgotten.pages)
    return where_left(forgotten.state, staged.lake, wanted=words, tokenizer=staged.tokenizer)


def rows(lake: Lake) -> dict[str, list]:
    """Return the rows of every file of every version."""
    files = [file.path for table in lake.tables() for file in lake.all_files(table)]
    return {path: pq.read_table(path).to_pylist() for path in files}


def objects(lake: Lake) -> dict[str, bytes]:
    """Return all that lies beside the tables' metadata."""
    return {
        item.key: lake.store.read(item.key)
        for folder in ("data", "staging", "reports")
        for item in lake.store.list(f"{folder}/")
    }


def check_manifests(lake: Lake) -> None:
    """Check that all versions tell of their files what they are, by our own look and to another reader."""
    for table in lake.tables():
        assert [one for partition in lake.partitions(table) for one in lake.damaged_files(table, partition)] == []
        assert lake.restate(table, list(lake.partitions(table))) == 0
        loaded = load_table(lake.catalog, table)
        num_rows = sum(file.num_rows for file in lake.files(table, allow_failed_gate=True))
        assert len(loaded.scan().to_arrow()) == num_rows


def test_a_person_sees_what_goes_confirms_it_and_no_byte_is_left(forgotten, lake, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORPUSMILL_SETTINGS", str(tmp_path / "corpusmill.toml"))
    (tmp_path / "corpusmill.toml").write_text(f'state_folder = "{forgotten.state}"\n')
    (tmp_path / "urls.txt").write_text("\n".join(forgotten.pages))

    def corpusmill(*arguments: str) -> tuple[int, str, str]:
        code = main(["forget", "--url-file", "urls.txt", "erase", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    held = left(forgotten)
    for place in ("records", "extracted", "tokenized/stem_rephrased", "answers/", "reports/", "dagster/history"):
        assert any(place in one for one in held), place
    before = rows(lake)
    code, dry, _ = corpusmill("--dry-run")
    assert code == 0 and "To erase in sources/stem/records: 2 rows" in dry
    assert f"Mix {forgotten.old} cannot be replayed any more at {len(forgotten.positions)} positions" in dry
    code, _, said = corpusmill()
    assert code == 2 and "the same command with --yes erases" in said and said.count("\n") == 1
    assert rows(lake) == before and left(forgotten) == held

    code, said, _ = corpusmill("--yes")
    assert code == 0 and "Erased: " in said
    assert left(forgotten) == {}
    check_manifests(lake)
    after = rows(lake)
    doc_ids = {*forgotten.found.doc_ids()}
    for path, found in before.items():
        for old, new in zip(found, after[path], strict=True):
            names = {old.get("doc_id"), *(old.get("doc_ids") or ())}
            assert old == new or names & doc_ids or "answer" in old


def test_what_the_old_mix_misses_is_named_before_the_first_batch_and_the_rest_replays(forgotten, lake):
    settings = forgotten.staged.settings.lake
    numbers = erase(lake, forgotten.found, now=now())
    assert numbers["rows"] > 0 and erase(lake, forgotten.found, now=now()) == dict.fromkeys(numbers, 0)
    positions = forgotten.positions
    with pytest.raises(ErasedError, match=f"at {len(positions)} of its .* positions were erased: {positions[0]}"):
        MixtureStream(settings, forgotten.old)
    MixtureStream(settings, forgotten.old, start=positions[-1] + 1)
    old = MixtureStream(settings, forgotten.old, allow_erased=True)
    kept = [position for position in range(old.num_positions) if position not in positions]
    assert [contents(sample) for sample in old.read(kept)] == [forgotten.samples[position] for position in kept]
    rows = np.empty((2, 1, old.plan.sequence_length), np.int32)
    looks = (lambda at: old.read([at]), lambda at: old.write_rows([at], rows), old.provenance)
    for look in (*looks, MixTracer(lake, forgotten.old).explain):
        with pytest.raises(ErasedError, match=f"position {positions[-1]} of mix {forgotten.old} was erased"):
            look(positions[-1])
    assert [contents(sample) for sample in MixtureStream(settings, MIX)] == forgotten.current

    # And what comes again stays out.
    url, text = next(iter(forgotten.pages)), [*forgotten.pages.values()][1]
    pages = {url: "other words " * 9, "https://new.test/": text, "https://own.test/": "own " * 30}
    plant(forgotten.staged, "2026", pages)
    for task, parameters in (("records", {}), ("extract", {"method": "plain"})):
        forgotten.staged.run(task, DATASET, "2026", **parameters)
    assert lake.read("curated/stem/extracted", partitions=["2026"])["url"].to_pylist() == ["https://own.test/"]


def test_killed_before_any_step_and_given_again_it_ends_the_same(forgotten, lake):
    settings = forgotten.staged.settings.lake
    erase(lake, forgotten.found, now=now())
    expected = objects(lake)
    for step in (2, 40, 90):
        lake.close()
        shutil.rmtree(forgotten.state)
        shutil.copytree(forgotten.before, forgotten.state)
        assert killed(erase_all, settings, forgotten.found, before=step)
        # By now the URLs may be gone from what led to the rest.
        erase(lake, find(lake, forgotten.found.asked), now=now(), lease_seconds=SOON)
        assert objects(lake) == expected, step
    check_manifests(lake)


def test_a_killed_withdrawal_given_again_ends_the_same(forgotten, lake):
    settings, step = forgotten.staged.settings.lake, 1
    found = find(lake, Asked(urls=["https://2024.test/2", "https://2025.test/5"]))
    while killed(withdraw_all, settings, found, before=step):
        step += 1
    assert step > 3
    listed = lake.read(f"curated/{DATASET}/removals").to_pylist()
    assert {*found.doc_ids("asked")} <= {row["doc_id"] for row in listed}
    assert len(listed) == len({tuple(row.values()) for row in listed})


def test_one_erases_at_a_time_and_a_dead_one_is_taken_over(lake):
    def begin() -> None:
        with erasing(lake.store, [], [], lease_seconds=SOON):
            raise AssertionError("it must not begin")

    with (
        erasing(lake.store, [("a/b/c", "p")], ["one"], lease_seconds=SOON),
        pytest.raises(ErasureRunningError, match="another `forget erase` is at work"),
    ):
        begin()
    with erasing(lake.store, [], ["two"], lease_seconds=SOON) as held:
        assert (held.partitions, held.doc_ids) == ([("a/b/c", "p")], ["one", "two"])
        held.end({})
    with erasing(lake.store, [], [], lease_seconds=SOON) as held:
        assert (held.partitions, held.doc_ids) == ([], [])


def test_what_current_versions_hold_is_made_again_first(forgotten, lake):
    found = find(lake, Asked(urls=["https://2024.test/0"]))
    before = objects(lake)
    held = survey(lake, found, now=now()).still_held
    assert {("curated/stem/documents", "2024"), ("synthesized/stem_rephrased/requests", "plain|2024")} <= {*held}
    with pytest.raises(ValueError, match="still holds it: withdraw it, make again"):
        erase(lake, found, now=now())
    assert objects(lake) == before
