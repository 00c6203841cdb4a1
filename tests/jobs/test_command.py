"""The command line as a user meets it: what it teaches, and what it says of mistakes."""

import io
import json
import re
import shlex
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv
import pytest

from corpusmill.settings import load_settings
from corpusmill.tasks.task import execute
from jobs.command import COMMANDS, main, parser

ROOT = Path(__file__).parents[2]
TEXT = (
    "The river runs to a grey sea, and old boats that lie in its harbour have been painted with great care by many "
    "patient hands of late."
)


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def corpusmill(tmp_path, monkeypatch, capfd):
    """Run `corpusmill ARGUMENTS` in an empty folder, with the toy definitions in reach."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT / "tests/jobs"), *sys.path])
    monkeypatch.setenv("TOY_FOLDER", str(tmp_path))
    for name in ("CORPUSMILL_SETTINGS", "DAGSTER_HOME"):
        monkeypatch.setenv(name, "")  # commands set both: what was there before is put back only if it was changed here
        monkeypatch.delenv(name)

    def run(*arguments: str) -> Done:
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(str(ended.code))
        out, err = capfd.readouterr()
        return Done(returncode=code, stdout=out, stderr=err)

    return run


def is_told(done: Done, *, code: int = 2) -> bool:
    """Whether a command failed with a message and without a stack trace."""
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    assert done.stderr.strip()
    return done.returncode == code


def test_help_names_every_command_and_first_steps():
    text = parser().format_help()
    assert [name for name in COMMANDS if not re.search(rf"\n    {name}\s", text)] == []
    assert "a first hour:" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_shows_examples_that_are_right(name, corpusmill):
    shown = corpusmill(name, "--help").stdout
    examples = [
        line.strip() for line in shown.splitlines() if re.match(rf"corpusmill (--settings \S+ )?{name}\b", line.strip())
    ]
    assert examples, shown
    for example in examples:
        words = shlex.split(example)[1:]
        parser().parse_args(words[: words.index(">")] if ">" in words else words)


def test_help_loads_none_of_the_heavy_packages():
    code = (
        "import sys; from jobs.command import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'dagster', 'pyarrow', 'pyspark', 'ray', 'duckdb', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_a_settings_typo_names_file_and_key(corpusmill, tmp_path):
    (tmp_path / "corpusmill.toml").write_text("[lake]\nrot = 'lake'\n")
    done = corpusmill("status")
    assert is_told(done)
    assert "corpusmill.toml" in done.stderr
    assert "did you mean 'root'?" in done.stderr


def test_a_settings_file_that_is_not_there(corpusmill):
    done = corpusmill("--settings", "nowhere.toml", "status")
    assert is_told(done)
    assert "nowhere.toml does not exist" in done.stderr


def test_the_status_of_nothing_says_how_to_make_something(corpusmill):
    done = corpusmill("status")
    assert done.returncode == 0, done.stderr
    assert "no table yet" in done.stdout
    assert "UI not running" in done.stdout


def test_sql_answers_as_table_csv_and_json(corpusmill):
    query = "select 1 as number, 'a, b' as name"
    assert "number" in corpusmill("sql", query).stdout
    assert corpusmill("sql", "--format", "csv", query).stdout == 'number,name\n1,"a, b"\n'
    assert corpusmill("sql", "--format", "json", query).stdout == '{"number": 1, "name": "a, b"}\n'


def test_csv_quotes_what_it_must_and_reads_back_as_it_was(corpusmill):
    texts = ["plain", "", None, 'say "hi"', "two\nlines", "a,b", " edge", "ö"]
    values = ", ".join("(null)" if text is None else f"('{text}')" for text in texts)
    query = f"select text, 1.5 as half, true as yes, date '2024-02-03' as day from (values {values}) as rows(text)"
    written = corpusmill("sql", "--format", "csv", query).stdout
    assert written.startswith('text,half,yes,day\nplain,1.5,true,2024-02-03\n"",1.5,true,2024-02-03\n,1.5,')
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    newlines = pyarrow.csv.ParseOptions(newlines_in_values=True)
    read = pyarrow.csv.read_csv(io.BytesIO(written.encode()), parse_options=newlines, convert_options=options)
    assert read["text"].to_pylist() == texts


def test_sql_that_duckdb_refuses_is_the_users_mistake(corpusmill):
    done = corpusmill("sql", "selekt 1")
    assert is_told(done)
    assert "selekt" in done.stderr


def test_a_table_shows_its_first_rows_and_says_so(corpusmill):
    done = corpusmill("sql", "--limit", "2", "select unnest(range(5)) as number")
    assert "The first 2 rows" in done.stdout


def test_a_port_in_use_is_named(corpusmill):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = corpusmill("dev", "--port", str(port), "--definitions", "toy_definitions")
    assert is_told(done)
    assert f"port {port} on 127.0.0.1 cannot be used" in done.stderr
    assert f"--port {port + 1}" in done.stderr


@pytest.mark.dagster
def test_other_thresholds_are_previewed_from_stored_verdicts(corpusmill, tmp_path):
    page = tmp_path / "pages" / "2024" / "a.jsonl"
    page.parent.mkdir(parents=True)
    page.write_text(json.dumps({"text": TEXT}))
    (tmp_path / "corpusmill.toml").write_text(
        '[spark]\nengine = "plain"\n[sources.web]\nuri = "pages"\nformat = "jsonl"\n'
    )
    arguments = {"settings": load_settings().to_json(), "dataset": "web", "partition": "2024"}
    for task, parameters in {"records": {}, "extract": {"method": "plain"}, "judge": {"judge": "web"}}.items():
        execute(task, {**arguments, "parameters": parameters}, lambda message, numbers: None)
    table, rules = "curated/web/verdicts", {"min_words": 11, "min_sentences": 1, "min_line_words": 3}
    done = corpusmill("redecide", table, "--rules", json.dumps(rules))
    assert done.returncode == 0, done.stderr
    assert re.search(r"2024 +1 +0 +1 *\n", done.stdout), done.stdout
    assert re.search(r"2024 +too_few_words +kept +1 *\n", done.stdout), done.stdout
    refused = corpusmill("redecide", table, "--rules", '{"min_wrods": 11}')
    assert is_told(refused) and "unknown rule min_wrods; did you mean 'min_words'?" in refused.stderr
    refused = corpusmill("redecide", table, "--rules", '{"languages": ["english"]}')
    assert is_told(refused) and "did you mean 'en'?" in refused.stderr


@pytest.mark.dagster
def test_a_new_snapshot_is_a_partition_by_being_named(corpusmill, tmp_path):
    page = tmp_path / "pages" / "2026-11" / "a.jsonl"
    page.parent.mkdir(parents=True)
    page.write_text(json.dumps({"text": TEXT}))
    (tmp_path / "corpusmill.toml").write_text(
        '[spark]\nengine = "plain"\n[sources.web]\nuri = "pages"\nformat = "jsonl"\n'
        '[sources.cdoe]\nuri = "none"\nformat = "jsonl"\n'
    )
    done = corpusmill("materialize", "--assets", "sources/web/records", "--partition", "2026-11")
    assert done.returncode == 0, done.stderr
    assert "sources/web/records: committed (rows 1" in done.stdout
    assert "no asset reads [sources.cdoe], did you mean code" in done.stdout
    missing = corpusmill("materialize", "--assets", "sources/web/records", "--partition", "2026-12")
    assert is_told(missing) and "has no partition '2026-12'; did you mean 2026-11" in missing.stderr, missing.stderr
    page.parent.parent.rename(tmp_path / "elsewhere")
    gone = corpusmill("materialize", "--assets", "sources/web/records", "--partition", "2026-12")
    assert is_told(gone) and f"the source of web, {tmp_path}/pages (uri in [sources.web]), is not there" in gone.stderr


def pages(folder: Path) -> None:
    """Write a snapshot of one page, and settings that name it."""
    page = folder / "pages" / "2024" / "a.jsonl"
    page.parent.mkdir(parents=True)
    page.write_text(json.dumps({"text": TEXT}) + "\n{}\n")
    (folder / "corpusmill.toml").write_text(
        '[spark]\nengine = "plain"\n[sources.web]\nuri = "pages"\nformat = "jsonl"\n'
    )


@pytest.mark.dagster
def test_a_missing_input_is_named_with_the_command_that_makes_it(corpusmill, tmp_path):
    pages(tmp_path)
    records = ("materialize", "--assets", "sources/web/records", "--partition", "2024")
    sources = f"Sources are those of {tmp_path}/corpusmill.toml in place of the sample's: web ({tmp_path}/pages)"
    done = corpusmill("materialize", "--assets", "curated/web/extracted", "--partition", "2024")
    assert is_told(done, code=1)
    command = f"corpusmill {' '.join(records)}"
    assert f"it reads sources/web/records of '2024', which is not made yet: run `{command}` first" in done.stderr
    folder = corpusmill("materialize", "--assets", "curated/web", "--partition", "2024")
    assert folder.stdout.splitlines() == [sources, "curated/web 2024 ..."], "what waits for it is not told one by one"
    assert corpusmill(*records).stdout.startswith(sources)
    assert corpusmill("materialize", "--assets", "curated/web/extracted", "--partition", "2024").returncode == 0
    shown = [line.split() for line in corpusmill("status").stdout.splitlines()]
    assert ["table", "partition", "rows", "in", "kept", "dropped", "failed", "MB", "gate"] in shown
    assert ["sources/web/records", "2024", "2", "2", "1", "0", "1"] in [words[:7] for words in shown]


@pytest.mark.dagster
def test_a_snapshot_that_nothing_can_be_read_of_says_why(corpusmill, tmp_path):
    pages(tmp_path)
    (tmp_path / "pages" / "2024" / "a.jsonl").write_text("{}\n{}\n")
    done = corpusmill("materialize", "--assets", "sources/web/records", "--partition", "2024")
    assert is_told(done, code=1) and len(done.stderr.splitlines()) == 1
    assert "sources/web/records: readable: none of 2 rows can be read: 2: " in done.stderr


@pytest.mark.dagster
def test_a_mixture_is_a_partition_by_being_named(corpusmill):
    done = corpusmill("materialize", "--assets", "mixed/mixtures/plan", "--partition", "main")
    assert is_told(done, code=1)
    assert "component 'web' cannot be read: tokenized/web/sequences has no committed sequences" in done.stderr
    mistyped = corpusmill("materialize", "--assets", "mixed/mixtures/plan", "--partition", "mian")
    assert is_told(mistyped) and "mixed/mixtures/plan has no partition 'mian'; did you mean main" in mistyped.stderr


@pytest.mark.dagster
def test_a_partition_is_removed_once_a_person_says_yes(corpusmill, tmp_path):
    pages(tmp_path)
    for stage in ("sources/web/records", "curated/web/extracted"):
        assert corpusmill("materialize", "--assets", stage, "--partition", "2024").returncode == 0
    told = corpusmill("remove", "web", "2024").stdout
    assert "  sources/web/records 2024: 2 rows," in told and "  curated/web/extracted 2024: 1 rows," in told
    assert f"Stays: the snapshot in {tmp_path}/pages/2024; while it lies there, being named, `corpusmill demo`" in told
    assert "Nothing was removed: the same command with --yes removes it." in told
    assert "curated/web/extracted" in corpusmill("status").stdout
    done = corpusmill("remove", "web", "2024", "--yes")
    assert done.stdout.endswith("Removed.\n")
    assert "no table yet" in corpusmill("status").stdout
    again = corpusmill("remove", "web", "2024", "--yes")
    assert is_told(again) and "web has no partition '2024'; there are none" in again.stderr
    mistyped = corpusmill("remove", "wbe", "2024")
    assert is_told(mistyped) and "is named 'wbe'; did you mean web" in mistyped.stderr
    assert corpusmill("materialize", "--assets", "sources/web/records", "--partition", "2024").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [("status",), ("sql", "show tables"), ("sql", "from curated.web.documents"), ("maintain",)],
)
def test_looking_makes_no_lake(corpusmill, tmp_path, arguments):
    done = corpusmill(*arguments)
    assert done.returncode in (0, 2)
    assert f"{tmp_path}/.corpusmill/lake" in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("sql", "--limit", "-1", "select 1"), "wanted a whole number of 1 or more, got '-1'"),
        (("sql", "--limit", "0", "select 1"), "wanted a whole number of 1 or more, got '0'"),
        (("dev", "--port", "99999"), "wanted a port from 0 to 65535, got '99999'"),
        (("sql", "select 1; select 2"), "wanted one query, got 2 statements"),
        (("sql", "copy (select 1) to 'x.csv'"), "wanted a query that reads"),
    ],
)
def test_what_makes_no_sense_is_refused(corpusmill, tmp_path, arguments, told):
    done = corpusmill(*arguments)
    assert is_told(done) and told in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.dagster
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["curated/web/verdict"], "did you mean curated/web/verdicts"),
        (["curated/web/verdicts"], "there is no lake in"),
        (["curated/web/verdicts", "--rules", "min_words=3"], "--rules must be a JSON object"),
    ],
)
def test_a_preview_of_nothing_says_what_is_wrong(corpusmill, arguments, told):
    done = corpusmill("redecide", *arguments)
    assert is_told(done) and told in done.stderr, done.stderr


@pytest.mark.dagster
@pytest.mark.slow
def test_definitions_that_do_not_load_end_dev(corpusmill, tmp_path):
    (tmp_path / "broken_definitions.py").write_text("raise ValueError('no source is set for dataset pages')\n")
    done = corpusmill("dev", "--port", "0", "--definitions", "broken_definitions")
    assert is_told(done)
    assert "the definitions in broken_definitions do not load" in done.stderr
    assert "no source is set for dataset pages" in done.stderr


def test_a_backfill_without_a_webserver_says_how_to_start_one(corpusmill):
    done = corpusmill("backfill", "--assets", "*", "--all", "--url", "http://127.0.0.1:9")
    assert is_told(done)
    assert "Start one with `corpusmill dev`" in done.stderr


def test_a_backfill_needs_to_know_which_partitions(corpusmill):
    done = corpusmill("backfill", "--assets", "*")
    assert is_told(done)
    assert "--partitions" in done.stderr


@pytest.mark.dagster
class TestMaterialize:
    """In process, over the toy definitions."""

    def test_an_unknown_asset_lists_near_names(self, corpusmill):
        done = corpusmill("materialize", "--assets", "curated/web/resolutoin", "--definitions", "toy_definitions")
        assert is_told(done)
        assert "did you mean curated/web/resolution" in done.stderr

    def test_an_unknown_partition(self, corpusmill):
        arguments = ("--assets", "sources/web/records", "--partition", "x", "--definitions", "toy_definitions")
        done = corpusmill("materialize", *arguments)
        assert is_told(done)
        assert "sources/web/records has no partition 'x'" in done.stderr

    def test_a_mistyped_folder(self, corpusmill):
        done = corpusmill("materialize", "--assets", "curated/wbe", "--definitions", "toy_definitions")
        assert is_told(done)
        assert "no asset or folder is named 'curated/wbe'; did you mean curated/web" in done.stderr

    def test_an_asset_without_partitions_is_made(self, corpusmill):
        done = corpusmill("materialize", "--assets", "curated/web/resolution", "--definitions", "toy_definitions")
        assert done.returncode == 0, done.stderr
        assert "done: run" in done.stdout

    def test_a_run_that_fails_says_why_and_exits_with_1(self, corpusmill, tmp_path):
        """Registers the partition first, as the sensor would."""
        import dagster as dg

        home = tmp_path / ".corpusmill/dagster"
        home.mkdir(parents=True)
        with dg.DagsterInstance.local_temp(tempdir=str(home)) as instance:
            instance.add_dynamic_partitions("web_snapshots", ["broken"])
        arguments = ("--assets", "sources/web/records", "--partition", "broken", "--definitions", "toy_definitions")
        done = corpusmill("materialize", *arguments)
        assert is_told(done, code=1)
        assert "the snapshot broken has no readable file" in done.stderr

    def test_a_snapshot_without_files_is_told_without_a_log(self, corpusmill, tmp_path):
        import dagster as dg

        home = tmp_path / ".corpusmill/dagster"
        home.mkdir(parents=True)
        with dg.DagsterInstance.local_temp(tempdir=str(home)) as instance:
            instance.add_dynamic_partitions("web_snapshots", ["2024"])
        (tmp_path / "corpusmill.toml").write_text('[sources.web]\nuri = "pages"\nformat = "jsonl"\n')
        done = corpusmill("materialize", "--assets", "sources/web/records", "--partition", "2024")
        assert is_told(done, code=1)
        assert len(done.stderr.splitlines()) == 1 and "snapshot '2024' of web has no files" in done.stderr

    def test_a_partition_of_an_asset_without_any(self, corpusmill):
        arguments = ("--assets", "curated/web/resolution", "--partition", "x", "--definitions", "toy_definitions")
        done = corpusmill("materialize", *arguments)
        assert is_told(done)
        assert "curated/web/resolution has no partitions: leave --partition out" in done.stderr
