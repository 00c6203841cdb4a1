"""What every method must keep: code with its lines, tables, lists, formulas. And what none may keep."""

import pytest

from corpusmill.curate.html import METHODS, read_html
from corpusmill.curate.preformatted import INDENT, LINE_END, mark_code, unmark_code

PROSE = (
    "The quick brown fox jumps over the lazy dog and then it rests under the tree for the whole of the afternoon, "
    "while the dog is at home with all of the people who have nothing to do with any of this and who never will."
)
CODE = '<pre><code>def half(x):\n    if x &lt; <span class="n">2</span>:\n        return 1\n\n    return x / 2\n</code></pre>'
TABLE = (
    "<table><tr><th>the name of the fruit</th><th>the price of it</th></tr>"
    "<tr><td>an apple from the garden</td><td>12 euros</td></tr><tr><td>a pear</td><td>7 euros</td></tr></table>"
)
LIST = (
    "<ul><li>the first of them is about apples and pears in the garden</li><li>the second is about the weather in the "
    "north<ul><li>and this one says more about the rain</li></ul></li></ul>"
)
FORMULA = (
    '<p>For all of this the area of the circle is <math><mi>A</mi><annotation encoding="application/x-tex">\\pi r^2'
    "</annotation></math> and the sum of them <script type='math/tex; mode=display'>\\sum_i a_i</script> is in the "
    "text of a page that has <math><mfrac><mi>a</mi><mn>2</mn></mfrac></math> and \\(e^{i\\pi}\\) too.</p>"
)


@pytest.fixture(params=METHODS)
def read(request):
    def read_page(body: str) -> str:
        menu = "<nav><a href=/>Home</a> <a href=/b>Contact us</a></nav>"
        article = f"<article><h1>On foxes</h1><p>{PROSE}</p>{body}<p>{PROSE} {PROSE}</p></article>"
        page = f"<html lang='en'><head><title>t</title></head><body>{menu}{article}</body></html>"
        text = read_html(page, request.param).text
        assert PROSE in text
        assert "Contact us" not in text
        return text

    return read_page


def test_code_keeps_its_lines_and_indentation(read):
    assert "def half(x):\n    if x < 2:\n        return 1\n\n    return x / 2" in read(CODE)


def test_highlighted_code_keeps_its_comments_and_tags(read):
    code = '<span class="token comment"># half &amp; half</span>\n<span class="token tag">&lt;b&gt;</span> x'
    assert "# half & half\n<b> x" in read(f'<div class="highlight"><pre><code>{code}</code></pre></div>')


def test_table_keeps_a_row_to_a_line(read):
    lines = [line for line in read(TABLE).splitlines() if "apple" in line or "pear" in line]
    assert [("12 euros" in line, "7 euros" in line) for line in lines] == [(True, False), (False, True)]


def test_list_keeps_an_item_to_a_line(read):
    lines = [line.strip() for line in read(LIST).splitlines()]
    for item in ("- the first of them is about apples", "- the second is about", "- and this one says more"):
        assert sum(line.startswith(item) for line in lines) == 1


def test_formulas_are_kept_as_tex(read):
    text = " ".join(read(FORMULA).split())
    assert "the circle is $\\pi r^2$ and the sum of them $$\\sum_i a_i$$ is in" in text
    assert "has $\\frac{a}{2}$ and \\(e^{i\\pi}\\) too" in text


WIKIPEDIA = (
    '<span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="display: none;"><math alttext="{\\sqrt {x}}">'
    '<semantics><msqrt><mi>x</mi></msqrt><annotation encoding="application/x-tex">{\\sqrt {x}}</annotation></semantics></math>'
    '</span><img src="x.svg" class="mwe-math-fallback-image-inline" aria-hidden="true" alt="{\\sqrt {x}}"></span>'
)
KATEX = (
    '<span class="katex"><span class="katex-mathml"><math><semantics><msqrt><mi>x</mi></msqrt><annotation '
    'encoding="application/x-tex">{\\sqrt {x}}</annotation></semantics></math></span><span class="katex-html" '
    'aria-hidden="true"><span class="base"><span class="mord">√x</span></span></span></span>'
)


@pytest.mark.parametrize("formula", [WIKIPEDIA, KATEX], ids=["MediaWiki", "KaTeX"])
def test_formula_that_a_page_gives_twice_is_kept_once(read, formula):
    text = " ".join(read(f"<p>{PROSE} The root {formula} is in the middle of the text. {PROSE}</p>").split())
    assert "The root ${\\sqrt {x}}$ is in the middle" in text


@pytest.mark.parametrize(
    "story",
    [
        "<pre>",
        "<pre>never closed",
        "<pre></pre>",
        "<PRE>a\nb</PRE>",
        "no code",
        "<pre>a</pre>" * 3,
        f"{LINE_END}<pre>a",
    ],
)
def test_marking_code_loses_nothing(story):
    assert unmark_code(mark_code(story)).replace("\n", "") == story.replace("\n", "").replace(LINE_END, "")


def test_code_marks():
    marked = mark_code("x\n y<pre>a\r\n\n  b <i class='\n'>c</i></pre>")
    assert marked == f"x\n y<pre>a{LINE_END} {LINE_END} {INDENT * 2}b <i class='\n'>c</i></pre>"
    assert unmark_code(f"a {LINE_END} {LINE_END} {INDENT * 2}b") == "a\n\n  b"
