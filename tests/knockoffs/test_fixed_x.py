"""Fixed-X knockoffs: Gram identities, number of rows, rank."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grip2.errors import Grip2Error
from grip2.knockoffs import FixedXKnockoffs
from tests.knockoffs.cases import ar1, normal_rows

P = 10
RNG = np.random.default_rng


def design(n: int, p: int = P, seed: int = 0) -> np.ndarray:
    """Columns in different units, far from centred."""
    return normal_rows(n, ar1(p, 0.7), RNG(seed)) * np.geomspace(1e-2, 1e2, p) + 3.0


def worst_gram_error(X: np.ndarray, Xk: np.ndarray, s: np.ndarray) -> float:
    """Relative to the lengths of the columns: 0 when X'X = Xk'Xk and X'Xk = X'X - n S; ``s`` is the diagonal or the matrix."""
    G, S = X.T @ X, np.diag(s) if s.ndim == 1 else s
    size = np.sqrt(np.outer(np.diag(G), np.diag(G)))
    errors = [np.abs(Xk.T @ Xk - G) / size, np.abs(X.T @ Xk - G + len(X) * S) / size]
    return float(np.max(errors))


@pytest.mark.parametrize("s", ["equi", "sdp", "mvr", "maxent"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n", [21, 60, 500])
def test_gram_identities(s, center, n):
    X = design(n)
    sampler = FixedXKnockoffs(s=s, center=center).fit(X)
    Xk = sampler.sample(X, rng=RNG(1))
    mean = X.mean(axis=0) * center
    assert worst_gram_error(X - mean, Xk - mean, sampler.s_) < 1e-8
    if center:  # the identities hold for the raw matrices as well
        np.testing.assert_allclose(Xk.mean(axis=0), X.mean(axis=0), rtol=1e-10)
        assert worst_gram_error(X, Xk, sampler.s_) < 1e-8


@pytest.mark.parametrize("s", ["equi", "mvr", "maxent"])
@pytest.mark.parametrize("center", [True, False])
def test_gram_identities_of_groups(s, center):
    """Block-diagonal S: columns of other units keep their inner products, columns of one unit need not."""
    X = design(60)
    labels = np.arange(P) // 3
    sampler = FixedXKnockoffs(s=s, center=center).fit(X, groups=labels)
    Xk = sampler.sample(X, rng=RNG(1))
    mean = X.mean(axis=0) * center
    assert worst_gram_error(X - mean, Xk - mean, sampler.s_) < 1e-8
    same = np.equal.outer(labels, labels)
    assert np.all(sampler.s_[~same] == 0)
    assert np.all(sampler.s_[same] != 0)
    assert worst_gram_error(X - mean, Xk - mean, np.diag(sampler.s_)) > 1e-3  # not the knockoffs of single columns
    given = FixedXKnockoffs(s=sampler.s_, center=center).fit(X, groups=labels)
    np.testing.assert_allclose(given.s_, sampler.s_, rtol=1e-12)
    assert any("unit by unit" in text for text in sampler.assumptions())


def test_one_copy_only():
    with pytest.raises(
        Grip2Error, match=r"FixedXKnockoffs: fixed-X knockoffs exist for one copy only, got copies=2\. Use copies=1"
    ):
        FixedXKnockoffs().fit(design(60)).sample(design(60), rng=RNG(0), copies=2)
    with pytest.raises(Grip2Error, match="GaussianKnockoffs or CopulaKnockoffs"):
        FixedXKnockoffs().check_can_draw(copies=5)


def test_gram_identities_detect_a_broken_twin():
    """The noise is not orthogonal to X."""
    X = design(60)
    sampler = FixedXKnockoffs().fit(X)
    Q, _ = np.linalg.qr(RNG(0).standard_normal(X.shape))
    Xk = X + (-sampler._U @ sampler._shift + Q @ sampler._C) * sampler._norms
    assert worst_gram_error(X - X.mean(axis=0), Xk - X.mean(axis=0), sampler.s_) > 1e-3


def test_equi_is_the_papers_formula():
    X = design(80)
    Y = X - X.mean(axis=0)
    norms = np.linalg.norm(Y, axis=0)
    sampler = FixedXKnockoffs(s="equi").fit(X)
    smallest = np.linalg.eigvalsh((Y / norms).T @ (Y / norms))[0]
    np.testing.assert_allclose(sampler.s_ * len(X) / norms**2, min(1, 2 * smallest), rtol=1e-6)


def test_binary_columns_keep_the_identities():
    X = (design(400) > 3.0).astype(float)
    sampler = FixedXKnockoffs().fit(X)
    Xk = sampler.sample(X, rng=RNG(0))
    assert worst_gram_error(X, Xk, sampler.s_) < 1e-8


def test_the_complement_is_random():
    X = design(60)
    sampler = FixedXKnockoffs().fit(X)
    assert np.abs(sampler.sample(X, rng=RNG(0)) - sampler.sample(X, rng=RNG(1))).max() > 1e-3


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n", [12, 15, 20])
def test_few_rows_are_augmented(center, n):
    X, rng = design(n), RNG(0)
    y = X @ np.ones(P) + rng.standard_normal(n) + 7
    sampler = FixedXKnockoffs(center=center)
    assert sampler.rows_needed(P) == 2 * P + center
    longer, response = sampler.augment_rows(X, y, rng=rng)
    if n < 2 * P + center:
        assert len(longer) == len(response) == 2 * P + 2 * center
        np.testing.assert_array_equal(longer[n:], 0)
    else:
        assert longer is X
    np.testing.assert_array_equal(response[:n], y)
    Xk = sampler.fit(longer).sample(longer, rng=rng)
    assert worst_gram_error(longer, Xk, sampler.s_) < 1e-8
    if center and len(longer) > n:  # orthogonal to the constants on data rows and on added rows
        assert np.abs(Xk[:n].sum(axis=0)).max() < 1e-8 * np.abs(Xk).sum(axis=0).max()
        assert np.abs(Xk[n:].sum(axis=0)).max() < 1e-8 * np.abs(Xk).sum(axis=0).max()


def test_added_noise_has_the_residual_deviation():
    """108 added rows, 146 degrees of freedom: standard error of the ratio 0.09; bound 0.5, false-alarm rate below 1e-6."""
    X = RNG(0).standard_normal((400, 253))
    y = X[:, 0] + 2.0 * RNG(1).standard_normal(400)
    _, response = FixedXKnockoffs().augment_rows(X, y, rng=RNG(3))
    assert len(response) == 508
    assert np.std(response[400:]) == pytest.approx(2.0, rel=0.5)
    _, given = FixedXKnockoffs().augment_rows(X, y, rng=RNG(3), noise_sd=50.0)
    assert np.std(given[400:]) == pytest.approx(50.0, rel=0.5)


def test_few_rows_without_augmentation_is_an_error_that_names_the_way_out():
    X = design(15)
    with pytest.raises(ValueError, match=r"at least 21 rows are needed for 10 columns.*got 15.*augment_rows"):
        FixedXKnockoffs().fit(X).sample(X, rng=RNG(0))


def test_fewer_rows_than_columns_is_an_error_that_names_another_sampler():
    with pytest.raises(ValueError, match=r"got 9 rows and 10 columns\. Use CopulaKnockoffs"):
        FixedXKnockoffs().fit(design(9))
    with pytest.raises(ValueError, match="Pass noise_sd"):
        FixedXKnockoffs().augment_rows(design(11), np.zeros(11), rng=RNG(0))


def test_rank_deficiency_names_the_columns():
    table = pd.DataFrame(design(60), columns=[f"gene {j}" for j in range(P)])
    table["gene 4"] = table["gene 1"] * 2 - table["gene 2"]
    with pytest.raises(ValueError, match=r"linearly independent, got column gene [124] as a combination"):
        FixedXKnockoffs().fit(table)
    table["gene 4"] = 5.0
    with pytest.raises(ValueError, match="constant column gene 4"):
        FixedXKnockoffs().fit(table)


def test_other_rows_are_refused():
    sampler = FixedXKnockoffs().fit(design(60))
    with pytest.raises(ValueError, match="the same matrix as in fit"):
        sampler.sample(design(60, seed=1), rng=RNG(0))


def test_it_says_that_x_is_fixed():
    assert FixedXKnockoffs.fixed_x
    assert any("no proof" in text for text in FixedXKnockoffs().fit(design(60)).assumptions())


def test_a_small_column_is_not_constant():
    """Units of 1e-13 beside units of 1: each column is compared with its own size."""
    X = np.random.default_rng(0).standard_normal((40, 4)) * np.array([1.0, 1e-13, 1.0, 1e13])
    Xk = FixedXKnockoffs().fit(X).sample(X, rng=np.random.default_rng(1))
    np.testing.assert_allclose(Xk.std(axis=0), X.std(axis=0), rtol=1e-6)
    X[:, 3] = 1e9 / 3
    with pytest.raises(ValueError, match="a constant column 3"):
        FixedXKnockoffs().fit(X)
