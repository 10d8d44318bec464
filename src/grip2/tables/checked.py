"""Checks what a user passes to ``fit``, as scikit-learn demands, and prepares it: a table, its target, clusters of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, validate_data

from grip2._validation import column_names
from grip2.errors import Grip2Error
from grip2.groups import Groups
from grip2.rows import check_rows, without_repeats
from grip2.tables.prepare import prepare
from grip2.tables.records import PreparedTable
from grip2.tables.shapes import check_lengths, check_shapes
from grip2.tables.sources import is_frame, take_rows
from grip2.tables.target import TargetValues, target_of
from grip2.user_warnings import warn_user

SHOWN_NOTICES = 5


@dataclass(frozen=True, eq=False)
class CheckedInput:
    """A prepared table, and the target and the clusters of its rows."""

    table: PreparedTable
    y: np.ndarray
    clusters: Any = None
    notices: tuple[str, ...] = ()  # changes of which the user has not been warned yet


def checked_input(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    clusters: Any = None,
    *,
    roles: Mapping[str, str] | None,
    groups: Groups | None,
    missing: str,
    who: str,
) -> CheckedInput:
    """Check and prepare; sets ``n_features_in_`` and ``feature_names_in_`` of the estimator.

    A table that has been prepared already is used as it is.
    """
    try:
        if isinstance(X, PreparedTable):
            remember_names(estimator, X)
            values = _checked_values(target_of(y, None, who), estimator)
            check_lengths(len(X), len(values), who)
            return CheckedInput(X, values, clusters)
        check_shapes(X, y, who)
        X = _checked_table(estimator, X)
        check_lengths(_num_samples(X), _num_samples(y), who)
        target = target_of(y, X, who)
        values = _checked_values(target, estimator)
        if target.rows is not None:
            clusters = None if clusters is None else np.asarray(clusters)[target.rows]
            X = take_rows(X, target.rows)
    except Grip2Error:
        raise
    except ValueError as error:  # scikit-learn's complaints about the data
        raise Grip2Error(f"{who}: {error}") from None
    table = prepare(X, roles=roles, groups=groups, missing=missing, target=target, who=who)
    return CheckedInput(table, values, clusters, (*target.notices, *table.notices))


def refuse_undrawn(table: PreparedTable, sampler: str, who: str) -> None:
    """Refuse a table with missing values for a sampler that cannot draw them."""
    if not table.has_missing:
        return
    incomplete = [variable for variable in table.variables if np.isnan(table.X[:, variable.columns[:1]]).any()]
    listed = ", ".join(f"{variable.name} ({variable.n_missing})" for variable in incomplete[:10])
    more = f" and {len(incomplete) - 10} more columns" if len(incomplete) > 10 else ""
    raise Grip2Error(
        f"{who}: X contains NaN: missing values in {listed}{more}, which {sampler} cannot draw. Use a sampler that can, such as "
        "CopulaKnockoffs, or have them filled: missing='indicator' or 'median' (--missing median)."
    )


def _checked_table(estimator: BaseEstimator, X: Any) -> Any:
    fields = getattr(getattr(X, "dtype", None), "names", None)
    if fields:
        X = pd.DataFrame({name: X[name] for name in fields})
    column_names(X, type(estimator).__name__)  # refuses repeated names with a message of its own
    if is_frame(X):
        validate_data(estimator, X, skip_check_array=True)
        return X
    masked = isinstance(X, np.ma.MaskedArray)
    plain = validate_data(estimator, np.ma.getdata(X) if masked else X, dtype=None, ensure_all_finite=False, order="C")
    return X if masked else plain


def _checked_values(target: TargetValues, estimator: BaseEstimator) -> np.ndarray:
    values = target.values
    if values.dtype.names:
        return values
    return np.asarray(check_array(values, ensure_2d=False, dtype=None, input_name="y", estimator=estimator))


def remember_names(estimator: BaseEstimator, table: PreparedTable) -> None:
    """Set the attributes of an estimator that scikit-learn's own checks would set."""
    estimator.n_features_in_ = len(table.variables)
    estimator.feature_names_in_ = np.array([variable.name for variable in table.variables], dtype=object)


def warn_of_changes(notices: tuple[str, ...], who: str) -> None:
    """One warning about everything that was changed beyond encoding."""
    if not notices:
        return
    shown = "; ".join(notices[:SHOWN_NOTICES])
    more = f"; and {len(notices) - SHOWN_NOTICES} more (table_.notices)" if len(notices) > SHOWN_NOTICES else ""
    warn_user(f"{who}: the table was changed: {shown}{more}.")


def independent_rows(data: CheckedInput, who: str) -> CheckedInput:
    """The data without a few repeated rows; raises if so many rows are repeated that the user has to decide what they are."""
    kept = without_repeats(data.table.X, data.y)
    if kept is not None:
        n_rows = len(data.table.X)
        notice = f"{n_rows - len(kept)} of {n_rows} rows repeat another one, response included, and were left out"
        data = replace(
            data, table=replace(data.table, X=data.table.X[kept]), y=data.y[kept], notices=(*data.notices, notice)
        )
    check_rows(data.table.X, who)
    return data
