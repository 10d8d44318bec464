"""Make ``likelihoods.json``: losses, residuals and fits of counts, times to an event and ordered classes by other packages.

Runs in an environment of its own, since neither package is a dependency of this library:

    python -m venv /path/to/env
    /path/to/env/bin/pip install lifelines==0.30.3 statsmodels==0.15.0
    /path/to/env/bin/python tests/golden/make_likelihood_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lifelines
import numpy as np
import pandas as pd
import statsmodels
import statsmodels.api as sm
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.miscmodels.ordinal_model import OrderedModel

N = 60


def table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((N, 2))
    return X, X @ [0.7, -0.4]


def counts(rng: np.random.Generator) -> dict[str, Any]:
    """Half deviances of Poisson and negative binomial models, and the fit of the latter."""
    X, eta = table(rng)
    y, dispersion = rng.poisson(rng.gamma(2.0, 0.5, N) * np.exp(0.5 + eta)), 0.6
    family = sm.families.NegativeBinomial(alpha=dispersion)
    fit = sm.GLM(y, sm.add_constant(X), family=family).fit(tol=1e-12)
    return {
        "X": X, "y": y, "log_mean": eta, "dispersion": dispersion,
        "poisson": sm.families.Poisson().deviance(y, np.exp(eta)) / (2 * N),
        "negative_binomial": family.deviance(y, np.exp(eta)) / (2 * N),
        "fit": fit.params, "fit_loss": fit.deviance / (2 * N),
    }  # fmt: skip


def times(rng: np.random.Generator) -> dict[str, Any]:
    """Times rounded, so that there are ties: cumulative hazards, martingale residuals, the score of Cox's model at 0."""
    X, eta = table(rng)
    event_times, limits = rng.exponential(np.exp(-eta)), rng.exponential(2.0, N)
    time = np.ceil(10 * np.minimum(event_times, limits)) / 10
    event = (event_times <= limits).astype(float)
    without = lifelines.NelsonAalenFitter(nelson_aalen_smoothing=False).fit(time, event)
    hazard = without.cumulative_hazard_at_times(time).to_numpy()
    cox = lifelines.CoxPHFitter().fit(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "t": time, "e": event}), "t", "e")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "t": time, "e": event})
    residual = cox.compute_residuals(frame, "martingale").sort_index()["martingale"]
    breslow, beta = PHReg(time, X, status=event, ties="breslow"), np.array([0.7, -0.4])
    return {
        "X": X, "time": time, "event": event, "hazard": hazard,
        "log_ratio": cox.predict_log_partial_hazard(frame).to_numpy(), "martingale": residual.to_numpy(),
        "score_at_0": breslow.score(np.zeros(2)), "log_likelihood_at_0": breslow.loglike(np.zeros(2)),
        "beta": beta, "log_likelihood": breslow.loglike(beta), "fit": breslow.fit().params,
    }  # fmt: skip


def ordered(rng: np.random.Generator) -> dict[str, Any]:
    """The likelihood of proportional odds with the thresholds of the model without features."""
    X, eta = table(rng)
    y = np.digitize(eta + rng.logistic(size=N), [-1.0, 0.2, 1.5])
    up_to = np.cumsum(np.bincount(y))[:-1] / N
    model = OrderedModel(y, X, distr="logit")
    threshold = np.log(up_to / (1 - up_to))
    steps = np.concatenate([threshold[:1], np.log(np.diff(threshold))])

    def loss(beta: np.ndarray) -> float:
        return float(-model.loglike(np.concatenate([beta, steps])) / N)

    return {"X": X, "y": y, "loss_at_0": loss(np.zeros(2)), "beta": [0.7, -0.4], "loss": loss(np.array([0.7, -0.4]))}


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def main() -> None:
    content: dict[str, Any] = {"lifelines": lifelines.__version__, "statsmodels": statsmodels.__version__}
    for number, part in enumerate((counts, times, ordered)):
        found = part(np.random.default_rng([15, number]))
        content[part.__name__] = {name: plain(value) for name, value in found.items()}
    Path(__file__).with_name("likelihoods.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
