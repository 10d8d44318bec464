"""Screening and grouping of correlated features (appendix C.1): one representative for each cluster, members on record."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from grip2.errors import Grip2Error


class CorrelationGrouping(SelectorMixin, BaseEstimator):
    """Keeps one feature of every cluster of highly correlated ones; a scikit-learn transformer that never sees the response.

    1. A feature whose absolute correlation with an earlier feature exceeds ``redundancy_threshold`` is
    dropped. 2. The others are clustered by complete linkage on ``1 - |correlation|``, cut so that all pairs
    within a cluster have an
       absolute correlation of at least ``group_threshold``.
    3. The member of largest variance represents its cluster (the first of equals).

    Fit it on features in their own units: after standardisation all variances are one and the first member is
    taken. A discovery then means "this feature or one that it stands for": report it with ``members_``.

    Parameters
    ----------
    redundancy_threshold : float in (0, 1]
        1 drops nothing in step 1.
    group_threshold : float in (0, 1]
        1 groups only features whose correlation is exactly 1 or -1.

    Attributes
    ----------
    representative_ : (p,) int, for each feature the column that stands for it; -1 for constant columns, which
    are dropped.
    members_ : dict, name of each representative to the names of all features that it stands for, itself
    first.
    n_redundant_ : how many features step 1 dropped.
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
                f"CorrelationGrouping: at least one column must vary, got {matrix.shape[1]} constant ones only."
            )
        if len(varying) < matrix.shape[1]:
            _warn_constant(np.setdiff1d(np.arange(matrix.shape[1]), varying), names)
        columns = matrix[:, varying].astype(float)
        correlation = _absolute_correlation(columns)
        stands_for = _redundant(correlation, self.redundancy_threshold)
        kept = np.flatnonzero(stands_for == np.arange(len(varying)))
        variance = columns.var(axis=0)
        leaders = _clusters(correlation[np.ix_(kept, kept)], variance[kept], self.group_threshold)
        leader_of = np.empty(len(varying), dtype=int)
        leader_of[kept] = kept[leaders]
        self.representative_ = np.full(matrix.shape[1], -1)
        self.representative_[varying] = varying[leader_of[stands_for]]
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
        return self.representative_ == np.arange(len(self.representative_))


def _warn_constant(columns: np.ndarray, names: list[str]) -> None:
    shown = ", ".join(names[j] for j in columns[:5])
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    warnings.warn(
        f"CorrelationGrouping: constant columns were dropped: {shown}{more}. They cannot be selected.",
        UserWarning,
        stacklevel=3,
    )


def _absolute_correlation(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    centred /= np.sqrt((centred**2).sum(axis=0))
    # Rounding may give 1 + 1e-16, and a distance below zero.
    correlation = np.minimum(np.abs(centred.T @ centred), 1.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _redundant(correlation: np.ndarray, threshold: float) -> np.ndarray:
    """For each feature the kept feature that stands for it.

    Dropped is what exceeds the threshold with any earlier feature, kept or not (the paper's words). Where the
    earlier feature was dropped itself, its own stand-in takes over.
    """
    p = len(correlation)
    stands_for = np.arange(p)
    for j in range(1, p):
        # Closest earlier feature; the first of equals.
        earlier = int(np.argmax(correlation[j, :j]))
        if correlation[j, earlier] > threshold:
            stands_for[j] = stands_for[earlier]
    return stands_for


def _clusters(correlation: np.ndarray, variance: np.ndarray, threshold: float) -> np.ndarray:
    """For each feature the member of largest variance of its cluster."""
    p = len(correlation)
    if p == 1:
        return np.zeros(1, dtype=int)
    distance = 1 - (correlation + correlation.T) / 2
    np.fill_diagonal(distance, 0.0)
    # The hair's breadth keeps pairs at exactly the threshold together in spite of rounding.
    labels = fcluster(
        linkage(squareform(distance, checks=False), method="complete"), t=1 - threshold + 1e-12, criterion="distance"
    )
    leaders = np.empty(p, dtype=int)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        # Standardised columns have variances that differ by rounding error only.
        largest = variance[members] >= (1 - 1e-6) * variance[members].max()
        leaders[members] = members[np.argmax(largest)]
    return leaders
