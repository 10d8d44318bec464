"""Copula knockoffs: marginal distributions, discrete columns, moments in the space of normal scores, new rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import kstest

from grip2.knockoffs import CopulaKnockoffs
from grip2.knockoffs.latent import truncated_normal
from grip2.knockoffs.marginals import ContinuousMarginal, DiscreteMarginal, learn_marginal
from grip2.knockoffs.score_map import ScoreMap
from tests.knockoffs.cases import ar1, joint, largest_z, normal_rows, uneven, z_bound

RNG = np.random.default_rng


def mixed(n: int, seed: int = 0) -> np.ndarray:
    """Normal scores of correlation 0.6 with six marginal distributions: 0/1, counts, log-normal, heavy-tailed, spiked, normal."""
    Z = normal_rows(n, ar1(6, 0.6), RNG(seed))
    X = Z.copy()
    X[:, 0] = Z[:, 0] > 0.5
    X[:, 1] = np.floor(3 * np.exp(0.5 * Z[:, 1]))
    X[:, 2] = np.exp(Z[:, 2])
    X[:, 3] = Z[:, 3] ** 3
    X[:, 4] = np.maximum(Z[:, 4] + 1, 0)
    return X


def test_moments_of_the_normal_scores():
    """40,000 rows, 8 columns exp(z): largest error of 136 moments below 5.4 standard errors; false-alarm rate 1e-5.

    The scores of the knockoffs are recovered with the marginal distributions learned from X.
    """
    rng = RNG(1)
    X = np.exp(normal_rows(40_000, uneven(8), rng))
    sampler = CopulaKnockoffs(extra_shrinkage=0.0).fit(X)
    Xk = sampler.sample(X, rng=rng)
    rows = np.hstack([sampler.scores(X, rng=rng), sampler.scores(Xk, rng=rng)])
    target = joint(sampler.covariance_, sampler.s_)
    assert largest_z(rows, target) < z_bound(16)
    # Broken twins: other columns, other rows.
    assert largest_z(np.hstack([rows[:, :8], np.roll(rows[:, 8:], 1, axis=1)]), target) > 2 * z_bound(16)
    assert largest_z(np.hstack([rows[:, :8], rng.permutation(rows[:, 8:])]), target) > 2 * z_bound(16)


def test_which_columns_are_discrete():
    X = mixed(2000)
    np.testing.assert_array_equal(CopulaKnockoffs().fit(X).discrete_columns_, [True, True, False, False, False, False])


@pytest.mark.parametrize("discrete", ["latent", "ranks"])
def test_discrete_columns_stay_on_observed_values(discrete):
    X = mixed(2000)
    Xk = CopulaKnockoffs(discrete=discrete).fit(X).sample(X, rng=RNG(0))
    for j in (0, 1):
        assert set(np.unique(Xk[:, j])) <= set(np.unique(X[:, j]))
    assert set(np.unique(Xk[:, 0])) == {0.0, 1.0}


def test_plain_interpolation_is_an_option_and_invents_values():
    X = mixed(2000)
    sampler = CopulaKnockoffs(discrete="interpolate").fit(X)
    assert not sampler.discrete_columns_.any()
    Xk = sampler.sample(X, rng=RNG(0))
    assert not set(np.unique(Xk[:, 1])) <= set(np.unique(X[:, 1]))


def test_marginal_distributions_are_kept():
    """Two samples of 5,000, six columns: Kolmogorov-Smirnov distance below 0.05, which independent samples exceed with
    probability 7e-6 (all six: 4e-5) and positively dependent ones less often. The normal twin of column 3 exceeds it.
    """
    X = mixed(5000)
    Xk = CopulaKnockoffs().fit(X).sample(X, rng=RNG(0))
    for j in range(X.shape[1]):
        values = np.unique(np.concatenate([X[:, j], Xk[:, j]]))
        F, Fk = (np.searchsorted(np.sort(col), values, side="right") / 5000 for col in (X[:, j], Xk[:, j]))
        assert np.abs(F - Fk).max() < 0.05
    assert np.mean(Xk[:, 4] == 0) == pytest.approx(np.mean(X[:, 4] == 0), abs=0.03)
    normal = RNG(0).standard_normal(5000) * X[:, 3].std()
    assert kstest(X[:, 3], normal).statistic > 0.05


def test_latent_scores_keep_the_dependence_of_discrete_columns():
    """Correlations of ten 0/1 columns made from scores of correlation 0.6, 20,000 rows, and those of their knockoffs.

    Then those of X_j with the knockoff of X_k against those of X_j with X_k, j != k. Standard error of a difference 0.01:
    bound 0.06, false-alarm rate below 1e-6 for 135 pairs. Random ranks, the broken twin of the first, and knockoffs
    of other rows, that of the second, miss it by far.
    """
    X = (normal_rows(20_000, ar1(10, 0.6), RNG(0)) > 0).astype(float)
    upper = np.triu_indices(10, 1)

    def error(Xk: np.ndarray) -> float:
        return float(np.abs(np.corrcoef(X.T) - np.corrcoef(Xk.T))[upper].max())

    def cross_error(Xk: np.ndarray) -> float:
        cross = np.corrcoef(X.T, Xk.T)[:10, 10:]
        return float(np.abs(np.corrcoef(X.T) - cross)[~np.eye(10, dtype=bool)].max())

    latent, ranks = (CopulaKnockoffs(discrete=each).fit(X).sample(X, rng=RNG(1)) for each in ("latent", "ranks"))
    assert error(latent) < 0.06
    assert cross_error(latent) < 0.06
    assert error(ranks) > 0.15
    assert cross_error(RNG(2).permutation(latent)) > 0.15


def test_latent_scores_keep_the_dependence_of_spiked_columns():
    """Eight columns with 70 % zeros and a continuous rest, scores of correlation 0.7 between neighbours, 10,000 rows.

    Correlations of the knockoffs against those of the originals. Root mean square of a difference 0.013 in five data
    sets: bound 0.08, false-alarm rate below 1e-7 for 28 pairs. Random ranks, the broken twin, lose the dependence inside
    the spike.
    """
    X = np.maximum(normal_rows(10_000, ar1(8, 0.7), RNG(0)) - ndtri(0.7), 0)
    upper = np.triu_indices(8, 1)

    def error(discrete: str) -> float:
        sampler = CopulaKnockoffs(discrete=discrete).fit(X)
        assert sampler.spiked_columns_.all()
        assert not sampler.discrete_columns_.any()
        Xk = sampler.sample(X, rng=RNG(1))
        assert np.mean(Xk == 0) == pytest.approx(0.7, abs=0.02)
        return float(np.abs(np.corrcoef(X.T) - np.corrcoef(Xk.T))[upper].max())

    assert error("latent") < 0.08
    assert error("ranks") > 0.15


def test_cells_of_a_spiked_column():
    x = np.array([*[0.0] * 6, 0.5, 1.5, 2.5, 2.5])
    marginal = learn_marginal(x, discrete=True)
    assert isinstance(marginal, ContinuousMarginal)
    assert marginal.spiked
    low, high = marginal.cell(np.array([0.0, 0.5, 1.0, 2.5]))
    np.testing.assert_allclose(low, [0.0, 0.65, 0.7, 0.85])
    np.testing.assert_allclose(high, [0.55, 0.65, 0.7, 1.0])
    assert not learn_marginal(x[2:], discrete=True).spiked, "a few ties of a short table"
    x = RNG(0).standard_normal(1000)
    assert not learn_marginal(x, discrete=True).spiked
    x[:5] = x[5]  # six of 1,000 rows are a tie, not a spike
    assert not learn_marginal(x, discrete=True).spiked
    x[:20] = x[5]
    assert learn_marginal(x, discrete=True).spiked


def test_the_precision_is_computed_once(monkeypatch):
    X = mixed(300)
    sampler = CopulaKnockoffs().fit(X)

    def refuse(*_):
        raise AssertionError("inverted again")

    monkeypatch.setattr(np.linalg, "inv", refuse)
    sampler.sample(X, rng=RNG(0))


def test_few_binary_rows_keep_their_correlations():
    """As many rows as twice the columns: the EM algorithm must not shrink by itself.

    Neighbouring correlations of 0.8: their mean came out between 0.74 and 0.78 in eight data sets (standard deviation 0.015),
    with p / (n + p) of the identity mixed in in each iteration between 0.57 and 0.61.
    """
    X = (normal_rows(80, ar1(40, 0.8), RNG(0)) > 0).astype(float)
    sampler = CopulaKnockoffs()
    sampler._map = ScoreMap.learn(X, (), clip=sampler.clip, draws_in_cells=True, observed_values=True)
    assert np.diag(sampler._moments(X).covariance, 1).mean() > 0.68


def test_latent_correlations_are_those_of_the_scores():
    X = (normal_rows(10_000, ar1(6, 0.6), RNG(0)) > 0.3).astype(float)
    np.testing.assert_allclose(CopulaKnockoffs(extra_shrinkage=0.0).fit(X).covariance_, ar1(6, 0.6), atol=0.08)


def test_truncated_normal():
    """20,000 draws against the distribution function; Kolmogorov-Smirnov, level 1e-6; the untruncated twin fails."""
    rng = RNG(0)
    mean, low, high = np.full(20_000, 0.4), np.full(20_000, 0.5), np.full(20_000, 2.0)
    drawn = truncated_normal(mean, 0.7, low, high, rng)
    assert drawn.min() >= 0.5
    assert drawn.max() <= 2.0
    from scipy.stats import truncnorm

    law = truncnorm((0.5 - 0.4) / 0.7, (2.0 - 0.4) / 0.7, 0.4, 0.7)
    assert kstest(drawn, law.cdf).pvalue > 1e-6
    assert kstest(rng.normal(0.4, 0.7, 20_000), law.cdf).pvalue < 1e-6


@pytest.mark.parametrize("sign", [-1, 1])
def test_truncated_normal_far_in_the_tail(sign):
    ends = np.sort(sign * np.array([9.0, 9.5]))
    drawn = truncated_normal(np.zeros(1000), 1.0, np.full(1000, ends[0]), np.full(1000, ends[1]), RNG(0))
    assert np.all((drawn >= ends[0]) & (drawn <= ends[1]))
    assert np.std(drawn) > 0.05
    beyond = truncated_normal(np.zeros(3), 1.0, np.full(3, 60.0), np.full(3, np.inf), RNG(0))
    np.testing.assert_array_equal(beyond, 60.0)


def test_ranks_are_the_papers():
    """Without ties U = (rank + 1/2) / n, and the way back is exact."""
    x = np.array([3.0, -1.0, 7.0, 5.0])
    marginal = learn_marginal(x, discrete=True)
    assert isinstance(marginal, ContinuousMarginal)
    np.testing.assert_allclose(marginal.to_uniform(x, RNG(0)), (np.array([1, 0, 3, 2]) + 0.5) / 4)
    np.testing.assert_allclose(marginal.from_uniform(marginal.to_uniform(x, RNG(0))), x)
    np.testing.assert_allclose(marginal.from_uniform(np.array([0.0, 0.25, 1.0])), [-1.0, 1.0, 7.0])


def test_discrete_ranks_are_uniform_and_come_back():
    rng = RNG(0)
    x = rng.choice([0.0, 1.0, 4.0], size=5000, p=[0.5, 0.3, 0.2])
    marginal = learn_marginal(x, discrete=True)
    assert isinstance(marginal, DiscreteMarginal)
    u = marginal.to_uniform(x, rng)
    np.testing.assert_array_equal(marginal.from_uniform(u), x)
    assert kstest(u, "uniform").pvalue > 1e-6


def test_a_grid_of_order_statistics_is_enough_for_many_rows():
    x = np.where(RNG(1).random(60_000) < 0.2, 0.0, RNG(2).standard_normal(60_000))
    marginal = learn_marginal(x, discrete=True)
    assert isinstance(marginal, ContinuousMarginal)
    assert len(marginal.x) < 11_000
    u = (np.argsort(np.argsort(x)) + 0.5) / len(x)
    np.testing.assert_allclose(marginal.from_uniform(u), x, atol=0.05)
    assert marginal.x[0] == x.min()
    assert marginal.x[-1] == x.max()


def test_new_rows_after_fit():
    X = mixed(3000)
    sampler = CopulaKnockoffs().fit(X[:2000])
    Xk = sampler.sample(X[2000:], rng=RNG(0))
    assert Xk.shape == (1000, 6)
    unseen = X[2000:2002].copy()
    unseen[0] = [5.0, 1000.5, -3.0, 1e9, 50.0, -50.0]
    unseen[1] = [-5.0, 1.5, -3.0, 1e9, 50.0, -50.0]
    assert np.isfinite(sampler.sample(unseen, rng=RNG(0))).all()


def test_extra_shrinkage_is_documented_and_used():
    X = np.exp(normal_rows(5000, ar1(5, 0.999), RNG(0)))
    smallest = [
        np.linalg.eigvalsh(CopulaKnockoffs(shrinkage="ledoit_wolf", extra_shrinkage=e).fit(X).covariance_)[0]
        for e in (0.0, 0.01, 0.1)
    ]
    assert smallest[0] < 0.002
    assert smallest[1] == pytest.approx(0.01, rel=0.2)
    assert smallest[2] == pytest.approx(0.1, rel=0.2)


def test_least_shrinkage_is_the_default():
    """Nothing where the correlations are regular, the floor where they are not, the paper's rule where rows are few."""
    X = np.exp(normal_rows(5000, ar1(5, 0.7), RNG(0)))
    sampler = CopulaKnockoffs().fit(X)
    assert sampler.shrinkage_ == 0.0
    assert "without shrinkage" in " ".join(sampler.assumptions())
    close = CopulaKnockoffs().fit(np.exp(normal_rows(5000, ar1(5, 0.999), RNG(0))))
    assert 0 < close.shrinkage_ < 0.01
    R = close.covariance_ / np.diag(close.covariance_).mean()
    assert np.linalg.eigvalsh(R)[0] == pytest.approx(0.01, rel=0.01)
    assert "look like discoveries" in " ".join(close.assumptions())
    few = X[:9]
    paper = CopulaKnockoffs(shrinkage="ledoit_wolf").fit(few)
    assert CopulaKnockoffs().fit(few).shrinkage_ == paper.shrinkage_ > 0.01
    assert CopulaKnockoffs().fit(X[:10]).shrinkage_ < CopulaKnockoffs(shrinkage="ledoit_wolf").fit(X[:10]).shrinkage_


