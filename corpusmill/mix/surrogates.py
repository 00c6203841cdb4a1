"""Score as a function of weights, fitted to proxy runs: linear, log-linear, and boosted trees.

    linear      y = w . b                     least squares with a little of a ridge
    log_linear  y = c +- exp(w . t)           the data mixing law of Ye et al. (arXiv 2403.16952), both signs
    lightgbm    boosted trees                 as in RegMix (arXiv 2407.01492), one thread and no chance

A fit is a function from weights (N x C) to predictions (N). Weights sum to 1, so none has a constant of its own beside
them. 500 runs of 17 components take a millisecond, a tenth of a second and half a second.
"""

from collections.abc import Callable, Mapping

import numpy as np

from corpusmill.mix.simplex import FloatArray

Predict = Callable[[FloatArray], FloatArray]
Fit = Callable[[FloatArray, FloatArray], Predict]

_RIDGE = 1e-6
"""Times the mean square of a weight: decides between components that no run tells apart, and nothing else."""
_GAPS = np.geomspace(0.02, 20.0, 8)
"""How far c may lie beyond the scores, in their spread: where the search of c begins."""
_STARTS = 4
_STEPS = 60
_MOST_EXPONENT = 50.0
_ROUNDS = 400


def fit_linear(weights_NC: FloatArray, scores_N: FloatArray) -> Predict:
    """Return the least-squares plane."""
    slope_C = _least_squares(weights_NC, scores_N)
    return lambda asked_NC: np.asarray(asked_NC @ slope_C)


def fit_log_linear(weights_NC: FloatArray, scores_N: FloatArray) -> Predict:
    """Return the least-squares c +- exp(w . t): Levenberg-Marquardt steps from the best starts, and the best end of these."""
    spread = float(np.ptp(scores_N))
    if spread == 0:
        return fit_linear(weights_NC, scores_N)
    starts = [_start(weights_NC, scores_N, sign, gap * spread) for sign in (1.0, -1.0) for gap in _GAPS]
    near = sorted(starts, key=lambda start: _squared_error(weights_NC, scores_N, *start))[:_STARTS]
    ends = [_descend(weights_NC, scores_N, *start) for start in near]
    sign, tilt_P = min(ends, key=lambda end: _squared_error(weights_NC, scores_N, *end))
    return lambda asked_NC: _law(asked_NC, sign, tilt_P)


def fit_lightgbm(weights_NC: FloatArray, scores_N: FloatArray) -> Predict:
    """Return boosted trees; raises ValueError where LightGBM or the OpenMP library that it needs is not installed."""
    try:
        import lightgbm
    except (ImportError, OSError) as error:
        raise ValueError(
            f"the surrogate lightgbm needs the package lightgbm and, on Linux, libgomp1 (macOS: libomp): {error}. "
            "Install them, or leave it out of the surrogates"
        ) from error
    parameters = {
        "objective": "l2",
        "learning_rate": 0.05,
        "num_leaves": 15,
        "min_data_in_leaf": int(np.clip(len(scores_N) // 20, 2, 10)),
        "min_data_in_bin": 1,
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "seed": 0,
        "verbosity": -1,
    }
    # Trees see no more than order, so the scores are scaled only to keep the library's own thresholds out of the way.
    centre, scale = float(scores_N.mean()), float(scores_N.std()) or 1.0
    data = lightgbm.Dataset(weights_NC, label=(scores_N - centre) / scale)
    booster = lightgbm.train(parameters, data, num_boost_round=_ROUNDS)
    return lambda asked_NC: np.asarray(booster.predict(asked_NC, num_threads=1)) * scale + centre


SURROGATES: Mapping[str, Fit] = {"linear": fit_linear, "log_linear": fit_log_linear, "lightgbm": fit_lightgbm}


def _least_squares(rows_NC: FloatArray, wanted_N: FloatArray) -> FloatArray:
    width = rows_NC.shape[1]
    ridge = np.sqrt(_RIDGE * float(np.square(rows_NC).mean()) * len(rows_NC) / width) * np.eye(width)
    # The mean is what an unknown component is taken to give, not zero.
    middle = float(wanted_N.mean()) if np.allclose(rows_NC.sum(axis=1), 1) else 0.0
    found = np.linalg.lstsq(
        np.vstack([rows_NC, ridge]), np.concatenate([wanted_N - middle, np.zeros(width)]), rcond=None
    )
    return np.asarray(found[0] + middle)


def _law(weights_NC: FloatArray, sign: float, tilt_P: FloatArray) -> FloatArray:
    exponent_N = np.clip(weights_NC @ tilt_P[:-1], -_MOST_EXPONENT, _MOST_EXPONENT)
    return np.asarray(tilt_P[-1] + sign * np.exp(exponent_N))


def _squared_error(weights_NC: FloatArray, scores_N: FloatArray, sign: float, tilt_P: FloatArray) -> float:
    return float(np.square(scores_N - _law(weights_NC, sign, tilt_P)).sum())


def _start(weights_NC: FloatArray, scores_N: FloatArray, sign: float, gap: float) -> tuple[float, FloatArray]:
    """Return the sign and (t, c) with c so far beyond the scores, by least squares on the logarithm.

    Rows weigh as much as they are high, so that an error in the logarithm counts as one in the score.
    """
    floor = scores_N.min() - gap if sign > 0 else scores_N.max() + gap
    height_N = sign * (scores_N - floor)
    tilt_C = _least_squares(weights_NC * height_N[:, None], np.log(height_N) * height_N)
    return sign, np.append(tilt_C, floor)


def _descend(weights_NC: FloatArray, scores_N: FloatArray, sign: float, tilt_P: FloatArray) -> tuple[float, FloatArray]:
    """Return the sign and (t, c) after Levenberg-Marquardt steps from a start."""
    damping = 1e-2
    error = _squared_error(weights_NC, scores_N, sign, tilt_P)
    for _ in range(_STEPS):
        at_N = _law(weights_NC, sign, tilt_P)
        lift_N = at_N - tilt_P[-1]
        slope_NP = np.column_stack([weights_NC * lift_N[:, None], np.ones(len(scores_N))])
        square_PP = slope_NP.T @ slope_NP
        weight_P = np.diag(square_PP) + 1e-12
        step_P = np.linalg.solve(square_PP + np.diag(damping * weight_P), slope_NP.T @ (scores_N - at_N))
        tried = _squared_error(weights_NC, scores_N, sign, tilt_P + step_P)
        if not tried < error:
            damping *= 4
            if damping > 1e8:
                break
            continue
        is_done = error - tried < 1e-9 * error
        tilt_P, error, damping = tilt_P + step_P, tried, damping / 3
        if is_done:
            break
    return sign, tilt_P
