"""The lassos on columns and on their curves: what each takes and leaves, and that pairs are treated alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.members import members_of, table_of

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.filter import knockoff_threshold
from grip2.metrics import power
from grip2.responses import Measurement, response_from
from grip2.standardise import standardise
from grip2.statistics import GRIP2, EffectPosterior, LassoCurves, Staged
from grip2.statistics import curve_lasso as module
from grip2.statistics.curve_lasso import fit_curve_lasso
from grip2.statistics.lasso_curves import _unit_weights
from grip2.statistics.linear_lasso import LassoPart, fit_linear_lasso
from grip2.statistics.stage import combined_importance

RNG = np.random.default_rng


def table(n=300, p=10, seed=0):
    rng = RNG([seed, 3])
    return rng.standard_normal((n, p)), rng.standard_normal((n, p)), rng.standard_normal(n)


def parts(X, Xk, y, task="regression"):
    Z, layout = table_of(X, Xk)
    first = fit_linear_lasso(Z, response_from(y, task), rng=RNG(0))
    return first, fit_curve_lasso(Z, layout, first, rng=RNG(1))


def test_even_signals_are_taken_and_the_network_gets_the_rest():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1000, 10))
    y = standardise(np.abs(X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * rng.standard_normal(1000))
    first, second = parts(X, Xk, y)
    assert first.share < 0.02
    assert set(np.argsort(-second.strength)[:2]) == {0, 1}
    truth = np.abs(X[:, 0]) + np.abs(X[:, 1])
    assert second.share == pytest.approx(np.corrcoef(truth, y)[0, 1] ** 2, abs=0.05)
    assert abs(np.corrcoef(second.response.y, truth)[0, 1]) < 0.1
    assert np.corrcoef(second.response.y, X[:, 2] * X[:, 3])[0, 1] > 0.7


@pytest.mark.parametrize("pairs_kept", [10, 50])
def test_choosing_pairs_explains_no_noise(monkeypatch, pairs_kept):
    """Pairs chosen on the rows that are fitted would seem to explain a tenth of pure noise here."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 300, 200))
    monkeypatch.setattr(module, "ENTRIES_MAX", 300 * 4 * pairs_kept)
    assert parts(X, Xk, rng.standard_normal(300))[1].share < 0.02
    y = np.abs(X[:, :3]).sum(axis=1) + 0.5 * rng.standard_normal(300)
    _, second = parts(X, Xk, y)
    assert second.share > 0.4
    assert set(np.argsort(-second.strength)[:3]) == {0, 1, 2}


def test_linear_signals_and_noise_leave_nothing_to_bend():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1000, 10))
    for y in (X[:, 0] + rng.standard_normal(1000), rng.standard_normal(1000)):
        assert parts(X, Xk, y)[1].share < 0.01


