"""Presentation MathML as TeX: each layout once, and formulas as they stand in books."""

import gzip
import json
import re
from pathlib import Path

import pytest
from lxml import etree

from corpusmill.curate.formulas import formulas_to_tex
from corpusmill.curate.mathml import MAX_DEPTH, mathml_to_tex

PHYSICS = Path(__file__).parents[3] / "shared/data/stem_openstax_physics"


def tex(body: str) -> str:
    return " ".join(mathml_to_tex(etree.fromstring(f"<math>{body}</math>")).split())


@pytest.mark.parametrize(
    ("story", "mathml", "expected"),
    [
        ("a fraction", "<mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac>", r"\frac{a}{b+1}"),
        ("a power", "<msup><mi>x</mi><mn>2</mn></msup>", "x^{2}"),
        ("a power of a sum", "<msup><mrow><mi>x</mi><mo>+</mo><mi>y</mi></mrow><mn>2</mn></msup>", "{x+y}^{2}"),
        ("an index", "<msub><mi>v</mi><mtext>max</mtext></msub>", r"v_{\text{max}}"),
        ("both", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "x_{i}^{2}"),
        ("roots", "<msqrt><mi>x</mi></msqrt><mroot><mi>y</mi><mn>3</mn></mroot>", r"\sqrt{x}\sqrt[3]{y}"),
        ("a sum", "<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>", r"\sum_{i}^{n}"),
        ("a vector", "<mover><mi>v</mi><mo>→</mo></mover>", r"\vec{v}"),
        ("a mean", "<mover accent='true'><mi>v</mi><mo>¯</mo></mover>", r"\overline{v}"),
        ("fences", "<mfenced open='[' close=']'><mi>a</mi><mi>b</mi></mfenced>", r"\left[a,b\right]"),
        ("Greek and operators", "<mi>α</mi><mo>≤</mo><mi>Δ</mi><mi>x</mi>", r"\alpha \leq \Delta x"),
        ("a function", "<mi>sin</mi><mi>θ</mi>", r"\sin \theta"),
        ("a unit", "<mn>3</mn><mi>kg</mi>", r"3\mathrm{kg}"),
        ("a table", "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>",
         r"\begin{matrix} 1 & 2 \end{matrix}"),
        ("a source beside", "<semantics><mi>x</mi><annotation>other</annotation></semantics>", "x"),
        ("nothing", "", ""),
        ("too few children", "<mfrac><mi>a</mi></mfrac>", "a"),
    ],
)  # fmt: skip
def test_layouts(story, mathml, expected):
    assert tex(mathml) == expected, story


def test_depth_costs_nothing():
    assert tex("<mrow>" * (MAX_DEPTH + 50) + "<mi>x</mi>" + "</mrow>" * (MAX_DEPTH + 50)) == "x"


def test_real_formulas_have_balanced_braces_and_no_markup():
    if not PHYSICS.exists():
        pytest.skip("needs ../shared/data/stem_openstax_physics")
    lines = gzip.decompress((PHYSICS / "pairs_vol1.jsonl.gz").read_bytes()).decode().splitlines()
    modules = [json.loads(line)["cnxml_en"] for line in lines]
    formulas = [one for module in modules for one in re.findall(r"<m:math.*?</m:math>", module, re.DOTALL)][:2000]
    assert len(formulas) > 500
    for formula in formulas:
        found = formulas_to_tex(formula.replace("<m:", "<").replace("</m:", "</"))
        assert "<m" not in found
        assert found.strip() == "" or found.strip().startswith("$")
        bare = re.sub(r"\\[{}]", "", found)
        assert bare.count("{") == bare.count("}"), (formula, found)
