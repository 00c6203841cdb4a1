"""What an asset's page shows as tables: short enough that Dagster shows it at once, and as it is."""

from hypothesis import given
from hypothesis import strategies as st

from assets.tables import MAX_CHARACTERS, bar_table, row_table


def test_a_row_table_leaves_empty_columns_out_and_cuts_identifiers():
    rows = [
        {
            "doc_id": "e8101524c189a66da7514e5f277bf393",
            "title": None,
            "score": 0.123456,
            "text": "One.\n\n  Two | *three*",
        },
        {"doc_id": "short", "title": "", "score": None, "text": "x"},
    ]
    assert row_table(rows).splitlines() == [
        "| doc_id | score | text |",
        "| --- | --- | --- |",
        r"| e8101524… | 0.1235 | One. ⏎ Two \| \*three\* |",
        "| short |  | x |",
    ]


def test_long_texts_are_cut_until_the_table_fits():
    shown = row_table([{"text": "word " * 100}] * 5)
    assert 700 < len(shown) <= MAX_CHARACTERS
    assert shown.count("…") == 5


def test_rows_that_do_not_fit_are_counted():
    shown = row_table([{"reason": f"some_reason_{number}", "documents": number} for number in range(100)])
    assert len(shown) <= MAX_CHARACTERS
    shown_rows = len(shown.splitlines()) - 4
    assert shown.endswith(f"and {100 - shown_rows} more rows")


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text(max_size=300), min_size=1), min_size=1, max_size=6
    )
)
def test_a_table_of_few_columns_always_fits(rows):
    assert len(row_table(rows)) <= MAX_CHARACTERS


def test_bars_are_sorted_with_shares_and_the_small_ones_together():
    values = {f"reason_{number:02d}": number for number in range(1, 15)}
    lines = bar_table({"kept": 95, **values}).splitlines()
    assert lines[2] == "| kept | 95 | 48% | ████████████ |"
    assert lines[3] == "| reason_14 | 14 | 7% | █▊ |"
    assert lines[-1] == "| others | 6 | 3% | ▊ |"
    assert len(lines) == 15
    assert len("\n".join(lines)) <= MAX_CHARACTERS


def test_bars_of_nothing_are_no_error():
    assert bar_table({"kept": 0, "empty": 0}).splitlines()[2:] == ["| empty | 0 | 0% |  |", "| kept | 0 | 0% |  |"]
