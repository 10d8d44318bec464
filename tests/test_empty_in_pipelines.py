"""What a pipeline makes of an empty selection."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from grip2 import Grip2Error, KnockoffSelector, NothingSelected
from grip2.knockoffs import GaussianKnockoffs
from grip2.statistics import LassoCoefficient

# Some levels are out of reach for so few features, which is the point of them.
pytestmark = pytest.mark.filterwarnings("ignore:.*nothing can be selected at fdr")


def noise():
    rng = np.random.default_rng(0)
    return rng.standard_normal((100, 8)), rng.standard_normal(100)


def selector(**changes):
    settings = {"fdr": 0.05, "copies": 2, "describe": False, "random_state": 0} | changes
    return KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), **settings)


def test_by_default_it_is_what_scikit_learn_does():
    X, y = noise()
    fitted = selector().fit(X, y)
    assert not fitted.get_support().any()
    with pytest.warns(UserWarning, match="No features were selected"):
        assert fitted.transform(X).shape == (100, 0)


def test_an_error_that_can_be_caught():
    X, y = noise()
    pipeline = make_pipeline(selector(empty="error"), LinearRegression())
    with pytest.raises(
        NothingSelected, match=r"no column to pass on\. Nothing was selected at fdr 0\.05\. .*at least 10"
    ):
        pipeline.fit(X, y)
    assert issubclass(NothingSelected, Grip2Error)
    fitted = selector(empty="error").fit(X, y)
    assert not fitted.get_support().any(), "the answer itself is no error"
    assert fitted.result_.selected == []


def test_all_columns_that_took_part_with_a_warning():
    X, y = noise()
    fitted = selector(empty="keep_all").fit(X, y)
    with pytest.warns(UserWarning, match="all 8 columns are passed on.*no error rate is controlled"):
        np.testing.assert_array_equal(fitted.transform(X), X)
    assert fitted.result_.selected == []
    assert fitted.get_support().all()
    assert len(fitted.get_feature_names_out()) == 8
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]).assign(constant=1.0)
    with pytest.warns(UserWarning, match="constant"):
        fitted = selector(empty="keep_all").set_output(transform="pandas").fit(frame, y)
    with pytest.warns(UserWarning, match="all 8 columns are passed on"):
        assert list(fitted.transform(frame)) == [f"x{j}" for j in range(8)], "what was left out stays out"


@pytest.mark.parametrize("empty", ["warn", "error", "keep_all"])
def test_nothing_changes_where_something_is_selected(empty):
    X, _ = noise()
    fitted = selector(fdr=0.2, empty=empty).fit(X, X[:, :4].sum(axis=1))
    assert fitted.transform(X).shape == (100, len(fitted.result_.selected))
    assert 0 < len(fitted.result_.selected) < 8


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_grid_search_survives_levels_that_select_nothing():
    X, _ = noise()
    y = X[:, :5].sum(axis=1) + 0.1 * np.random.default_rng(1).standard_normal(100)
    pipeline = make_pipeline(selector(empty="error"), LinearRegression())
    search = GridSearchCV(pipeline, {"knockoffselector__fdr": [0.01, 0.2]}, cv=2, error_score=np.nan)
    with pytest.warns(FitFailedWarning, match="NothingSelected"):
        search.fit(X, y)
    assert search.best_params_ == {"knockoffselector__fdr": 0.2}
    assert np.isnan(search.cv_results_["mean_test_score"][0])


def test_one_fit_serves_a_whole_grid():
    """The loop that the documentation recommends gives the scores of a search that fits every level."""
    X, _ = noise()
    y = X[:, :5].sum(axis=1) + np.random.default_rng(1).standard_normal(100)
    train, test = np.arange(60), np.arange(60, 100)
    levels = [0.1, 0.2, 0.5]
    once = selector().fit(X[train], y[train])
    scores = {"one fit": [], "a fit each": []}
    for fdr in levels:
        for way, chosen in (("one fit", once.set_fdr(fdr)), ("a fit each", selector(fdr=fdr).fit(X[train], y[train]))):
            model = LinearRegression().fit(chosen.transform(X[train]), y[train])
            scores[way].append(model.score(chosen.transform(X[test]), y[test]))
    assert scores["one fit"] == scores["a fit each"]


@pytest.mark.parametrize("empty", ["raise", None, True])
def test_bad_values_are_refused(empty):
    with pytest.raises(Grip2Error, match="empty must be 'warn', 'error' or 'keep_all', got"):
        selector(empty=empty).fit(*noise())
