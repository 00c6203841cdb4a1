"""The stream over a real lake: what it gives, from where, and that it goes on where it stopped."""

import itertools
import multiprocessing
import pickle
from concurrent.futures import wait
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpusmill.document import SEQUENCES
from corpusmill.lake.list_pages import UnusualPagesError
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.mix.plan import Amendment
from corpusmill.mix.report import realise
from corpusmill.stream import loader
from corpusmill.stream.index import ComponentChangedError, open_components, read_token_counts
from corpusmill.stream.inventory import PLAN_TABLE, plan_tag, read_inventory, read_plan, tag_plan
from corpusmill.stream.loader import MixtureStream, Piece, Provenance
from corpusmill.stream.reader import AHEAD
from tests.stream.conftest import LENGTH, sequence_row

WEB, CODE = "tokenized/web/sequences", "tokenized/code/sequences"


def spelled(samples) -> list[tuple]:
    return [(one.position, one.component, one.epoch, one.index, one.tokens.tolist()) for one in samples]


def test_a_position_gives_the_sequence_that_the_order_names(demo):
    stream = MixtureStream(demo.settings, "demo")
    samples = list(stream)
    found = stream.plan.order().locate(np.arange(stream.num_positions))
    assert [one.position for one in samples] == list(range(stream.num_positions))
    for one, number, epoch, index in zip(samples, found.component_T, found.epoch_T, found.index_T, strict=True):
        assert (one.component, one.epoch, one.index) == (["web", "code"][number], epoch, index)
        assert one.tokens.tolist() == sequence_row(int(number) + 1, int(index), 0)["tokens"]
        assert one.lengths.tolist() == sequence_row(int(number) + 1, int(index), 0)["lengths"]


def test_the_index_of_row_groups_is_more_than_one_a_file(demo):
    """The fixture must exercise blocks that straddle row groups and files."""
    web, code = open_components(demo.lake, read_plan(demo.lake, "demo"))
    assert len({group.path for group in web.groups}) == 3 and len(web.groups) >= 6
    assert web.num_sequences == 30 and code.num_sequences == 20


def test_provenance_of_every_position(demo):
    stream = MixtureStream(demo.settings, "demo")
    for one in stream.read(range(stream.num_positions)):
        number = {"web": 1, "code": 2}[one.component]
        row = sequence_row(number, one.index, 0)
        assert stream.provenance(one.position) == Provenance(
            position=one.position,
            component=one.component,
            epoch=one.epoch,
            table=f"tokenized/{one.component}/sequences",
            partition="s2" if number == 1 and one.index >= 20 else "s1",
            index=one.index,
            pieces=tuple(itertools.starmap(piece, zip(row["doc_ids"], row["starts"], row["lengths"], strict=True))),
        )


def piece(doc_id: str, start: int, length: int) -> Piece:
    return Piece(doc_id=doc_id, start=start, length=length)


def test_realised_shares_are_those_of_the_tokens_that_the_stream_gives(demo):
    stream = MixtureStream(demo.settings, "demo")
    report = realise(stream.plan, read_token_counts(demo.lake, stream.plan)).to_pylist()
    given = {"web": 0, "code": 0}
    for one in stream:
        given[one.component] += len(one.tokens)
    assert {row["component"]: row["realised_tokens"] for row in report} == given
    assert report[0]["realised_share"] == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize("cache_bytes", [0, 200, 1 << 20])
def test_the_cache_changes_nothing_but_speed(demo, cache_bytes):
    assert spelled(MixtureStream(demo.settings, "demo", cache_bytes=cache_bytes)) == spelled(
        MixtureStream(demo.settings, "demo")
    )


def test_the_cache_is_bounded(demo):
    stream = MixtureStream(demo.settings, "demo", cache_bytes=300)
    for _ in stream:
        blocks = stream.reader._blocks
        assert stream.reader._held_bytes == sum(block.num_bytes for block in blocks.values())
        assert stream.reader._held_bytes <= 300 and blocks