def test_scores_are_clipped():
    sampler = CopulaKnockoffs(clip=0.01).fit(mixed(2000))
    assert np.abs(sampler.scores(mixed(2000), rng=RNG(0))).max() <= -ndtri(0.01) + 1e-12


def test_assumptions_say_exact_and_estimated():
    text = " ".join(CopulaKnockoffs(s="mvr").fit(mixed(500)).assumptions())
    for word in (
        "Gaussian copula",
        "exact",
        "marginal distributions were estimated",
        "correlations were estimated",
        "2 of 6 columns",
        "1 spiked",
    ):
        assert word in text
    assert "too weak" in " ".join(CopulaKnockoffs(discrete="ranks").fit(mixed(500)).assumptions())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"discrete": "maybe"}, "discrete must be 'latent', 'ranks' or 'interpolate'"),
        ({"extra_shrinkage": -0.1}, "extra_shrinkage must be in"),
        ({"clip": 0.7}, "clip must be in"),
        ({"shrinkage": "none"}, "shrinkage must be one of 'least', 'numerical', 'ledoit_wolf', got 'none'"),
        ({"s": "best"}, "s must be one of"),
    ],
)
def test_errors_say_what_to_do(settings, message):
    with pytest.raises(ValueError, match=f"CopulaKnockoffs: .*{message}"):
        CopulaKnockoffs(**settings).fit(mixed(50))


