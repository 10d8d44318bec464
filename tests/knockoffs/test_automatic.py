"""AutomaticKnockoffs: the copula, bit by bit, where it does no harm; another sampler where it does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

from grip2.knockoffs import AutomaticKnockoffs, CopulaKnockoffs, GaussianKnockoffs
from grip2.knockoffs import automatic as module
from grip2.knockoffs.automatic import Candidate, _best
from grip2.knockoffs.harm import FAMILIES, LEVELS, Harm, SimulatedRate, predict_harm
from grip2.knockoffs.verdict import verdict_of_harm
from grip2.units import Units
from tests.knockoffs.cases import ar1, normal_rows

RNG = np.random.default_rng


def harm_of(fdr: float, power: float = 1.0) -> Harm:
    rates = tuple(SimulatedRate(family, level, fdr, 0.01, 1.0, 0.1, power) for family in FAMILIES for level in LEVELS)
    return Harm(rates, 300, 100, 10, 1, ())


@pytest.mark.parametrize(
    ("fdr", "verdict", "words"),
    [
        (0.08, "good", "Both are within the bounds (0.12 and 0.23): the level is kept."),
        (0.135, "usable", "A rate is above its bound (0.12 and 0.23), but by less than two standard errors"),
        (0.3, "do not trust", "by more than two standard errors: the level is not kept."),
    ],
)
def test_the_verdict_names_its_bounds(fdr, verdict, words):
    judged = verdict_of_harm(harm_of(fdr))
    assert judged.verdict == verdict
    assert words in judged.reasons[0]


def test_a_rate_is_told_with_as_many_digits_as_tell_it_from_its_bound():
    """0.124 and 0.1204 are above 0.12, 0.2296 is within 0.23."""
    told = {fdr: verdict_of_harm(harm_of(fdr)).reasons[0] for fdr in (0.124, 0.1204, 0.2296, 0.08)}
    assert "a false discovery rate of 0.124 (standard error 0.01) at fdr 0.1 and 0.12 (standard" in told[0.124]
    assert "a false discovery rate of 0.1204 (standard" in told[0.1204]
    assert "0.2296 (standard error 0.01) at fdr 0.2," in told[0.2296]
    assert "a false discovery rate of 0.08 (standard" in told[0.08]


def test_what_the_simulation_left_out_is_told_in_words():
    told = verdict_of_harm(replace(harm_of(0.08), notes=("9 of 10 copies", "200 of 500 rows"))).reasons[0]
    assert told.endswith(" To save time the simulation uses 9 of 10 copies, 200 of 500 rows only.")


def test_statistics_of_straight_lines_are_judged_by_even_effects_too():
    within = harm_of(0.05)
    harm = replace(within, lines_only=tuple(SimulatedRate("even", level, 0.5, 0.02, 1.0, 0.1, 0.3) for level in LEVELS))
    curves, lines = verdict_of_harm(harm), verdict_of_harm(harm, lines_only=True)
    assert (curves.verdict, lines.verdict) == ("good", "do not trust")
    assert "straight lines only, such as lcd, is not covered" in curves.reasons[1]
    assert "0.50 at fdr 0.1 and 0.50 at fdr 0.2" in curves.reasons[1]
    assert "a false discovery rate of 0.50" in lines.reasons[0]
    assert len(lines.reasons) == 1
    assert len(verdict_of_harm(within, lines_only=True).reasons) == 1


def test_strong_effects_decide_where_much_is_explained():
    """They are told where little is, or where nobody knows; and a table of 20 columns that are one but for a hundredth of noise
    has copula knockoffs, shrunk to an eigenvalue of 0.01, that only strong effects reveal: seen 0.5 and 0.6.
    """
    within = harm_of(0.05)
    of_strong = tuple(SimulatedRate("strong", level, 0.5, 0.02, 1.0, 0.1, 0.9) for level in LEVELS)
    harm = replace(within, rates=(*within.without_strong().rates, *of_strong))
    verdicts = {share: verdict_of_harm(harm, explained=share) for share in (None, 0.3, 0.8)}
    assert [verdict.verdict for verdict in verdicts.values()] == ["usable", "usable", "do not trust"]
    assert "explain nearly all of the response" in verdicts[None].reasons[1]
    assert "Here 30% of the response is explained." in verdicts[0.3].reasons[1]
    assert "next to nothing unexplained" in verdicts[0.8].reasons[0]
    rng = RNG(8)
    steps = rng.standard_normal((400, 20)) * np.r_[1.0, [0.05] * 19]
    X = np.cumsum(steps, axis=1)
    shrunk, unshrunk = (CopulaKnockoffs(shrinkage=rule).fit(X) for rule in ("least", "numerical"))
    assert shrunk.shrinkage_ > unshrunk.shrinkage_
    rates = {}
    for sampler in (shrunk, unshrunk):
        harm = predict_harm(X, [sampler.sample(X, rng=rng, copies=5)], units=Units.single(20), rng=rng)
        assert not harm.without_strong().exceeds_level()
        rates[sampler.shrinkage] = [rate for rate in harm.rates if rate.family == "strong"]
    assert all(rate.fdr - 4 * rate.fdr_error > rate.level for rate in rates["least"])
    assert all(rate.fdr - 4 * rate.fdr_error <= rate.level for rate in rates["numerical"])
    automatic = AutomaticKnockoffs().fit(X)
    assert {each.label for each in automatic.candidates_} == {"copula", "sequential", "less shrunk copula"}
    assert automatic.chosen_ is not automatic.candidates_[0].sampler
    assert automatic.verdict(explained=0.9).verdict in ("good", "usable")


def test_even_effects_mislead_a_lasso_on_lines_where_knockoffs_miss_the_curve():
    """Every second column is a noisy square of the one before it, which Gaussian knockoffs of matched moments do not know.

    100 responses on one table: at fdr 0.2 the rate of a lasso on lines is above the level, and above that of a lasso on lines and
    bends, by 10 standard errors (seen: 0.73 and 0.25). With exact knockoffs of independent columns neither is above what is
    called kept by 2 standard errors.
    """
    rng = RNG(6)
    first = rng.standard_normal((2_000, 15))
    X = np.stack([first, first**2 + 0.3 * rng.standard_normal(first.shape)], axis=2).reshape(2_000, 30)
    Xk = GaussianKnockoffs().fit(X).sample(X, rng=rng, copies=3)
    harm = predict_harm(X, [Xk], units=Units.single(30), rng=rng)
    (curves,) = (rate for rate in harm.rates if (rate.family, rate.level) == ("even", 0.2))
    (lines,) = (rate for rate in harm.lines_only if rate.level == 0.2)
    assert lines.fdr - 10 * lines.fdr_error > max(0.2, curves.fdr)
    X = rng.standard_normal((2_000, 30))
    harm = predict_harm(X, [rng.standard_normal((3, 2_000, 30))], units=Units.single(30), rng=rng)
    assert not harm.for_lines_only().exceeds_level()


def mixed_signs(n: int, rng: np.random.Generator) -> np.ndarray:
    """Two populations whose columns have correlations of opposite sign: no copula fits."""
    one = rng.random(n) < 0.5
    alternate = np.where(np.arange(20) % 2, 1.0, -1.0)
    return np.where(
        one[:, None], normal_rows(n, ar1(20, 0.8), rng) + 1.5, normal_rows(n, ar1(20, -0.5), rng) - 1.5 * alternate
    )


@pytest.fixture(scope="module")
def misfit() -> AutomaticKnockoffs:
    return AutomaticKnockoffs().fit(mixed_signs(400, RNG(0)))


def test_where_the_copula_does_no_harm_the_numbers_are_those_of_the_copula():
    rng = RNG(0)
    X = norm.cdf(normal_rows(400, ar1(12, 0.5), rng)) ** 3
    X[:, 0] = np.round(X[:, 0] * 4)
    labels = ["a", "a", *range(2, 12)]
    for groups in (None, labels):
        sampler, copula = AutomaticKnockoffs().fit(X, groups=groups), CopulaKnockoffs().fit(X, groups=groups)
        assert [each.label for each in sampler.candidates_] == ["copula"]
        for copies in (1, 3):
            np.testing.assert_array_equal(
                sampler.sample(X, rng=RNG(1), copies=copies), copula.sample(X, rng=RNG(1), copies=copies)
            )
            np.testing.assert_array_equal(sampler.s_for(copies), copula.s_for(copies))
        np.testing.assert_array_equal(sampler.covariance_, copula.covariance_)
        np.testing.assert_array_equal(sampler.own_correlation(), copula.own_correlation())
        assert sampler.assumptions() == [*copula.assumptions(), sampler.reason_]
        assert sampler.reason_.startswith("Copula knockoffs: simulated false discovery rates are 0.")


def test_missing_values_are_completed_as_by_the_copula():
    X = normal_rows(200, ar1(6, 0.5), RNG(0))
    X[RNG(1).random(X.shape) < 0.1] = np.nan
    sampler, copula = AutomaticKnockoffs().fit(X), CopulaKnockoffs().fit(X)
    np.testing.assert_array_equal(sampler.complete(X, rng=RNG(2)), copula.complete(X, rng=RNG(2)))


def test_where_the_copula_does_harm_others_are_tried(misfit):
    copula, *others = misfit.candidates_
    assert copula.label == "copula"
    assert copula.harm.exceeds_level()
    assert others
    chosen = next(each for each in misfit.candidates_ if each.sampler is misfit.chosen_)
    assert chosen.harm.inflation() <= copula.harm.inflation()
    assert all(each.rates() in misfit.reason_ for each in misfit.candidates_)
    assert misfit.reason_ == misfit.assumptions()[-1]


def test_the_choice_depends_on_the_table_alone(misfit):
    np.random.seed(1)  # noqa: NPY002  (the global state must not matter)
    again = clone(misfit).fit(mixed_signs(400, RNG(0)))
    assert again.reason_ == misfit.reason_


def test_the_best_candidate():
    def candidate(label: str, fdr: float, accuracy: float, power: float = 1.0) -> Candidate:
        return Candidate(label, CopulaKnockoffs(), harm_of(fdr, power), accuracy)

    def best(*candidates: Candidate) -> str:
        return _best(list(candidates)).label

    assert best(candidate("a", 0.3, 0.5), candidate("b", 0.1, 0.9)) == "b"  # one keeps the level
    assert best(candidate("a", 0.1, 0.7), candidate("b", 0.1, 0.5)) == "b"  # both do, one is seen through
    assert best(candidate("a", 0.1, 0.5, 0.6), candidate("b", 0.1, 0.51, 0.7)) == "b"  # the more powerful
    assert best(candidate("a", 0.5, 0.5), candidate("b", 0.4, 0.9)) == "b"  # none does: the least harm


@pytest.mark.parametrize(
    ("shape", "text"), [((20, 6), "20 rows, at least 30 are needed"), ((200, 3), "3 units, at least 5 are needed")]
)
def test_tables_that_cannot_be_judged(shape, text):
    sampler = AutomaticKnockoffs().fit(RNG(0).standard_normal(shape))
    assert text in sampler.reason_
    assert not sampler.candidates_


def test_wide_tables_take_the_cheap_route(monkeypatch):
    monkeypatch.setattr(module, "_WIDEST", 10)
    sampler = AutomaticKnockoffs().fit(RNG(0).standard_normal((100, 12)))
    assert "more than 10 columns" in sampler.reason_
    monkeypatch.setattr(module, "_WIDEST", 100)
    monkeypatch.setattr(module, "_WIDEST_COMPARED", 10)
    sampler = AutomaticKnockoffs().fit(mixed_signs(400, RNG(0)))
    assert [each.label for each in sampler.candidates_] == ["copula"]
    assert "no others were fitted" in sampler.reason_


def test_few_rows_let_more_shrinkage_compete(monkeypatch):
    monkeypatch.setattr(Harm, "exceeds_target", lambda self, by=1.0: True)
    monkeypatch.setattr(module, "_THOROUGH", 30)
    sampler = AutomaticKnockoffs().fit(normal_rows(40, ar1(25, 0.5), RNG(0)))
    assert {"copula (extra shrinkage 0.1)", "copula (extra shrinkage 0.3)"} <= {c.label for c in sampler.candidates_}


def test_simulated_rates_of_exact_and_of_broken_knockoffs():
    """600 responses, exact knockoffs of a known covariance: every rate exceeds its target by less than 4 standard errors plus
    0.02 for the one table they share; the broken twin, knockoffs of rows in another order, exceeds the level.
    """
    rng = RNG(3)
    Sigma = ar1(30, 0.6)
    X = normal_rows(600, Sigma, rng)
    sampler = GaussianKnockoffs(np.zeros(30), Sigma).fit(X)
    draws = [sampler.sample(X, rng=rng, copies=3) for _ in range(4)]
    harm = predict_harm(X, draws, units=Units.single(30), rng=rng, responses=600)
    assert all(rate.fdr <= rate.level + 4 * rate.fdr_error + 0.02 for rate in harm.rates)
    assert all(0.6 < rate.excess < 1.5 for rate in harm.rates)
    strong = {rate.family: rate.power > 0.8 for rate in harm.rates}
    assert strong == {"linear": True, "even": True, "products": False, "strong": True}
    assert not harm.exceeds_level()
    shuffled = [copies[:, rng.permutation(600)] for copies in draws]
    assert predict_harm(X, shuffled, units=Units.single(30), rng=rng).exceeds_level()


def test_large_tables_are_cut_down_and_say_so(monkeypatch):
    monkeypatch.setattr("grip2.knockoffs.harm._MOST_COLUMNS", 40)
    monkeypatch.setattr("grip2.knockoffs.harm._MOST_ENTRIES", 8_000)
    rng = RNG(4)
    X, copies = rng.standard_normal((500, 20)), rng.standard_normal((3, 500, 20))
    harm = predict_harm(X, [copies], units=Units.from_labels([j // 2 for j in range(20)]), rng=rng, responses=30)
    assert harm.notes == ("1 of 3 copies", "5 of 10 units", "200 of 500 rows")
    assert (harm.rows, harm.units, harm.copies) == (200, 5, 1)


def test_fewer_rows_than_columns_and_units_of_several():
    rng = RNG(5)
    X = rng.standard_normal((40, 60))
    units = Units.from_labels([j // 3 for j in range(60)])
    harm = predict_harm(X, [rng.standard_normal((2, 40, 60))], units=units, rng=rng, responses=30)
    assert np.isfinite([rate.fdr for rate in harm.rates]).all()