@pytest.mark.parametrize("pairs_kept", [None, 4])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_swapped_pairs_swap_their_strengths_and_change_nothing_else(monkeypatch, task, pairs_kept):
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 400, 10))
    y = np.abs(X[:, 0]) + 0.5 * np.abs(Xk[:, 3]) + X[:, 1] + 0.5 * rng.standard_normal(400)
    if task == "classification":
        y = np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(float)
    if pairs_kept:
        monkeypatch.setattr(module, "ENTRIES_MAX", 400 * 4 * pairs_kept)
    swapped = RNG(1).random(10) < 0.5
    _, one = parts(X, Xk, y, task)
    _, other = parts(np.where(swapped, Xk, X), np.where(swapped, X, Xk), y, task)
    assert one.share > 0.05
    a, b = np.split(other.strength, 2)
    back = np.concatenate([np.where(swapped, b, a), np.where(swapped, a, b)])
    np.testing.assert_allclose(back, one.strength, atol=2e-3)
    assert other.share == pytest.approx(one.share, abs=1e-3)
    if pairs_kept:
        assert np.count_nonzero(one.strength.reshape(2, -1).max(axis=0)) <= pairs_kept
        assert one.strength[0] > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes):
    """Even signals raise the likelihood through the logits; shuffled labels do not."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1500, 10))
    index = 2 * np.abs(X[:, 0]) + 2 * np.abs(X[:, 1]) + 0.5 * rng.standard_normal(1500)
    y = np.digitize(index, np.quantile(index, np.arange(1, classes) / classes)).astype(float)
    first, second = parts(X, Xk, y, "classification")
    assert first.share < 0.02
    assert second.share > 0.2
    assert set(np.argsort(-second.strength)[:2]) == {0, 1}
    assert deviance(second.logits, y) < 0.8 * deviance(first.logits, y)
    first, second = parts(X, Xk, rng.permutation(y), "classification")
    assert second.share < 0.01
    assert deviance(second.logits, rng.permutation(y)) < 1.02 * np.log(classes)


@pytest.mark.parametrize("rate", [0.5, 0.05])
def test_the_share_of_classes_is_one_of_deviance(rate):
    """Also where a class is rare; the truth's own share is known."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 6000, 5))
    index = 2 * (np.abs(X[:, 0]) - 0.8)
    chance = 1 / (1 + np.exp(-(index + np.log(rate / (1 - rate)))))
    y = (rng.random(6000) < chance).astype(float)
    constant = np.full((6000, 1), np.log(y.mean() / (1 - y.mean())))
    truth = 1 - deviance(np.log(chance / (1 - chance))[:, None], y) / deviance(constant, y)
    assert parts(X, Xk, y, "classification")[1].share == pytest.approx(truth, abs=0.4 * truth)


def deviance(logits, y):
    if logits.shape[1] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return -np.log(chances[np.arange(len(y)), y.astype(int)]).mean()


def test_a_few_hundred_rows_are_enough_for_absolute_values():
    """400 rows, 12 of 60 features: with the curves most are found, with lasso and network alone half or fewer."""
    rng = RNG(3)
    X, Xk = rng.standard_normal((2, 400, 60))
    y = np.abs(X[:, :12]).sum(axis=1) + 1.5 * rng.standard_normal(400)

    def found(statistic):
        W = statistic.importance(X, Xk, y, rng=RNG(0)).W
        return power(knockoff_threshold(W, 0.2) <= W, np.arange(60) < 12)

    assert found(Staged()) >= 0.9
    assert found(Staged(EffectPosterior(curves=False))) <= 0.6


def test_curves_are_off_where_the_network_is_alone():
    X = RNG(0).standard_normal((100, 3))
    found = GRIP2(steps=50).importance(X, X[::-1], X[:, 0] ** 2, rng=RNG(0))
    assert found.facts.stages == ()
    for first in (EffectPosterior(curves="yes"), LassoCurves(curves="yes")):
        with pytest.raises(Grip2Error, match="curves must be True or False, got 'yes'"):
            Staged(first).importance(X, X[::-1], X[:, 0], rng=RNG(0))


def test_what_the_lasso_takes_and_leaves():
    X, Xk, noise = table()
    y = standardise(X[:, 0] + X[:, 1] + noise)
    Z = members_of(X, Xk).standardised()
    part = fit_linear_lasso(Z, Measurement(y), rng=RNG(0))
    assert 0.5 < part.share < 0.75  # 2/3 in truth
    assert set(np.argsort(-part.strength)[:2]) == {0, 1}
    assert part.logits is None
    residual = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    assert np.corrcoef(part.response.y, residual)[0, 1] > 0.97
    assert part.response.y.std() == pytest.approx(1)
    assert fit_linear_lasso(Z, Measurement(standardise(noise)), rng=RNG(0)).share < 0.02


