"""Payloads to texts: content types, charsets, titles and licences, and pages that would never end."""

import gzip
import json
from pathlib import Path

import pytest

from corpusmill.curate.extract import extract
from corpusmill.curate.html import METHODS
from corpusmill.curate.markup_depth import measure_markup
from corpusmill.document import EXTRACTED, text_hash

EVAL = Path(__file__).parents[3] / "shared/data/html_eval_trafilatura"
PROSE = "The quick brown fox jumps over the lazy dog, and then it rests under a tree for the whole afternoon. " * 3


def page(body: str, head: str = "<title>A title</title>") -> bytes:
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>".encode()


@pytest.fixture
def one(payload_rows):
    def extract_one(payload: bytes | None, method: str = "fast", limits: dict | None = None, **columns):
        (row,) = extract(payload_rows(payload, **columns), {"method": method, "limits": limits or {}}).to_pylist()
        return row

    return extract_one


@pytest.mark.parametrize("method", ["fast", "resiliparse", "trafilatura"])
def test_page_gives_its_main_text_title_and_language(one, method):
    body = f"<nav><a href=/>Home</a> <a href=/x>Other things</a></nav><main><h1>Fox</h1><p>{PROSE}</p></main>"
    row = one(page(body), method)
    assert PROSE.strip() in row["text"]
    assert "Other things" not in row["text"]
    assert (row["title"], row["declared_language"], row["license"]) == ("A title", "en", None)
    assert (row["content_type"], row["failure"], row["text_hash"]) == ("text/html", None, text_hash(row["text"]))


@pytest.mark.parametrize(
    ("method", "least_with", "least_without"),
    [("fast", 91, 86), ("trafilatura", 89, 84), ("resiliparse", 88, 60), ("justext", 65, 80)],
)
def test_real_pages_keep_what_must_stay_and_lose_what_must_go(payload_rows, method, least_with, least_without):
    if not EVAL.exists():
        pytest.skip("needs ../shared/data/html_eval_trafilatura")
    notes = [json.loads(line) for line in (EVAL / "annotations.jsonl").read_text().splitlines()]
    payloads = [gzip.decompress((EVAL / f"html/{note['file']}.gz").read_bytes()) for note in notes]
    rows = extract(payload_rows(*payloads), {"method": method}).to_pylist()
    texts = [" ".join((row["text"] or "").split()) for row in rows]
    kept = sum(" ".join(part.split()) in text for note, text in zip(notes, texts, strict=True) for part in note["with"])
    lost = sum(part not in text for note, text in zip(notes, texts, strict=True) for part in note["without"])
    assert kept >= least_with, f"{kept} of 92 kept"
    assert lost >= least_without, f"{lost} of 90 lost"
    licenses = {
        (note["license"][:8].replace(" ", "-"), row["license"][:8])
        for note, row in zip(notes, rows, strict=True)
        if row["license"]
    }
    assert all(declared[:5] == found[:5] for declared, found in licenses)


@pytest.mark.parametrize(
    ("story", "payload", "columns", "expected"),
    [
        ("header says it", "Grüße".encode("cp1252"), {"content_type": "text/plain; charset=windows-1252"}, "Grüße"),
        ("header lies: it is UTF-8", "Grüße".encode(), {"content_type": "text/plain; charset=latin1"}, "Grüße"),
        ("byte order mark", b"\xef\xbb\xbfhello", {"content_type": "text/plain"}, "hello"),
        ("UTF-16", "\ufeffhello ü".encode("utf-16-le"), {"content_type": "text/plain"}, "hello ü"),
        ("NULs and Windows line ends", b"\r\n\r\na\x00b\r\nc\rd  \n\n", {"content_type": "text/plain"}, "ab\nc\nd"),
        ("unknown charset", "Grüße".encode("cp1252"), {"content_type": "text/plain; charset=klingon"}, "Grüße"),
        ("no content type", b"plain words", {"content_type": None}, "plain words"),
    ],
)
def test_characters(one, story, payload, columns, expected):
    assert one(payload, **columns)["text"] == expected, story


def test_meta_element_names_the_charset(one):
    payload = page(f"<p>Привет. {PROSE}</p>", "<meta charset=windows-1251>").decode().encode("cp1251")
    assert "Привет" in one(payload)["text"]


@pytest.mark.parametrize(
    ("story", "payload", "columns", "failure"),
    [
        ("nothing there", b"", {}, "empty_text"),
        ("only spaces", b" \n\t ", {"content_type": "text/plain"}, "empty_text"),
        ("an image", b"\x89PNG", {"content_type": "image/png"}, "unsupported_content_type"),
        ("a PDF served as a page", b"%PDF-1.7 <html>" + PROSE.encode(), {}, "unsupported_content_type"),
        ("bytes without a type", b"a\x00b", {"content_type": None}, "unsupported_content_type"),
        ("a missing page", page("gone"), {"meta": [("http_status", "404")]}, "http_error"),
        ("failed before", b"x", {"failure": "truncated_record"}, "truncated_record"),
        ("no payload", None, {}, "no_payload"),
    ],
)
def test_rows_without_text_name_why(one, story, payload, columns, failure):
    row = one(payload, **columns)
    assert (row["failure"], row["text"], row["text_hash"]) == (failure, None, None), story


def test_plain_method_keeps_markup(one):
    assert one(b"<b>x</b>", "plain")["text"] == "<b>x</b>"