def test_memory_of_blocks_is_used_again_but_never_while_a_sample_is_in_it(demo):
    whole = spelled(MixtureStream(demo.settings, "demo"))
    stream = MixtureStream(demo.settings, "demo", cache_bytes=200)
    kept = list(stream)
    assert spelled(kept) == whole
    assert not stream.reader._spare
    other = MixtureStream(demo.settings, "demo", cache_bytes=600)
    assert spelled(other) == whole
    assert 0 < len(other.reader._spare) <= AHEAD


def test_blocks_are_loaded_before_they_are_asked_for_and_not_too_many(demo):
    """What was loaded ahead is there when its file no longer is; what was not names the file, when it is read."""
    whole, stream = spelled(MixtureStream(demo.settings, "demo")), MixtureStream(demo.settings, "demo")
    stream.expect(range(stream.num_positions))
    loading = dict(stream.reader._loading)
    wait(loading.values())
    assert len(loading) == AHEAD
    for table in (WEB, CODE):
        for file in demo.lake.files(table):
            Path(file.path).unlink()
    number = {"web": 0, "code": 1}
    found = [one for one in whole if (number[one[1]], one[3] // stream.plan.block_sequences) in loading]
    assert spelled(stream.read([one[0] for one in found])) == found
    missing = next(one for one in whole if one not in found)
    with pytest.raises(ComponentChangedError, match=r"of .*\.parquet cannot be read"):
        stream.read([missing[0]])


def test_a_lake_from_before_tokens_were_left_uncompressed_is_the_same_stream(demo, tmp_path):
    """Its content is the same, so its plans are; and what only Arrow reads is the same stream too."""
    whole = spelled(MixtureStream(demo.settings, "demo"))
    group = open_components(demo.lake, read_plan(demo.lake, "demo"))[1].groups[0]
    assert (group.tokens.codec, group.lengths.codec) == ("UNCOMPRESSED", "ZSTD")
    other = type(demo)(tmp_path / "other")
    compressed = pa.schema([item.remove_metadata() for item in SEQUENCES])
    for table, number, partition, kept in (
        (WEB, 1, "s1", range(20)),
        (WEB, 1, "s2", range(20, 30)),
        (CODE, 2, "s1", range(20)),
    ):
        rows = [[sequence_row(number, index, index % 20) for index in kept]]
        attempt, files = other.write(table, partition, rows, schema=compressed)
        other.lake.commit(attempt, files, demo.lake.partition(table, partition).state)
    other.commit_plan(replace(read_plan(demo.lake, "demo"), snapshots={}))
    group, *_ = open_components(other.lake, read_plan(other.lake, "demo"))[1].groups
    assert (group.tokens.codec, group.lengths.codec) == ("ZSTD", "ZSTD")
    assert spelled(MixtureStream(other.settings, "demo")) == whole
    other.lake.close()


def test_pages_that_are_not_known_are_read_by_arrow(demo, monkeypatch):
    whole = spelled(MixtureStream(demo.settings, "demo"))
    monkeypatch.setattr("corpusmill.stream.index.CODECS", ("UNCOMPRESSED",))
    assert open_components(demo.lake, read_plan(demo.lake, "demo"))[0].groups[0].lengths.codec == ""
    assert spelled(MixtureStream(demo.settings, "demo")) == whole

    def refuse(*about, **settings):
        raise UnusualPagesError("a page of another kind")

    monkeypatch.undo()
    monkeypatch.setattr("corpusmill.stream.block.decode_lists", refuse)
    assert spelled(MixtureStream(demo.settings, "demo")) == whole


@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
def test_ranks_share_the_global_sequence(demo, world_size):
    whole = spelled(MixtureStream(demo.settings, "demo"))
    for rank in range(world_size):
        stream = MixtureStream(demo.settings, "demo", rank=rank, world_size=world_size)
        assert spelled(stream) == whole[rank::world_size]
        assert stream.position == len(whole)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=6)
@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 12)), min_size=1, max_size=5))
def test_case_25_resume_at_any_step_with_any_ranks_is_the_uninterrupted_stream(demo, legs):
    """Each leg runs some ranks for some steps, checkpoints, and the next leg goes on with another number of ranks."""
    whole = MixtureStream(demo.settings, "demo")
    state, taken = whole.state_dict(), []
    for world_size, num_steps in legs:
        ranks = [MixtureStream(demo.settings, "demo", rank=rank, world_size=world_size) for rank in range(world_size)]
        for one in ranks:
            one.load_state_dict(state)
        iterators = [iter(one) for one in ranks]
        for _ in range(num_steps):
            taken += [sample for iterator in iterators if (sample := next(iterator, None))]
        states = [one.state_dict() for one in ranks]
        assert states == [states[0]] * world_size
        state = states[0]
    whole.load_state_dict(state)
    assert spelled(taken) + spelled(whole) == spelled(MixtureStream(demo.settings, "demo"))


