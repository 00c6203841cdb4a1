"""The commands that trace, as a person types them."""

import json
import re

import pytest

from benchmarks.mixing_lake import MIX
from jobs.command import main


@pytest.fixture
def corpusmill(staged, tmp_path, monkeypatch, capsys):
    """Runs a command on the lake with all stages and returns its exit code, output and errors."""
    monkeypatch.setenv("CORPUSMILL_SETTINGS", "")
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "corpusmill.toml"
    settings.write_text(f'[lake]\nroot = "{staged.settings.lake.store.root}"\n')

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--settings", str(settings), *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_explain_tells_people_and_programs_the_same(corpusmill):
    position = next(n for n in range(99) if "made by" in corpusmill("explain", MIX, str(n))[1])
    code, told, _ = corpusmill("explain", MIX, str(position))
    found = json.loads(corpusmill("explain", MIX, str(position), "--json")[1])
    made = next(piece["document"] for piece in found["pieces"] if piece["document"]["parents"])
    [seed] = made["parents"]
    assert code == 0 and f"position {position}: component {found['component']}" in told
    for part in (
        f"made by {made['row']['recipe']} ({made['row']['recipe_version']})",
        f"its licence {made['row']['generator_license']}",
        f"prompt {made['requests'][0]['prompt_hash']}",
        f"from {seed['doc_id']}",
        "verdict: kept, 0 edits",
        f"{seed['record']['file']}, {seed['record']['length']:,} bytes from byte {seed['record']['offset']:,}",
        f"locator {seed['record']['locator']}",
    ):
        assert part in told
    piece = found["pieces"][0]
    one = json.loads(corpusmill("explain", MIX, str(position), "--token", str(piece["first_token"]), "--json")[1])
    assert one["pieces"] == [piece]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain", MIX), "wanted a POSITION, or --shard and --offset together"),
        (("explain", MIX, "3", "--shard", "x"), "wanted a POSITION, or --shard and --offset together"),
        (("explain", MIX, "100000000"), "has positions 0 to"),
        (("explain", MIX, "9" * 18), "has positions 0 to"),
        (("explain", "nothing", "0"), "has no mix 'nothing'"),
        (
            ("exposure", MIX, "3f0c7c1a9b5e4d2f8a6b1c0d9e8f7a6b"),
            "no such document is known: 3f0c7c1a9b5e4d2f8a6b1c0d9e8f",
        ),
        (("diff", "curated/stem/documents"), "wanted TABLE@V1"),
        (("diff", "curated/stem/documents@-9"), "has no version '-9'; it has"),
    ],
)
def test_a_mistake_is_told_in_a_line(corpusmill, arguments, message):
    code, _, told = corpusmill(*arguments)
    assert code == 2 and message in told and told.count("\n") == 1


def test_a_number_that_no_computer_word_holds_is_refused(corpusmill, capsys):
    with pytest.raises(SystemExit):
        corpusmill("explain", MIX, "9" * 19)
    assert "with 18 digits at most, got '9999999999999999999'" in capsys.readouterr().err


def test_licences_fail_where_the_allow_list_forbids_some(corpusmill):
    code, told, _ = corpusmill("licences", MIX)
    assert code == 0 and "CC-BY-4.0" in told and "Apache-2.0" in told
    code, told, _ = corpusmill("licences", MIX, "--allow", "MIT", "--allow-teachers", "MIT,Apache-2.0")
    assert code == 1 and "stem: source licence CC-BY-4.0" in told and "teacher" not in told
    rows = [json.loads(line) for line in corpusmill("licences", MIX, "--json")[1].splitlines()]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)


def test_exposure_sums_over_what_is_met(corpusmill, staged):
    removed = staged.lake.read("curated/stem/resolution")["doc_id"].to_pylist()[0]
    rows = [json.loads(line) for line in corpusmill("exposure", MIX, removed, "--json")[1].splitlines()]
    code, told, _ = corpusmill("exposure", MIX, removed)
    assert code == 0 and f"in {sum(row['tokens'] for row in rows):,} tokens" in told
    assert "met 0 times" in corpusmill("exposure", MIX, removed, "--positions", "0")[1]


def test_the_document_that_explain_shows_first_can_be_asked_for(corpusmill):
    shown = re.search("[0-9a-f]{32}", corpusmill("explain", MIX, "3")[1])[0]
    code, told, _ = corpusmill("exposure", MIX, shown, "--positions", "20")
    assert code == 0 and re.search(rf"^{shown}: met \S+ times in \S+ tokens$", told, re.MULTILINE)


def test_diff_shows_what_a_version_added(corpusmill):
    code, told, _ = corpusmill("diff", "curated/stem/documents@-1")
    assert code == 0 and "rows added, 0 removed, 0 changed" in told and "Added, for example:" in told