def test_every_row_comes_back_in_order(payload_rows):
    rows = payload_rows(page(PROSE), None, b"", page("second " + PROSE))
    found = extract(rows, {"method": "fast"})
    assert found.schema == EXTRACTED
    assert found["doc_id"].to_pylist() == ["d0", "d1", "d2", "d3"]
    assert found["failure"].to_pylist() == [None, "no_payload", "empty_text", None]
    assert extract(rows.slice(0, 0), {}).num_rows == 0


def test_unknown_method_and_limit_are_named(payload_rows):
    with pytest.raises(ValueError, match="unknown extraction method 'trafilatra'; the methods are fast"):
        extract(payload_rows(), {"method": "trafilatra"})
    with pytest.raises(ValueError, match="unknown extraction limit max_deep; the limits are max_html_bytes"):
        extract(payload_rows(), {"limits": {"max_deep": 1}})


def test_confidence_is_the_dataset_s_choice(payload_rows):
    rows = payload_rows(page(f"<article><p>{PROSE}</p><ol><li>{PROSE}</li><li>the end</li></ol></article>"))
    sure, unsure = (
        extract(rows, {"confidence": {"min_characters": number}})["text"].to_pylist()[0] for number in (100, 100_000)
    )
    assert ("2. the end" in sure, "2. the end" in unsure) == (True, False), "trafilatura does not number lists"
    with pytest.raises(ValueError, match="unknown threshold min_chars of the method fast; there are min_characters"):
        extract(rows, {"confidence": {"min_chars": 1}})
    with pytest.raises(ValueError, match="min_kept_share must be 0 to 1, got 70"):
        extract(rows, {"confidence": {"min_kept_share": 70}})


@pytest.mark.parametrize(
    ("html", "depth", "tags"),
    [
        (b"<div><div><p>x</div></div>", 2, 5),
        (b"<p>" * 1000 + b"<br><img><li>" * 1000, 0, 4000),
        (b"a < b and <3 </> <", 0, 0),
        (b"</div></div><section><h1>", 2, 4),
        (b"<" * 100, 0, 0),
        (b"", 0, 0),
    ],
)
def test_markup_is_measured_without_parsing(html, depth, tags):
    assert measure_markup(html) == (depth, tags)


@pytest.mark.parametrize("method", METHODS)
def test_case_13_page_of_50_mb_and_100_000_nested_tags_end_as_failed_rows(one, method):
    assert one(b"<html>" + b"<p>some words</p>" * 3_000_000, method)["failure"] == "page_too_large"
    assert one(b"<div>" * 100_000 + b"deep", method)["failure"] == "nested_too_deep"


@pytest.mark.parametrize("method", METHODS)
def test_case_13_page_as_deep_as_allowed_is_read_and_one_level_too_many_is_told(one, method):
    deep, too_deep = (page("<b>" * depth + f"<p>{PROSE * 3}</p>") for depth in (1_000, 3_000))
    assert PROSE.strip() in " ".join((one(deep, method)["text"] or "").split())
    assert one(too_deep, method)["failure"] == "nested_too_deep"
    lists = page("<ul><li>" * 1_500 + PROSE)
    assert one(lists, method)["failure"] == "nested_too_deep"


def test_case_13_a_failed_page_leaves_the_next_one_alone(payload_rows):
    endless = b"x " + b":" * 400_000 + b" y"  # a role of reStructuredText may begin at each colon
    rows = payload_rows(endless, b"words", endless, b"more words", content_type="text/x-rst")
    found = extract(rows, {"method": "rst", "limits": {"timeout_seconds": 0.5}})
    assert found["failure"].to_pylist() == ["extraction_timed_out", None, "extraction_timed_out", None]
    assert found["text"].to_pylist() == [None, "words", None, "more words"]


def test_limits_that_no_page_can_meet_are_refused(payload_rows):
    with pytest.raises(ValueError, match="needs time and at least 268435456 bytes, got timeout_seconds=0 and memory"):
        extract(payload_rows(), {"limits": {"timeout_seconds": 0}})


@pytest.mark.parametrize("opening", [b"<img class='", b"<math ", b"<script type='math/tex'>", b"<a rel='", b"<title"])
def test_openings_without_ends_cost_no_time(one, opening):
    assert one(opening * 90_000 + b" math tex", limits={"max_depth": 10**9})["failure"] in (None, "empty_text")


def test_formulas_become_tex(one):
    body = (
        f"<main><p>{PROSE} Let <script type='math/tex'>a &lt; b_1</script> and "
        '<math display="block"><mi>x</mi><annotation encoding="application/x-tex">\\frac{x}{2}</annotation></math> and '
        '<math alttext="y^2"><mi>y</mi></math> and <math><mi>q</mi></math> and '
        '<img class="math inline" src="f.png" alt="z_0"> hold.</p></main>'
    )
    text = one(page(body))["text"]
    assert "Let $a < b_1$ and $$\\frac{x}{2}$$ and $y^2$ and $q$ and $z_0$ hold." in text


@pytest.mark.parametrize(
    ("link", "license"),
    [
        ('<a rel="license" href="https://creativecommons.org/licenses/by-sa/4.0/deed.de">', "CC-BY-SA-4.0"),
        ("<link href=\"http://creativecommons.org/publicdomain/zero/1.0/\" rel='license'>", "CC0-1.0"),
        ('<a href="https://creativecommons.org/licenses/by/4.0/">a page about licences</a>', None),
    ],
)
def test_linked_licence_is_found(one, link, license):
    assert one(page(f"<p>{PROSE}</p>{link}"))["license"] == license
