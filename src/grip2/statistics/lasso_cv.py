"""Cross-validated lasso on precomputed Gram matrices: the estimate of scikit-learn's ``LassoCV``, several times faster.

Exact up to a duality gap of a millionth of the response's variance. Time is saved in three places. One Gram matrix of all rows
is summed fold by fold, and the one a fold trains on is that sum less the fold's own part (down-dating), so that five folds take
one pass over the data, not five. The descent works on the columns that matter (`grip2.engine.lasso_descent`). And all folds go
down the path of penalties together, so that it can be left once the held-out error has clearly turned: the end of a path, where
nearly every column is active, takes most of the time. That last rule is a heuristic: an error that rises by three standard
errors and later falls below its first minimum would be missed. ``whole_path=True`` does without it.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from sklearn.model_selection import KFold

from grip2.errors import Grip2Error
from grip2.statistics.lasso_table import TableLasso

# The path is left if the error exceeds its minimum by this many standard errors of the paired difference over folds,
LEAVE_AFTER_ERRORS = 3.0
# and if the minimum lies this many grid points back, and this share of the grid, because points of a fine grid are close.
LEAVE_AFTER_POINTS = 10
LEAVE_AFTER_SHARE = 0.1
CHUNK = 5  # grid points between two checks of the error
# Duality gap that ends a descent, as a share of the response's sum of squares. At scikit-learn's 1e-4 a path that starts from
# its last point often does not move at all.
TOLERANCE = 1e-6
MAX_ITERATIONS = 20_000  # sweeps for one penalty; tables with more columns than rows need thousands
# Above this many columns the Gram matrices of the folds and their copies (about 14) take more than 2 GB.
GRAM_COLUMNS_MAX = 4000

Problem = TypeVar("Problem")
Folds = Sequence[np.ndarray]  # row numbers held out by each fold


class Descends(Protocol):
    """A lasso problem that can be solved along a path of penalties."""

    @property
    def response(self) -> float:
        """y'y / n of the centred response."""
        ...

    def path(
        self, lambdas: np.ndarray, start: np.ndarray, tolerance: float, max_iterations: int
    ) -> tuple[np.ndarray, bool]:
        """Coefficients (columns, penalties), each started from the last; and whether every gap was closed."""
        ...


class Fold(NamedTuple, Generic[Problem]):
    """The lasso problem of the rows that are not held out, and their means."""

    training: Problem
    mean: np.ndarray
    y_mean: float


class Moments(NamedTuple):
    """All that a lasso needs of centred data, per row: ``Z'Z / n``, ``Z'y / n`` and ``y'y / n``."""

    gram: np.ndarray
    cross: np.ndarray
    response: float

    def path(
        self, lambdas: np.ndarray, start: np.ndarray, tolerance: float, max_iterations: int
    ) -> tuple[np.ndarray, bool]:
        """Coefficients (columns, penalties), each started from the last; and whether every gap was closed."""
        from grip2.engine.lasso_descent import descend  # compiled: it takes a second to import

        found, converged = descend(
            np.ascontiguousarray(self.gram, dtype=float),
            np.ascontiguousarray(self.cross, dtype=float),
            float(self.response),
            np.ascontiguousarray(lambdas, dtype=float),
            np.ascontiguousarray(start, dtype=float),
            float(tolerance),
            int(max_iterations),
        )
        return np.asarray(found), bool(converged)


@dataclass(frozen=True)
class LassoFit:
    """A lasso at the penalty with the smallest cross-validated error."""

    coefficients: np.ndarray  # (columns,)
    intercept: float
    lambda_: float
    lambdas: np.ndarray  # (visited,) descending; the part of the grid that was looked at
    errors: np.ndarray  # (visited, folds) held-out mean squared error
    r2: float  # cross-validated share of the variance explained, at lambda_
    converged: bool  # False: some fit used all its iterations, at a penalty smaller than needed as a rule


def draw_folds(
    n_rows: int, n_folds: int, rng: np.random.Generator, labels: np.ndarray | None = None
) -> list[np.ndarray]:
    """Random folds. Contiguous ones would be useless for rows sorted by the response, as they often are.

    With ``labels`` the rows of each class are dealt out over the folds in turn, so that no fold holds a whole class of two
    rows or more.
    """
    if not isinstance(n_folds, numbers.Integral) or not 2 <= n_folds <= n_rows:
        raise Grip2Error(f"folds must be a whole number between 2 and the number of rows, {n_rows}, got {n_folds!r}.")
    order = rng.permutation(n_rows)
    if labels is None:
        return [np.sort(order[held_out]) for _, held_out in KFold(n_folds).split(order)]
    by_class = order[np.argsort(labels[order], kind="stable")]
    return [np.sort(by_class[k::n_folds]) for k in range(n_folds)]


