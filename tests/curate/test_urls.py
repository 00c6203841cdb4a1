"""Canonical URLs: one spelling for one page, null for what is no page, and nothing that crashes on the web's addresses."""

from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.urls import UrlRules, canonical_urls

CANONICAL = {
    "scheme and host in any case": ("HTTPS://Example.COM/Path", "http://example.com/Path"),
    "no path": ("http://example.com", "http://example.com/"),
    "a query without a path": ("http://example.com?b=1", "http://example.com/?b=1"),
    "no scheme": ("//cdn.example.com/x.js", "http://cdn.example.com/x.js"),
    "the default port": ("https://example.com:443/a", "http://example.com/a"),
    "the other scheme's port": ("http://example.com:443/a", "http://example.com/a"),
    "an empty port": ("http://example.com:/a", "http://example.com/a"),
    "a port with noughts": ("http://example.com:0080/a", "http://example.com/a"),
    "user and password": ("http://user:p%40ss@example.com/a", "http://example.com/a"),
    "two at signs": ("http://a@b@example.com/a", "http://example.com/a"),
    "an at sign in the path": ("http://example.com/@user", "http://example.com/@user"),
    "www": ("http://www.example.com/", "http://example.com/"),
    "www with a number, twice": ("http://WWW2.www.example.com/", "http://example.com/"),
    "www is the name": ("http://www.com/", "http://www.com/"),
    "a name that only begins so": ("http://wwwexample.com/", "http://wwwexample.com/"),
    "dots behind the host": ("http://example.com../a", "http://example.com/a"),
    "a fragment": ("http://example.com/a#part?x", "http://example.com/a"),
    "a slash at the end": ("http://example.com/a/", "http://example.com/a"),
    "an index page": ("http://example.com/a/Index.html", "http://example.com/a"),
    "an index page with a query": ("http://example.com/index.php?id=7", "http://example.com/?id=7"),
    "no index page": ("http://example.com/myindex.html", "http://example.com/myindex.html"),
    "dot segments": ("http://example.com/a/./b/../../c", "http://example.com/c"),
    "dot segments above the root": ("http://example.com/../../a/..", "http://example.com/"),
    "encoded dot segments": ("http://example.com/a/%2E%2e/b", "http://example.com/b"),
    "letters that need no encoding": ("http://example.com/%7Euser/%41", "http://example.com/~user/A"),
    "hexadecimal in lower case": ("http://example.com/a%2fb%3a", "http://example.com/a%2Fb%3A"),
    "a percent sign that encodes nothing": ("http://example.com/100%/%zz%4", "http://example.com/100%25/%25zz%254"),
    "letters beyond ASCII": ("http://example.com/ä?ö=ü", "http://example.com/%C3%A4?%C3%B6=%C3%BC"),
    "a blank and quotes": ('http://example.com/a b"c', "http://example.com/a%20b%22c"),
    "parameters in any order": ("http://example.com/?b=2&a=1&a=0", "http://example.com/?a=0&a=1&b=2"),
    "empty parameters": ("http://example.com/?&&a=1&", "http://example.com/?a=1"),
    "a parameter without a value": ("http://example.com/?b&a=", "http://example.com/?a=&b"),
    "tracking": ("http://example.com/?utm_source=x&UTM_Medium=y&id=1&gclid=z", "http://example.com/?id=1"),
    "nothing but tracking": ("http://example.com/a?fbclid=1", "http://example.com/a"),
    "a name that only begins like one": ("http://example.com/?gclids=1", "http://example.com/?gclids=1"),
    "a session": ("http://example.com/a;jsessionid=1F/", "http://example.com/a"),
    "blanks around it": (" \thttp://example.com/a \n", "http://example.com/a"),
    "a line end in it": ("http://exam\nple.com/a\tb", "http://example.com/ab"),
    "backslashes": ("http:\\\\example.com\\a\\b?c=\\", "http://example.com/a/b?c=%5C"),
    "a NUL": ("http://example.com/a\x00b", "http://example.com/a%00b"),
    "an international host": ("http://Bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
    "the same in ASCII": ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
    "a full-width host": ("http://ｅｘａｍｐｌｅ。com/", "http://example.com/"),
    "right to left": ("http://שלום.example/", "http://xn--9dbne9b.example/"),
    "an encoded host": ("http://ex%61mple.com/", "http://example.com/"),
    "IPv4": ("http://192.0.2.1:8080/a", "http://192.0.2.1:8080/a"),
    "IPv6": ("http://[2001:DB8:0:0::1]:80/a", "http://[2001:db8::1]/a"),
    "IPv6 with a port and a user": ("http://u@[::1]:81/a", "http://[::1]:81/a"),
    "brackets in the query": ("http://example.com/?a[]=1", "http://example.com/?a[]=1"),
}


@pytest.mark.parametrize(("url", "canonical"), CANONICAL.values(), ids=CANONICAL)
def test_the_canonical_url(url: str, canonical: str) -> None:
    assert canonical_urls(pa.array([url])).to_pylist() == [canonical]


NO_PAGES = {
    "data": "data:text/html,<p>http://example.com/</p>",
    "javascript": "javascript:location='http://example.com/'",
    "mail": "mailto:a@example.com",
    "another scheme": "ftp://example.com/a",
    "a scheme that begins alike": "httpx://example.com/",
    "a scheme that is cut": "http:example.com",
    "no host": "http:///a",
    "only a port": "http://:80/",
    "only a user": "http://user@/a",
    "only dots": "http://../a",
    "an empty label": "http://a..example.com/",
    "a blank in the host": "http://exa mple.com/",
    "a slash encoded in the host": "http://a%2Fb.example.com/",
    "a port of letters": "http://example.com:http/",
    "a port above 65535": "http://example.com:65536/",
    "an open bracket": "http://[::1/",
    "no IPv6": "http://[example.com]/",
    "a host that IDNA refuses": "http://\u2488com/",
    "a path": "/a/b",
    "a bare host": "example.com/a",
    "nothing": "",
    "blanks": "  \t\n",
    "null": None,
    "a byte order mark": "\ufeff",
}


@pytest.mark.parametrize("url", NO_PAGES.values(), ids=NO_PAGES)
def test_what_is_no_page_has_no_canonical_url(url: str | None) -> None:
    assert canonical_urls(pa.array([url], pa.string())).to_pylist() == [None]


def test_rows_stay_in_place_whatever_stands_beside_them() -> None:
    urls = pa.chunked_array([["data:x", "http://b/", None], ["http://bücher.example/", "http://[::1]/", "http://a/"]])
    expected = [None, "http://b/", None, "http://xn--bcher-kva.example/", "http://[::1]/", "http://a/"]
    assert canonical_urls(urls).to_pylist() == expected
    assert canonical_urls(urls.slice(1, 3)).to_pylist() == expected[1:4]
    assert canonical_urls(pa.array([], pa.string())).to_pylist() == []


def test_a_url_of_100_kilobytes() -> None:
    names = [f"k{number * 7919 % 20_011:05}" for number in range(13_000)]
    [long] = canonical_urls(pa.array([f"http://example.com/?{'&'.join(names)}"])).to_pylist()
    assert long == f"http://example.com/?{'&'.join(sorted(names))}"
    [deep] = canonical_urls(pa.array(["http://example.com" + "/a/.." * 20_000])).to_pylist()
    assert deep == "http://example.com/"


def test_rules_say_what_is_left_out() -> None:
    rules = UrlRules(tracking_parameters=("ref*",), index_pages=("home.html",))
    urls = pa.array(["http://example.com/home.html?refer=1&utm_source=2", "http://example.com/index.html"])
    assert canonical_urls(urls, rules).to_pylist() == [
        "http://example.com/?utm_source=2",
        "http://example.com/index.html",
    ]
    bare = UrlRules(tracking_parameters=(), index_pages=())
    assert canonical_urls(urls, bare)[1].as_py() == "http://example.com/index.html"


@pytest.mark.parametrize("name", ["", "*", "Upper", "ümlaut"])
def test_a_wrong_rule_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="wanted a name in lower-case ASCII"):
        UrlRules(tracking_parameters=(name,))


