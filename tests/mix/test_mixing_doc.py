"""The code of docs/mixing.md runs, in a fresh folder, as a reader would type it."""

import re
import shutil
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "docs" / "mixing.md"


def test_the_document_runs(tokenizer_file, tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="torch is not installed: the cpu extra brings it")
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
    assert "Piece(doc_id=" in said
