"""Screening and grouping of correlated features (appendix C.1): one representative is kept for each cluster."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from grip2.errors import Grip2Error
from grip2.user_warnings import warn_user


class CorrelationGrouping(SelectorMixin, BaseEstimator):
    """Keep one feature of every cluster of highly correlated features: a scikit-learn transformer that ignores the response.

    1. A feature whose absolute correlation with an earlier feature exceeds ``redundancy_threshold`` is dropped.
    2. The others are clustered by complete linkage on ``1 - |correlation|``, cut so that all pairs within a cluster have an
       absolute correlation of at least ``group_threshold``.
    3. The member with the largest variance represents its cluster. Ties go to the first member.

    Fit it on features in their original units: after standardisation all variances are one, and the first member is always
    chosen. Selecting a representative means "this feature or another member of its cluster": report it with ``members_``.

    Parameters
    ----------
    redundancy_threshold : float in (0, 1]
        With 1, step 1 drops nothing.
    group_threshold : float in (0, 1]
        With 1, only features whose correlation is exactly 1 or -1 are grouped.

    Attributes
    ----------
    representative_ : (p,) int, for each feature the index of its representative; -1 for constant columns, which are dropped.
    members_ : dict, from the name of each representative to the names of all features it represents, itself first.
    n_redundant_ : number of features dropped in step 1.
    """

    def __init__(self, redundancy_threshold: float = 0.98, group_threshold: float = 0.90) -> None:
        self.redundancy_threshold = redundancy_threshold
        self.group_threshold = group_threshold

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the representatives; ``y`` is ignored."""
        for name in ("redundancy_threshold", "group_threshold"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise Grip2Error(f"CorrelationGrouping: {name} must be in (0, 1], got {value}.")
        matrix = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        varying = np.flatnonzero(np.ptp(matrix, axis=0) > 0)
        names = self._input_names()
        if not len(varying):
            raise Grip2Error(
                f"CorrelationGrouping: at least one column must vary, got {matrix.shape[1]} constant ones."
            )
        if len(varying) < matrix.shape[1]:
            _warn_constant(np.setdiff1d(np.arange(matrix.shape[1]), varying), names)
        columns = matrix[:, varying].astype(float)
        correlation = _absolute_correlation(columns)
        screened_to = _screen(correlation, self.redundancy_threshold)
        kept = np.flatnonzero(screened_to == np.arange(len(varying)))
        variance = columns.var(axis=0)
        leaders = _clusters(correlation[np.ix_(kept, kept)], variance[kept], self.group_threshold)
        leader_of = np.empty(len(varying), dtype=int)
        leader_of[kept] = kept[leaders]
        self.representative_ = np.full(matrix.shape[1], -1)
        self.representative_[varying] = varying[leader_of[screened_to]]
        self.n_redundant_ = len(varying) - len(kept)
        self.members_ = self._members(names)
        return self

    def _input_names(self) -> list[str]:
        known = getattr(self, "feature_names_in_", None)
        return [str(n) for n in known] if known is not None else [f"x{j}" for j in range(self.n_features_in_)]

    def _members(self, names: list[str]) -> dict[str, list[str]]:
        members: dict[str, list[str]] = {names[j]: [names[j]] for j in np.flatnonzero(self._get_support_mask())}
        for j, leader in enumerate(self.representative_):
            if leader >= 0 and leader != j:
                members[names[leader]].append(names[j])
        return members

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "representative_")
        return np.asarray(self.representative_ == np.arange(len(self.representative_)))


def _warn_constant(columns: np.ndarray, names: list[str]) -> None:
    shown = ", ".join(names[j] for j in columns[:5])
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    warn_user(
        f"CorrelationGrouping: constant columns were dropped: {shown}{more}. They cannot be selected.",
    )


def _absolute_correlation(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    centred /= np.sqrt((centred**2).sum(axis=0))
    # Rounding may give 1 + 1e-16, and so a negative distance.
    correlation: np.ndarray = np.minimum(np.abs(centred.T @ centred), 1.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _screen(correlation: np.ndarray, threshold: float) -> np.ndarray:
    """For each feature the index of the kept feature that replaces it: its own if it is kept.

    As in the paper, a feature is dropped if its correlation with any earlier feature exceeds the threshold, even if that
    one was dropped too; then both have the same replacement.
    """
    p = len(correlation)
    replaced_by = np.arange(p)
    for j in range(1, p):
        # The most correlated earlier feature; ties go to the first.
        earlier = int(np.argmax(correlation[j, :j]))
        if correlation[j, earlier] > threshold:
            replaced_by[j] = replaced_by[earlier]
    return replaced_by


def _clusters(correlation: np.ndarray, variance: np.ndarray, threshold: float) -> np.ndarray:
    """For each feature the index of the member of its cluster that has the largest variance."""
    p = len(correlation)
    if p == 1:
        return np.zeros(1, dtype=int)
    distance = 1 - (correlation + correlation.T) / 2
    np.fill_diagonal(distance, 0.0)
    # The small tolerance keeps pairs exactly at the threshold together in spite of rounding error.
    labels = fcluster(
        linkage(squareform(distance, checks=False), method="complete"), t=1 - threshold + 1e-12, criterion="distance"
    )
    leaders = np.empty(p, dtype=int)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        # Variances of standardised columns differ only by rounding error: treat them as ties, which go to the first.
        largest = variance[members] >= (1 - 1e-6) * variance[members].max()
        leaders[members] = members[np.argmax(largest)]
    return leaders
