"""Where the main text of a page lies: the element that a content system marked as the article, and what is none of it.

The names are those that blog, news and wiki systems give to their parts. Class and id of an element are looked up once per
spelling, so a page costs one pass over its containers.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_BODY_NAMES = re.compile(
    r"""(?:^|\s)(?:
    (?:entry|post|article|story|blog|news|node|single|td-post|hentry)[-_]{0,2}
        (?:content|body|text|entry|copytext)(?:[-_]{1,2}(?:inner|wrap|wrapper|body|main))?
    | field-{1,2}name-body | entrytext | storytext | storycontent | copytext | mw-parser-output | markdown-body
    | e-content | fulltext
    )(?:\s|$)""",
    re.IGNORECASE | re.VERBOSE,
)
_POST_NAMES = re.compile(
    r"(?:^|\s)(?:post|entry|hentry|h-entry|story|single-post|blogpost|article)(?:\s|$)", re.IGNORECASE
)
_PAGE_NAMES = re.compile(
    r"(?:^|\s)(?:(?:main|page|body|site)?[-_]{0,2}(?:content|body|text|main)|primary)(?:\s|$)",
    re.IGNORECASE,
)
_ASIDE_NAMES = re.compile(
    r"""
    (?:^|[\s_-])shar(?:e|ing)(?:$|[\s_-])|share-?(?:buttons?|bar|links?|box|icons?|this|tools)|sharedaddy|shariff|addtoany
    |(?:^|[\s_-])social|socialmedia|follow-us|flattr|twitter-(?!tweet)|fb-like|twoclick|essb|ssba|heateor
    |(?<![a-z])related|yarpp|recommend|read-?more-|more-(?:posts|stories|news)|similar(?!it)|(?:^|[\s_-])teasers?(?:$|[\s_-])
    |(?<!no-)comment(?!ary|s?-(?:open|closed))|(?:^|[\s_-])respond(?:$|[\s_-])|disqus|(?:^|[\s_-])replies
    |(?<!with)(?<!with[_-])(?<!has[_-])(?<!no[_-])side-?bar|(?<!elementor-)widget|breadcrumb|bread-crumb|navigation|navbar|(?:^|[\s_-])(?:sub)?(?:nav|menu)(?:$|[\s_-])
    |newsletter|subscri(?!pt)|signup|sign-up|cookie|consent|gdpr|popup|pop-up|modal|overlay|paywall
    |footer|(?:^|[\s_-])(?:ads?|advert(?:s|isement)?|adsense|sponsor\w*|promo(?:s|tions?|box)?|banner)(?:$|[\s_-])
    |paginat|pager|page-?links|post-?nav|wp-pagenavi
    |author-?(?:box|bio|info|meta)|about-?(?:the-?)?author|saboxplugin|byline|dateline|posted-on|(?:entry|post|article)-?_?(?:meta|utility|info|footer|date|author)
    |meta-?data|postmeta|(?:^|\s|(?:post|entry|article|meta|blog)[_-])tags?(?:$|\s|[_-]?(?:links?|list|cloud|box|wrap))|cat-?links|(?:^|[\s_-])categor(?:y|ies)(?:$|[\s_-]list)
    |(?:^|[\s_-])(?:ratings?|likes?|votes?|voting)(?:$|[\s_-])|(?:^|[\s_-])print(?:$|[\s_-])|print-?friendly|printonly
    |caption|credits?(?:$|[\s_-])|(?:^|\s)hidden(?:$|\s)|screen-reader|visually-?hidden|sr-only|noprint|skip-?link
    |(?:^|[\s_-])toc(?:$|[\s_-])|table-of-contents|editsection|headerlink|header-?anchor|anchor-?link|linenos|line-?numbers|mw-jump|catlinks|navbox|(?:^|[\s_-])search
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WORDPRESS_POST = re.compile(r"(?:^|\s)(?:hentry|h-entry|type-post|type-page|status-publish)(?:\s|$)")
"""Its other names are the post's own tags and categories, `tag-social` or `category-newsletter`: they say nothing."""
_TAGS = (
    "nav aside footer form button select option textarea input label figcaption iframe object embed svg canvas audio video"
    " map menu dialog template noscript script style head link meta"
)
_ROLES = "navigation complementary contentinfo search banner dialog alert menu menubar tablist"
ASIDE_TAGS = frozenset(_TAGS.split())
_ASIDE_ROLES = frozenset(_ROLES.split())
_NAMED_BY_ID = frozenset(("div", "ul", "ol", "table", "p", "span"))
"""Sections and headings get their ids from titles: one on related work or on cookies is text."""
_CONTAINERS = ("article", "main", "section", "div", "td")

