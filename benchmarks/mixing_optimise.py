"""Proxies that were left out, ranked by the surrogates of a proposal and by plain scikit-learn on the same split.

The table is made as RegMix publishes its own: 17 components, 13 losses, weights rounded to three digits, mixtures from
nearly one component to nearly the prior. Losses fall with what helps a capability by a saturating power, as published
ones do, with noise. Where RegMix's own CSV files lie in shared/data/regmix (train_mixture_1m.csv, train_pile_loss_1m.csv),
they are measured, too. scikit-learn runs in an environment of its own, with its defaults.
"""

import io
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.peers import peer_python
from benchmarks.texts import DATA
from corpusmill.mix.leave_out import fit_best, leave_out, spearman
from corpusmill.mix.optimise import Wish, propose
from corpusmill.mix.proxies import Proxies, ProxyColumns, proxies_from_tables
from corpusmill.mix.proxy_design import ProxyDesign, proxy_weights

PEER = ("scikit-learn==1.9.1",)
PEER_SCRIPT = Path(__file__).with_name("mixing_optimise_peer.py")
COLUMNS = ProxyColumns(weight_prefix="train_the_pile_", score_prefix="metric/the_pile_", score_suffix="_val_loss")
RUNS = 512
TRAINED = {"5 runs a component": 85, "half of the runs": 256}
COMPONENTS, CAPABILITIES = 17, 13
NOISE = 0.01
"""Standard deviation, in nats of loss: two runs of one mixture differ by about as much."""


def measures() -> list[Measure]:
    """Return rank correlations on held-out mixtures beside scikit-learn's, and what a proposal costs and gains."""
    made, law = generated_proxies(seed=7)
    tables = {"generated": made, **published_proxies()}
    found = [one for name, proxies in tables.items() for one in _against_peers(name, proxies)]
    return [*found, *_proposed(made, law)]


def generated_proxies(*, seed: int) -> tuple[Proxies, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]:
    """Return proxies read from CSV files in RegMix's layout, and the law that made their losses."""
    rng = np.random.default_rng(seed)
    prior = dict(
        zip((f"c{n:02}" for n in range(COMPONENTS)), rng.dirichlet(np.full(COMPONENTS, 1.5)) + 0.002, strict=True)
    )
    weights_NC = np.round(proxy_weights(ProxyDesign(prior=prior, num_mixtures=RUNS, radius=2, seed=seed)), 3)
    weights_NC /= weights_NC.sum(axis=1, keepdims=True)
    helps_CK = rng.gamma(0.25, 1.0, (COMPONENTS, CAPABILITIES))
    helps_CK[np.arange(CAPABILITIES), np.arange(CAPABILITIES)] += 3
    floor_K, height_K, power_K = (rng.uniform(*ends, CAPABILITIES) for ends in ((1.3, 3.2), (0.5, 1.2), (0.2, 0.5)))

    def law(asked_NC: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(floor_K + height_K * (0.03 + asked_NC @ helps_CK) ** -power_K)

    losses_NK = law(weights_NC) + rng.normal(size=(RUNS, CAPABILITIES)) * NOISE
    weights = _csv({f"train_the_pile_{name}": weights_NC[:, n] for n, name in enumerate(prior)})
    scores = _csv({f"metric/the_pile_k{n:02}_val_loss": losses_NK[:, n] for n in range(CAPABILITIES)})
    return proxies_from_tables(weights, scores, columns=COLUMNS), law


def published_proxies() -> dict[str, Proxies]:
    """Return RegMix's own runs of 1 M parameters, where the files are."""
    files = [DATA / "regmix" / f"train_{name}_1m.csv" for name in ("mixture", "pile_loss")]
    if not all(file.exists() for file in files):
        return {}
    return {"RegMix 1M": proxies_from_tables(*(csv.read_csv(file) for file in files), columns=COLUMNS)}


def _csv(columns: dict[str, np.ndarray[Any, Any]]) -> pa.Table:
    """Write and read a table as its users would."""
    file = io.BytesIO()
    csv.write_csv(pa.table({"index": np.arange(1, RUNS + 1), **columns}), file)
    return csv.read_csv(io.BytesIO(file.getvalue()))


def _against_peers(name: str, proxies: Proxies) -> list[Measure]:
    order = np.random.default_rng(1).permutation(len(proxies))
    unseen = order[len(proxies) // 2 :]
    found = []
    for size, number in TRAINED.items():
        seen = order[:number]
        learned = replace(proxies, weights_NC=proxies.weights_NC[seen], scores_NK=proxies.scores_NK[seen])
        asked_NC, scores_NK = proxies.weights_NC[unseen], proxies.scores_NK[unseen]
        fitted = fit_best(learned, leave_out(learned))
        ours = _mean_spearman(np.column_stack([one.predict(asked_NC) for one in fitted]), scores_NK)
        for peer, guessed_NK in _peer_guesses(learned, asked_NC).items():
            found.append(
                Measure(
                    measure=f"{name}, {size}: Spearman on {len(unseen)} held-out mixtures, mean of {len(fitted)} losses",
                    ours=ours,
                    other=_mean_spearman(guessed_NK, scores_NK),
                    other_name=peer,
                    bar=at_least(1.0, of="ratio"),
                )
            )
    return found


def _mean_spearman(guessed_NK: np.ndarray[Any, Any], scores_NK: np.ndarray[Any, Any]) -> float:
    return float(np.mean([spearman(guessed_NK[:, n], scores_NK[:, n]) for n in range(scores_NK.shape[1])]))


def _peer_guesses(learned: Proxies, asked_NC: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    python = peer_python("scikit-learn", PEER)
    with tempfile.TemporaryDirectory(prefix="corpusmill-optimise-") as folder:
        given, answered = Path(folder) / "given.npz", Path(folder) / "answered.json"
        np.savez(given, weights=learned.weights_NC, scores=learned.scores_NK, asked=asked_NC)
        subprocess.run([python, PEER_SCRIPT, given, answered], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
        answers = json.loads(answered.read_text(encoding="utf-8"))
    return {name: np.array(guessed) for name, guessed in answers.items()}


def _proposed(proxies: Proxies, law: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> list[Measure]:
    """Return what a proposal from all runs costs, and what it gains by the law that made them."""
    prior = dict(zip(proxies.components, np.clip(proxies.weights_NC[0], 1e-3, None).tolist(), strict=True))
    started = time.process_time()
    proposal = propose(proxies, Wish(prior=prior))
    seconds = time.process_time() - started
    true_gain_K = law(proposal.prior_C[None])[0] - law(proposal.weights_C[None])[0]
    true_gain = float((true_gain_K / proxies.scores_NK.std(axis=0)).mean())
    best_seen = ((law(proposal.prior_C[None]) - law(proxies.weights_NC)) / proxies.scores_NK.std(axis=0)).mean(axis=1)
    return [
        Measure(measure=f"a proposal from {len(proxies)} runs, on the processor (s)", ours=seconds, bar=at_most(120)),
        Measure(
            measure="its true mean gain (standard deviations of a loss)",
            ours=true_gain,
            other=float(best_seen.max()),
            other_name="the best proxy",
            bar=at_least(0.0),
        ),
        Measure(measure="the gain that it predicts", ours=proposal.mean_gain),
    ]


if __name__ == "__main__":
    print_measures(measures())