@pytest.mark.parametrize(
    "settings", [{"shrinkage": "ledoit_wolf"}, {"shrinkage": "ledoit_wolf", "extra_shrinkage": 0.3}]
)
@pytest.mark.parametrize("kind", ["continuous", "discrete", "category"])
def test_other_shrinkage_of_a_fitted_sampler_is_that_of_a_new_fit(kind, settings, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 6)) @ np.linalg.cholesky(0.4 * np.eye(6) + 0.6).T
    how = {}
    if kind == "discrete":
        X = np.round(X)
    if kind == "category":
        level = np.digitize(X[:, 0], [-0.5, 0.5])
        X[:, :2] = np.column_stack([level == 1, level == 2])
        how = {"groups": ["c", "c", "x", "y", "z", "w"], "categories": [[0, 1]]}
    fitted = CopulaKnockoffs().fit(X, **how)
    before = fitted.covariance_.copy()
    expected = CopulaKnockoffs(**settings).fit(X, **how)
    if kind != "continuous":  # what takes long is not computed again
        monkeypatch.setattr("grip2.knockoffs.copula.latent_moments", lambda *_: pytest.fail("computed again"))
    found = fitted.reshrunk(X, **settings)
    np.testing.assert_allclose(found.covariance_, expected.covariance_, atol=1e-6)
    assert found.shrinkage_ == expected.shrinkage_
    assert np.abs(found.covariance_ - before).max() > 1e-4
    np.testing.assert_array_equal(fitted.covariance_, before)
    draws = [each.sample(X, rng=np.random.default_rng(0), copies=2) for each in (found, expected)]
    np.testing.assert_allclose(*draws, atol=1e-4 if kind == "continuous" else 1e-6)
