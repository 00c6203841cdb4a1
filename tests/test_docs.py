"""What README.md and docs/ say is true: commands parse, settings load, Python runs, links lead somewhere.

A fence of `python no-run` or `bash no-run` is read but not run: it needs data or machines that a test has not. Python
below a line that is only a path, such as `assets/sources/books.py`, is that file of a project, and the project must load.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from corpusmill.settings import settings_from_table
from jobs.command import parser

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*) ?([\w-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH_LINE = re.compile(r"^`([\w/]+\.py)`:$")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
ROOMS = ("assets", "corpusmill", "jobs", "resources", "sensors", "definitions.py", "pyproject.toml")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    is_run: bool
    text: str
    file: str
    """The path that the line before names, else empty."""


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n")[2]
        path = PATH_LINE.match(before)
        found.append(Block(match[1], match[2] != "no-run", match[3], path[1] if path else ""))
    return found


def texts(page: Path, language: str) -> list[str]:
    return [block.text for block in blocks(page) if block.language == language and block.is_run]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if texts(page, language)]


def commands(page: Path) -> list[str]:
    joined = "\n".join(texts(page, "bash")).replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_ones_that_exist(page):
    for command in commands(page):
        words = shlex.split(command, comments=True)
        words = [word for word in words if "=" not in word or words.index(word) > 0 or word.startswith("-")]
        name, arguments = words[0].rpartition("/")[2], words[1:]
        if name == "make":
            subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, check=True, capture_output=True)
        elif name == "corpusmill":
            is_help = "--help" in arguments
            until = next((at for at, word in enumerate(arguments) if word in (">", "|")), len(arguments))
            if not is_help:
                parser().parse_args(arguments[:until])
        else:
            assert name in ("export", "cd", "git", "source"), f"{page.name}: what is {command!r}? Mark the block no-run"


@pytest.mark.parametrize("page", pages_with("toml"), ids=lambda page: page.name)
def test_settings_are_ones_that_load(page, tmp_path):
    for text in texts(page, "toml"):
        settings_from_table(tomllib.loads(text), base=tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_that_is_not_run_is_python_at_least(page):
    for block in blocks(page):
        if block.language == "python":
            compile(block.text, page.name, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("python"), ids=lambda page: page.name)
def test_python_runs_from_top_to_bottom(page, tmp_path):
    """All blocks of a page in one process, in a folder with what a reader is told to bring: a tokenizer.json."""
    code = "\n".join(
        block.text for block in blocks(page) if block.language == "python" and block.is_run and not block.file
    )
    if not code:
        pytest.skip(f"every block of {page.name} is a file of a project; the next test loads them")
    write_tokenizer(tmp_path / "tokenizer.json")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.dagster
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.file for block in blocks(page))], ids=lambda page: page.name
)
def test_files_make_a_project_that_loads(page, tmp_path):
    """The page's files, added to a copy of this project with the page's settings, give Dagster new assets."""
    for room in ROOMS:
        if (ROOT / room).is_dir():  # without compiled files, which other processes write and remove meanwhile
            shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(ROOT / room, tmp_path / room)
    for block in blocks(page):
        if block.file:
            assert not (tmp_path / block.file).exists(), f"{block.file} exists: a page's file must be a new one"
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    (tmp_path / "corpusmill.toml").write_text("\n".join(texts(page, "toml")), encoding="utf-8")
    before, after = asset_keys(ROOT), asset_keys(tmp_path)
    datasets = {Path(block.file).stem for block in blocks(page) if block.file}
    assert {key.split("/")[1] for key in after - before} == datasets
    assert before <= after


def asset_keys(project: Path) -> set[str]:
    """Return the keys of all assets that the front door of a project gives."""
    code = (
        "import json, definitions; from corpusmill.settings import load_settings\n"
        "graph = definitions.build(load_settings()).resolve_asset_graph()\n"
        "print(json.dumps([key.to_user_string() for key in graph.materializable_asset_keys]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(project)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def write_tokenizer(file: Path) -> None:
    """Write a small byte-level tokenizer with an end token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["a page of plain words, and def code(x): return x + 1"], trainer)
    tokenizer.save(str(file))
