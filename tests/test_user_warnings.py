"""A warning names the file of the user who can do something about it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from grip2 import KnockoffSelector
from grip2.copies import ImpossibleRequestWarning
from grip2.knockoffs import GaussianKnockoffs
from grip2.statistics import LassoCoefficient
from grip2.user_warnings import warn_user


def table(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 4)), rng.standard_normal(n)


def selector(**settings) -> KnockoffSelector:
    return KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), describe=False, random_state=0, **settings)


def test_an_impossible_request_points_at_the_call_of_fit():
    X, y = table()
    with pytest.warns(ImpossibleRequestWarning) as told:
        selector(copies=1, fdr=0.1).fit(X, y)
    assert told[0].filename == __file__


def test_small_classes_and_a_changed_table_point_at_the_call_of_fit():
    X, _ = table()
    X[:, 3] = 1.0  # constant: left out
    labels = np.array(["a", "b"] * 29 + ["c", "c"])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        selector(copies=5, fdr=0.5).fit(X, labels)
    texts = " ".join(str(one.message) for one in told)
    assert "fewer than 5 rows" in texts
    assert "the table was changed" in texts
    assert {one.filename for one in told} == {__file__}


def test_keeping_all_columns_points_at_the_call_of_transform():
    X, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = selector(copies=1, fdr=0.01, empty="keep_all").fit(X, y)
    with pytest.warns(UserWarning, match="all 4 columns are passed on") as told:
        fitted.transform(X)
    assert told[0].filename == __file__


def test_without_a_caller_outside_it_is_the_caller(monkeypatch):
    monkeypatch.setattr("grip2.user_warnings._BETWEEN", ("",))
    monkeypatch.setattr("grip2.user_warnings.sys._getframe", lambda _: None)
    with pytest.warns(UserWarning, match="hello") as told:
        warn_user("hello")
    assert told[0].filename == __file__
