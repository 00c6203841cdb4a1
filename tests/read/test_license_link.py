"""Which licence a response's `Link` header names."""

import pytest

from corpusmill.curate.license_urls import license_of_url
from corpusmill.read.http_message import parse_head
from corpusmill.read.license_link import linked_license


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ('<https://spdx.org/licenses/MIT.html>; rel="license"', "MIT"),
        ("</style.css>; rel=preload, <https://spdx.org/licenses/BSD-3-Clause>; rel=license", "BSD-3-Clause"),
        ('<https://creativecommons.org/licenses/by-sa/4.0/>; title="a, b"; rel="copyright License"', "CC-BY-SA-4.0"),
        ('<https://example.org/terms>; rel="license", <https://opensource.org/license/mit>; rel="license"', "MIT"),
        ('<https://spdx.org/licenses/MIT.html>; rel="alternate"', None),
        ('<https://example.org/license>; rel="license"', None),
        ("", None),
    ],
)
def test_the_first_known_licence_is_taken(links, expected):
    assert linked_license(links) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.opensource.org/licenses/Apache-2.0/", "Apache-2.0"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("https://spdx.org/licenses/NoSuch-1.0.html", None),
        ("https://spdx.org/licenses/", None),
        ("https://evil.org/?u=https://spdx.org/licenses/MIT", None),
    ],
)
def test_a_url_stands_for_a_licence_of_a_list_or_for_none(url, expected):
    assert license_of_url(url) == expected


def test_several_link_headers_are_read():
    head = parse_head(b"HTTP/1.1 200 OK\r\nLink: </a>; rel=x\r\nLINK: </b>; rel=y\r\nContent-Length: 0\r\n\r\n")
    assert head is not None and head.links == "</a>; rel=x, </b>; rel=y"