def test_a_stream_can_start_anywhere_and_lookahead_does_not_count(demo, monkeypatch):
    whole = spelled(MixtureStream(demo.settings, "demo"))
    monkeypatch.setattr(loader, "LOOKAHEAD", 4)
    stream = MixtureStream(demo.settings, "demo", start=10)
    first = list(itertools.islice(stream, 7))
    assert spelled(first) == whole[10:17]
    assert stream.state_dict() == {"mix": "demo", "mix_version": stream.plan.version, "position": 17}
    assert spelled(pickle.loads(pickle.dumps(stream))) == whole[17:]
    assert spelled(stream.read([40, 3, 3])) == [whole[40], whole[3], whole[3]]
    assert stream.position == 17


def test_the_stream_does_not_depend_on_files_or_attempts(demo, tmp_path):
    """The same rows in other files with other names, made by another attempt, are the same stream."""
    whole, version = spelled(MixtureStream(demo.settings, "demo")), read_plan(demo.lake, "demo").version
    web = [sequence_row(1, number, number % 20) for number in range(30)]
    demo.commit_sequences(WEB, "s1", [web[15:20], web[:2], web[2:15]], names=["a", "b", "c"])
    assert spelled(MixtureStream(demo.settings, "demo")) == whole
    demo.plan({"web": 0.7, "code": 0.3}, seed=5)
    assert read_plan(demo.lake, "demo").version == version
    assert spelled(MixtureStream(demo.settings, "demo")) == whole


def test_case_23_a_component_that_is_missing_fails_before_the_first_batch(demo, tmp_path):
    made = read_plan(demo.lake, "demo")
    message = "tokenized/stem/sequences has no committed sequences; tables that have some: tokenized/code/sequences"
    with pytest.raises(ValueError, match=message):
        demo.plan({"web": 1, "stem": 1})
    # A lake that has the plan and the web pages, but not the code.
    other = type(demo)(tmp_path / "other")
    web = [sequence_row(1, number, number % 20) for number in range(30)]
    other.commit_sequences(WEB, "s1", [web[:20]])
    other.commit_sequences(WEB, "s2", [web[20:]])
    other.write(CODE, "s1", [[sequence_row(2, 0, 0)]])
    other.commit_plan(replace(made, snapshots={}))
    with pytest.raises(ComponentChangedError, match=r"tokenized/code/sequences, partition 's1': .* no such partition"):
        MixtureStream(other.settings, "demo")
    other.lake.close()


def test_case_23_changed_content_is_read_as_it_was_pinned_or_refused(demo, tmp_path):
    made = read_plan(demo.lake, "demo")
    whole = spelled(MixtureStream(demo.settings, "demo"))
    demo.commit_sequences(CODE, "s1", [[sequence_row(3, number, number) for number in range(20)]])
    assert spelled(MixtureStream(demo.settings, "demo")) == whole, "the pinned snapshot is still there"
    other = type(demo)(tmp_path / "other")
    web = [sequence_row(1, number, number % 20) for number in range(30)]
    other.commit_sequences(WEB, "s1", [web[:20]])
    other.commit_sequences(WEB, "s2", [web[20:]])
    other.commit_sequences(CODE, "s1", [[sequence_row(3, number, number) for number in range(20)]])
    other.commit_plan(replace(made, snapshots={}))
    with pytest.raises(ComponentChangedError, match=r"the plan pins content .*, the lake has .* and no version with"):
        MixtureStream(other.settings, "demo")
    other.lake.close()


