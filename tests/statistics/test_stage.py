"""Stages: how importances of several models are added, and what a stage explains on held-out rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grip2.responses import Measurement, response_from
from grip2.standardise import standardise
from grip2.statistics.stage import Stage, StageFit, combined_importance, held_out_share, rehearse_stage
from grip2.units import Layout, Units

RNG = np.random.default_rng


def test_parts_are_added_in_units_of_what_they_explain():
    lasso, network = np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 3.0], [1.0, 1.0]])
    both = combined_importance([(lasso, 0.3), (network, 0.1)])
    # The lasso's share goes to the first feature, the network's to the second.
    np.testing.assert_allclose(both[0] - both[1], [0.3, 0.1])
    np.testing.assert_allclose(combined_importance([(lasso, 0.3), (network, 0.0)]), 0.3 * lasso / 4)
    np.testing.assert_allclose(
        combined_importance([(lasso, 0.0), (network, 0.0)]), combined_importance([(lasso, 1.0), (network, 1.0)])
    )
    np.testing.assert_allclose(combined_importance([(np.zeros((2, 2)), 0.0), (network, 0.1)]), 0.1 * network / 2)


def naive_combination(parts):
    """One feature at a time."""
    if all(share <= 0 for _, share in parts):
        parts = [(importance, 1.0) for importance, _ in parts]
    members, units = parts[0][0].shape
    total = np.zeros((members, units))
    for importance, share in parts:
        size = 0.0
        for unit in range(units):
            largest, *others = sorted(importance[:, unit], reverse=True)
            size += (largest - np.median(others)) if largest > others[0] else 0.0
        for member, unit in np.ndindex(members, units):
            if size > 0:
                total[member, unit] += share * importance[member, unit] / size
    return total


@pytest.mark.parametrize("shares", [(0.3, 0.1), (0.3, 0.0), (0.0, 0.0), (0.2, 0.1, 0.4)])
@pytest.mark.parametrize("copies", [1, 2, 5])
def test_the_combination_is_that_of_the_naive_twin(shares, copies):
    parts = [(RNG(k).random((1 + copies, 6)), share) for k, share in enumerate(shares)]
    parts[0][0][:] = parts[0][0][0]  # a model that cannot tell members apart adds nothing
    np.testing.assert_allclose(combined_importance(parts), naive_combination(parts), rtol=1e-12)


def a_fit(response, logits=None, scale=1.0):
    return StageFit(np.zeros((2, 2)), response, logits, scale, np.zeros(2))


def test_a_stage_that_predicts_a_constant_explains_nothing():
    y = standardise(RNG(0).standard_normal(50))
    held_out, kept = np.arange(10), np.arange(10, 50)
    response = Measurement(y)
    left = Measurement.residual(y, kept)
    nothing = a_fit(left, scale=left.scale)
    assert held_out_share(nothing, response, kept, held_out) == pytest.approx(0, abs=1e-12)
    half = replace(nothing, scale=0.5 * nothing.scale)
    assert held_out_share(half, response, kept, held_out) == pytest.approx(0.75)
    worse = replace(nothing, scale=2 * nothing.scale)
    assert held_out_share(worse, response, kept, held_out) == 0


def test_the_share_of_a_measurement_row_by_row():
    response = Measurement(standardise(RNG(0).standard_normal(40)))
    left = Measurement(standardise(RNG(1).standard_normal(40)))
    held_out = np.array([3, 17, 25, 8])
    kept = np.setdiff1d(np.arange(40), held_out)
    constant = sum(response.y[row] for row in kept) / 36
    null = sum((response.y[row] - constant) ** 2 for row in held_out)
    gone = sum((0.6 * left.y[row]) ** 2 for row in held_out) / null
    assert held_out_share(a_fit(left, scale=0.6), response, kept, held_out) == pytest.approx(max(0, 1 - gone))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_share_of_classes_row_by_row(classes):
    labels = RNG(0).integers(0, classes, 60)
    response = response_from(labels, "classification")
    logits = RNG(1).standard_normal((60, response.n_outputs)) + (
        labels[:, None] if classes == 2 else 2 * (labels[:, None] == np.arange(3))
    )
    held_out = np.arange(5, 25)
    kept = np.setdiff1d(np.arange(60), held_out)
    deviance = null = 0.0
    for row in held_out:
        of_row = np.array([0.0, logits[row, 0]]) if classes == 2 else logits[row]
        chance = np.exp(of_row) / np.exp(of_row).sum()
        deviance -= np.log(chance[labels[row]])
        null -= np.log((np.sum(labels[kept] == labels[row]) + 1) / (len(kept) + classes))  # one row of prior each
    assert deviance < null
    assert held_out_share(a_fit(response, logits), response, kept, held_out) == pytest.approx(1 - deviance / null)


def test_a_constant_response_has_nothing_to_explain():
    response = Measurement(np.zeros(10))
    assert held_out_share(a_fit(response), response, np.arange(3, 10), np.arange(3)) == 0


def test_a_rehearsal_is_fitted_to_the_rows_kept_and_has_its_share_of_the_others():
    calls = []

    class Scripted(Stage):
        stage_name, stage_explains = "scripted", "nothing"

        def fit_stage(self, Z, layout, response, *, rng, fit_rows=None, progress=None):
            calls.append(fit_rows)
            return a_fit(response, scale=0.5)

    response = Measurement(np.tile([1.0, -1.0], 10))
    kept, held_out = np.arange(16), np.arange(16, 20)
    fit = rehearse_stage(
        Scripted(), np.zeros((20, 4)), Layout(2, Units.single(2)), response, kept=kept, held_out=held_out, rng=RNG(0)
    )
    assert len(calls) == 1
    assert calls[0] is kept
    assert fit.held_out_share == pytest.approx(0.75)
    assert Scripted().facts(fit).held_out_share == pytest.approx(0.75)
