"""Forgetting: what is found is all that is held, and what was withdrawn is nowhere in what is made from then on."""

import json

import pytest

from benchmarks.mixing_forget import by_hand, words_of
from benchmarks.mixing_lake import DATASET, MADE, MIX, make_lake, plant, run_stages
from corpusmill.stream.loader import MixtureStream
from corpusmill.tasks.removals import read_list
from corpusmill.trace.forget import ASKED, SAME_TEXT, Asked, find, partitions_to_materialize, withdraw
from jobs.command import main

ASKED_AS = ("HTTPS://www.2024.test/1?utm_source=x#top", "https://2025.test/3", "https://nowhere.test/")
URLS = {"https://2024.test/1", "https://2025.test/3"}


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory):
    """A lake with all stages, its pages so few that tests may change it."""
    return make_lake(tmp_path_factory.mktemp("forgetful"), num_documents=6, num_words=40, files=1)


def test_what_is_found_is_what_a_search_by_hand_finds(staged):
    found = find(staged.lake, Asked(urls=ASKED_AS))
    doc_ids, held = by_hand(staged, URLS)
    assert found.doc_ids() == sorted(doc_ids)
    assert len(found.doc_ids(ASKED)) == 2 and found.doc_ids(SAME_TEXT) == []
    rows = found.sequences.to_pylist()
    assert {
        (row["table"], row["partition"], row["sequences"], row["tokens"]) for row in rows if row["is_current"]
    } == held
    assert found.not_found == ["https://nowhere.test/"]
    [mix] = found.mixes.to_pylist()
    stream = MixtureStream(staged.settings.lake, MIX)
    meets = [any(piece.doc_id in doc_ids for piece in stream.provenance(n).pieces) for n in range(stream.num_positions)]
    assert (mix["mix"], mix["first_position"], mix["positions"]) == (stream.mix, meets.index(True), sum(meets))


def test_documents_sources_and_licences_are_found_too(staged):
    rows = staged.lake.read(f"sources/{DATASET}/records").to_pylist()
    by_licence = {row["doc_id"] for row in rows if row["declared_license"] == "CC-BY-4.0"}
    assert {*find(staged.lake, Asked(licences=["CC-BY-4.0"])).doc_ids(ASKED)} == by_licence
    assert {*find(staged.lake, Asked(sources=[DATASET])).doc_ids(ASKED)} == {row["doc_id"] for row in rows}
    one = find(staged.lake, Asked(doc_ids=[rows[2]["doc_id"], "unknown"]))
    assert (one.doc_ids(ASKED), one.not_found) == ([rows[2]["doc_id"]], ["unknown"])


def test_what_a_model_made_is_forgotten_by_its_source(staged):
    made = staged.lake.read("synthesized/stem_rephrased/documents").to_pylist()[0]
    with pytest.raises(ValueError, match=f"{made['doc_id']} was made from {made['parent_ids'][0]}"):
        find(staged.lake, Asked(doc_ids=[made["doc_id"]]))
    with pytest.raises(ValueError, match="got nothing"):
        Asked()


def test_what_was_withdrawn_stays_out_of_all_that_is_made_and_old_mixes_replay(forgetful):
    lake = forgetful.lake
    found = find(lake, Asked(urls=ASKED_AS))
    old = MixtureStream(forgetful.settings.lake, MIX)
    before = [sample.tokens.tobytes() for sample in old]
    gone = [forgetful.texts["2024"][1], forgetful.texts["2025"][3]]
    assert all(text in words_of(forgetful, old) for text in gone)

    assert withdraw(lake, found) == withdraw(lake, found) == [DATASET]
    assert lake.read(f"curated/{DATASET}/removals").num_rows == 2 + 2 + 3
    again = partitions_to_materialize(lake, found)
    versions = {(table, name): lake.partition(table, name) for table, name in again}
    # The pages return under their URLs with other words, and their words under another URL.
    returned = {
        "http://2024.test/1": "other words " * 9,
        "https://new.test/": gone[1],
        "https://2026.test/": "own " * 30,
    }
    plant(forgetful, "2026", returned)
    run_stages(forgetful)

    assert lake.read(f"sources/{DATASET}/records", partitions=["2026"])["url"].to_pylist() == [*returned][1:]
    assert lake.read(f"curated/{DATASET}/extracted", partitions=["2026"])["url"].to_pylist() == [*returned][2:]
    doc_ids = {*found.doc_ids()}
    for name in (DATASET, *MADE):
        rows = lake.read(f"tokenized/{name}/sequences")["doc_ids"].to_pylist()
        assert rows and not doc_ids & {one for row in rows for one in row}
    new = MixtureStream(forgetful.settings.lake, MIX)
    assert new.mix != old.mix and not any(text in words_of(forgetful, new) for text in gone)
    assert [sample.tokens.tobytes() for sample in MixtureStream(forgetful.settings.lake, old.mix)] == before
    same = [table for table, name in again if versions[table, name] == lake.partition(table, name)]
    assert {*same} <= {f"curated/{DATASET}/duplicates"}  # nobody was a duplicate of what went
    # What only old versions hold is found all the same, and named so.
    later = find(lake, Asked(urls=ASKED_AS))
    assert {*later.doc_ids()} == doc_ids
    assert {row["is_current"] for row in later.sequences.to_pylist()} == {False}
    assert later.mixes["mix"].to_pylist() == [old.mix]


def test_every_partition_to_make_again_is_named_and_in_order(forgetful):
    found = find(forgetful.lake, Asked(urls=["https://2024.test/2"]))
    named = partitions_to_materialize(forgetful.lake, found)
    assert named == [
        ("curated/stem/resolution", "all"),
        ("curated/stem/duplicates", "2024"),
        ("curated/stem/documents", "2024"),
        *(
            (f"synthesized/{name}/{table}", f"{variant}|2024")
            for name, variant in MADE.items()
            for table in ("requests", "completions", "documents", "duplicates")
        ),
        ("tokenized/stem/sequences", "2024"),
        *((f"tokenized/{name}/sequences", f"{variant}|2024") for name, variant in MADE.items()),
        ("mixed/mixtures/plan", MIX),
        ("mixed/mixtures/report", MIX),
    ]


def test_a_person_sees_what_is_held_and_then_withdraws_it(forgetful, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "corpusmill.toml"
    settings.write_text(f'[lake]\nroot = "{forgetful.settings.lake.store.root}"\n')
    (tmp_path / "urls.txt").write_text("https://2024.test/3\n\n")

    def corpusmill(*arguments: str) -> tuple[int, str, str]:
        code = main(["--settings", str(settings), "forget", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    before = read_list(forgetful.lake, DATASET)
    code, told, _ = corpusmill("--url-file", "urls.txt", "--dry-run", "withdraw")
    assert code == 0 and "1 asked for, 0 of the same text, 2 made from them" in told and "Make again" not in told
    assert len(json.loads(corpusmill("--url", "https://2024.test/3", "--json")[1])["mixes"]) > 0
    assert len(read_list(forgetful.lake, DATASET)) == len(before)
    code, told, _ = corpusmill("--url-file", "urls.txt", "withdraw")
    assert code == 0 and 'corpusmill materialize --assets curated/stem/documents --partition "2024"' in told
    assert len(read_list(forgetful.lake, DATASET)) == len(before) + 3
    for arguments, message in (
        ((), "wanted what to forget"),
        (("--url-file", "none.txt"), "wants a text file with a URL a line"),
        (("--doc", "unknown", "withdraw"), "nothing in the lake is named by unknown"),
    ):
        code, _, told = corpusmill(*arguments)
        assert code == 2 and message in told and told.count("\n") == 1
