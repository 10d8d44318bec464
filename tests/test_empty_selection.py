"""Nothing selected: the strongest features, the likely cause and the next step; impossible requests before any work."""

from __future__ import annotations

import numpy as np
import pytest

from grip2 import KnockoffSelector
from grip2.copies import ImpossibleRequestWarning, why_impossible
from grip2.decision import Decision
from grip2.empty_selection import Request, why_empty
from grip2.facts import LimitingUnit
from grip2.filter import fewest_selected, q_values
from grip2.knockoffs import GaussianKnockoffs
from grip2.statistics import Statistic


def why(W, **settings):
    W = np.array(W, dtype=float)
    names = [f"f{j}" for j in range(len(W))]
    request = Request(**{"fdr": 0.1, "offset": 1, "n_draws": 1, "copies": 1, "names": names, **settings})
    q = q_values(W, request.offset, request.copies)
    return why_empty(Decision(W, q, 0 * W > 0, np.inf), request)


LED = [5, 4, 3.5, 3, -1, 0.5, -0.5, 0.2, -0.2, 0.1, -0.1, 0.05]
MIXED = [5, -5, 4, -4, 3, -3, 2, -2, 1, -1, 0.5, -0.5]


def test_the_strongest_are_named():
    assert "The strongest were f0, f1, f2 (selected from fdr 0.25 on)." in why(LED)
    apart = why([5, 4, -3.5, 3, *[-1] * 8], fdr=0.05)
    assert "The strongest were f0, f1 (selected from fdr 0.5 on); f3 (selected from fdr 0.667 on)." in apart
    assert "The strongest" not in why(-np.array(LED[:4] * 3))


def test_too_few():
    text = why(LED)
    assert "Likely cause: too few. 4 features stood above every knockoff, where 10 are needed." in text
    assert "Next step: draw 3 copies (--copies 3, or copies=3) or ask for fdr 0.25." in text
    assert "draw 3 copies" not in why(LED, draws_copies=False)
    assert fewest_selected(0.1, 3) == 4


def test_chance_is_not_called_too_few():
    """One or two leading features of one copy each are what chance gives."""
    assert "too few" not in why([5, 4, -3.5, 3, -1, 0.5, -0.5, 0.2, -0.2, 0.1, -0.1, 0.05])
    assert "Likely cause: no signal" in why(MIXED)


def test_collinear_with_their_knockoffs():
    resemble = [LimitingUnit(f"f{j}", 0.96, "f11", 0.998) for j in (0, 2, 4)]
    everywhere = why(MIXED, own_correlation=0.93, limiting=resemble)
    assert "columns have a mean correlation of 0.93 with their own knockoffs" in everywhere
    assert "strongly correlated with other columns (by up to 0.99)" in everywhere
    assert "--group-threshold" in everywhere
    near_one = np.where(np.isin(np.arange(12), [0, 2, 4]), 0.96, 0.1)
    assert "the strongest features have a mean correlation of 0.96" in why(
        MIXED, correlations=near_one, limiting=resemble
    )
    assert "--group-threshold" not in why(MIXED, correlations=0 * near_one)


def test_knockoffs_that_resemble_columns_which_no_other_resembles():
    """Nothing is said of other columns without having looked, or where they differ."""
    near_one = np.where(np.isin(np.arange(12), [0, 2, 4]), 0.96, 0.1)
    apart = [LimitingUnit(f"f{j}", 0.96, "f11", 0.3) for j in (0, 2, 4)]
    elsewhere = [LimitingUnit("f7", 0.96, "f11", 0.99)]
    for limiting in ([], elsewhere, apart):
        text = why(MIXED, correlations=near_one, limiting=limiting)
        assert "strongly correlated with other columns" not in text
        assert "the fitted knockoffs of the strongest features resemble them (mean correlation 0.96)" in text
        assert "--knockoffs sequential" in text
        assert "fewer copies" not in text
        assert ("no single column is correlated with them by more than 0.30" in text) == (limiting is apart)
    assert "draw fewer copies (--copies 1)" in why(MIXED, correlations=near_one, copies=5, fdr=0.2)


