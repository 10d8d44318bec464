"""Censored times and counts: our statistics beside lassos of the same likelihood on the same knockoffs.

    python benchmarks/survival_power.py --data-sets 20 --jobs 2     # about an hour; goes on where it was stopped

n = 1,000 rows, p = 60 normal columns with AR(1) correlation 0.5, of which 10 have an effect of random sign on the log scale;
exact Gaussian knockoffs, 5 copies. ``cox``: exponential times with these log hazard ratios, 30 % censored at exponential times.
``poisson``: counts with mean exp(0.5 + effects). ``negative binomial``: the same means with gamma noise of variance 1.

``cox lasso`` and ``poisson lasso`` are |coefficient| of an l1-penalised partial likelihood (Breslow) and Poisson likelihood, by
proximal gradient steps, at the penalty of least cross-validated loss. ``grip2`` is the network alone, by the loss of the
library: Cox's partial likelihood, with the risk sets of the minibatch. ``grip2, sum over rows`` is the same network by a loss
that is a sum over rows. Writes ``results/survival/trials.csv`` and ``results/survival/README.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import resumable

RESULTS = Path(__file__).parents[1] / "results" / "survival"
FDR, COPIES = 0.1, 5
N, P, N_TRUE, RHO, CENSORED = 1000, 60, 10, 0.5, 0.3
FOLDS, PENALTIES, SMALLEST_PENALTY = 5, 30, 0.02

# Effects at which the lasso of the true likelihood finds most features and not all.
EFFECTS = {"cox": 0.2, "poisson": 0.12, "negative binomial": 0.2}
OURS = ("staged", "effects", "lcd")
METHODS = {
    "cox": (*OURS, "cox lasso", "grip2", "grip2, sum over rows"),
    "poisson": (*OURS, "poisson lasso"),
    "negative binomial": (*OURS, "poisson lasso"),
}


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    task: str
    true: set[int]


def covariance() -> np.ndarray:
    return np.asarray(RHO ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))))


def data(setting: str, seed: int) -> Data:
    from grip2.responses import times_and_events

    rng = np.random.default_rng([seed, 7])
    X = rng.standard_normal((N, P)) @ np.linalg.cholesky(covariance()).T
    true = rng.choice(P, N_TRUE, replace=False)
    signal = X[:, true] @ rng.choice([-EFFECTS[setting], EFFECTS[setting]], N_TRUE)
    if setting == "cox":
        events, limits = rng.exponential(np.exp(-signal)), rng.exponential(size=N)
        limits *= np.quantile(events / limits, 1 - CENSORED)
        y = times_and_events(np.minimum(events, limits), events <= limits)
        return Data(X, y, "survival", set(true.tolist()))
    noise = rng.gamma(1.0, size=N) if setting == "negative binomial" else 1.0
    return Data(X, rng.poisson(noise * np.exp(0.5 + signal)), "counts", set(true.tolist()))


def one(setting: str, method: str, seed: int) -> dict[str, Any]:
    from grip2.filter import contrast, knockoff_threshold
    from grip2.knockoffs import GaussianKnockoffs

    X, y, task, true = data(setting, seed)
    sampler = GaussianKnockoffs(mean=np.zeros(P), covariance=covariance()).fit(X)
    Xk = sampler.sample(X, rng=np.random.default_rng([seed, 8]), copies=COPIES)
    began = time.perf_counter()
    W = contrast(scores(method, X, Xk, y, task, seed))
    found = set(np.flatnonzero(W >= knockoff_threshold(W, FDR, copies=COPIES)).tolist())
    return {
        "selected": len(found),
        "power": len(found & true) / len(true),
        "fdp": len(found - true) / max(1, len(found)),
        "seconds": time.perf_counter() - began,
    }


def scores(method: str, X: np.ndarray, Xk: np.ndarray, y: np.ndarray, task: str, seed: int) -> np.ndarray:
    """(1 + copies, p) importance of every member."""
    from grip2.statistics.registry import STATISTICS

    rng = np.random.default_rng([seed, 9])
    if method in ("cox lasso", "poisson lasso"):
        Z = np.concatenate([X, *Xk], axis=1)
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        gradient_of = CoxLoss if method == "cox lasso" else PoissonLoss
        return np.abs(lasso(Z, y, gradient_of, rng)).reshape(1 + COPIES, P)
    response: Any = sum_over_rows(y) if method == "grip2, sum over rows" else y
    statistic = STATISTICS.create(method.split(",", maxsplit=1)[0])
    return statistic.importance(X, Xk, response, rng=rng, task=task).scores


class CoxLoss:
    """Minus Breslow's log partial likelihood, and its gradient in the linear predictor."""

    def __init__(self, y: np.ndarray) -> None:
        self.order = np.argsort(-y["time"], kind="stable")
        times = -y["time"][self.order]
        self.last = np.searchsorted(times, times, side="right") - 1  # last row of the risk set, in this order
        self.first = np.searchsorted(times, times, side="left")
        self.event = y["event"][self.order]

    def start(self) -> float:
        return 0.0

    def __call__(self, predictor: np.ndarray) -> tuple[float, np.ndarray]:
        eta = predictor[self.order]
        risk = np.exp(eta - eta.max())
        at_risk = np.cumsum(risk)[self.last]
        hazard = np.cumsum((self.event / at_risk)[::-1])[::-1][self.first]
        gradient = np.empty_like(predictor)
        gradient[self.order] = risk * hazard - self.event
        return float(self.event @ (np.log(at_risk) + eta.max() - eta)), gradient