def test_case_26_readers_never_see_what_is_half_written(demo):
    """A newer attempt has written files and not committed: nobody notices. A committed file is cut short: it is named."""
    whole = spelled(MixtureStream(demo.settings, "demo"))
    pinned = read_inventory(demo.lake, [WEB, CODE])
    demo.write(WEB, "s1", [[sequence_row(9, number, number) for number in range(5)]])
    demo.write(PLAN_TABLE, "demo", [], schema=demo.lake.schema(PLAN_TABLE).remove(0))
    assert read_inventory(demo.lake, [WEB, CODE]) == pinned
    assert spelled(MixtureStream(demo.settings, "demo")) == whole
    path = demo.lake.files(CODE)[0].path
    with open(path, "r+b") as file:
        file.truncate(50)
    with pytest.raises(ComponentChangedError, match=r"is committed but cannot be read"):
        MixtureStream(demo.settings, "demo")


def test_files_that_stand_in_each_others_place_are_the_same_stream_or_refused(demo):
    """Of one partition they are; of different ones, with as many sequences, their content is not the pinned one."""
    whole = spelled(MixtureStream(demo.settings, "demo"))
    web = [Path(file.path) for file in demo.lake.files(WEB, ["s1"])]
    swap(*web)
    assert spelled(MixtureStream(demo.settings, "demo")) == whole
    demo.commit_sequences(CODE, "s2", [[sequence_row(2, number, number) for number in range(20, 40)]])
    demo.plan({"web": 0.7, "code": 0.3}, seed=5)
    swap(*(Path(demo.lake.files(CODE, [partition])[0].path) for partition in ("s1", "s2")))
    with pytest.raises(
        ComponentChangedError,
        match=f"{CODE}, partition 's1': the plan pins content .*, its files hold .*: .* others in their place; put the file",
    ):
        MixtureStream(demo.settings, "demo")


def swap(one: Path, other: Path) -> None:
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)


def test_a_footer_that_numbers_sequences_otherwise_is_refused(demo):
    """The pages of tokens carry checksums; what the footer says of them is checked when the stream opens."""
    path = Path(demo.lake.files(CODE)[0].path)
    footer = pq.read_metadata(path)
    last = footer.row_group(0).column(footer.schema.names.index("sequence")).statistics.max
    data = path.read_bytes()
    begin = len(data) - 8 - footer.serialized_size
    garbled = data[begin:].replace(last.to_bytes(8, "little"), (last - 1).to_bytes(8, "little"))
    path.write_bytes(data[:begin] + garbled)
    with pytest.raises(
        ComponentChangedError,
        match=rf"row group 0 of {path} says that its {last + 1} sequences .* from 0 to {last - 1}",
    ):
        MixtureStream(demo.settings, "demo")


def test_sequences_with_the_same_number_are_refused(small_lake):
    rows = [[sequence_row(1, 0, 0), sequence_row(1, 1, 1)], [sequence_row(1, 2, 1)]]
    small_lake.commit_sequences(WEB, "s1", rows)
    small_lake.plan({"web": 1})
    with pytest.raises(ComponentChangedError, match="sequence 1 is both in"):
        MixtureStream(small_lake.settings, "demo")


def test_a_partition_without_sequences_is_part_of_a_mix(small_lake):
    small_lake.commit_sequences(WEB, "s1", [[sequence_row(1, number, number) for number in range(4)]])
    small_lake.commit_sequences(WEB, "s2", [])
    made = small_lake.plan({"web": 1}, budget_tokens=20)
    small_lake.commit_sequences(WEB, "s2", [[sequence_row(1, 9, 9)]])
    stream = MixtureStream(small_lake.settings, "demo")
    assert [pin.num_sequences for pin in made.components[0].pins] == [4, 0]
    assert {one.index for one in stream} == {0, 1, 2, 3}


