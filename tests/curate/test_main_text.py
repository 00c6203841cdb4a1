"""The fast path: where the article is, what goes, and when it says nothing."""

import pytest

from corpusmill.curate.content_root import find_content_root, is_aside
from corpusmill.curate.main_text import Confidence, main_text, without_link_blocks
from corpusmill.curate.page_text import Block
from corpusmill.curate.page_tree import parse_body

PROSE = "The quick brown fox jumps over the lazy dog, and then it rests under a tree for the whole afternoon. "
LONG = f"<p>{PROSE * 3}</p>"


def fast(body: str) -> str | None:
    return main_text(parse_body(f"<html><body>{body}</body></html>"), Confidence())


@pytest.mark.parametrize(
    ("story", "opening", "closing"),
    [
        ("HTML 5", "<main><article>", "</article></main>"),
        ("WordPress", "<div class='site'><div class='entry-content clear'>", "</div></div>"),
        ("schema.org", "<div><section itemprop=articleBody>", "</section></div>"),
        ("Drupal", "<div class='node'><div class='field field--name-body'>", "</div></div>"),
        ("MediaWiki", "<div id=content><div class=mw-parser-output>", "</div></div>"),
        ("the page's main part", "<div id=main-content>", "</div>"),
        ("only what stands around is marked", "<div>", "</div>"),
    ],
)
def test_article_is_found_without_what_stands_around(story, opening, closing):
    menu = "<div class=navbar><a href=/>Home</a></div><div id=sidebar><p>Sidebar words.</p></div>"
    inside = "<div class='share-buttons'>Tell a friend.</div><ul class=tags><li>fox</ul>"
    found = fast(f"{menu}{opening}<h1>Fox</h1>{LONG}{LONG}{inside}{closing}<footer>Imprint</footer>")
    assert found == f"Fox\n\n{(PROSE * 3).strip()}\n\n{(PROSE * 3).strip()}", story


@pytest.mark.parametrize(
    ("story", "body"),
    [
        ("too little text", f"<article><p>{PROSE}</p></article>"),
        ("a list of articles", f"<article>{LONG}</article>" * 3),
        ("most of it goes", f"<article>{LONG}<div class=comments>{LONG * 3}</div></article>"),
        ("menus without a name", f"<nav></nav><div>{LONG}{'<p><a href=x>Another page that you may like</a></p>' * 9}</div>"),
        ("short lines without a name", f"<nav></nav><div>{LONG}{'<p>Some words.</p>' * 40}</div>"),
        ("nothing named, nothing marked around", f"<div><div>Menu, words.</div>{LONG * 3}<div>Imprint</div></div>"),
        ("nothing", ""),
    ],
)  # fmt: skip
def test_unsure_pages_are_left_to_a_careful_extractor(story, body):
    assert fast(body) is None, story


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('class="post-comments"', True),
        ('class="commentary"', False),
        ('id="related-posts"', True),
        ('class="widget widget_text"', True),
        ('class="elementor-widget elementor-widget-text"', False),
        ('class="field-label-hidden"', False),
        ('class="hidden"', True),
        ('style="color: red; display: none"', True),
        ('role="navigation"', True),
        ('class="text shadow"', False),
        ('class="ad"', True),
        ('class="header-image"', False),
        ('id="comments"', True),
        ('class="section" id="comments"', False),
        ('class="shareholder-value"', False),
        ('class="operating-systems"', False),
        ('class="shariff shariff-align-left"', True),
        ('class="twitter-tweet"', False),
        ('class="withsidebar"', False),
        ('class="subscript"', False),
        ('class="correlated"', False),
        ('class="post-tags"', True),
        ('class="tag-cloud"', True),
        ('class="post-12 type-post hentry category-newsletter tag-social"', False),
        ('class="content has-sidebar comments-open"', False),
        ('class="right-sidebar"', True),
    ],
)
def test_asides_are_known_by_what_systems_call_them(attributes, expected):
    (element,) = parse_body(f"<div {attributes}>x</div>")
    assert is_aside(element) is expected


def test_sections_and_headings_are_not_judged_by_their_ids():
    for tag in ("section", "h2", "dt"):
        assert not is_aside(parse_body(f"<{tag} id=related-work>x</{tag}>")[0])


def test_innermost_of_elements_with_the_same_text_is_the_article():
    body = parse_body(f"<div class=post-content><div class=entry-content>{LONG}</div></div>")
    assert find_content_root(body).element.get("class") == "entry-content"
    body = parse_body(f"<div class=post-content>{LONG}<div class=entry-content>{LONG}</div></div>")
    assert find_content_root(body).element.get("class") == "post-content"


def block(text: str, links: int = 0, *, kind: str = "paragraph", group: int = 0) -> Block:
    return Block(kind=kind, text=text, link_characters=links, group=group)


def test_blocks_of_links_go_with_their_titles():
    kept = [block("A title", kind="heading"), block("It is a sentence.", 3), block("x = 1", 5, kind="code")]
    gone = [block("See also:"), block("- one", 4, kind="item", group=1), block("- two", 4, kind="item", group=1)]
    last = [
        block("More", kind="heading"),
        block("all posts", 9),
        block("© 2024 The Fox"),
        block("The end", kind="heading"),
    ]
    mixed = [block("- one", 4, kind="item", group=2), block("- and a long item without links", 0, kind="item", group=2)]
    after = [block("Next", kind="heading"), block("Words.")]
    assert without_link_blocks([*kept, *gone, *after, *mixed, *last], 0.5) == [*kept, *after, *mixed]


def test_dates_and_authors_around_the_article_go():
    title, byline, end = (
        block("Fox", kind="heading"),
        block("12 May by Ann", kind="bare"),
        block("Tags fox", kind="bare"),
    )
    inner = [block("It is a sentence."), block("A bare line inside", kind="bare"), block("- one", kind="item", group=1)]
    assert without_link_blocks([title, byline, *inner, end], 0.5) == [title, *inner]
    assert without_link_blocks([title, byline], 0.5) == [title, byline]
    assert without_link_blocks([byline] * 6 + inner, 0.5) == [byline] * 6 + inner