class PoissonLoss:
    """Minus the log-likelihood of counts, up to a constant, and its gradient in the linear predictor."""

    def __init__(self, y: np.ndarray) -> None:
        self.y = y.astype(float)

    def start(self) -> float:
        return float(np.log(self.y.mean()))

    def __call__(self, predictor: np.ndarray) -> tuple[float, np.ndarray]:
        mean = np.exp(np.minimum(predictor, 50.0))
        return float((mean - self.y * predictor).sum()), mean - self.y


Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


def lasso(Z: np.ndarray, y: np.ndarray, loss_of: Any, rng: np.random.Generator) -> np.ndarray:
    """Coefficients at the penalty of least cross-validated loss: that of all rows minus that of the rows fitted."""
    whole = loss_of(y)
    largest = float(np.abs(Z.T @ whole(np.full(len(Z), whole.start()))[1]).max()) / len(Z)
    penalties = np.geomspace(largest, SMALLEST_PENALTY * largest, PENALTIES)
    fold, errors = rng.permutation(len(Z)) % FOLDS, np.zeros(PENALTIES)
    for k in range(FOLDS):
        kept = fold != k
        of_kept = loss_of(y[kept])
        for i, (b, intercept) in enumerate(path(Z[kept], of_kept, penalties)):
            predictor = Z @ b + intercept
            errors[i] += whole(predictor)[0] - of_kept(predictor[kept])[0]
    return path(Z, whole, penalties[: int(np.argmin(errors)) + 1])[-1][0]


def path(Z: np.ndarray, loss: Any, penalties: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """Coefficients and intercepts: accelerated proximal gradient steps with restarts and a backtracking step length.

    The intercept is a column of ones without penalty; a loss that does not depend on it leaves it where it starts.
    """
    n = len(Z)
    A = np.column_stack([Z, np.ones(n)])
    b = np.zeros(A.shape[1])
    b[-1] = loss.start()
    steepness, found = 1.0, []
    for penalty in penalties:
        cut = np.append(np.full(Z.shape[1], penalty), 0.0)
        ahead, momentum = b, 1.0
        for _ in range(500):
            value, slope = loss(A @ ahead)
            gradient = A.T @ slope / n
            while True:
                new = ahead - gradient / steepness
                new = np.sign(new) * np.maximum(np.abs(new) - cut / steepness, 0.0)
                step = new - ahead
                if loss(A @ new)[0] / n <= value / n + gradient @ step + 0.5 * steepness * step @ step + 1e-12:
                    break
                steepness *= 1.5
            settled = np.abs(new - b).max() < 1e-4 * max(1e-3, float(np.abs(new[:-1]).max()))
            if (ahead - new) @ (new - b) > 0:
                momentum, ahead = 1.0, new
            else:
                longer = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
                ahead, momentum = new + (momentum - 1.0) / longer * (new - b), longer
            b = new
            if settled:
                break
        found.append((b[:-1].copy(), float(b[-1])))
    return found


def sum_over_rows(y: np.ndarray) -> Any:
    """The response with a loss that is a sum over rows: a Poisson model of the event with the hazard as exposure.

    The cumulative hazard is that of the model without features; its gradient at output 0 is that of the partial likelihood.
    """
    from grip2.responses import Survival

    @dataclass(frozen=True, eq=False)
    class SumOverRows(Survival):
        @property
        def loss_input(self) -> np.ndarray:
            return np.column_stack([self.events, np.log(self.hazards)])

        @staticmethod
        def loss(outputs: Any, y: Any, xp: Any) -> Any:
            event, log_mean = y[:, 0], outputs[:, 0] + y[:, 1]
            return xp.mean(xp.exp(log_mean) - event * (1.0 + log_mean))

        def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
            return np.log([(self.events.sum() + prior_rows) / (self.hazards.sum() + prior_rows)])

    return SumOverRows.encode(y, "benchmark")


def table(trials: pd.DataFrame) -> str:
    lines = [
        "| data | statistic | power (se) | FDP (se) | seconds | data sets |",
        "|---|---|---|---|---|---|",
    ]
    for setting, methods in METHODS.items():
        for method in methods:
            rows = trials[(trials["setting"] == setting) & (trials["statistic"] == method)]
            if not len(rows):
                continue
            error = rows[["power", "fdp"]].std(ddof=1) / np.sqrt(len(rows))
            lines.append(
                f"| {setting}, effects {EFFECTS[setting]:g} | {method} | {rows['power'].mean():.2f} ({error['power']:.2f}) | "
                f"{rows['fdp'].mean():.3f} ({error['fdp']:.3f}) | {rows['seconds'].mean():.1f} | {len(rows)} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    keys = [
        (setting, method, seed)
        for setting, methods in METHODS.items()
        for seed in range(given.data_sets)
        for method in methods
    ]
    trials = resumable.run(RESULTS / "trials.csv", ("setting", "statistic", "seed"), keys, one, jobs=given.jobs)
    text = table(trials)
    (RESULTS / "README.md").write_text(
        "# Censored times and counts\n\n"
        f"`python benchmarks/survival_power.py --data-sets {given.data_sets}`: n = {N:,}, p = {P}, {N_TRUE} true features, AR(1) "
        f"{RHO:g}, exact Gaussian knockoffs, {COPIES} copies, target fdr {FDR:g}; `cox`: exponential times, {CENSORED:.0%} "
        "censored. All statistics have default settings. The lassos are those of the benchmark itself, by the true likelihood "
        "(`cox lasso`: Breslow's partial likelihood), cross-validated. `grip2` is the network alone, by the partial "
        "likelihood within minibatches; `grip2, sum over rows` is the same network by a Poisson model of the event with the "
        f"hazard of the model without features as exposure.\n\n{text}\n",
        encoding="utf-8",
    )
    print(text)


if __name__ == "__main__":
    main()
