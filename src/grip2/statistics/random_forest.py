"""Random forest importance: mean decrease of impurity, through scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic, check_whole
from grip2.statistics.from_estimator import fit_and_read
from grip2.symmetry import Members


class RandomForest(Statistic):
    """S_j is the mean decrease of impurity of column j, over all splits of all trees.

    Known to favour columns with many distinct values; a feature and its knockoffs have the same marginal distribution, so
    the bias cancels where they are compared. A unit of several columns scores the sum over them.

    Parameters
    ----------
    n_trees : int
    max_features : "sqrt", float or int
        Columns looked at per split. The square root of their number is much faster than a third of them, the
        classical choice for regression, which may find more.
    min_samples_leaf : int
        Larger leaves are faster and put less noise into the importances.
    n_jobs : int or None
        Threads; results do not depend on it.
    """

    def __init__(
        self,
        *,
        n_trees: int = 200,
        max_features: str | float = "sqrt",
        min_samples_leaf: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs

    def _check_settings(self) -> None:
        check_whole(self, "n_trees", "min_samples_leaf")

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        self._check_settings()
        forest = {"regressor": RandomForestRegressor, "classifier": RandomForestClassifier}[response.estimator_type]
        model = forest(
            n_estimators=self.n_trees,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
        )
        return fit_and_read(model, members, response, rng=rng)
