"""Tables of proxy runs as RegMix publishes them, and what is wrong with others."""

import io

import pyarrow as pa
import pytest
from pyarrow import csv

from corpusmill.mix.proxies import ProxyColumns, proxies_from_tables

REGMIX = ProxyColumns(weight_prefix="train_the_pile_", score_prefix="metric/the_pile_", score_suffix="_val_loss")
WEIGHTS = "index,train_the_pile_arxiv,train_the_pile_pile_cc\n1,0.25,0.749\n2,0.5,0.5\n"
SCORES = "index,epoch,metric/the_pile_arxiv_val_loss\n2,1,3.5\n1,1,4.5\n"


def table(text: str) -> pa.Table:
    return csv.read_csv(io.BytesIO(text.encode()))


def read(weights: str = WEIGHTS, scores: str = SCORES, **more):
    return proxies_from_tables(table(weights), table(scores), **{"columns": REGMIX, **more})


def test_runs_are_joined_by_their_name_and_rounded_weights_are_scaled():
    found = read()
    assert (found.components, found.capabilities, len(found)) == (("arxiv", "pile_cc"), ("arxiv",), 2)
    assert found.weights_NC.sum(axis=1).tolist() == [1, 1]
    assert found.weights_NC[0].tolist() == pytest.approx([0.25025, 0.74975], abs=1e-5)
    assert found.scores_NK.tolist() == [[4.5], [3.5]]
    assert read(components=["pile_cc", "arxiv"]).weights_NC[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            {"weights": WEIGHTS.replace("index", "run")},
            "no column 'index' names the runs; there are run, train_the_pile_arxiv",
        ),
        (
            {"components": ["arxiv", "web"]},
            "wanted weights of arxiv, web, got columns of arxiv, pile_cc; they are named",
        ),
        (
            {"columns": ProxyColumns(score_prefix="acc/")},
            "wanted columns <component> of weights and acc/<capability> of scores",
        ),
        ({"weights": WEIGHTS.replace("2,0.5", "3,0.5")}, "2 runs are in one table only, such as 2, 3"),
        ({"scores": SCORES.replace("2,1", "1,1")}, "scores has runs more than once: 1"),
        (
            {"weights": WEIGHTS.replace("0.749", "0.5")},
            r"run 1 has 0\.25 at least and sums to 0\.75 \(1 runs are wrong\)",
        ),
        (
            {"weights": WEIGHTS.replace("2,0.5,0.5", "2,-0.5,1.5")},
            r"must not be negative and sum to 1.*run 2 has -0\.5",
        ),
        (
            {"scores": SCORES.replace("3.5", "nan")},
            "column 'metric/the_pile_arxiv_val_loss' is empty or not finite in 1 rows",
        ),
        ({"scores": SCORES.replace("3.5", "")}, "is empty or not finite in 1 rows, the first is row 1"),
        ({"scores": SCORES.replace("3.5", "low")}, "column 'metric/the_pile_arxiv_val_loss' holds no numbers"),
    ],
)
def test_wrong_tables_are_told(wrong, told):
    with pytest.raises(ValueError, match=told):
        read(**wrong)