def test_beaten_by_a_knockoff_that_resembles_them():
    near_one = np.where(np.arange(12) == 1, 0.96, 0.1)
    text = why(MIXED, correlations=near_one)
    assert "Likely cause: features as strong as any scored below a knockoff of their own" in text
    assert "nearly determine them: f1 (correlation 0.96)." in text
    assert "--groups FILE" in text
    # A weak one stands in nobody's way, and one that does not resemble its knockoffs lost for another reason.
    assert "of their own" not in why(MIXED, correlations=np.where(np.arange(12) == 11, 0.96, 0.1))
    assert "of their own" not in why(MIXED, correlations=0 * near_one)
    assert "of their own" not in why(-np.abs(MIXED), correlations=near_one)


def test_knockoffs_far_above_every_feature_are_named():
    W = [0.003, 0.0008, -0.0002, -0.0009, -0.0034, -0.01, -0.02]
    text = why(W, copies=10, explained=0.04)
    assert "The knockoffs of f6 and f5 score highest of all (W = -0.02, -0.01): with them above every feature" in text
    assert "at least 3 features must be selected together at this fdr. Likely cause: a weak signal" in text
    few = why([1, 0.5, *[-0.1] * 8, -5, -9, -7, -6], fdr=0.2)
    assert (
        "of f11, f12, f13 and 1 more score highest of all (W = -9, -7, -6): with them above every feature nothing"
        in few
    )
    one = why([1, 0.5, *[-0.1] * 8, -5], fdr=0.1)
    assert (
        "The knockoff of f10 scores highest of all (W = -5): with it above every feature nothing can be selected" in one
    )
    for other in (why(MIXED), why(W, n_draws=3), why(-np.abs(MIXED)), why(LED)):
        assert "highest of all" not in other


@pytest.mark.parametrize(
    ("explained", "words"),
    [
        (0.002, "no signal: the models predict 0.2 % of the response on rows held out"),
        (0.03, "a weak signal, or none: the models predict 3 % of the response"),
        (0.3, "a weak signal: the models predict 30 % of the response"),
        (None, "no signal, one too weak for so few rows, or one that this statistic does not see"),
    ],
)
def test_no_signal(explained, words):
    text = why(MIXED, explained=explained)
    assert words in text
    assert "Next step: check that the target" in text


def test_several_draws():
    text = why(MIXED, n_draws=5)
    assert "averaged over 5 draws" in text
    assert "Next step" in text


def test_what_is_impossible():
    assert why_impossible(0.1, 1, 10) == ""
    assert why_impossible(0.1, 5, 2) == ""
    told = why_impossible(0.05, 1, 12)
    assert "at least 20 features must be selected together (1 / (copies x fdr)), and there are 12" in told
    assert "draw at least 2 copies or ask for an fdr of at least 0.084" in told
    assert fewest_selected(0.05, 2) <= 12
    assert fewest_selected(0.084, 1) <= 12
    assert "copies or" not in why_impossible(0.05, 1, 12, draws_copies=False)
    assert "The request was impossible" in why(MIXED, fdr=0.05)


class Never(Statistic):
    """Its work must not begin before the warning."""

    def _importance(self, members, response, *, rng, progress):
        raise AssertionError("work began")


def test_impossible_requests_are_said_before_the_work():
    X, y = np.random.default_rng(0).standard_normal((60, 6)), np.random.default_rng(1).standard_normal(60)
    impossible = KnockoffSelector(Never(), GaussianKnockoffs(), fdr=0.1, copies=1, random_state=0)
    with pytest.raises(ImpossibleRequestWarning, match="at least 10 features must be selected together"):
        impossible.fit(X, y)
    with pytest.raises(AssertionError, match="work began"):
        impossible.set_params(offset=0).fit(X, y)
