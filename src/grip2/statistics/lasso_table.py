"""The lasso of a table too wide for the Gram matrix of all its columns; exact up to its duality gap, as that on moments is.

The correlations of all columns with the residual take one product with the table. Columns whose correlation exceeds the penalty
join those that act, and the descent (`grip2.engine.lasso_descent`) works on the Gram matrix of these alone, which grows along the
path. Meant for tables in which fewer columns act than a Gram matrix may have; with more it is right, but slow.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.lasso_rules import INNER_TOLERANCE, NEW_COLUMNS

# Columns whose Gram matrix is kept at most; beyond it, only that of the working set.
_REMEMBERED = 4000


class TableLasso:
    """``min 1/(2n) ||y - b0 - Z b||^2 + lambda ||b||_1`` over n rows of a table."""

    def __init__(self, Z: np.ndarray, y: np.ndarray, rows: np.ndarray | None = None, *, intercept: bool = True) -> None:
        """``Z`` (rows, columns) is not changed; ``rows`` masks those that are fitted, all by default."""
        self._Z = Z
        self._rows = np.ones(len(Z)) if rows is None else rows.astype(float)
        self._n = float(self._rows.sum())
        self.mean, self.y_mean = np.zeros(Z.shape[1]), 0.0
        if intercept:
            self.mean, self.y_mean = self._rows @ Z / self._n, float(self._rows @ y / self._n)
        self._y = self._rows * (y - self.y_mean)
        self.cross = self._correlations(self._y)
        self.response = float(self._y @ self._y) / self._n
        self._known = np.zeros(0, np.intp)  # numbers of the columns whose Gram matrix is known
        self._gram = np.zeros((0, 0))

    def path(
        self, lambdas: np.ndarray, start: np.ndarray, tolerance: float, max_iterations: int
    ) -> tuple[np.ndarray, bool]:
        """Coefficients (columns, penalties) along the penalties, each started from the last; and whether every gap was closed.

        A gap is closed if it is below the tolerance times y'y / n. ``max_iterations``: sweeps, for one penalty.
        """
        b, converged = start.astype(float), True
        path = np.empty((len(b), len(lambdas)))
        gradient = self._gradient(b)
        for k, penalty in enumerate(lambdas):
            left = max_iterations
            while self._gap(gradient, b, penalty) > tolerance * self.response:
                if left <= 0:
                    converged = False
                    break
                working = _columns_at_work(gradient, b, penalty)
                left -= self._descend(b, gradient, working, penalty, INNER_TOLERANCE * tolerance, left)
                gradient = self._gradient(b)
            path[:, k] = b
        return path, converged

    def _descend(
        self, b: np.ndarray, gradient: np.ndarray, working: np.ndarray, penalty: float, tolerance: float, most: int
    ) -> int:
        from grip2.engine.lasso_descent import descend_all  # compiled: it takes a second to import

        own, own_gradient = b[working], gradient[working]
        sweeps = descend_all(
            self._gram_of(working), self.cross[working], self.response, own, own_gradient, penalty, tolerance, most
        )
        b[working] = own
        return int(sweeps)

    def _gram_of(self, columns: np.ndarray) -> np.ndarray:
        new = np.setdiff1d(columns, self._known)
        if len(new) and len(self._known) + len(new) > _REMEMBERED:
            self._known, self._gram, new = self._known[:0], self._gram[:0, :0], columns
        if len(new):
            part = (self._Z[:, new] - self.mean[new]) * self._rows[:, None]
            # The known columns need not be centred, because the new ones are, and zero in the rows left out.
            between = self._Z[:, self._known].T @ part / self._n
            self._gram = np.block([[self._gram, between], [between.T, part.T @ part / self._n]])
            self._known = np.concatenate([self._known, new])
        order = np.argsort(self._known)
        place = order[np.searchsorted(self._known[order], columns)]
        return np.ascontiguousarray(self._gram[np.ix_(place, place)])

    def _gradient(self, b: np.ndarray) -> np.ndarray:
        """Correlations of all columns with the residual."""
        used = np.flatnonzero(b)
        if not len(used):
            return self.cross.copy()
        fitted = (self._Z[:, used] - self.mean[used]) @ b[used]
        return self._correlations(self._y - self._rows * fitted)

    def _correlations(self, residual: np.ndarray) -> np.ndarray:
        """Per row; columns need not be centred where the residual is."""
        return np.asarray(residual @ self._Z / self._n)

    def _gap(self, gradient: np.ndarray, b: np.ndarray, penalty: float) -> float:
        """Duality gap: the objective less its dual at the scaled residual."""
        fitted = float(self.cross @ b)
        squares = max(self.response - fitted - float(gradient @ b), 0.0)  # of the residual, per row
        largest = float(np.max(np.abs(gradient), initial=0.0))
        scale = 1.0 if largest <= penalty else penalty / largest
        size = float(np.abs(b).sum())
        return 0.5 * squares * (1.0 + scale**2) + penalty * size - scale * (self.response - fitted)


def _columns_at_work(gradient: np.ndarray, b: np.ndarray, penalty: float) -> np.ndarray:
    """The working set: columns that are not zero, and the zero ones that most violate the conditions of an optimum."""
    excess = np.where(b == 0, np.abs(gradient) - penalty, 0.0)
    violating, effects = np.flatnonzero(excess > 0), np.flatnonzero(b)
    most = max(NEW_COLUMNS, len(effects))
    if len(violating) > most:
        violating = violating[np.argsort(-excess[violating], kind="stable")[:most]]
    return np.concatenate([effects, np.sort(violating)])
