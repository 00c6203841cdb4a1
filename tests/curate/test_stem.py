"""STEM rules and the finding of formulas."""

import pytest

from corpusmill.curate import stem

GOOD = r"""The area under the curve is found by adding up thin strips, each of width $h$ and height $f(x_i)$.
When the strips become thinner, the sum goes to a limit, and this limit is what we call the integral:

$$\int_a^b f(x) \, dx = \lim_{n \to \infty} \sum_{i=1}^{n} f(x_i) h$$

It does not matter whether the left or the right end of a strip is taken, as long as the function is continuous
on the whole interval, because the difference between both sums becomes as small as we like."""


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("$x$ and $y^2$", ["$x$", "$y^2$"]),
        ("$$a\n= b$$", ["$$a\n= b$$"]),
        (r"\(a\) or \[b\]", [r"\(a\)", r"\[b\]"]),
        (
            r"\begin{align*}a\\b\end{align*} \begin{foo}x\end{foo}",
            [r"\begin{align*}a\\b\end{align*}"],
        ),
        ("it costs $5 and $6, or $1,000$ in US$ and A$", []),
        (r"\$x\$ stays", []),
        ("$ echo a $HOME\n$ ls", []),
        ("", []),
        ("$" * 50_000, []),
    ],
)
def test_formulas_are_found(text, formulas):
    found = [text[start:end] for start, end in stem.find_formulas(text)]
    assert found == formulas


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (None, GOOD),
        ("too_few_words", "Let $x$ be small."),
        ("too_few_formulas", GOOD.replace("$", "")),
        (
            "language_not_wanted",
            "Die Fläche unter der Kurve wird gefunden, indem man dünne Streifen der Breite $h$ addiert. " * 5,
        ),
        ("repeated_line_characters", "\n".join([GOOD, *GOOD.splitlines()[:2]])),
    ],
)
def test_drop_reason_names_what_is_wrong(text_rows, reason, text):
    assert stem.judge(text_rows(text), {"judge": "stem"})["drop_reason"].to_pylist() == [reason]


def test_statistics_and_schema(text_rows):
    verdicts = stem.judge(text_rows(GOOD, None), {})
    assert verdicts.schema.names == [name for name in stem.verdict_schema().names if name != "text_file"]
    (row,) = verdicts.to_pylist()
    assert (row["formulas"], row["language"]) == (3, "en")
    covered = len("$h$") + len("$f(x_i)$") + len(GOOD.split("\n\n")[1])
    assert row["formula_character_share"] == pytest.approx(covered / len(GOOD))


def test_formulas_do_not_decide_the_language(text_rows):
    text = GOOD + "\n" + r"$\sum_{n} \frac{\partial f}{\partial x_n} \, dx_n = \mathrm{d}f$ " * 60
    (row,) = stem.judge(text_rows(text), {}).to_pylist()
    assert row["language"] == "en"
    assert row["language_score"] > 0.8
