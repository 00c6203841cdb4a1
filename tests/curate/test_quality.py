"""Classifiers as statistics of a batch."""

import numpy as np
import pyarrow as pa

from corpusmill.curate.quality import CLASSIFIER, Classifier, classifier_from_row, quality_statistics, statistic_names
from corpusmill.curate.quality_model import QualityParameters, load, train


def trained(positive: str) -> bytes:
    rows = pa.table({"text": ["proof of a theorem", "win a prize now"] * 20, "label": ["good", "spam"] * 20})
    return train(rows, QualityParameters(positive=positive, labels_license="CC0-1.0", weights_log2=12, epochs=50))


def test_scores_and_tiers_of_two_classifiers_and_the_best_tier():
    classifiers = [
        Classifier(name="lesson", model=load(trained("good")), edges=(0.5, 0.999)),
        Classifier(name="advert", model=load(trained("spam")), edges=(0.001,)),
    ]
    texts = pa.chunked_array([["a theorem and its proof", "now win a prize", None]])
    found = quality_statistics(texts, classifiers)
    assert tuple(found) == statistic_names(["lesson", "advert"])
    assert np.allclose(found["lesson_score"][:2] + found["advert_score"][:2], 1, atol=0.01)
    assert found["lesson_tier"][:2].tolist() == [1, 0]
    assert found["advert_tier"][:2].tolist() == [1, 1]
    assert found["quality_tier"][:2].tolist() == [1, 1]
    assert all(np.isnan(column[2]) for column in found.values())


def test_no_classifiers_give_no_columns():
    assert quality_statistics(pa.chunked_array([["a"]]), []) == {} and statistic_names([]) == ()


def test_a_classifier_comes_back_from_its_row():
    model = trained("good")
    row = {"version": load(model).version, "card": "{}", "edges": [0.25, 0.5], "model": model}
    (kept,) = pa.Table.from_pylist([row], schema=CLASSIFIER).to_pylist()
    classifier = classifier_from_row("lesson", kept)
    assert (classifier.name, classifier.edges) == ("lesson", (0.25, 0.5))
    assert classifier.model.version == row["version"]
