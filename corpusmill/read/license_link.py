"""The licence that a web server declares for a page: `Link: <URL>; rel="license"` (RFC 8288; the relation is RFC 4946's)."""

import re

from corpusmill.curate.license_urls import license_of_url

_LINK = re.compile(r"<([^<>]{1,2000})>([^<]{0,2000})")
_RELATION = re.compile(r""";\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)


def linked_license(links: str) -> str | None:
    """Return the first licence among the links of a response's head that is known, or None."""
    for url, parameters in _LINK.findall(links):
        relation = _RELATION.search(parameters)
        is_license = relation and "license" in (relation[1] or relation[2] or "").lower().split()
        if is_license and (found := license_of_url(url)):
            return found
    return None