_PAGE_RANK = 3
_LEAST_SHARE = 0.95
"""An inner element with this share of the outer one's text is preferred: it has less around it."""
_LEAST_CHARACTERS = 200
_MOST_CANDIDATES = 200


@dataclass(frozen=True, kw_only=True)
class ContentRoot:
    """The element that holds the article, and how much of all that is marked like it lies in it (0 to 1)."""

    element: Any
    share: float
    is_marked: bool
    """Whether it is marked as an article or its text, not just as the page's main part or not at all."""


def find_content_root(body: Any) -> ContentRoot | None:
    """Return the article's element: by the name of its text, as `article`, as a post, as the page's main part.

    Where nothing is named so, it is the body, if the page marks what stands around its text; else None.
    """
    ranked: dict[int, list[Any]] = {}
    for element in body.iter(*_CONTAINERS):
        rank = _rank(element)
        if rank is not None:
            ranked.setdefault(rank, []).append(element)
    for rank in sorted(ranked):
        found = _largest(ranked[rank])
        if found is not None:
            element, share = found
            return ContentRoot(element=element, share=share, is_marked=rank < _PAGE_RANK)
    is_marked_around = next(body.iterdescendants("nav", "aside", "footer"), None) is not None
    return ContentRoot(element=body, share=1.0, is_marked=False) if is_marked_around else None


def is_aside(element: Any) -> bool:
    """Return whether the element is none of the article: menus, sharing, comments, related posts, what is not shown."""
    if element.tag in ASIDE_TAGS:
        return True
    if (names := element.get("class")) and _is_aside_name(names):
        return True
    if _is_named_by_id(element) and _is_aside_name(element.get("id") or ""):
        return True
    return element.get("role") in _ASIDE_ROLES or _is_hidden(element)


def _is_named_by_id(element: Any) -> bool:
    return element.tag in _NAMED_BY_ID and "section" not in (element.get("class") or "")


def _is_hidden(element: Any) -> bool:
    style = element.get("style")
    is_styled_away = style is not None and "display:none" in style.replace(" ", "").lower()
    return is_styled_away or element.get("hidden") is not None or element.get("aria-hidden") == "true"


def _rank(element: Any) -> int | None:
    if element.get("itemprop") in ("articleBody", "text"):
        return 0
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    rank = _name_rank(names) if len(names) > 1 else None
    if rank == 0:
        return 0
    if element.tag == "article":
        return 1
    if element.tag == "main" or element.get("role") == "main":
        return _PAGE_RANK
    return rank


@lru_cache(maxsize=4096)
def _name_rank(names: str) -> int | None:
    patterns = ((0, _BODY_NAMES), (2, _POST_NAMES), (_PAGE_RANK, _PAGE_NAMES))
    return next((rank for rank, pattern in patterns if pattern.search(names)), None)


@lru_cache(maxsize=4096)
def _is_aside_name(names: str) -> bool:
    return _ASIDE_NAMES.search(names) is not None and _WORDPRESS_POST.search(names) is None


def _largest(elements: list[Any]) -> tuple[Any, float] | None:
    """Return the element with the most text and its share of all; of nested ones with almost as much, the innermost."""
    sizes = [
        (size, element)
        for element in elements[:_MOST_CANDIDATES]
        if (size := text_length(element)) >= _LEAST_CHARACTERS
    ]
    if not sizes:
        return None
    least = _LEAST_SHARE * max(size for size, _ in sizes)
    # In document order an inner element comes behind the outer one, so the last of the smallest is the innermost.
    size, element = min(reversed([one for one in sizes if one[0] >= least]), key=lambda one: one[0])
    return element, size / _outermost_length(sizes)


def _outermost_length(sizes: list[tuple[int, Any]]) -> int:
    """Return the length of all their text; an element inside another one of them counts once."""
    known = {element for _, element in sizes}
    return sum(size for size, element in sizes if not any(parent in known for parent in element.iterancestors()))


def text_length(element: Any) -> int:
    """Return the number of characters of an element's text, a run of white space counted as one."""
    return len(element.xpath("normalize-space(string())"))
