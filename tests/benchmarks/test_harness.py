"""The benchmark harness: lines, results and the exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.harness import Measure, at_least, at_most, write_results

ROOT = Path(__file__).parents[2]


def test_a_measure_reads_as_a_line_of_the_table():
    slow = Measure(measure="plan 10 files (s)", ours=2.0, other=1.0, other_name="footers 1.0", bar=at_most(1.5))
    assert slow.cells() == ("plan 10 files (s)", "2", "1 footers 1.0", "2", "ours <= 1.5", "NO")
    fast = Measure(measure="shingles (MB/s)", ours=160.0, other=20.0, bar=at_least(4, of="ratio"))
    assert fast.cells() == ("shingles (MB/s)", "160", "20", "8", "ratio >= 4", "yes")
    assert Measure(measure="start (s)", ours=3.25).cells() == ("start (s)", "3.25", "-", "-", "-", "-")


def test_a_bar_needs_the_figure_that_it_is_on():
    with pytest.raises(ValueError, match="needs another figure"):
        Measure(measure="x", ours=1.0, bar=at_most(1, of="ratio"))


def test_results_are_kept_with_the_machine(tmp_path):
    file = write_results("toy", [Measure(measure="a (s)", ours=1.0, bar=at_most(0.5))], seconds=1.0, folder=tmp_path)
    kept = json.loads(file.read_text())
    assert kept["benchmark"] == "toy"
    assert kept["machine"]["cores"] >= 1
    assert kept["measures"] == [
        {
            "measure": "a (s)",
            "ours": 1.0,
            "other": None,
            "other_name": "",
            "bar": "ours <= 0.5",
            "ratio": None,
            "holds": False,
        }
    ]


def test_the_exit_code_says_whether_bars_hold(tmp_path):
    package = tmp_path / "benchmarks"
    package.mkdir()
    for name in ("__init__", "__main__", "harness"):
        (package / f"{name}.py").write_text((ROOT / f"benchmarks/{name}.py").read_text())
    toy = "from benchmarks.harness import Measure, at_most\n\n\ndef measure():\n    return [{}]\n"
    (package / "good_one.py").write_text(toy.format("Measure(measure='a', ours=1, bar=at_most(2))"))
    (package / "bad.py").write_text(toy.format("Measure(measure='b', ours=3, bar=at_most(2))"))

    def run(*names: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", *names]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    good = run("good-one")
    assert good.returncode == 0
    assert "measure | ours | other | ratio | bar | holds\na | 1 | - | - | ours <= 2 | yes\n" in good.stdout
    assert run("bad").returncode == 1
    assert run().returncode == 1, "all of them: one bar does not hold"
    assert run("goood").returncode == 2
    assert (package / "results/bad.json").exists()