def lambda_grid(largest: float, n_lambdas: int, ratio: float) -> np.ndarray:
    """``n_lambdas`` penalties from ``largest`` to ``ratio * largest``, equally spaced on the log scale."""
    largest = max(largest, float(np.finfo(float).tiny) / ratio)  # a constant response has no correlation at all
    return np.geomspace(largest, largest * ratio, n_lambdas)


def check_grid(n_lambdas: int, ratio: float, who: str) -> None:
    """Refuse a grid of penalties that cannot be laid out."""
    if not isinstance(n_lambdas, numbers.Integral) or n_lambdas < 2:
        raise Grip2Error(f"{who}: n_lambdas must be a whole number of at least 2, got {n_lambdas!r}.")
    if not isinstance(ratio, numbers.Real) or not 0 < ratio < 1:
        raise Grip2Error(f"{who}: ratio must be in (0, 1), got {ratio!r}.")


def gram_fits(n_columns: int) -> bool:
    """May a Gram matrix of so many columns be formed?"""
    return n_columns <= GRAM_COLUMNS_MAX


def moments(Z: np.ndarray, y: np.ndarray) -> Moments:
    """Moments of centred copies of ``Z`` and ``y``."""
    n, mean, y_mean = len(Z), Z.mean(axis=0), float(y.mean())
    gram = (Z.T @ Z) / n - np.outer(mean, mean)
    return Moments(gram, Z.T @ y / n - mean * y_mean, float(y @ y) / n - y_mean**2)


def lasso_cv(
    Z: np.ndarray,
    y: np.ndarray,
    *,
    folds: Folds,
    n_lambdas: int = 100,
    ratio: float = 1e-3,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    whole_path: bool = False,
) -> LassoFit:
    """The lasso ``min 1/(2n) ||y - b0 - Z b||^2 + lambda ||b||_1`` at the cross-validated lambda.

    ``whole_path=True`` looks at every lambda of the grid, whatever the error does. Tables too wide for Gram matrices are
    fitted without them (`grip2.statistics.lasso_table`).
    """
    Z, y = np.asarray(Z, dtype=float), np.asarray(y, dtype=float)
    all_rows: Moments | TableLasso
    parts: Sequence[Fold[Any]]
    all_rows, parts = (moments_by_fold if gram_fits(Z.shape[1]) else tables_by_fold)(Z, y, folds)
    lambdas = lambda_grid(float(np.max(np.abs(all_rows.cross))), n_lambdas, ratio)
    return along_path(
        Z, y, folds, all_rows, parts, lambdas, tolerance=tolerance, max_iterations=max_iterations, whole_path=whole_path
    )


def along_path(
    Z: np.ndarray,
    y: np.ndarray,
    folds: Folds,
    all_rows: Descends,
    parts: Sequence[Fold[Any]],
    lambdas: np.ndarray,
    *,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    whole_path: bool = False,
) -> LassoFit:
    """Go down the penalties with all folds together until the held-out error has turned, then with all rows to the best one."""
    converged = True
    errors = np.empty((0, len(folds)))
    coefficients = [np.zeros(Z.shape[1]) for _ in folds]
    while len(errors) < len(lambdas) and (whole_path or not has_turned(errors, len(lambdas))):
        chunk = lambdas[len(errors) : len(errors) + CHUNK]
        found = np.empty((len(chunk), len(folds)))
        for k, rows in enumerate(folds):
            path, closed = parts[k].training.path(chunk, coefficients[k], tolerance, max_iterations)
            coefficients[k], converged = path[:, -1], converged and closed
            used = np.flatnonzero(path.any(axis=1))
            residual = (y[rows] - parts[k].y_mean)[:, None] - (Z[np.ix_(rows, used)] - parts[k].mean[used]) @ path[used]
            found[:, k] = np.mean(residual**2, axis=0)
        errors = np.vstack([errors, found])
    mean_error = errors.mean(axis=1)
    best = int(np.argmin(mean_error))
    final = np.zeros(Z.shape[1])
    for start in range(0, best + 1, CHUNK):
        path, closed = all_rows.path(lambdas[start : min(start + CHUNK, best + 1)], final, tolerance, max_iterations)
        final, converged = path[:, -1], converged and closed
    return LassoFit(
        coefficients=final,
        intercept=float(y.mean() - Z.mean(axis=0) @ final),
        lambda_=float(lambdas[best]),
        lambdas=lambdas[: len(errors)],
        errors=errors,
        r2=1.0 - float(mean_error[best]) / all_rows.response if all_rows.response > 0 else 0.0,
        converged=converged,
    )


