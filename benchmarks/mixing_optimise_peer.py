"""Run in the environment of scikit-learn: python mixing_optimise_peer.py GIVEN.npz ANSWERED.json.

Fits a linear model and boosted trees, both with their defaults, to the scores of proxies, one capability at a time.
"""

import json
import sys
from pathlib import Path

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression


def main() -> None:
    given = np.load(sys.argv[1])
    weights, scores, asked = given["weights"], given["scores"], given["asked"]
    answers = {}
    for kind in (LinearRegression, HistGradientBoostingRegressor):
        guessed = np.column_stack([kind().fit(weights, scores[:, n]).predict(asked) for n in range(scores.shape[1])])
        answers[f"scikit-learn {sklearn.__version__} {kind.__name__}"] = guessed.tolist()
    Path(sys.argv[2]).write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