def test_swapped_pairs_swap_their_strengths_in_the_first_lasso():
    X, Xk, noise = table()
    y = standardise(X[:, 0] + 0.2 * Xk[:, 3] + noise)
    swapped = RNG(1).random(10) < 0.5
    one = fit_linear_lasso(members_of(X, Xk).standardised(), Measurement(y), rng=RNG(0))
    A, B = np.where(swapped, Xk, X), np.where(swapped, X, Xk)
    other = fit_linear_lasso(members_of(A, B).standardised(), Measurement(y), rng=RNG(0))
    first, second = np.split(other.strength, 2)
    back = np.concatenate([np.where(swapped, second, first), np.where(swapped, first, second)])
    np.testing.assert_allclose(back, one.strength, atol=1e-4)
    assert other.share == pytest.approx(one.share, abs=1e-4)
    np.testing.assert_allclose(other.response.y, one.response.y, atol=1e-3)


@pytest.mark.filterwarnings("ignore:.*classes with fewer than 5 rows")
@pytest.mark.parametrize("counts", [(100, 3, 2), (100, 5, 1), (60, 4), (3, 2)])
def test_rare_classes(counts):
    y = np.repeat(np.arange(len(counts)), counts).astype(float)
    Z = RNG(0).standard_normal((len(y), 8))
    for seed in (0, 1665, 3147):
        part = fit_linear_lasso(Z, response_from(y, "classification"), rng=RNG(seed))
        assert np.isfinite(part.logits).all()
        assert 0 <= part.share < 1


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_rows_that_are_not_fitted_are_not_looked_at(task):
    """Other responses in the rows held out: the same strengths, and the same fit everywhere but for units."""
    X, Xk, noise = table(n=600)
    y = X[:, 0] + np.abs(X[:, 1]) + noise
    rows = np.sort(RNG(1).permutation(600)[:480])
    held_out = np.setdiff1d(np.arange(600), rows)
    other = y.copy()
    other[held_out] = y[held_out][::-1]  # the same values, so the same units and shares of classes
    if task == "classification":
        y, other = (np.digitize(v, np.quantile(y, [0.3, 0.6])).astype(float) for v in (y, other))
    else:
        y, other = standardise(y), standardise(other)
    Z, layout = table_of(X, Xk)
    found = []
    for target in (y, other):
        first = fit_linear_lasso(Z, response_from(target, task), rng=RNG(0), fit_rows=rows)
        found.append((first, fit_curve_lasso(Z, layout, first, rng=RNG(1), fit_rows=rows)))
    for one, changed in zip(*found, strict=True):
        # Rows held out take part in the units of what is left, and in those only.
        one_strength, changed_strength = (part.strength / part.strength.sum() for part in (one, changed))
        np.testing.assert_allclose(changed_strength, one_strength, atol=1e-3)
        assert changed.share == pytest.approx(one.share, abs=1e-3)
        if task == "classification":
            np.testing.assert_allclose(changed.logits, one.logits, atol=0.02)
    assert found[0][1].share > 0.02


def test_what_is_left_adds_up_in_units_of_the_response():
    X, Xk, noise = table(n=2000)
    y = standardise(2 * X[:, 0] + 2 * np.abs(X[:, 1]) + noise)
    Z, layout = table_of(X, Xk)
    first = fit_linear_lasso(Z, Measurement(y), rng=RNG(0))
    second = fit_curve_lasso(Z, layout, first, rng=RNG(0))
    assert first.scale**2 == pytest.approx(1 - first.share, abs=0.02)
    assert second.scale**2 == pytest.approx(1 - first.share - second.share, abs=0.02)


def held_out_deviance(logits, y):
    return float(np.mean(logsumexp(logits, axis=1) - logits[np.arange(len(y)), y.astype(int)]))


def test_logits_of_separable_classes_stay_finite():
    """Rows that the fit tells apart perfectly do not make it certain of all others."""
    for seed in range(2):
        rng = RNG(seed)
        X, Xk = rng.standard_normal((2, 100, 6))
        y = np.digitize(X[:, 0] + X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(100), [-1, 1]).astype(float)
        rows = np.sort(rng.permutation(100)[:80])
        part = fit_linear_lasso(
            members_of(X, Xk).standardised(), response_from(y, "classification"), rng=RNG(5), fit_rows=rows
        )
        held_out = np.setdiff1d(np.arange(100), rows)
        assert held_out_deviance(part.logits[held_out], y[held_out]) < 1.2, "about that of knowing nothing"


