"""URLs against lists of domains, words and opt-outs."""

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.urls_lists import build_url_lists, url_checks

DAY = datetime.date(2024, 6, 1)
LISTS = build_url_lists(
    blocked_domains=pa.table(
        {"domain": ["bad.com", "BÜCHER.example.", "*.evil.org", "192.0.2.1", "[2001:db8::1]", "a.b.co.uk"]}
    ),
    blocked_words=pa.table(
        {
            "word": ["poker", "casino", "Секс", "win", "free", "x"],
            "kind": ["anywhere", "word", "word", "soft", "soft", "word"],
        }
    ),
    opt_outs=pa.table(
        {
            "domain": ["all.net", "some.net", "some.net", "some.net", "other.net", "later.net"],
            "path_prefix": [None, "/private/", "/a%2fb", "/q?id=", "/", "/"],
            "agent": [None, "*", "GPTBot", "gptbot", "OtherBot", "*"],
            "since": [None, None, DAY, DAY, None, DAY + datetime.timedelta(days=1)],
        }
    ),
    agents=["GptBot"],
    as_of=DAY,
)
DOMAIN, WORD, OUT = "url_blocked_domain", "url_blocked_word", "url_opted_out"
CASES = {
    "the domain": ("http://bad.com/a", [DOMAIN]),
    "below the domain, with user and port": ("https://u:p@WWW.sub.bad.com.:8080/", [DOMAIN]),
    "another domain with the same end": ("http://notbad.com/", []),
    "the domain in front": ("http://bad.com.example.org/", []),
    "the domain in the path": ("http://example.org/bad.com", []),
    "an international domain": ("http://xn--bcher-kva.example/", [DOMAIN]),
    "a domain with a star": ("http://evil.org/", [DOMAIN]),
    "above a listed one": ("http://b.co.uk/", []),
    "IPv4": ("http://192.0.2.1/a", [DOMAIN]),
    "IPv4 that ends alike": ("http://7.192.0.2.1/", []),
    "IPv6 in another spelling": ("http://[2001:DB8:0::1]:81/", [DOMAIN]),
    "a word anywhere": ("http://megapokerstars.example.com/", [WORD]),
    "a word across marks": ("http://example.com/po-ker", [WORD]),
    "a word, encoded": ("http://example.com/%70oker", [WORD]),
    "a whole word": ("http://example.com/the-CASINO.html", [WORD]),
    "only inside a word": ("http://example.com/casinos", []),
    "a word beyond ASCII": ("http://example.com/секс/", [WORD]),
    "a word of one letter": ("http://example.com/?x", [WORD]),
    "one soft word": ("http://example.com/win", []),
    "two soft words": ("http://win.example.com/free-a", [WORD]),
    "a soft word twice": ("http://win.example.com/win", [WORD]),
    "opted out as a whole": ("http://sub.all.net/a", [OUT]),
    "a folder opted out": ("http://some.net/private/a?b", [OUT]),
    "the folder itself": ("http://some.net/private/", [OUT]),
    "a path that begins alike": ("http://some.net/privately", []),
    "a prefix in another encoding": ("http://some.net/a%2Fbc", [OUT]),
    "a prefix with a query": ("http://some.net/q?id=7", [OUT]),
    "opted out for another agent": ("http://other.net/", []),
    "opted out later": ("http://later.net/", []),
    "several at once": ("http://bad.com/casino", [DOMAIN, WORD]),
    "no page": ("data:text/plain,poker", []),
    "null": (None, []),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("url", "expected"), CASES.values(), ids=CASES)
def test_what_a_url_breaks(url: str | None, expected: list[str]) -> None:
    checks = url_checks(pa.array([url], pa.string()), LISTS)
    assert [reason for reason in (DOMAIN, WORD, OUT) if checks[reason][0]] == expected


