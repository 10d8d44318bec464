"""The group lasso as a statistic: units come in together, however they are coded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grip2 import KnockoffSelector
from grip2.errors import Grip2Error
from grip2.responses import SeveralClasses
from grip2.statistics import GroupLassoCoefficient, LassoCoefficient
from grip2.statistics.group_lasso_coefficient import group_lassos_cv, orthonormal_blocks
from grip2.statistics.lasso_cv import draw_folds
from grip2.units import Layout, Units

UNITS = Units(np.repeat(np.arange(6), [3, 1, 4, 2, 5, 3]))


def table(n: int = 400, *, copies: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns and independent copies of them; all columns of the first and of the fifth unit act."""
    rng = np.random.default_rng(seed)
    p = UNITS.n_columns
    X, Xk = rng.standard_normal((n, p)), rng.standard_normal((copies, n, p))
    y = X[:, UNITS.columns[0]].sum(1) + X[:, UNITS.columns[4]].sum(1) + rng.standard_normal(n)
    return X, Xk, y


def scores(statistic, X, Xk, y, units=UNITS, seed=1):
    return statistic.importance(X, Xk, y, rng=np.random.default_rng(seed), units=units).scores


def test_units_that_act_are_found():
    found = scores(GroupLassoCoefficient(), *table())
    assert found.shape == (3, 6)
    assert set(np.flatnonzero(found[0] > 2 * found[1:].max())) == {0, 4}


def test_how_a_unit_is_coded_does_not_matter():
    X, Xk, y = table()
    rng = np.random.default_rng(2)
    mixed, mixed_copies = X.copy(), Xk.copy()
    for columns in UNITS.columns:
        turned = rng.standard_normal((len(columns), len(columns))) + 2 * np.eye(len(columns))
        mixed[:, columns] = X[:, columns] @ turned
        mixed_copies[..., columns] = Xk[..., columns] @ turned
    np.testing.assert_allclose(
        scores(GroupLassoCoefficient(), mixed, mixed_copies, y), scores(GroupLassoCoefficient(), X, Xk, y), atol=2e-3
    )
    # The lasso, which it is not.
    assert not np.allclose(
        scores(LassoCoefficient(), mixed, mixed_copies, y), scores(LassoCoefficient(), X, Xk, y), atol=0.05
    )


def test_single_columns_make_it_the_lasso():
    X, Xk, y = table()
    single = Units.single(X.shape[1])
    np.testing.assert_allclose(
        scores(GroupLassoCoefficient(), X, Xk, y, single), scores(LassoCoefficient(), X, Xk, y, single), atol=5e-3
    )


def test_columns_that_determine_each_other_are_one_direction_less():
    rng = np.random.default_rng(0)
    levels = np.eye(4)[rng.integers(4, size=300)]
    Z = np.concatenate([levels, rng.standard_normal((300, 2))], axis=1)
    Z = (Z - Z.mean(0)) / Z.std(0)
    Q, blocks = orthonormal_blocks(Z, Layout(1, Units(np.array([0, 0, 0, 0, 1, 2]))))
    np.testing.assert_array_equal(np.diff(blocks.starts), [3, 1, 1])
    np.testing.assert_allclose(blocks.weights, [np.sqrt(3.0), 1.0, 1.0])
    np.testing.assert_allclose(Q[:, :3].T @ Q[:, :3] / 300, np.eye(3), atol=1e-9)


def test_an_effect_spread_over_a_unit_is_found_where_the_lasso_misses_it():
    """Ten columns of weight 0.1 act beside noise of 1: 40 tables of 300 rows, two copies.

    The original is first in 38 tables, with the lasso in 24. The tables are fixed, so this cannot fail by chance; were the
    original first with the lasso's chance of 0.6, 36 wins or more would have a chance of 3e-5.
    """
    units = Units(np.repeat(np.arange(8), 10))
    wins = {GroupLassoCoefficient: 0, LassoCoefficient: 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, Xk = rng.standard_normal((300, 80)), rng.standard_normal((2, 300, 80))
        y = 0.1 * X[:, :10] @ rng.choice([-1.0, 1.0], 10) + rng.standard_normal(300)
        for statistic in wins:
            found = scores(statistic(), X, Xk, y, units, seed)
            wins[statistic] += bool(found[0, 0] > found[1:, 0].max())
    assert wins[GroupLassoCoefficient] >= 36 > wins[LassoCoefficient]


def test_the_classes_of_a_table_share_their_moments():
    """Several targets give what each of them gives alone."""
    rng = np.random.default_rng(3)
    Q, blocks = orthonormal_blocks(rng.standard_normal((120, 12)), Layout(1, Units(np.repeat(np.arange(4), 3))))
    targets = [rng.standard_normal(120) + 5 + Q[:, k] for k in range(3)]
    folds = draw_folds(120, 4, np.random.default_rng(0))
    together = group_lassos_cv(Q, targets, blocks, folds=folds)
    for fit, target in zip(together, targets, strict=True):
        alone = group_lassos_cv(Q, [target], blocks, folds=folds)[0]
        np.testing.assert_allclose(fit.coefficients, alone.coefficients, atol=1e-6)
        assert abs(fit.r2 - alone.r2) < 1e-6


def test_a_member_without_directions_and_a_class_without_rows():
    """Scores are zero and finite; nothing warns."""
    rng = np.random.default_rng(0)
    X, Xk = rng.standard_normal((60, 6)), rng.standard_normal((1, 60, 6))
    Xk[0, :, :3] = 0.0
    units = Units(np.repeat(np.arange(2), 3))
    labels = SeveralClasses(np.arange(60) % 2, names=("a", "b", "c"))
    found = scores(GroupLassoCoefficient(), X, Xk, labels, units)
    assert np.isfinite(found).all()
    assert (found[:, 0] == 0).all(), "a unit one of whose members is constant says nothing"


def test_categories_are_units():
    rng = np.random.default_rng(1)
    colour = rng.choice(["red", "green", "blue", "grey"], 300)
    frame = pd.DataFrame({f"x{j}": rng.standard_normal(300) for j in range(5)} | {"colour": colour})
    y = 1.5 * (colour == "red") - 1.5 * (colour == "blue") + frame["x0"] + 0.5 * rng.standard_normal(300)
    found = KnockoffSelector("glcd", fdr=0.2, copies=5, random_state=0, describe=False).fit(frame, y).result_
    assert {"colour", "x0"} <= set(found.selected)


def test_too_many_columns_are_refused_with_a_remedy():
    X, Xk = np.zeros((10, 2000)), np.ones((2, 10, 2000))
    with pytest.raises(Grip2Error, match="at most 4000 columns of features and knockoffs can be fitted, got 6000"):
        scores(GroupLassoCoefficient(), X, Xk, np.arange(10.0), Units.single(2000))