PIECES = st.sampled_from(
    [
        *(
            "www.",
            "www2.",
            "example",
            ".com",
            ".",
            "/",
            "//",
            "\\",
            "?",
            "#",
            "&",
            "=",
            ";jsessionid=",
            "%2e",
            "%zz",
            "%",
        ),
        *(
            "..",
            "index.html",
            "utm_x",
            "é",
            "日本",
            ":80",
            ":443",
            "[::1]",
            "@",
            "%C3%A4",
            "A",
            "http://",
            "1.2",
            "\t",
            "\0",
        ),
    ]
)


@given(st.sampled_from(["http://", "https://", "//", ""]), st.lists(PIECES, max_size=12))
def test_a_canonical_url_is_its_own_and_another_parser_reads_it_alike(scheme: str, parts: list[str]) -> None:
    url = "".join([scheme, *parts])
    [canonical] = canonical_urls(pa.array([url])).to_pylist()
    if canonical is None:
        return
    assert canonical_urls(pa.array([canonical])).to_pylist() == [canonical]
    assert canonical.isascii()
    parsed = urlsplit(canonical)
    assert (parsed.scheme, parsed.username, parsed.fragment) == ("http", None, "")
    assert parsed.geturl() == canonical
    assert parsed.hostname and not parsed.hostname.endswith(".")
    assert parsed.port not in (80, 443)


@given(st.text(max_size=40))
def test_any_text_is_a_page_or_none(text: str) -> None:
    for url in (text, f"http://{text}", f"http://example.com/{text}"):
        assert len(canonical_urls(pa.array([url]))) == 1
