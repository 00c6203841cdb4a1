"""Published mixtures, as their authors or readers of their reports gave the numbers: a start for mixtures of your own.

Numbers are relative and stand as published; a test adds them up again. What was not published is not filled in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from corpusmill.mix.mixture import Component, Mixture


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One published mixture."""

    source: str
    unit: str
    """What `weights` count."""
    weights: Mapping[str, float]
    total: float
    """What they sum to in the publication's own words, or by adding them up where it names no sum."""
    synthetic: tuple[str, ...] = ()
    note: str = ""


PRESETS: Mapping[str, Preset] = {
    "dolma3_6t": Preset(
        source="Olmo 3, arXiv 2512.13961, table of Dolma 3 Mix; allenai/dolma3, data mixing and sampling",
        unit="billion tokens",
        weights={
            "common_crawl": 4510,
            "olmocr_science_pdfs": 805,
            "stack_edu": 409,
            "finemath": 152,
            "arxiv": 50.8,
            "wikipedia": 2.51,
        },
        total=5930,
    ),
    "dolma3_web_topics": Preset(
        source="Olmo 3, arXiv 2512.13961, section 3.4; allenai/dolma3, data mixing and sampling, optimized ratios",
        unit="per cent of web tokens",
        weights={
            "science_math_and_technology": 21.03,
            "software_development": 11.14,
            "health": 9.94,
            "entertainment": 9.60,
            "games": 6.89,
            "literature": 6.83,
            "software": 4.73,
            "education_and_jobs": 4.29,
            "finance_and_business": 4.07,
            "electronics_and_hardware": 3.45,
            "crime_and_law": 2.92,
            "history_and_geography": 2.71,
            "politics": 2.17,
            "religion": 1.98,
            "industrial": 1.57,
            "food_and_dining": 1.41,
            "sports_and_fitness": 1.31,
            "art_and_design": 1.25,
            "transportation": 0.98,
            "home_and_hobbies": 0.92,
            "social_life": 0.46,
            "travel_and_tourism": 0.22,
            "adult_content": 0.11,
            "fashion_and_beauty": 0.01,
        },
        total=100,
        note="Each topic has an upsampling curve of its own: the worst 40 % dropped, the best read seven times at most.",
    ),
    "laguna_xs2": Preset(
        source="Laguna M.1/XS.2, arXiv 2605.27605, table 4, as two summaries of it give the numbers",
        unit="per cent of tokens",
        weights={
            "raw_code": 30.6,
            "synthetic_and_code_text": 25.4,
            "web": 25.2,
            "math": 9.0,
            "knowledge": 6.6,
            "instruction_like": 1.4,
            "academic_papers": 1.1,
            "books": 0.7,
        },
        total=100,
        note="Synthetic and code text are one group in the table, so no component is marked as synthetic.",
    ),
    "nemotron3_super_phase1": Preset(
        source="Nemotron 3 Super, arXiv 2604.12374, figure 10a, as read off by others",
        unit="per cent of tokens",
        weights={
            "syn_crawl_high": 22.4,
            "code": 14.0,
            "syn_crawl_medium_high": 11.3,
            "stem_sft": 11.1,
            "crawl_high": 6.5,
            "math": 6.4,
            "finepdfs": 6.1,
            "crawl_medium_high": 5.7,
            "multilingual": 5.0,
            "code_sft": 3.9,
            "nemotron_cc_code": 2.1,
            "crawl_medium": 1.8,
            "crawl_plus_plus": 1.8,
            "academic": 1.7,
            "wiki": 0.6,
            "general_sft": 0.2,
        },
        total=100.6,
        synthetic=("syn_crawl_high", "syn_crawl_medium_high", "stem_sft", "code_sft", "general_sft"),
        note=(
            "The nine largest were found in two readings or more, the seven smallest in one, and together they are 0.6 per "
            "cent too much: one of the small ones is read wrongly."
        ),
    ),
}


def preset(
    name: str, *, sequence_length: int, table: Callable[[str], str] = "tokenized/{}/sequences".format
) -> Mixture:
    """Return a published mixture over tables of yours: `table` names that of a component."""
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    found = PRESETS[name]
    return Mixture(
        name=name,
        sequence_length=sequence_length,
        components=tuple(
            Component(name=one, table=table(one), weight=weight, is_synthetic=one in found.synthetic)
            for one, weight in found.weights.items()
        ),
    )
