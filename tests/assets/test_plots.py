"""What an asset's page draws: overlap of sources, the S-curve beside the measured one, sizes of clusters."""

from assets.plots import PLOTS
from assets.tables import MAX_CHARACTERS


def test_sources_overlap_darker_the_more():
    rows = [
        {"source": "pages", "duplicate_of_source": "pages", "documents": 40},
        {"source": "pages", "duplicate_of_source": "books_1", "documents": 5},
        {"source": "books_1", "duplicate_of_source": "books_1", "documents": 21},
    ]
    assert PLOTS["source_overlap"](rows).splitlines() == [
        r"| duplicates of → | pages | books\_1 |",
        "| --- | --: | --: |",
        "| pages | 40 ██ | 5 ░░ |",
        r"| books\_1 | 0    | 21 ▓▓ |",
    ]


def test_many_sources_are_shown_as_others_and_none_is_lost():
    rows = [
        {"source": f"source_{one:02d}", "duplicate_of_source": f"source_{other:02d}", "documents": 1000}
        for one in range(20)
        for other in range(20)
    ]
    shown = PLOTS["source_overlap"](rows)
    assert len(shown) <= MAX_CHARACTERS
    lines = shown.splitlines()
    assert lines[-1].startswith("| others |")
    numbers = [cell.strip(" ░▒▓█").replace(",", "") for line in lines[2:] for cell in line.split("|")[2:-1]]
    assert sum(map(int, numbers)) == 400_000


def test_the_curve_shows_promised_and_measured():
    rows = [
        {"jaccard": "0.6 to 0.7", "promised": 0.25, "measured": None, "low": None, "high": None, "pairs": 0},
        {"jaccard": "0.7 to 0.8", "promised": 0.75, "measured": 0.7, "low": 0.5, "high": 0.834, "pairs": 40},
    ]
    assert PLOTS["s_curve_measured"](rows).splitlines()[2:] == [
        "| 0.6 to 0.7 | 0.25 |  | 0 | `   │         ` |",
        "| 0.7 to 0.8 | 0.75 | 0.70 (0.50 to 0.83) | 40 | `      ━━━│━  ` |",
    ]
    assert len(PLOTS["s_curve_measured"](rows * 5)) <= MAX_CHARACTERS


def test_clusters_are_shown_by_size():
    rows = [{"size": "2 to 3", "clusters": 6, "documents": 14}, {"size": "4 to 7", "clusters": 12, "documents": 60}]
    assert PLOTS["cluster_sizes"](rows).splitlines()[2:] == [
        "| 2 to 3 | 6 | 33% | ██████ |",
        "| 4 to 7 | 12 | 67% | ████████████ |",
    ]


def test_distributions_show_what_was_kept_and_what_was_dropped():
    rows = [
        {"language": "en", "documents": 1200, "dropped": 300},
        {"language": "de", "documents": 400, "dropped": 400},
        {"language": "none", "documents": 1, "dropped": 1},
    ]
    assert PLOTS["languages"](rows).splitlines() == [
        "| language | documents | dropped | kept █ dropped ░ |",
        "| --- | --: | --: | --- |",
        "| en | 1,200 | 300 | █████████░░░ |",
        "| de | 400 | 400 | ░░░░ |",
        "| none | 1 | 1 |  |",
    ]


def test_a_distribution_of_many_fits_the_page_and_loses_none():
    names = [f"language_{number:03d}" for number in range(180)]
    shown = PLOTS["languages"]([{"language": name, "documents": 9_000, "dropped": 1_000} for name in names])
    assert len(shown) <= MAX_CHARACTERS
    lines = shown.splitlines()
    assert lines[-1].startswith("| others |")
    assert sum(int(line.split("|")[2].replace(",", "")) for line in lines[2:]) == 180 * 9_000


def test_a_funnel_shows_what_is_left_and_what_each_stage_took():
    rows = [
        {"stage": "asked", "left": 1200, "lost": 0},
        {"stage": "after too_short", "left": 300, "lost": 900},
        {"stage": "accepted", "left": 300, "lost": 0},
    ]
    assert PLOTS["accept_funnel"](rows).splitlines()[2:] == [
        "| asked | 1,200 |  | ████████████ |",
        "| after too\\_short | 300 | −900 | ███ |",
        "| accepted | 300 |  | ███ |",
    ]


def test_speeds_of_settings_show_their_spread_and_fit_the_page():
    rows = [
        {"settings": "max_num_seqs=64", "tier": 2, "low": 50.0, "median": 75.0, "high": 100.0},
        {"settings": "quantization=fp8", "tier": 1, "low": 0.0, "median": 0.0, "high": 0.0},
    ]
    assert PLOTS["speeds"](rows).splitlines()[2:] == [
        "| max\\_num\\_seqs=64 | 2 | 75.0 | ██████▓▓▓━━━ |",
        "| quantization=fp8 | 1 | 0.0 | failed |",
    ]
    assert len(PLOTS["speeds"](rows * 40)) <= MAX_CHARACTERS


def test_every_quality_tier_has_its_bar():
    tiers = [{"tier": tier, "documents": 250_000, "dropped": 10_000} for tier in (*range(19, -1, -1), "none")]
    assert len(PLOTS["quality_tiers"](tiers).splitlines()) == 2 + 21


def mixture_row(name: str, tokens: int, total: int, *, is_synthetic: bool = False) -> dict:
    return {
        "component": name,
        "realised_tokens": tokens,
        "realised_share": tokens / total,
        "planned_share": 0.5,
        "epochs": 1.5,
        "is_synthetic": is_synthetic,
    }


def test_a_mixture_shows_tokens_shares_epochs_and_what_was_generated():
    rows = [mixture_row("code", 250, 1000, is_synthetic=True), mixture_row("web", 750, 1000)]
    assert PLOTS["shares"](rows).splitlines()[2:] == [
        "| web | 750 | 75.00% | 50.00% | 1.50 | ████████████ |",
        "| code | 250 | 25.00% | 50.00% | 1.50 | ░░░░ |",
    ]


def test_a_mixture_of_many_components_counts_those_that_do_not_fit():
    shown = PLOTS["shares"]([mixture_row(f"component{n}", 1000 - n, 200_000) for n in range(200)])
    assert len(shown) <= MAX_CHARACTERS
    rest = shown.splitlines()[-1]
    num_others = int(rest.split("(")[1].split(")")[0])
    assert num_others == 200 - (len(shown.splitlines()) - 3)
    assert int(rest.split("|")[2].replace(",", "")) == sum(1000 - n for n in range(200 - num_others, 200))


def test_languages_are_bars_of_tokens():
    rows = [{"language": "en", "tokens": 300}, {"language": "not declared", "tokens": 100}]
    assert PLOTS["tokens_by_language"](rows).splitlines()[2:] == [
        "| en | 300 | 75% | ████████████ |",
        "| not declared | 100 | 25% | ████ |",
    ]
