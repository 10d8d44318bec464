"""The strength of the signal that the user's own response has."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.calibration.signals import Functions
from grip2.calibration.strength import FALLBACK, estimated_strength
from grip2.responses import response_from
from grip2.units import Units

# Shares are estimated with standard errors of about 0.04 at these sizes; tolerances are four of them.


def strength_of(X, y, **more):
    return estimated_strength(
        Functions.of(X, Units.single(X.shape[1])), response_from(y, **more), np.random.default_rng(0)
    )


def test_straight_bent_and_multiplied_signals_are_seen():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6))
    noise = rng.standard_normal(500)
    straight = strength_of(X, X[:, 0] + noise)
    assert straight.share == pytest.approx(0.5, abs=0.15)
    assert "by a lasso" in straight.reason
    bent = strength_of(X, np.abs(X[:, 1]) / np.abs(X[:, 1]).std() + noise)
    assert bent.share == pytest.approx(0.5, abs=0.15)
    product = strength_of(X, X[:, 0] * X[:, 1] + 0.3 * noise)
    assert 0.5 < product.share < 0.95
    assert "by boosted trees" in product.reason


def test_classes():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 6))
    latent = X[:, 0] + rng.standard_normal(500)
    # A normal signal with half of the latent variance explains a third of the variance of the label.
    assert strength_of(X, latent > 0).share == pytest.approx(1 / 3, abs=0.15)


@pytest.mark.parametrize("n", [25, 300])
def test_without_a_signal_or_rows_a_strength_is_assumed_and_said(n):
    rng = np.random.default_rng(2)
    found = strength_of(rng.standard_normal((n, 5)), rng.standard_normal(n))
    assert found.share == FALLBACK
    assert found.reason.startswith("assumed:")