def gram_path(
    problem: Moments,
    lambdas: np.ndarray,
    *,
    start: np.ndarray | None = None,
    tolerance: float | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> np.ndarray:
    """Lasso coefficients (columns, penalties) along descending penalties, each started from the last."""
    tolerance = TOLERANCE if tolerance is None else tolerance
    start = np.zeros(len(problem.cross)) if start is None else start
    return problem.path(lambdas, start, tolerance, max_iterations)[0]


def table_path(
    Z: np.ndarray,
    y: np.ndarray,
    lambdas: np.ndarray,
    *,
    start: np.ndarray | None = None,
    tolerance: float | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> np.ndarray:
    """`gram_path` of centred ``Z`` and ``y``, with the Gram matrix of the columns that act only."""
    tolerance = TOLERANCE if tolerance is None else tolerance
    start = np.zeros(Z.shape[1]) if start is None else start
    return TableLasso(Z, y, intercept=False).path(lambdas, start, tolerance, max_iterations)[0]


def has_turned(errors: np.ndarray, n_lambdas: int = 0) -> bool:
    """Has the mean held-out error, on a grid of ``n_lambdas``, risen beyond doubt above its minimum?"""
    if not len(errors):
        return False
    best = int(np.argmin(errors.mean(axis=1)))
    if len(errors) - 1 - best < max(LEAVE_AFTER_POINTS, LEAVE_AFTER_SHARE * n_lambdas):
        return False
    rise = errors[-1] - errors[best]
    return bool(rise.mean() > LEAVE_AFTER_ERRORS * rise.std(ddof=1) / np.sqrt(len(rise)))


def moments_by_fold(Z: np.ndarray, y: np.ndarray, folds: Folds) -> tuple[Moments, list[Fold[Moments]]]:
    """Moments of all rows and of the training rows of every fold, in one pass over the data."""
    # Shifted by the overall means first: down-dating then subtracts small numbers from small numbers.
    shift, y_shift = Z.mean(axis=0), float(y.mean())
    sums = []
    for rows in folds:
        part, response = Z[rows] - shift, y[rows] - y_shift
        sums.append(
            _Sums(len(rows), part.sum(0), response.sum(), part.T @ part, part.T @ response, response @ response)
        )
    total = _Sums(*(sum(column) for column in zip(*sums, strict=True)))
    parts = []
    for held_out in sums:
        rest = _Sums(*(whole - part for whole, part in zip(total, held_out, strict=True)))
        training = _centred(rest)
        parts.append(Fold(training, shift + rest.z / rest.n, y_shift + float(rest.y / rest.n)))
    return _centred(total), parts


def with_response(
    Z: np.ndarray, y: np.ndarray, folds: Folds, whole: Moments, parts: Sequence[Fold[Moments]]
) -> tuple[Moments, list[Fold[Moments]]]:
    """The moments of the same rows with another response: Gram matrices are not computed again."""

    def of_rows(rows: np.ndarray, known: Moments) -> Moments:
        centred = y[rows] - y[rows].mean()
        return Moments(known.gram, Z[rows].T @ centred / len(rows), float(centred @ centred) / len(rows))

    everyone = np.arange(len(y))
    training = [np.setdiff1d(everyone, held_out) for held_out in folds]
    found = [
        Fold(of_rows(rows, part.training), part.mean, float(y[rows].mean()))
        for rows, part in zip(training, parts, strict=True)
    ]
    return of_rows(everyone, whole), found


def tables_by_fold(Z: np.ndarray, y: np.ndarray, folds: Folds) -> tuple[TableLasso, list[Fold[TableLasso]]]:
    """As `moments_by_fold`, without Gram matrices; the table is not copied."""
    masks = [np.isin(np.arange(len(Z)), rows, invert=True) for rows in folds]
    tables = [TableLasso(Z, y, mask) for mask in masks]
    return TableLasso(Z, y), [Fold(table, table.mean, table.y_mean) for table in tables]


class _Sums(NamedTuple):
    """Sums over rows. Those of disjoint sets of rows add up, on which down-dating rests."""

    n: Any
    z: Any  # (columns,)
    y: Any
    zz: Any  # (columns, columns)
    zy: Any  # (columns,)
    yy: Any


def _centred(sums: _Sums) -> Moments:
    mean, y_mean = sums.z / sums.n, sums.y / sums.n
    gram = sums.zz / sums.n
    gram -= np.outer(mean, mean)
    return Moments(gram, sums.zy / sums.n - mean * y_mean, max(float(sums.yy / sums.n - y_mean**2), 0.0))
