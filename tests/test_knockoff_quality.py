"""Which units limit power, read from the sampler."""

from __future__ import annotations

import numpy as np
import pytest

from grip2 import KnockoffSelector
from grip2.knockoff_quality import LIMITING_CORRELATION, MOST_LIMITING, knockoff_quality
from grip2.knockoffs import GaussianKnockoffs
from grip2.statistics import LassoCoefficient
from grip2.units import Units


def pairs(p=6, noise=0.05, n=300):
    """Columns 0 and 1 are nearly equal, so are 2 and 3; the rest are independent."""
    X = np.random.default_rng(0).standard_normal((n, p))
    X[:, 1] = X[:, 0] + noise * X[:, 1]
    X[:, 3] = -X[:, 2] + 0.2 * X[:, 3]
    return X


def quality(X, units, names):
    groups = None if units.all_single else units
    sampler = GaussianKnockoffs().fit(X, groups=groups)
    return sampler, knockoff_quality(sampler, 1, units=units, names=names)


def test_units_that_resemble_each_other_are_named():
    X = pairs()
    names = [f"x{j}" for j in range(6)]
    sampler, found = quality(X, Units.single(6), names)
    np.testing.assert_allclose(found.unit_correlations, sampler.own_correlation(1), atol=1e-4)
    assert found.largest_correlation == sampler.own_correlation(1).max()
    assert {unit.name: unit.resembles for unit in found.limiting} == {"x0": "x1", "x1": "x0", "x2": "x3", "x3": "x2"}
    by_name = {unit.name: unit for unit in found.limiting}
    assert by_name["x2"].resemblance > 0.95, "the sign does not matter"
    correlations = [unit.correlation for unit in found.limiting]
    assert correlations == sorted(correlations, reverse=True)
    assert min(correlations) >= LIMITING_CORRELATION


def test_a_group_is_judged_as_a_whole():
    units = Units.from_labels(["a", "a", "b", "b", "c", "d"])
    sampler, found = quality(pairs(), units, ["a", "b", "c", "d"])
    assert len(found.unit_correlations) == 4
    np.testing.assert_allclose(found.unit_correlations[0], sampler.own_correlation(1)[:2].mean(), atol=1e-4)
    assert found.limiting == ()


def test_only_the_worst_are_listed_and_the_result_carries_them():
    X = np.random.default_rng(1).standard_normal((200, 1)) + 0.05 * np.random.default_rng(2).standard_normal((200, 30))
    y = np.random.default_rng(3).standard_normal(200)
    result = KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), random_state=0).fit(X, y).result_
    assert len(result.knockoff_quality.unit_correlations) == 30
    assert len(result.knockoff_quality.limiting) == MOST_LIMITING


def twice(n: int = 40):
    """Every patient twice."""
    rng = np.random.default_rng(5)
    X = np.repeat(rng.standard_normal((n, 6)), 2, axis=0) + 0.3 * rng.standard_normal((2 * n, 6))
    return X, np.repeat(rng.standard_normal(n), 2), np.repeat(np.arange(n), 2)


def test_rows_that_belong_together_are_judged_by_one_of_each():
    X, y, patient = twice()
    result = KnockoffSelector(LassoCoefficient(), random_state=0).fit(X, y, clusters=patient).result_
    quality = result.knockoff_quality
    assert quality.verdict in ("good", "usable", "do not trust")
    assert quality.verdict_reasons[0].startswith("Responses simulated on one row of each of 40 clusters give a")
    assert result.response.endswith("; 40 of 80 rows, one of each cluster, in every draw")


def test_a_draw_of_survival_tells_its_events():
    X, _, patient = twice()
    rng = np.random.default_rng(6)
    y = np.zeros(80, dtype=[("event", bool), ("time", float)])
    y["time"], y["event"] = rng.exponential(size=80), np.arange(80) % 4 == 0
    result = KnockoffSelector(LassoCoefficient(), random_state=0).fit(X, y, clusters=patient).result_
    assert result.response.endswith("40 of 80 rows, one of each cluster, in every draw, with about 10 events")


@pytest.mark.parametrize(
    ("n", "p", "clusters", "why"),
    [
        (80, 4, None, "4 units, at least 5 are needed"),
        (24, 6, None, "24 rows, at least 30 are needed"),
        (80, 6, np.arange(80) % 20, "20 clusters, of each of which one row counts, at least 30 are needed"),
    ],
)
def test_without_a_verdict_the_reason_is_told(n, p, clusters, why):
    rng = np.random.default_rng(7)
    fitted = KnockoffSelector(LassoCoefficient(), random_state=0, describe=False)
    quality = fitted.fit(
        rng.standard_normal((n, p)), rng.standard_normal(n), clusters=clusters
    ).result_.knockoff_quality
    assert (quality.verdict, quality.verdict_reasons) == ("", (f"Responses were not simulated: {why}.",))
