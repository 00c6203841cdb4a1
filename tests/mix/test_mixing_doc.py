"""The code of docs/mixing.md runs, in a fresh folder, as a reader would type it."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs" / "mixing.md"


@pytest.mark.slow
def test_the_document_runs(tokenizer_file, tmp_path, monkeypatch, capsys):
    torch = pytest.importorskip("torch", reason="torch is not installed: the cpu extra brings it")
    shutil.copy(tokenizer_file, tmp_path / "tokenizer.json")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict = {"__name__": "reader"}
    for block in blocks:
        exec(compile(block, str(DOC), "exec"), names)
    names["lake"].close()
    said = capsys.readouterr().out
    assert len(blocks) == 4
    assert re.search(r"web: 0\.500 planned, 0\.(49\d|50\d) realised", said), said
    assert re.search(r"\d+ tokens of curated/(web|code|stem)/documents, document [0-9a-f]{32}\n", said), said

    (script,) = re.findall(r"```python no-run\n(.*?)```", DOC.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert sum(bool(line.strip()) for line in (blocks[1] + script).splitlines()) <= 40
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    assert sorted(positions(train_on_two_ranks(tmp_path))) == list(range(24))
    assert torch.load(tmp_path / "checkpoint.pt")["data"]["position"] == 24


def train_on_two_ranks(folder: Path) -> str:
    """Run the page's train.py for three steps, with the environment that torchrun gives to each rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, "train.py", "3"],
            cwd=folder,
            env={**os.environ, **given, "PYTHONPATH": str(ROOT), "RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    said = [rank.communicate()[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    return "".join(said)


def positions(said: str) -> list[int]:
    return [int(number) for listed in re.findall(r"positions \[(.*?)\]", said) for number in listed.split(", ")]
