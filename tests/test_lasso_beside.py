"""What the lasso finds on the same knockoffs: the very knockoffs, and no change of the selection."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from grip2 import KnockoffSelector, lasso_beside
from grip2._random import generator_from, stream
from grip2.errors import Grip2Error
from grip2.filter import q_values
from grip2.knockoffs import GaussianKnockoffs
from grip2.result import SelectionResult
from grip2.statistics import LassoCoefficient, RandomForest


class Remembering(GaussianKnockoffs):
    """Keeps what it has drawn."""

    drawn: ClassVar[list[np.ndarray]] = []

    def sample(self, X, *, rng, copies=1):
        found = super().sample(X, rng=rng, copies=copies)
        self.drawn.append(found)
        return found


def table(n=200, p=10):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    return X, 2 * X[:, 0] + X[:, 1] + rng.standard_normal(n)


def fit(X, y, **settings):
    settings = {"statistic": RandomForest(n_trees=10), "knockoffs": GaussianKnockoffs(), "random_state": 3, **settings}
    return KnockoffSelector(**settings).fit(X, y).result_


@pytest.mark.parametrize("n_draws", [1, 2])
def test_it_is_the_lasso_on_the_first_draw(n_draws):
    X, y = table()
    Remembering.drawn.clear()
    result = fit(X, y, knockoffs=Remembering(), n_draws=n_draws, copies=2)
    expected = (
        LassoCoefficient().importance(X, Remembering.drawn[0], y, rng=stream(generator_from(3), "lasso beside")).W
    )
    np.testing.assert_allclose(result.lasso.W, expected)
    np.testing.assert_array_equal(result.lasso.q_values, q_values(np.array(result.lasso.W), 1, 2))
    assert result.lasso.W[0] > 0


def test_it_changes_nothing_else():
    X, y = table()
    for settings in ({}, {"n_draws": 3}):
        with_it, without = (fit(X, y, describe=describe, **settings) for describe in (True, False))
        assert without.lasso is None
        assert with_it.lasso is not None
        np.testing.assert_array_equal(with_it.W, without.W)


def test_workers_do_not_change_it():
    X, y = table()
    alone, spread = (fit(X, y, n_draws=3, n_jobs=n_jobs).lasso for n_jobs in (1, 2))
    assert alone == spread


def test_where_it_is_left_out(monkeypatch):
    X, y = table()
    assert fit(X, y, statistic=LassoCoefficient()).lasso is None
    monkeypatch.setattr(lasso_beside, "MOST_COLUMNS", 10)
    assert fit(X, y).lasso is None
    monkeypatch.undo()
    monkeypatch.setitem(lasso_beside.MOST_ENTRIES, "logistic", 10)
    assert fit(X, y).lasso is not None
    assert fit(X, y > 0).lasso is None


def test_a_response_that_it_cannot_fit_is_no_failure(monkeypatch):
    X, y = table()
    before = fit(X, y)

    def refuse(*_, **__):
        raise Grip2Error("a class with a single row")

    monkeypatch.setattr(LassoCoefficient, "_importance", refuse)
    after = fit(X, y)
    assert after.lasso is None
    np.testing.assert_array_equal(after.W, before.W)


def test_json_round_trip():
    X, y = table()
    result = fit(X, y)
    again = SelectionResult.from_json(result.to_json())
    assert again.lasso == result.lasso
    assert again.knockoff_quality == result.knockoff_quality
    old = result.to_dict()
    del old["lasso"]
    assert SelectionResult.from_dict(old).lasso is None