@pytest.mark.filterwarnings("ignore:.*classes with fewer than 5 rows")
def test_a_class_absent_from_the_rows_is_unlikely_and_not_impossible():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 300, 5))
    y = (X[:, 0] + 0.5 * rng.standard_normal(300) > 0).astype(float)
    y[:2] = 2.0
    part = fit_linear_lasso(
        members_of(X, Xk).standardised(), response_from(y, "classification"), rng=RNG(0), fit_rows=np.arange(2, 300)
    )
    chance = np.exp(part.logits[:, 2] - logsumexp(part.logits, axis=1))
    assert 1e-3 < chance.mean() < 0.02


def test_noise_is_not_explained_by_unequal_shares_of_a_rare_class():
    """The share of a class among the rows fitted may differ from that among all; 12 tables, none explains 3 %."""
    found = []
    for seed in range(12):
        rng = RNG(seed)
        Z = standardise(rng.standard_normal((500, 10)))
        y = (rng.random(500) < 0.1).astype(float)
        rows = np.sort(rng.permutation(500)[:400])
        found.append(fit_linear_lasso(Z, response_from(y, "classification"), rng=RNG(0), fit_rows=rows).share)
    assert max(found) < 0.03


def a_part(strength, share):
    return LassoPart(np.array(strength), share, Measurement(np.zeros(3)), None)


def unit_weights(parts, n_rows):
    importance = combined_importance([(part.strength.reshape(2, -1), part.share) for part in parts])
    return _unit_weights(importance, parts, n_rows)


def test_pairs_that_the_lassos_found_have_unit_weights():
    parts = [a_part([3.0, 0.0, 0.0, 1.0, 0.0, 0.0], 0.2), a_part([0.0, 0.0, 0.0, 0.0, 1.0, 0.0], 0.1)]
    weights = unit_weights(parts, 10**9)
    assert weights[0] == pytest.approx(1)  # the pair of which most is made
    # In units of explained share: 0.2 (3 + 1) / 2 for the first pair, 0.1 for the second.
    np.testing.assert_allclose(weights[1:], [0.1 / 0.4, 0], atol=1e-6)
    few = unit_weights(parts, 60)  # 0.3 explained against 20 / 60
    np.testing.assert_allclose(few, weights * 0.3 / (0.3 + 1 / 3), atol=1e-6)
    np.testing.assert_allclose(unit_weights([a_part([3.0, 0.0, 1.0, 0.0], 0.0)], 100), 0)
    np.testing.assert_allclose(unit_weights([a_part([0.0, 0.0, 0.0, 0.0], 0.1)], 100), 0)


@pytest.mark.parametrize("curves", [True, False])
def test_the_stage_is_its_lassos(curves):
    """Importances added by share, what is left that of the last lasso, penalties of both."""
    X, Xk, noise = table(n=500)
    response = Measurement.encode(X[:, 0] + np.abs(X[:, 1]) + noise, "test")
    Z, layout = table_of(X, Xk)
    stage = LassoCurves(curves=curves).fit_stage(Z, layout, response, rng=RNG(0))
    rng = RNG(0)
    parts = [fit_linear_lasso(Z, response, rng=stream(rng, "lasso"))]
    if curves:
        parts.append(fit_curve_lasso(Z, layout, parts[0], rng=stream(rng, "curves")))
    expected = np.zeros(20)
    for part in parts:
        expected += part.share * part.strength / np.abs(part.strength[:10] - part.strength[10:]).sum()
    np.testing.assert_allclose(stage.importance.ravel(), expected)
    np.testing.assert_array_equal(stage.response.y, parts[-1].response.y)
    assert stage.scale == parts[-1].scale
    assert stage.penalties == tuple(penalty for part in parts for penalty in part.penalties)
    assert set(np.argsort(-stage.importance.ravel())[: 1 + curves]) == ({0, 1} if curves else {0})
