"""Every statistic, with its defaults, finds an easy linear signal with power of at least 0.8.

n = 2,000, p = 50, 10 signals, q = 0.2. Independent columns, so that exact knockoffs are independent copies.
One data set and one seed each.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeCV

from grip2.filter import knockoff_threshold, select
from grip2.metrics import power
from grip2.statistics import MALD, Ensemble, FromEstimator
from grip2.statistics.registry import STATISTICS

QUICK = ("lcd", "lapa", "estimator", "effects")
# Random scores find nothing, by design.
NAMES = [name for name in STATISTICS.names() if name != "random"]


def build(name: str, task: str):
    if name == "ensemble":
        return Ensemble(MALD(), 5)
    if name == "estimator":
        return FromEstimator(RidgeCV() if task == "regression" else LogisticRegression())
    return STATISTICS.create(name)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in [*NAMES, "ensemble", "estimator"]],
)
def test_power(name, task):
    rng = np.random.default_rng(11)
    X, Xk = rng.standard_normal((2, 2000, 50))
    y = 0.5 * X[:, :10].sum(axis=1) + rng.standard_normal(2000)
    if task == "classification":
        y = y > 0
    W = build(name, task).importance(X, Xk, y, rng=np.random.default_rng(0), task=task).W
    assert power(select(W, knockoff_threshold(W, 0.2)), np.arange(50) < 10) >= 0.8
