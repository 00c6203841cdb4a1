"""reStructuredText to plain text with its formulas."""

import pytest

from corpusmill.curate.rst import rst_to_text


@pytest.mark.parametrize(
    ("story", "source", "expected"),
    [
        ("headings lose their lines", "=====\nTitle\n=====\n\nText.\n\nPart\n----\nMore.", "Title\n\nText.\n\nPart\nMore."),
        ("roles keep their words", "See :func:`~a.b.c` or :class:`x <y.Z>`, :ref:`here`.", "See c or x, here."),
        ("marks go", "*one* **two** ``a*b`` `link <http://x>`_ `ref`_ a*b*c", "one two a*b link ref a*b*c"),
        ("inline formula", r"Let :math:`a_1 * b *` be *small*.", "Let $a_1 * b *$ be small."),
        ("displayed formula", "So\n\n.. math::\n\n   x^2\n   + 1\n\nholds.", "So\n\n$$x^2\n+ 1$$\n\nholds."),
        ("formula in the first line", ".. math:: a = b\n", "$$a = b$$"),
        ("two formulas", ".. math::\n   :label: eq\n\n   a\n\n   b\n", "$$a$$\n$$b$$"),
        ("comments and labels go", ".. _x:\n\n.. a comment\n   goes on\n\nText", "Text"),
        ("unknown directives go", "Text\n\n.. toctree::\n   :m: 2\n\n   a\n", "Text"),
        ("notes keep their text", ".. note:: Mind\n   the *gap*.\n\nText", "Mind\nthe gap.\n\nText"),
        ("code stays as it is", "Run::\n\n    a = *b*\n\n    c\n\nDone.", "Run:\n\n    a = *b*\n\n    c\n\nDone."),
        ("code block", ".. code-block:: python\n\n   x = 1  # *y*\n", "   x = 1  # *y*"),
        ("footnotes go", "Known [1]_ and [#a]_.", "Known and."),
        ("nothing", "", ""),
    ],
)  # fmt: skip
def test_rst_becomes_plain(story, source, expected):
    assert rst_to_text(source)[0].strip("\n") == expected, story


def test_first_heading_is_the_title():
    assert rst_to_text("intro\n\nThe *real* title\n================\n\nOther\n-----\n")[1] == "The real title"
    assert rst_to_text("no heading at all")[1] is None


def test_formulas_survive_in_every_real_shape():
    source = "\n".join(["A\n=\n", *(f".. math::\n\n   x_{n}\n" for n in range(50)), "- item :math:`y`"])
    text, _ = rst_to_text(source)
    assert all(f"$$x_{n}$$" in text for n in range(50))
    assert "$y$" in text
