"""HTML trees as blocks of text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.page_text import Block, join_blocks, page_blocks
from corpusmill.curate.page_tree import MAX_DEPTH, PageTooDeepError, parse_body


def blocks(body: str, left_out: str = "nav") -> list[Block]:
    found = parse_body(f"<html><body>{body}</body></html>")
    return list(page_blocks(found, is_left_out=lambda element: element.tag == left_out))


def text(body: str) -> str:
    return join_blocks(blocks(body))


@pytest.mark.parametrize(
    ("story", "body", "expected"),
    [
        ("white space is one space", "<p> a\n  b\t<b>c</b>d </p>", "a b cd"),
        ("blocks stand apart", "<h1>t</h1>bare<p>a</p><div>b<div>c</div>d</div>", "t\n\nbare\n\na\n\nb\n\nc\n\nd"),
        ("a line break is one", "<p>a<br>b<br><br>c</p>", "a\nb\nc"),
        ("what is left out", "<p>a<nav>b</nav>c</p><nav>d</nav>e", "a\n\nc\n\ne"),
        ("comments and scripts", "<p>a<!-- b -->c<script>d</script>e<style>f</style></p>", "ace"),
        ("list", "<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"),
        ("numbers", "<ol><li>a</li><li>b</li></ol><ol><li>c</li></ol>", "1. a\n2. b\n\n1. c"),
        ("lists in lists", "<ul><li>a<ol><li>b</li></ol></li><li>c</li></ul>", "- a\n  1. b\n- c"),
        ("paragraphs in an item", "<ul><li><p>a</p><p>b</p></li></ul>", "- a\n  b"),
        ("item without a list", "<div><li>a</li></div>", "- a"),
        ("table", "<table><tr><th>a<th>b<tr><td><p>c</p><p>d</p><td>e<br>f</table>g", "| a | b |\n| c d | e f |\n\ng"),
        ("empty cells", "<table><tr><td></td><td>a</td></tr><tr><td> </td><td></td></tr></table>", "|  | a |"),
        ("table that arranges the page", "<table><tr><td><h1>t</h1><p>a</p></td><td>b</td></tr></table>", "t\n\na\n\nb"),
        ("table of one column", "<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", "a\n\nb"),
        ("code", "<pre><code>a\n  b\n\n\tc\n</code></pre>", "a\n  b\n\n\tc"),
        ("lines of code as blocks", "<pre><div>a</div><div>b</div></pre>", "ab"),
        ("line numbers", "<pre><span class=lineno>1 </span>a\n<span class=lineno>2 </span>b</pre>", "a\nb"),
        ("inline code", "<p>call <code>f( x )</code> now</p>", "call f( x ) now"),
        ("code in an item", "<ul><li>a<pre>b\n c</pre></li></ul>", "- a\n  b\n   c"),
        ("entities", "<p>a &lt; b &amp; &eacute;&nbsp;c</p>", "a < b & é c"),
        ("nothing", "", ""),
    ],
)  # fmt: skip
def test_page_becomes_text(story, body, expected):
    assert text(body) == expected, story


def test_link_characters_are_counted():
    found = blocks("<p>see <a href=x>this <b>one</b></a> and <a>that</a></p><ul><li><a>all</a></ul>")
    assert [(block.text, block.link_characters) for block in found] == [("see this one and that", 11), ("- all", 3)]


def test_items_and_rows_know_their_group():
    body = "<p>a</p><ul><li>b<ul><li>c</ul><li>d</ul><ul><li>e</ul><table><tr><td>f<td>g</table><p>h</p>"
    assert [block.group for block in blocks(body)] == [0, 1, 1, 1, 2, 3, 0]
    assert [block.kind for block in blocks(body)] == ["paragraph", "item", "item", "item", "item", "row", "paragraph"]


def test_text_that_no_element_marks_is_bare():
    found = blocks("<h2>a</h2>b<p>c</p>d<pre>e</pre><div>f</div><blockquote>g</blockquote>")
    kinds = ["heading", "bare", "paragraph", "bare", "code", "bare", "paragraph"]
    assert [block.kind for block in found] == kinds


def test_depth_costs_no_recursion():
    assert text("<div>" * (MAX_DEPTH - 10) + "deep") == "deep"


@pytest.mark.parametrize("level", ["<div>", "<ul><li>", "<table><tr><td>"])
def test_page_that_the_parser_would_cut_is_refused(level):
    with pytest.raises(PageTooDeepError):
        text(level * (MAX_DEPTH + 10) + "lost")


PARTS = "<p> <ul> <li> <table> <tr> <td> <pre> <a> <br> </p> </ul> </table> </pre> w x"


@given(st.lists(st.sampled_from(PARTS.split())))
def test_no_word_is_lost_or_doubled_whatever_the_markup(parts):
    wanted = [part for part in parts if part in "wx"]
    assert [word for word in text(" ".join(parts)) if word in "wx"] == wanted
