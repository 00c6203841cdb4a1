"""The code of docs/synthesis.md runs as a reader would type it, and says what the document says."""

import re
from pathlib import Path

from corpusmill.synthesize.verify.registry import VERIFIERS, taken_parameters

DOC = Path(__file__).parents[2] / "docs" / "synthesis.md"


def test_the_document_runs(capsys):
    text = DOC.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) >= 8
    names: dict = {"__name__": "reader"}
    for block in blocks:
        exec(compile(block, str(DOC), "exec"), names)
    said = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    shown = capsys.readouterr().out
    assert shown.endswith("".join(said))
    assert "The value ⟦F1⟧ of the function is 16 at the point 4." in shown


def test_the_recipe_is_as_short_as_it_claims():
    recipe = re.findall(
        r"^recipe = Recipe\(\n.*?^\)\n", DOC.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    assert len(recipe[0].splitlines()) <= 30


def test_the_document_names_every_verifier():
    assert [name for name in VERIFIERS if f"`{name}`" not in DOC.read_text(encoding="utf-8")] == []


def test_parameters_without_a_default_are_bold():
    rows = {
        row[1]: row[0] for row in re.findall(r"^(\| `(\w+)`.*)$", DOC.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    needed = {
        name: {parameter for parameter, taken in taken_parameters(name).items() if taken.default is taken.empty}
        for name in VERIFIERS
    }
    assert {name: set(re.findall(r"\*\*`(\w+)`\*\*", rows.get(name, ""))) for name in VERIFIERS} == needed
