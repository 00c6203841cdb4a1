"""Candidate recall before verification follows the theoretical S-curve."""

import random

import pytest

from corpusmill.dedup.bands import band_rows
from corpusmill.dedup.parameters import CURATOR, DOLMA3, FINEWEB, candidate_probability
from corpusmill.dedup.signatures import sign
from tests.dedup.planted import texts_table

PAIRS = 300
STEPS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
CHI_SQUARE_999 = 29.59
"""The .999 quantile of chi-square with 10 degrees of freedom."""


def pair_texts(shared: int, own: int, draw: random.Random) -> tuple[str, str]:
    """Return two texts with `shared` common 1-grams and `own` each: Jaccard shared / (shared + 2 own)."""
    pool = draw.sample(range(10**9), shared + 2 * own)
    common, left, right = pool[:shared], pool[shared : shared + own], pool[shared + own :]
    return " ".join(map(str, common + left)), " ".join(map(str, common + right))


@pytest.mark.parametrize("preset", [FINEWEB, DOLMA3, CURATOR], ids=["14x8", "26x11", "20x13"])
def test_candidates_follow_the_s_curve(preset):
    """One joint test over ten similarities, fixed seed: chi-square below its .999 quantile."""
    draw = random.Random(20)
    parameters = {**preset.to_json(), "shingle_size": 1}
    chi_square = 0.0
    for step in STEPS:
        own = round(100 * (1 - step) / 2)
        texts = [text for _ in range(PAIRS) for text in pair_texts(100 - 2 * own, own, draw)]
        documents = [(f"{number:05d}", "s", text) for number, text in enumerate(texts)]
        signed = sign(texts_table(documents), parameters)
        rows = band_rows(signed["doc_id"].combine_chunks(), signed["signature"], parameters=preset, level=0)
        keys = rows["key"].to_numpy().reshape(PAIRS, 2, preset.num_bands)
        found = int((keys[:, 0] == keys[:, 1]).any(axis=1).sum())
        probability = candidate_probability((100 - 2 * own) / 100, preset)
        chi_square += (found - PAIRS * probability) ** 2 / (PAIRS * probability * (1 - probability) + 1e-9)
    assert chi_square < CHI_SQUARE_999