def test_every_row_is_judged_by_itself() -> None:
    urls = pa.chunked_array([[url for url, _ in CASES.values()]], pa.string())
    checks = url_checks(urls, LISTS)
    for reason in (DOMAIN, WORD, OUT):
        assert checks[reason].tolist() == [reason in expected for _, expected in CASES.values()]


def test_an_opt_out_comes_before_the_lists() -> None:
    assert list(url_checks(pa.array(["http://a.com"]), LISTS)) == [OUT, DOMAIN, WORD]


def test_no_lists_break_nothing() -> None:
    checks = url_checks(pa.array(["http://bad.com/casino", None]), build_url_lists())
    assert not any(broken.any() for broken in checks.values())


def test_without_agents_and_date_every_opt_out_counts() -> None:
    outs = pa.table({"domain": ["a.net", "b.net"], "agent": ["SomeBot", None], "since": [None, DAY]})
    checks = url_checks(pa.array(["http://a.net/", "http://b.net/"]), build_url_lists(opt_outs=outs))
    assert checks[OUT].tolist() == [True, True]


def test_lists_are_named_by_what_they_say() -> None:
    names = {
        build_url_lists(blocked_domains=pa.table({"domain": ["a.com"]})).fingerprint,
        build_url_lists(blocked_domains=pa.table({"domain": ["b.com"]})).fingerprint,
        build_url_lists(opt_outs=pa.table({"domain": ["a.com"]})).fingerprint,
        build_url_lists(min_soft_words=3).fingerprint,
        build_url_lists().fingerprint,
    }
    assert len(names) == 5
    assert build_url_lists().fingerprint in names


WRONG = {
    "a top-level domain": (
        {"blocked_domains": {"domain": ["a.com", "com"]}},
        "row 1 of blocked_domains: wanted a domain",
    ),
    "a URL": ({"blocked_domains": {"domain": ["http://a.com"]}}, "row 0 of blocked_domains: wanted a domain"),
    "a domain with a path": ({"opt_outs": {"domain": ["a.com/x"]}}, "row 0 of opt_outs: wanted a domain"),
    "a null domain": ({"blocked_domains": {"domain": pa.array([None], pa.string())}}, "row 0 of blocked_domains"),
    "a pattern": ({"opt_outs": {"domain": ["a.com"], "path_prefix": ["/*.pdf$"]}}, "wanted a path prefix such as"),
    "no path": ({"opt_outs": {"domain": ["a.com"], "path_prefix": ["private"]}}, "wanted a path prefix such as"),
    "a short part": (
        {"blocked_words": {"word": ["ab"], "kind": ["anywhere"]}},
        "row 0 of blocked_words: wanted letters",
    ),
    "no word": ({"blocked_words": {"word": ["--"], "kind": ["word"]}}, "row 0 of blocked_words: wanted letters"),
    "a wrong kind": (
        {"blocked_words": {"word": ["abc"], "kind": ["hard"]}},
        "kind of anywhere, word, soft, got 'abc' and 'hard'",
    ),
    "a wrong column": ({"blocked_domains": {"host": ["a.com"]}}, "a list has the columns domain, got host"),
}


@pytest.mark.parametrize(("lists", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_list_is_refused(lists: dict[str, dict[str, list[str]]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_url_lists(**{name: pa.table(columns) for name, columns in lists.items()})


LABELS = st.lists(st.sampled_from(["a", "b", "bad", "com", "example"]), min_size=1, max_size=4).map(".".join)


@given(st.lists(LABELS.filter(lambda name: "." in name), max_size=4), LABELS)
def test_a_host_is_blocked_exactly_when_a_listed_domain_ends_it(domains: list[str], host: str) -> None:
    lists = build_url_lists(blocked_domains=pa.table({"domain": pa.array(domains, pa.string())}))
    [blocked] = url_checks(pa.array([f"http://{host}/"]), lists)[DOMAIN].tolist()
    assert blocked == any(host == domain or host.endswith(f".{domain}") for domain in domains)
