"""FromEstimator: any scikit-learn estimator with ``coef_`` or ``feature_importances_`` as a knockoff statistic."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from grip2.errors import Grip2Error
from grip2.facts import Facts
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.symmetry import Members


class FromEstimator(Statistic):
    """S_j is the importance of column j in the fitted estimator: ``|coef_|`` or ``feature_importances_``.

    ``FromEstimator(RidgeCV())`` is a statistic. The estimator is cloned, its ``random_state`` and those nested inside it are set
    from the statistic's random numbers, and it is fitted to the standardised columns of all members; a measurement is
    standardised too. Importances are read off the last step of a pipeline, or the best estimator of a search; coefficients of
    several outputs or classes are summed in absolute value. Counts, times to an event and ordered classes are given to a
    regressor as residuals of the model without features: the counts themselves, martingale residuals, ridits.

    Parameters
    ----------
    estimator : scikit-learn estimator
        A classifier for classes without order, a regressor for every other response.
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        return fit_and_read(self.estimator, members, response, rng=rng)


def fit_and_read(
    estimator: BaseEstimator, members: Members, response: Response, *, rng: np.random.Generator
) -> Importance:
    """Fit a clone of ``estimator`` on all members and read importances off it, summed over the columns of a unit."""
    if not isinstance(estimator, BaseEstimator):
        raise Grip2Error(
            f"FromEstimator: estimator must be a model of scikit-learn such as RidgeCV(), got {estimator!r}."
        )
    kinds = {"regressor": is_regressor(estimator), "classifier": is_classifier(estimator)}
    if any(kinds.values()) and not kinds[response.estimator_type]:
        raise Grip2Error(
            f"FromEstimator: y is {response.noun} (task {response.task!r}), which needs a {response.estimator_type}, and "
            f"{type(estimator).__name__} is none. Staged(), EffectPosterior() and LassoCoefficient() honour every response."
        )
    model, layout = clone(estimator), members.layout
    _seed(model, rng)
    model.fit(members.standardised(), response.labels)
    _check_columns(model, layout.n_columns)
    score = _read(model)
    if score.shape != (layout.n_columns,):
        raise Grip2Error(
            f"FromEstimator: {type(estimator).__name__} has importances of shape {score.shape} for {layout.n_columns} "
            "columns; steps that add or drop columns cannot be used."
        )
    return Importance(layout.sums(score), Facts(details={"estimator": repr(estimator)}))


def _seed(model: Any, rng: np.random.Generator) -> None:
    """Seed every part that draws at random: parameters named ``random_state``, and splitters of folds among parameters."""
    for name, value in sorted(model.get_params().items()):
        if name.split("__")[-1] == "random_state":
            model.set_params(**{name: int(rng.integers(2**31))})
        elif not hasattr(value, "get_params") and getattr(value, "random_state", 0) is None:
            seeded = copy.copy(value)
            seeded.random_state = int(rng.integers(2**31))
            model.set_params(**{name: seeded})


def _check_columns(model: Any, n_columns: int) -> None:
    """Refuse pipelines whose steps before the last do not keep every column in its place, like principal components."""
    inner = getattr(model, "best_estimator_", model)
    if len(getattr(inner, "steps", ())) < 2:
        return
    names = [f"x{j}" for j in range(n_columns)]
    try:
        handed_on = list(inner[:-1].get_feature_names_out(names))
    except AttributeError:
        handed_on = []
    if handed_on != names:
        raise Grip2Error(
            "FromEstimator: the steps before the last must keep every column in its place and say so by "
            f"get_feature_names_out, got {', '.join(map(str, handed_on[:3])) or 'a step without it'}. "
            "Steps that mix, add, drop or reorder columns cannot be used."
        )


def _read(model: Any) -> np.ndarray:
    """(columns,) importances of a fitted model, or of the one inside a search, a pipeline or a transformed regressor."""
    for inside in ("best_estimator_", "_final_estimator", "regressor_"):
        if hasattr(model, inside):
            return _read(getattr(model, inside))
    if hasattr(model, "feature_importances_"):
        return np.asarray(model.feature_importances_, dtype=float)
    if hasattr(model, "coef_"):
        coefficients = np.abs(np.asarray(model.coef_, dtype=float))
        return np.asarray(coefficients.reshape(-1, coefficients.shape[-1]).sum(axis=0))
    raise Grip2Error(
        f"FromEstimator: {type(model).__name__} has neither coef_ nor feature_importances_ after fit; "
        "wrap an estimator that has one of them."
    )