def test_an_old_version_replays_after_a_new_plan(demo):
    old = MixtureStream(demo.settings, "demo")
    whole = spelled(old)
    demo.commit_sequences(CODE, "s2", [[sequence_row(2, number, number) for number in range(50, 60)]])
    demo.plan({"web": 0.5, "code": 0.5}, seed=6)
    new = MixtureStream(demo.settings, "demo")
    assert new.mix != old.mix
    assert spelled(MixtureStream(demo.settings, old.mix)) == whole
    with pytest.raises(
        ValueError,
        match=rf"the checkpoint is of mix {old.mix} at position 129, the stream of {new.mix}; open the stream",
    ):
        new.load_state_dict(old.state_dict())


def test_a_version_is_tagged_as_itself_or_not_at_all(demo):
    """A plan that another one overtook before it was tagged; and a tag that names another plan, as one was made by hand."""
    old = read_plan(demo.lake, "demo")
    overtaken = replace(old, seed=7)
    new = demo.plan({"web": 0.5, "code": 0.5}, seed=6)
    tag_plan(demo.lake, overtaken)
    with pytest.raises(ValueError, match=f"mix 'demo' has no version '{overtaken.version}'"):
        read_plan(demo.lake, f"demo@{overtaken.version}")
    demo.lake.tag(PLAN_TABLE, plan_tag(overtaken), demo.lake.snapshot_id(PLAN_TABLE))
    with pytest.raises(
        ValueError, match=f"what is tagged as version '{overtaken.version}' .* is version '{new.version}'"
    ):
        read_plan(demo.lake, f"demo@{overtaken.version}")
    assert read_plan(demo.lake, f"demo@{old.version}") == old


def test_a_stream_for_another_rank_shares_what_is_open_and_moves_alone(demo):
    one = MixtureStream(demo.settings, "demo", start=6)
    whole, others = spelled(one.read(range(one.num_positions))), [one.for_rank(rank, 3) for rank in range(3)]
    assert [spelled(other) for other in others] == [whole[6 + rank :: 3] for rank in range(3)]
    assert one.position == 6
    with pytest.raises(ValueError, match="rank must be one of 0 to 2 in a world of 3, got 3"):
        one.for_rank(3, 3)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            {},
            r"wanted the state_dict of a stream \(mix, mix_version, position\), got no mix, no mix_version, no position",
        ),
        ({"mix": "demo", "mix_version": "v", "position": "7"}, "got position '7'"),
        ({"mix": "demo", "mix_version": "v", "position": True}, "got position True"),
        (
            {"mix": "other", "mix_version": "v", "position": 7},
            "the checkpoint is of mix other@v at position 7, the stream",
        ),
    ],
)
def test_what_is_no_checkpoint_of_the_stream_is_refused_and_the_stream_stands(demo, state, message):
    stream = MixtureStream(demo.settings, "demo", start=3)
    with pytest.raises(ValueError, match=message):
        stream.load_state_dict(state)
    assert stream.position == 3


def test_a_checkpoint_beyond_the_end_is_refused(demo):
    stream = MixtureStream(demo.settings, "demo")
    with pytest.raises(ValueError, match=f"has positions 0 to {stream.num_positions}, got 1000000"):
        stream.load_state_dict({**stream.state_dict(), "position": 1_000_000})


def test_a_checkpoint_goes_on_in_an_amended_plan_up_to_where_its_weights_change(demo):
    old = MixtureStream(demo.settings, "demo")
    demo.commit_plan(replace(old.plan, amended=(Amendment(mix_version=old.plan.version, position=40),)))
    new = MixtureStream(demo.settings, "demo")
    assert new.plan.version != old.plan.version
    new.load_state_dict({**old.state_dict(), "position": 40})
    assert new.position == 40
    with pytest.raises(ValueError, match=f"at position 41, the stream of {new.mix}; open the stream as {old.mix}"):
        new.load_state_dict({**old.state_dict(), "position": 41})


