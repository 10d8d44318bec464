"""Simulated responses: the values of y, a known truth, and the strength asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from grip2.calibration.signals import SIGNALS, Functions, draw_truth, latent_share, simulated_response
from grip2.responses import response_from
from grip2.units import Units


def response_of(kind, n, rng):
    """A response of each kind, unrelated to anything."""
    values = {
        "measurement": lambda: np.exp(0.5 * rng.standard_normal(n)),
        "two classes": lambda: rng.random(n) < 0.3,
        "several classes": lambda: rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
        "counts": lambda: rng.poisson(3.0, n),
        "ordered": lambda: pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
        "survival": lambda: np.column_stack([rng.exponential(size=n), rng.random(n) < 0.6]),
    }[kind]()
    return response_from(values, "counts" if kind == "counts" else "auto")


KINDS = ("measurement", "two classes", "several classes", "counts", "ordered", "survival")


@pytest.mark.parametrize("kind", KINDS)
def test_a_simulated_response_holds_the_values_of_the_real_one(kind):
    rng = np.random.default_rng(0)
    response = response_of(kind, 300, rng)
    found = simulated_response(response, rng.standard_normal(300), 0.4, rng)
    assert type(found) is type(response)
    assert found.describe() == response.describe()
    rows, expected = (np.column_stack([one.y, one.loss_input]) for one in (found, response))
    assert not np.array_equal(rows, expected)
    order, expected_order = np.lexsort(rows.T), np.lexsort(expected.T)
    np.testing.assert_array_equal(rows[order], expected[expected_order])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [0.1, 0.5])
def test_the_signal_explains_the_share_asked_for(kind, strength):
    # 20,000 rows: the share of variance between 100 groups of rows with similar signals is 0.005 too large by chance,
    # with a standard error below 0.01. Tolerance: five of them.
    n, groups, rng = 20_000, 100, np.random.default_rng(1)
    response = response_of(kind, n, rng)
    signal = rng.standard_normal(n)
    found = np.column_stack(simulated_response(response, signal, strength, rng).contrasts)
    of_groups = found[np.argsort(signal)].reshape(groups, n // groups, -1).mean(axis=1)
    assert of_groups.var(axis=0).sum() / found.var(axis=0).sum() == pytest.approx(strength, abs=0.05)


def test_latent_shares_that_are_known():
    rng = np.random.default_rng(2)
    normal = response_from(norm.ppf((np.arange(4000) + 0.5) / 4000))
    assert latent_share(normal, normal.latent_order(rng), 0.37) == pytest.approx(0.37, abs=0.01)
    # Two equal classes: a normal signal with share s explains (2 / pi) arcsin(s) of the variance of the label.
    classes = response_from(np.arange(4000) % 2)
    assert latent_share(classes, classes.latent_order(rng), 1 / 3) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("kind", SIGNALS)
@pytest.mark.parametrize("n_true", [2, 3, 7])
def test_a_signal_depends_on_the_true_units_and_on_no_other(kind, n_true):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 12))
    units = Units.from_labels([0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    functions = Functions.of(X, units)
    truth = draw_truth(functions, kind, n_true, np.random.default_rng(4))
    assert len(truth.units) == len(set(truth.units)) == n_true
    assert truth.signal.std() == pytest.approx(1.0)
    for unit in range(len(units)):
        changed = X.copy()
        changed[:, units.columns[unit]] = rng.standard_normal((200, len(units.columns[unit])))
        again = draw_truth(Functions.of(changed, units), kind, n_true, np.random.default_rng(4))
        assert np.array_equal(again.signal, truth.signal) == (unit not in truth.units)


def test_products_of_rare_indicators_still_act():
    # The product of two 0/1 columns that are never 1 together has no variance of its own beside their sum.
    X = np.zeros((60, 3))
    X[:5, 0] = X[5:10, 1] = X[10:40, 2] = 1.0
    functions = Functions.of(X, Units.single(3))
    truth = draw_truth(functions, "products", 2, np.random.default_rng(0))
    assert truth.signal.std() == pytest.approx(1.0)
    constant = Functions(functions.lines * 0 + 1, functions.bends * 0, functions.units)
    assert not constant.product(0, 1, np.random.default_rng(0)).any()
