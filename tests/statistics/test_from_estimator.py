"""FromEstimator and RandomForest: what is read off which estimator, seeds, and mismatches."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingClassifier
from sklearn.linear_model import LassoCV, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from grip2.responses import response_from
from grip2.statistics import FromEstimator, RandomForest
from grip2.statistics.from_estimator import fit_and_read
from grip2.symmetry import Members
from grip2.units import Units


def data(n: int = 200, p: int = 4):
    X, Xk = np.random.default_rng(0).standard_normal((2, n, p))
    return X, Xk, X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(n)


def importance(statistic, y=None, task="regression", seed=0):
    X, Xk, response = data()
    y = response if y is None else y
    return statistic.importance(X, Xk, y, rng=np.random.default_rng(seed), task=task)


@pytest.mark.parametrize("labels", ["abcd", "aaba"])
@pytest.mark.parametrize("copies", [1, 3])
def test_coefficients_are_those_of_the_estimator(copies, labels):
    """Summed over the columns of a unit."""
    tables = tuple(np.random.default_rng(2).standard_normal((1 + copies, 200, 4)))
    y, members = data()[2], Members(tables, Units.from_labels(labels))
    found = fit_and_read(Ridge(alpha=2.0), members, response_from(y, "regression"), rng=np.random.default_rng(0))
    Z = members.standardised()
    size = np.abs(np.linalg.solve(Z.T @ Z + 2.0 * np.eye(Z.shape[1]), Z.T @ (y - y.mean()) / y.std()))
    of_units = [size.reshape(1 + copies, 4)[:, columns].sum(axis=1) for columns in members.units.columns]
    np.testing.assert_allclose(found.scores, np.transpose(of_units))


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        ExtraTreesRegressor(n_estimators=20),
        make_pipeline(StandardScaler(), Ridge()),
        GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=3),
    ],
)
def test_any_regressor_in_one_line(estimator):
    assert np.argmax(importance(FromEstimator(estimator)).W) == 0


def test_classifiers_for_two_and_three_classes():
    y = data()[2]
    for labels in (y > 0, np.digitize(y, [-0.5, 0.5])):
        for estimator in (LogisticRegression(), GradientBoostingClassifier(n_estimators=10)):
            assert np.argmax(importance(FromEstimator(estimator), labels, "classification").W) == 0


def test_nested_seeds_come_from_the_stream_and_the_estimator_is_left_alone():
    estimator = make_pipeline(StandardScaler(), ExtraTreesRegressor(n_estimators=5))
    first, again = (importance(FromEstimator(estimator), seed=1) for _ in range(2))
    np.testing.assert_array_equal(first.W, again.W)
    assert not np.array_equal(first.W, importance(FromEstimator(estimator), seed=2).W)
    assert estimator[-1].random_state is None
    assert not hasattr(estimator[-1], "estimators_")


def test_random_forest_does_not_depend_on_the_number_of_threads():
    one, two = (importance(RandomForest(n_trees=20, n_jobs=jobs)).W for jobs in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-12)


def test_mismatches_are_named():
    with pytest.raises(ValueError, match=r"y is two classes \(task .*\), which needs a classifier, and Ridge is none"):
        importance(FromEstimator(Ridge()), data()[2] > 0, "classification")
    with pytest.raises(ValueError, match="KNeighborsRegressor has neither coef_ nor feature_importances_"):
        importance(FromEstimator(KNeighborsRegressor()))
    with pytest.raises(ValueError, match="keep every column in its place"):
        importance(FromEstimator(make_pipeline(PolynomialFeatures(), Ridge())))


def test_steps_that_mix_columns_are_refused():
    """Coefficients of principal components are not importances of features, though there are as many."""
    X, Xk, y = np.random.default_rng(0).standard_normal((3, 100, 4))
    y = X[:, 0] + 0.1 * y[:, 0]
    mixing = FromEstimator(make_pipeline(PCA(), Ridge()))
    with pytest.raises(ValueError, match="keep every column in its place"):
        mixing.importance(X, Xk, y, rng=np.random.default_rng(0))
    keeping = FromEstimator(make_pipeline(StandardScaler(), Ridge()))
    assert np.argmax(keeping.importance(X, Xk, y, rng=np.random.default_rng(0)).W) == 0


def test_splitters_of_folds_are_seeded():
    X, Xk, y = np.random.default_rng(0).standard_normal((3, 60, 4))
    y = X[:, 0] + y[:, 0]
    statistic = FromEstimator(LassoCV(cv=KFold(5, shuffle=True)))
    found = [statistic.importance(X, Xk, y, rng=np.random.default_rng(0)).W for _ in range(4)]
    for again in found[1:]:
        np.testing.assert_array_equal(again, found[0])