def test_a_changed_byte_is_noticed_where_it_is_read(demo):
    """Every page has a checksum: a flipped bit in the tokens is an error that names the file, never another token."""
    stream = MixtureStream(demo.settings, "demo")
    file = demo.lake.files(CODE)[0]
    column = pq.ParquetFile(file.path).metadata.row_group(0).column(2)
    assert column.path_in_schema.startswith("tokens.")
    path = Path(file.path)
    data = bytearray(path.read_bytes())
    data[column.dictionary_page_offset + column.total_compressed_size - 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(ComponentChangedError, match=f"row groups 0.* of {file.path} cannot be read"):
        list(stream)


@pytest.mark.parametrize(
    ("mix", "settings", "message"),
    [
        ("dmeo", {}, r"the lake .* has no mix 'dmeo'; it has demo"),
        ("demo@0123456789abcdef", {}, "mix 'demo' has no version '0123456789abcdef'; its current version is"),
        ("demo", {"rank": 2, "world_size": 2}, "rank must be one of 0 to 1 in a world of 2, got 2"),
        ("demo", {"rank": -1}, "rank must be one of 0 to 0"),
        ("demo", {"rank": "0"}, r"rank must be an int, got '0'; a number from the environment needs int\(...\)"),
        ("demo", {"world_size": None}, "world_size must be an int, got None"),
        ("demo", {"start": 10_000}, "has positions 0 to .*, got 10000"),
    ],
)
def test_what_cannot_be_opened_is_named(demo, mix, settings, message):
    with pytest.raises(ValueError, match=message):
        MixtureStream(demo.settings, mix, **settings)


def test_a_folder_is_no_settings():
    with pytest.raises(
        ValueError, match=r"wanted the LakeSettings of the lake to read, got 'lake'; for a folder: Lake"
    ):
        MixtureStream("lake", "demo")


@pytest.mark.parametrize("wrong", [1.5, "7", None, 2**63, 10**30])
def test_what_is_no_position_is_refused_and_the_stream_stands(demo, wrong):
    stream = MixtureStream(demo.settings, "demo", start=3)
    for use in (lambda: stream.read([0, wrong]), lambda: stream.provenance(wrong), lambda: stream.seek(wrong)):
        with pytest.raises(ValueError, match=rf"has positions 0 to 12[89], got .*{wrong}"):
            use()
    with pytest.raises(ValueError, match=r"wanted the state_dict of a stream .*, got None"):
        stream.load_state_dict(None)
    assert stream.position == 3 and stream.read([]) == []


def test_a_forked_process_reads_on_without_the_threads_of_its_parent(demo):
    """As the workers of a DataLoader do that is told nothing else. What the parent was loading ahead never comes there."""
    stream = MixtureStream(demo.settings, "demo", cache_bytes=0)
    whole = spelled(stream.read(range(stream.num_positions)))
    stream.expect(range(stream.num_positions))
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=lambda: answers.put(spelled(stream)))
    child.start()
    child.join(60)
    child.kill()
    assert child.exitcode == 0 and answers.get() == whole
    assert spelled(stream) == whole


def test_positions_outside_the_stream_are_refused(demo):
    stream = MixtureStream(demo.settings, "demo")
    for position in (-1, stream.num_positions):
        with pytest.raises(
            ValueError, match=f"positions 0 to {stream.num_positions - 1}, got {position} to {position}"
        ):
            stream.read([position])


def test_sequences_are_as_long_as_the_plan_says(demo):
    assert {len(one.tokens) for one in MixtureStream(demo.settings, "demo")} == set(range(3, LENGTH + 1))


def test_a_stream_opened_where_no_lake_is_names_the_place_and_makes_none(tmp_path):
    elsewhere = LakeSettings(store=StoreSettings(root=str(tmp_path / "elsewhere")))
    with pytest.raises(ValueError, match=f"there is no lake in {tmp_path}/elsewhere: run this in the project's folder"):
        MixtureStream(elsewhere, "main")
    assert list(tmp_path.iterdir()) == []
