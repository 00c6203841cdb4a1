"""Charsets as they come: declared, declared wrongly, not declared, damaged."""

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.decoding import clean_text, decode, wide_charset

HELP = Path(__file__).parents[3] / "shared/data/html_parallel_lohelp/general.jsonl.gz"
GERMAN = "Die Füchse läßt man größtenteils über die Wälder laufen, weil sie dort natürlich hingehören."
FRENCH = "L'été dernier, le garçon a mangé des pâtes où il a été forcé d'aller à l'hôtel — « déjà » fermé."
RUSSIAN = "Быстрая лиса прыгает через ленивую собаку, а потом отдыхает под деревом весь долгий день."
CHINESE = "敏捷的狐狸跳过了那只懒狗，然后在树下休息了整整一个下午，而那只狗在家里等待着。"
JAPANESE = "すばしこい狐がのろまな犬を飛び越えて、それから木の下で午後ずっと休んでいました。"
KOREAN = "날쌘 여우가 게으른 개를 뛰어넘고 나서 나무 아래에서 오후 내내 쉬고 있었습니다."


@pytest.mark.parametrize(
    ("story", "text", "charset", "declared"),
    [
        ("declared and right", GERMAN, "cp1252", "windows-1252"),
        ("windows-1252 declared as UTF-8", GERMAN, "cp1252", "utf-8"),
        ("French too", FRENCH, "cp1252", "utf-8"),
        ("UTF-8 declared as Latin-1", GERMAN, "utf-8", "iso-8859-1"),
        ("UTF-8 declared as Shift_JIS", JAPANESE, "utf-8", "shift_jis"),
        ("nothing declared: cp1252", GERMAN, "cp1252", None),
        ("nothing declared: UTF-8", RUSSIAN, "utf-8", None),
        ("nothing declared: GBK", CHINESE, "gbk", None),
        ("nothing declared: Shift_JIS", JAPANESE, "shift_jis", None),
        ("nothing declared: EUC-JP", JAPANESE, "euc-jp", None),
        ("nothing declared: ISO-2022-JP", JAPANESE, "iso2022_jp", None),
        ("nothing declared: EUC-KR", KOREAN, "euc-kr", None),
        ("nothing declared: KOI8-R", RUSSIAN, "koi8-r", None),
        ("nothing declared: cp1251", RUSSIAN, "cp1251", None),
        ("GBK declared as Latin-1, the server's default", CHINESE, "gbk", "iso-8859-1"),
        ("cp1251 declared as Latin-1", RUSSIAN, "cp1251", "iso-8859-1"),
        ("Shift_JIS declared as UTF-8", JAPANESE, "shift_jis", "utf-8"),
        ("GBK declared as GB2312 with letters outside it", "國語版的" + CHINESE, "gbk", "gb2312"),
        ("Shift_JIS with NEC's additions", "①髙島屋" + JAPANESE, "cp932", "shift_jis"),
        ("UTF-16 without a mark", GERMAN, "utf-16-le", None),
        ("UTF-16 big-endian without a mark", GERMAN, "utf-16-be", None),
        ("UTF-16 declared as UTF-8", GERMAN, "utf-16-le", "utf-8"),
        ("a charset that no browser knows", GERMAN, "cp1252", "klingon"),
        ("a Python codec that is none for pages", GERMAN, "cp1252", "punycode"),
        ("UTF-16 declared, single bytes stored", GERMAN, "cp1252", "utf-16"),
        ("ASCII", "plain words", "ascii", None),
    ],
)
@pytest.mark.parametrize("place", ["header", "meta"])
def test_charsets(story, text, charset, declared, place):
    data = text.encode(charset)
    if place == "header":
        assert decode(data, f"text/plain; charset={declared}" if declared else "text/plain", is_html=False) == text, (
            story
        )
    else:
        meta = f'<meta http-equiv=content-type content="text/html; charset={declared}">' if declared else ""
        page = f"<html><head>{meta}</head><body>{text}</body></html>"
        assert decode(page.encode(charset), "text/html", is_html=True) == page, story


@pytest.mark.parametrize(
    ("mark", "charset"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\0\0", "utf-32-le"),
    ],
)
def test_byte_order_mark_goes_before_all_declarations(mark, charset):
    assert decode(mark + RUSSIAN.encode(charset), "text/plain; charset=koi8-r", is_html=False) == RUSSIAN


def test_one_bad_byte_does_not_change_the_charset():
    data = RUSSIAN.encode() + b"\xff" + RUSSIAN.encode()
    assert decode(data, None, is_html=False) == f"{RUSSIAN}\ufffd{RUSSIAN}"
    assert decode(RUSSIAN.encode()[:-1] + b"\xd0", "text/plain", is_html=False) == RUSSIAN[:-1] + ".\ufffd"[1:]
    cut = JAPANESE.encode("cp932")[:-1]
    assert decode(cut, "text/plain; charset=shift_jis", is_html=False).startswith(JAPANESE[:-1])


@pytest.mark.parametrize(
    ("language", "charset"),
    [
        *(("ru", "cp1251"), ("ru", "koi8-r"), ("ru", "iso8859-5"), ("ru", "cp866")),
        *(("ja", "shift_jis"), ("ja", "euc-jp"), ("zh-CN", "gb18030"), ("pl", "cp1250"), ("pl", "iso8859-2")),
        *(("de", "cp1252"), ("fr", "cp1252"), ("pt-BR", "cp1252"), ("ja", "utf-16-le")),
    ],
)
def test_real_pages_without_a_declaration(language, charset):
    if not HELP.exists():
        pytest.skip("needs ../shared/data/html_parallel_lohelp")
    rows = map(json.loads, gzip.decompress(HELP.read_bytes()).decode().splitlines())
    pages = [re.sub(r"charset=[\w-]+", "", row["html"]) for row in rows if row["lang"] == language][:20]
    data = [page.encode(charset, "ignore") for page in pages]
    right = sum(decode(one, "text/html", is_html=True) == one.decode(charset) for one in data)
    assert right == len(pages) == 20


@given(st.binary(max_size=200), st.sampled_from([None, "text/html; charset=gbk", "text/html; charset=utf-16"]))
def test_any_bytes_become_text_that_can_be_stored(data, content_type):
    clean_text(decode(data, content_type, is_html=True)).encode()


@given(st.text())
def test_utf_8_is_always_read_as_such(text):
    data = text.encode("utf-8", "ignore")
    if not wide_charset(data) and b"\x1b$" not in data:
        assert decode(data, None, is_html=False) == data.decode().removeprefix("\ufeff")
