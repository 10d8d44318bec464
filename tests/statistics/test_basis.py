"""Basis functions of single columns: against a naive twin, and what columns without curves have."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.standardise import standardise
from grip2.statistics.basis import FUNCTIONS, Basis, SideFunctions, column_blocks
from grip2.statistics.curve_lasso import curves_of

RNG = np.random.default_rng


def naive_curves(z):
    """One column, by least squares."""
    low, middle, high = np.quantile(z, [0.25, 0.5, 0.75])

    def hinge(cut):
        return np.clip(z - cut, 0, None)

    known, found = [np.ones_like(z), z], []
    for curve in (hinge(middle), hinge(low) - hinge(high)):
        design = np.stack(known, axis=1)
        rest = curve - design @ np.linalg.lstsq(design, curve, rcond=None)[0]
        found.append(rest / rest.std())
        known.append(found[-1])
    return found


def test_curves_are_those_of_the_naive_twin():
    Z = standardise(RNG(0).exponential(size=(500, 3)))
    V, S = np.split(curves_of(Z), 2, axis=1)
    for j in range(3):
        for ours, theirs in zip((V[:, j], S[:, j]), naive_curves(Z[:, j]), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_columns_of_two_values_and_constant_ones_have_no_curves():
    Z = np.zeros((100, 3))
    Z[:, 0] = RNG(0).random(100) < 0.1
    Z[:, 1] = RNG(0).random(100) < 0.5
    assert not curves_of(standardise(Z)).any()


def test_columns_with_many_equal_values_have_curves_too():
    rng = RNG(0)
    spikes = np.where(rng.random((400, 2)) < 0.8, 0.0, rng.exponential(size=(400, 2)))
    counts = rng.poisson(0.4, size=(400, 2)).astype(float)
    assert (np.abs(curves_of(standardise(np.hstack([spikes, counts])))).max(axis=0) > 0)[:4].all()


def test_functions_of_the_fitted_rows_are_standardised_and_uncorrelated():
    Z = RNG(0).exponential(size=(400, 3))
    basis = Basis.fit(Z)
    values = basis.evaluate(Z)
    assert values.shape == (FUNCTIONS, 400, 3)
    assert basis.present().all()
    for j in range(3):
        of_column = values[:, :, j]
        np.testing.assert_allclose(of_column @ of_column.T / 400, np.eye(FUNCTIONS), atol=1e-9)
        np.testing.assert_allclose(of_column.mean(axis=1), 0, atol=1e-9)


def test_functions_are_constant_beyond_the_values_they_were_fitted_to():
    Z = RNG(0).standard_normal((200, 2))
    basis = Basis.fit(Z)
    ends = basis.evaluate(np.stack([Z.min(axis=0), Z.max(axis=0)]))
    np.testing.assert_allclose(basis.evaluate(np.array([[-1e9, -50.0], [1e9, 50.0]])), ends)


def test_some_columns_are_those_of_all():
    Z = RNG(0).standard_normal((100, 5))
    columns = np.array([3, 1])
    part = Basis.fit(Z).take(columns)
    for one, other in zip(part, Basis.fit(Z[:, columns]), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_column_blocks_cover_every_column_once():
    for n_columns, n_rows in ((0, 10), (1, 10), (250, 10), (7, 10**7)):
        covered = [j for here in column_blocks(n_columns, n_rows) for j in range(here.start, here.stop)]
        assert covered == list(range(n_columns))


def naive_functions(z, knots, deviation, span):
    """(functions, rows) of one column before they are made orthogonal, at values within the span."""
    z = np.clip(z, *span)
    low, middle, high, first, second = knots
    return np.array(
        [
            z,
            np.maximum(z - middle, 0),
            np.maximum(z - low, 0) - np.maximum(z - high, 0),
            np.clip((z - middle) / deviation, -3, 3) ** 3,
            z > first,
            z > second,
        ],
        dtype=float,
    )


@pytest.mark.parametrize("kind", ["normal", "heavy", "binary", "spiked", "whole numbers", "constant"])
def test_functions_are_those_of_a_naive_gram_schmidt(kind):
    rng = np.random.default_rng([5, len(kind)])
    column = {
        "normal": lambda: rng.standard_normal(700),
        "heavy": lambda: rng.standard_t(2, 700),
        "binary": lambda: rng.integers(0, 2, 700),
        "spiked": lambda: np.maximum(rng.standard_normal(700), 0.2),
        "whole numbers": lambda: rng.poisson(2, 700),
        "constant": lambda: np.full(700, 3.0),
    }[kind]().astype(float)
    basis = Basis.fit(column[:, None])
    new = np.concatenate([column, [column.min() - 5, column.max() + 5]])
    found = basis.evaluate(new[:, None])[:, :, 0]
    fitted = naive_functions(column, basis.knots[:, 0], basis.deviation[0], basis.span[:, 0])
    wanted = naive_functions(new, basis.knots[:, 0], basis.deviation[0], basis.span[:, 0])
    for k in range(FUNCTIONS):
        before = fitted[k].std()
        wanted[k] -= fitted[k].mean()
        fitted[k] -= fitted[k].mean()
        for earlier in range(k):
            along = (fitted[k] * fitted[earlier]).mean()
            fitted[k] -= along * fitted[earlier]
            wanted[k] -= along * wanted[earlier]
        kept = fitted[k].std() > 1e-3 * max(before, 1e-300) and before > 0
        scale = 1 / fitted[k].std() if kept else 0.0
        fitted[k] *= scale
        wanted[k] *= scale
    np.testing.assert_allclose(found, wanted, atol=1e-7)
    np.testing.assert_array_equal(basis.present()[:, 0], fitted.any(axis=1))


def test_sides_of_products_are_line_v_and_step():
    rng = np.random.default_rng(7)
    Z = np.column_stack(
        [rng.standard_normal(500), rng.standard_t(3, 500), rng.integers(0, 2, 500), rng.poisson(2, 500)]
    )
    basis = Basis.fit(Z)
    side = SideFunctions.fit(Z, basis)
    new = np.vstack([Z, 3 * Z[:50]])
    found = side.evaluate(new)
    np.testing.assert_allclose(found[:2], basis.evaluate(new)[:2], rtol=1e-5, atol=1e-5)
    step = np.asarray(Z > np.median(Z, axis=0), dtype=float)
    present = side.present()
    assert present[2].tolist() == [True, True, False, True]  # of two values the step says what the line does
    wanted = (step - step.mean(axis=0)) / step.std(axis=0)
    np.testing.assert_allclose(found[2, :500, [0, 1, 3]], wanted.T[[0, 1, 3]], rtol=1e-5, atol=1e-5)
    assert not found[2, :, 2].any()
