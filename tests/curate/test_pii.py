"""Personal data: what counts as which kind, what does not, and that a masked text is left without it."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.apply import apply_edits
from corpusmill.curate.edits import edit_rows, merge_edits
from corpusmill.curate.pii import STATISTICS, count_pii, drops_for_pii, find_pii
from corpusmill.curate.pii_kinds import CODE_PII, KINDS, WEB_PII, PiiPolicy, changed_policy

SHARED = Path(__file__).parents[3] / "shared/data/pii_presidio/pii_spans.jsonl"
ALL = PiiPolicy(actions=dict.fromkeys(KINDS, "mask"))


def find(*texts: str | None, policy: PiiPolicy = ALL):
    return find_pii(pa.chunked_array([texts], pa.large_string()), policy)


def masked(text: str, policy: PiiPolicy = ALL) -> str:
    return apply_edits(text, edit_rows(merge_edits(find(text, policy=policy)[0])))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail Bob.Smith+x@mail.gov.uk, please", "mail email@example.com, please"),
        ("'ann@mill.org'", "'email@example.com'"),
        ("write to ann@mill.org.", "write to email@example.com."),
        ("ann@example.com and x@host stay", "ann@example.com and x@host stay"),
        ("@" * 20 + "a@b", "@" * 20 + "a@b"),
        ("a" * 100 + "@mill.org", "a" * 100 + "@mill.org"),
        ("@decorator\ndef f(a@b): pass", "@decorator\ndef f(a@b): pass"),
        ("8.8.8.8 but not 10.0.0.1 or 127.0.0.1", "192.0.2.1 but not 10.0.0.1 or 127.0.0.1"),
        ("v1.2.3.4 1.2.3.4.5 999.1.1.1 version 4.2.1.3", "v1.2.3.4 1.2.3.4.5 999.1.1.1 version 4.2.1.3"),
        ("(1.1.1.1).", "(192.0.2.1)."),
        ("2606:4700:4700::1111, std::vector a::b 12:30:45", "2001:db8::1, std::vector a::b 12:30:45"),
        ("ü 😀 ann@mill.org", "ü 😀 email@example.com"),
    ],
)
def test_addresses(text, expected):
    assert masked(text) == expected


@pytest.mark.parametrize(
    "number",
    [
        *("+46 (0)8 928 571 38", "+447700677662", "+1-604-696-5272x565", "001-518-640-0854", "(905) 674-3793"),
        *("905.674.3793", "1-800-225-5288 ext. 12", "0341 8387176", "03 44 93 16 85", "020 7946 0958", "03-3224-9999"),
        "01\u00a044\u00a093\u00a016\u00a085",
    ],
)
def test_phone_numbers_are_told_by_their_form(number):
    assert masked(f"or {number}, daily") == "or <PHONE_NUMBER>, daily"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fax: 9498777106", "Fax: <PHONE_NUMBER>"),
        ("781 1704 office", "<PHONE_NUMBER> office"),
        ("Téléphone : 416 60 039", "Téléphone : <PHONE_NUMBER>"),
        ("电话：13611778776", "电话：<PHONE_NUMBER>"),
        ("2013 905-674-3793 x", "2013 <PHONE_NUMBER> x"),
        ("0341 8387176\n(0341/8387177)", "<PHONE_NUMBER>\n(<PHONE_NUMBER>)"),
    ],
)
def test_phone_numbers_are_told_by_a_word(text, expected):
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("9498777106 bytes", "in 2010-2011 and 2020-01-15 10:30", "Boston, MA 02110-1301", "ISBN 0-201-63337-X"),
        *("ISBN 978-3-16-148410-0", "1 2 3 4 5 6 7 8 9 10 11 12 13", "012 013 023 123", "$<<0.75-0.25-0.10=0.40>>"),
        *(
            "0.25666666667",
            "call 3.14159265",
            "phone, 2020-01-15",
            "We will call\n192384576",
            "x = 12345678 * 87654321",
        ),
        *("+1 000 000 readers", "https://mill.org/905-674-3793-a", "555-123-4567"),
        "0 2010-02-01 16:23:40",
    ],
)
def test_other_numbers_stay(text):
    assert masked(text) == text


@pytest.mark.parametrize(
    ("kind", "written", "almost"),
    [
        ("card", "4539 1488 0343 6467", "4539 1488 0343 6468"),
        ("card", "371449635398431", "371449635398432"),
        ("card", "6011-1111-1111-1117", "6011-1111-1111-1118"),
        ("iban", "GB82WEST12345698765432", "GB82WEST12345698765433"),
        ("iban", "gb82west12345698765432", "gb82west12345698765431"),
        ("iban", "DE89 3704 0044 0532 0130 00", "DE88 3704 0044 0532 0130 00"),
        ("us_ssn", "219-09-9999", "666-09-9999"),
        ("us_itin", "912-70-1234", "912-69-1234"),
        ("uk_nino", "AB 12 34 56 C", "GB 12 34 56 C"),
        ("uk_nino", "AB123456C", "AB123456E"),
        ("es_nif", "12345678Z", "12345678A"),
        ("es_nif", "12345678-Z", "12345678-A"),
        ("es_nif", "X1234567L", "X1234567M"),
        ("es_nif", "X-1234567-L", "X-1234567-M"),
        ("it_fiscal_code", "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
        ("fr_nir", "255081416802538", "255081416802539"),
        ("fr_nir", "2 55 08 14 168 025 38", "2 55 08 14 168 025 39"),
        ("br_cpf", "529.982.247-25", "529.982.247-26"),
        ("crypto_address", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"),
        (
            "crypto_address",
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5",
        ),
    ],
)
def test_numbers_with_a_check(kind, written, almost):
    found = find(f"it is {written}, he said", f"it is {almost}, he said")
    assert [(edit.kind, edit.start, edit.end) for edit in found[0]] == [(kind, 6, 6 + len(written))]
    assert [edit for edit in found[1] if edit.kind == kind] == []


@pytest.mark.parametrize(
    ("kind", "word", "number"),
    [
        ("us_ssn", "Social Security number", "219099999"),
        ("us_passport", "passport no.", "340020013"),
        ("uk_nhs", "NHS", "943 476 5919"),
        ("de_tax_id", "Steuer-ID:", "86095742719"),
        ("pl_pesel", "PESEL", "44051401359"),
        ("br_cpf", "CPF:", "52998224725"),
        ("card", "credit card", "584528792610"),
    ],
)
def test_numbers_that_need_a_word(kind, word, number):
    found = find(f"her {word} {number}", f"the part {number}")
    assert [edit.kind for edit in found[0]] == [kind]
    assert [edit for edit in found[1] if edit.kind == kind] == []


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("aws_key", "AKIA" + "Z7QXDJ4WPLM2KT5B"),
        ("github_token", "ghp_" + "a1B2" * 9),
        ("github_token", "github_pat_" + "a1B2c3D4e5F6g7H8i9J0k1" + "_" + "x9Y" * 19 + "z0"),
        ("slack_token", "xoxb-" + "2487345102-abcDEF"),
        ("google_api_key", "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"),
        ("stripe_key", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"),
        ("package_token", "glpat-" + "x7Kq2mPzR4sT9vWy1bNc"),
        ("package_token", "npm_" + "a1B2" * 9),
        ("jwt", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"),
    ],
)
def test_keys_are_told_by_their_issuers_form(kind, key):
    assert masked(f"key: {key}\n", CODE_PII) == f"key: <{kind.upper()}>\n"
    assert (
        masked(f"see https://mill.org/{key[:8]}/{key[4:12]}", CODE_PII) == f"see https://mill.org/{key[:8]}/{key[4:12]}"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('password = "hT7#kq9vZx"', 'password = "<SECRET>"'),
        ("'api_key': 'b7f3e1c9a5d24860'", "'api_key': '<SECRET>'"),
        ("AUTH_TOKEN=b7f3e1c9a5d24860\n", "AUTH_TOKEN=<SECRET>\n"),
        ('password = "example123"', 'password = "example123"'),
        ('password = "aaaa1111"', 'password = "aaaa1111"'),
        ('name = "hT7#kq9vZx"', 'name = "hT7#kq9vZx"'),
        ("token=self.token_of_2", "token=self.token_of_2"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ],
)
def test_assigned_secrets(text, expected):
    assert masked(text, CODE_PII) == expected


KEY_LINES = "MIIEpAIBAAKCAQEA7bq\nabc+/0=="


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"a\n-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n-----END RSA PRIVATE KEY-----\nb",
            "a\n<PRIVATE_KEY>\nb",
        ),
        (f"k = '-----BEGIN PRIVATE KEY-----\\n{KEY_LINES}", "k = '<PRIVATE_KEY>"),
        ("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----", None),
        ("-----BEGIN ", None),
    ],
)
def test_private_keys(text, expected):
    assert masked(text) == (expected or text)


def test_overlapping_kinds_are_one_mask():
    assert masked("tel: 4111 1111 1111 1111 or +49 30 901820@mill.org") == "tel: <CARD_NUMBER> or email@example.com"


def test_policy_masks_drops_and_leaves():
    policy = changed_policy(WEB_PII, {"us_ssn": "drop", "email": "leave"})
    found = find("ann@mill.org 8.8.8.8", "219-09-9999 and 8.8.8.8", None, "", policy=policy)
    assert [[edit.kind for edit in edits] for edits in found] == [["ip_address"], ["us_ssn", "ip_address"], [], []]
    counts = count_pii(found, policy)
    assert drops_for_pii(counts, policy).tolist() == [False, True, False, False]
    assert drops_for_pii(counts, WEB_PII).tolist() == [False] * 4
    assert tuple(counts) == STATISTICS
    assert counts["pii_ip_address"].tolist() == [1, 1, 0, 0]
    assert np.isnan(counts["pii_email"]).all()


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ({"emial": "mask"}, "unknown kind of personal data emial"),
        ({"email": "hide"}, "must be one of mask, drop, leave"),
    ],
)
def test_wrong_policy_is_refused(actions, message):
    with pytest.raises(ValueError, match=message):
        PiiPolicy(actions=actions)


SPANS = ["ann@mill.org", "8.8.8.8", "2606:4700:4700::1111", "+447700677662", "GB82WEST12345698765432", "219-09-9999"]
AROUND = st.text(st.sampled_from("ab 😀字אب\u0301\u200f\ufeff\x00\r\n,;𐍈é"), max_size=12)


@given(st.lists(st.tuples(AROUND, st.sampled_from(SPANS)), max_size=5), AROUND)
def test_masked_text_has_none_of_the_spans_and_all_of_the_rest(parts, end):
    text = "".join(f"{before} {span} " for before, span in parts) + end
    edits = merge_edits(find(text)[0])
    assert [text[edit.start : edit.end] for edit in edits] == [span for _, span in parts]
    applied = apply_edits(text, edit_rows(edits))
    assert all(span not in applied for span in SPANS)
    assert masked(applied) == applied


NUMBERS = st.text(st.sampled_from("0123456789" * 3 + " -.()+/@:=\"'aZXC_x\u00a0é\n"), max_size=80)


@given(st.lists(NUMBERS, max_size=4))
def test_spans_of_any_text_lie_in_it_and_do_not_depend_on_its_neighbours(texts):
    found = find(*texts)
    assert found == [find(text)[0] for text in texts]
    for text, edits in zip(texts, found, strict=True):
        assert all(0 <= edit.start < edit.end <= len(text) for edit in edits)
        shifted = [(edit.start - 3, edit.end - 3, edit.kind) for edit in find("😀é\n" + text)[0]]
        assert shifted == [(edit.start, edit.end, edit.kind) for edit in edits]


def test_rows_do_not_touch_each_other():
    found = find("x ann@", "mill.org", "ü" * 3 + " 8.8.8.8", None, "8.8.8", ".8")
    assert [[(edit.start, edit.end) for edit in edits] for edits in found] == [[], [], [(4, 11)], [], [], []]


def test_sliced_column_keeps_its_rows():
    column = pa.chunked_array([["8.8.8.8", "a", "ann@mill.org"], ["1.1.1.1"]], pa.string()).slice(1)
    assert [[edit.kind for edit in edits] for edits in find_pii(column, ALL)] == [[], ["email"], ["ip_address"]]


@pytest.mark.parametrize(
    "unit", ["@", "1", "1 ", "1.", ":", "a@b.", '="', "12:", "-----BEGIN RSA PRIVATE KEY-----", "01-"]
)
def test_long_lines_of_one_thing_end(unit):
    """One line of 20 MB takes under a second or two; anything quadratic in it would take days."""
    assert len(find(unit * (20_000_000 // len(unit)))) == 1


def test_annotated_sentences_are_found():
    if not SHARED.exists():
        pytest.skip("needs ../shared/data/pii_presidio")
    names = {
        "EMAIL_ADDRESS": "email",
        "IBAN_CODE": "iban",
        "CREDIT_CARD": "card",
        "US_SSN": "us_ssn",
        "PHONE_NUMBER": "phone",
    }
    rows = [json.loads(line) for line in SHARED.read_text(encoding="utf-8").splitlines()]
    missed = dict.fromkeys(names.values(), 0)
    for row, edits in zip(rows, find(*[row["full_text"] for row in rows], policy=WEB_PII), strict=True):
        for span in row["spans"]:
            if kind := names.get(span["entity_type"]):
                whole = [(edit.kind, edit.start, edit.end) for edit in edits]
                missed[kind] += (kind, span["start_position"], span["end_position"]) not in whole
    assert missed == {"email": 0, "iban": 0, "card": 0, "us_ssn": 0, "phone": 1}  # `668 5702`, which no word announces
