"""Numbers in words and in digits: what a text says, language by language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.number_digits import digit_numbers
from corpusmill.synthesize.verify.number_phrases import spoken_numbers
from corpusmill.synthesize.verify.number_words import LANGUAGES
from corpusmill.synthesize.verify.numbers import Number, _unpaired, numbers_preserved

SPOKEN = {
    "one number": ("en", "two hundred and five", ["205"]),
    "with hyphens": ("en", "twenty-one thousand, three hundred", ["21000", "300"]),
    "several": ("en", "two or three", ["2", "3"]),
    "hundreds above nine": ("en", "fifteen hundred", ["1500"]),
    "a dozen is twelve, three of them may be three": ("en", "three dozen", ["3/36"]),
    "an ordinal": ("en", "the third of them", ["3"]),
    "half, or the second part": ("en", "half", ["0.5/2"]),
    "inside of another word": ("en", "often someone tenths bone", ["10"]),
    "a second that passes": ("en", "metres per second", []),
    "Spanish": ("es", "doscientos treinta y cinco", ["235"]),
    "French: sixty and fifteen": ("fr", "soixante-quinze", ["75"]),
    "French: four twenties and seventeen": ("fr", "quatre-vingt-dix-sept", ["97"]),
    "German: one word": ("de", "fünfundzwanzig", ["25"]),
    "German: a compound": ("de", "dreihundert", ["300"]),
    "Portuguese": ("pt", "trinta e dois", ["32"]),
    "Italian": ("it", "mille", ["1000"]),
    "Russian: cases": ("ru", "двумя, пяти", ["2", "5"]),
    "Swahili: noun classes": ("sw", "watoto watatu na vikombe vinne", ["3", "4"]),
    "Bengali: with a classifier": ("bn", "তিনটি ডিম", ["3"]),
    "Telugu: people are counted otherwise": ("te", "ముగ్గురు పిల్లలు", ["3"]),
    "Thai: inside of a run": ("th", "ไข่สามฟอง", ["3"]),
    "Thai: can is not three": ("th", "เขาสามารถ", []),
    "Thai: places": ("th", "สองร้อยห้าสิบ", ["250"]),
    "Chinese: places": ("zh", "两百五十只", ["250"]),
    "Chinese: ten thousands": ("zh", "三万五千", ["35000"]),
    "Chinese: twelve million": ("zh", "一千二百万", ["12000000"]),
    "Chinese: sandwiches": ("zh", "吃三明治", []),
    "Chinese: Friday is not five": ("zh", "周五", []),
    "Japanese: times after a number are not double": ("ja", "3倍", []),
    "Japanese: double": ("ja", "倍", ["2"]),
}


@pytest.mark.parametrize(("language", "text", "expected"), SPOKEN.values(), ids=SPOKEN)
def test_spoken_numbers(language, text, expected):
    found = [number for number in spoken_numbers(text, language) if not number.is_loose]
    assert ["/".join(sorted(number.readings, key=float)) for number in found] == expected


def test_an_article_only_suggests_one():
    assert [(number.readings, number.is_loose) for number in spoken_numbers("una casa", "es")] == [({"1"}, True)]
    assert not any(number.is_loose for number in spoken_numbers("one house", "en"))


def test_a_language_without_words_has_none():
    assert spoken_numbers("two deux zwei", "xx") == []
    assert {"2"} in [number.readings for number in spoken_numbers("zwei", None)], "None is any language"


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_language_counts_in_order(name):
    values = [
        {value for number in spoken_numbers(forms.split("/")[0], name) for value in number.readings}
        for forms in LANGUAGES[name].counting.split()
    ]
    assert all(str(place) in found for place, found in enumerate(values))


DIGITS = {
    "a group and a decimal": ("en", "1,234.5", [{"1234.5"}]),
    "a thousand or one": ("en", "1,000", [{"1000", "1"}]),
    "groups of two, as in India": ("en", "12,34,567", [{"1234567"}]),
    "Arabic digits and marks": ("ar", "٣٫٥", [{"3.5"}]),
    "Bengali digits": ("bn", "১,০০,০০০", [{"100000"}]),
    "a decimal behind kana": ("ja", "つき.75個", [{"0.75"}]),
    "a scale in words": ("es", "2,5 millones", [{"2.5", "2500000"}]),
    "a scale in Chinese": ("zh", "8万", [{"8", "80000"}]),
    "a power of ten": ("en", "4 × 10^9 years", [{"4000000000"}]),
    "a power of ten with raised digits": ("en", "4 × 10⁻³ m", [{"0.004"}]),
    "a power of ten that lost its place": ("en", "800 × 109 suns", [{"800000000000"}]),
    "a product": ("en", "3 × 15", [{"3"}, {"15"}]),
    "the afternoon": ("en", "from 1 to 4 PM", [{"1", "13"}, {"4", "16"}]),
    "the afternoon in Chinese": ("zh", "下午3点", [{"3", "15"}]),
    "hours from sunrise": ("sw", "saa 7 mchana", [{"7", "1", "13"}]),
    "hours that last": ("sw", "kwa saa 7", [{"7"}]),
    "half an hour": ("en", ".5 hours", [{"0.5", "30"}]),
    "cents": ("en", "50 cents", [{"50", "0.5"}]),
    "money in cents": ("en", "$0.75", [{"0.75", "75"}]),
    "a discount": ("zh", "打8折", [{"8", "20"}]),
    "a decade": ("en", "the 1960s", [{"1960", "60", "20"}]),
}  # fmt: skip


@pytest.mark.parametrize(("language", "text", "expected"), DIGITS.values(), ids=DIGITS)
def test_numbers_in_digits(language, text, expected):
    assert [set(readings) for _, _, readings in digit_numbers(text, language)] == expected


KEPT = {
    "a month becomes a number": ("last December", "去年12月", "zh", None),
    "dozens become pieces": ("3 dozen eggs", "卵を36個", "ja", None),
    "one by one": ("She runs an hour every day.", "彼女は1日に1時間走ります。", "ja", None),
    "a discount that is turned around": ("a 25% discount", "打七五折", "zh", None),
    "a century": ("in the late 1700s", "a finales del siglo XVIII", "es", None),
    "the sixties": ("in the 1960s", "en los años 60", "es", None),
    "a word said twice as a digit": ("three cups, and more", "3 杯，再来 3 杯", "zh", None),
    "a word becomes another digit": (
        "He ate three eggs and 4 pears.",
        "Comió 4 huevos y 4 peras.",
        "es",
        "number_changed",
    ),
    "an article covers no other number": ("8 weeks, 8 days, a hen", "1 semanas, 8 días", "es", "number_changed"),
    "a power of ten": ("4 × 10^9 years", "4 × 10^8 años", "es", "number_lost"),
}


@pytest.mark.parametrize(("seed", "output", "language", "expected"), KEPT.values(), ids=KEPT)
def test_numbers_of_a_translation(seed, output, language, expected):
    assert numbers_preserved(Case(seed=seed, output=output, seed_language="en", language=language)) == expected


@given(st.lists(st.integers(0, 99_999), min_size=1, max_size=6), st.sampled_from(sorted(LANGUAGES)))
def test_the_same_numbers_in_any_order_pass_and_a_new_one_does_not(values, language):
    seed, output = "; ".join(map(str, values)), "; ".join(map(str, sorted(values)))
    assert numbers_preserved(Case(seed=seed, output=output, seed_language="en", language=language)) is None
    planted = f"{output}; 123456"
    assert (
        numbers_preserved(Case(seed=seed, output=planted, seed_language="en", language=language)) == "number_invented"
    )


@given(st.lists(st.sets(st.sampled_from("1234"), min_size=1)), st.lists(st.sets(st.sampled_from("1234"), min_size=1)))
def test_each_number_is_paired_with_the_first_free_one_that_shares_a_reading(left, right):
    rest = list(enumerate(right))
    lonely = []
    for readings in left:
        partner = next((item for item in rest if item[1] & readings), None)
        (lonely.append(readings) if partner is None else rest.remove(partner))
    found = _unpaired(_numbers(left), _numbers(right), lambda number: number.readings)
    assert found == (_numbers(lonely), _numbers([readings for _, readings in rest]))


def _numbers(found):
    return [Number(readings=frozenset(readings)) for readings in found]
