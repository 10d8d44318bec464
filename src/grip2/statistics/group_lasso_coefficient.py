"""Group lasso coefficient difference: a lasso in which the columns of a unit enter or stay out together.

    min 1/(2n) ||y - b0 - sum_g Q_g b_g||^2 + lambda sum_g sqrt(d_g) ||b_g||

Q_g spans the standardised columns of one member of a unit and is orthonormal (Simon and Tibshirani 2012), so the fit does not
depend on how a unit is coded (which level of a category is left out, say), and ||b_g|| is the deviation of what the member
explains. d_g is the number of directions that the member of the unit with the most directions has: the same for all members.
With units of one column it is the lasso, for a measurement. (`GroupLasso` is one of the paper's networks, not this.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from grip2.errors import Grip2Error
from grip2.facts import Facts
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.standardise import standardise
from grip2.statistics.augmented import threads_for
from grip2.statistics.lasso_coefficient import LassoCoefficient
from grip2.statistics.lasso_cv import (
    GRAM_COLUMNS_MAX,
    Fold,
    Folds,
    LassoFit,
    Moments,
    along_path,
    gram_fits,
    lambda_grid,
    moments_by_fold,
    with_response,
)
from grip2.symmetry import Members
from grip2.units import Layout

# Directions of a unit with less than this share of its largest variance are left out: its columns determine each other.
LEAST_VARIANCE = 1e-8


class GroupLassoCoefficient(LassoCoefficient):
    """Group lasso coefficient difference: norm of a unit's coefficients at the cross-validated penalty.

    For units all of whose columns act, each too weakly for the lasso; where few of them do, `LassoCoefficient` and
    `EffectPosterior` find more (results/groups, results/hiv-copies). Other responses than measurements are fitted by least
    squares: labels of classes, one class against the rest, and for counts, times and ordered classes what the best prediction
    without features leaves.

    Parameters
    ----------
    folds, n_lambdas, ratio
        As in `LassoCoefficient`.
    """

    compared_with_lasso: ClassVar[bool] = True

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        self._check_settings()
        layout = members.layout
        if not gram_fits(layout.n_columns):
            raise Grip2Error(
                f"{type(self).__name__}: at most {GRAM_COLUMNS_MAX} columns of features and knockoffs can be fitted, got "
                f"{layout.n_columns}; use LassoCoefficient(), or fewer copies where that is enough."
            )
        # A prior close to none keeps the logarithm of an absent class finite.
        outputs = np.tile(response.constant_outputs(prior_rows=1e-9), (len(response), 1))
        targets = [standardise(target[:, None])[:, 0] for target in response.working_responses(outputs)]
        folds = self._drawn_folds(response, rng)
        Z = members.standardised()
        with threads_for(Z):
            Q, blocks = orthonormal_blocks(Z, layout)
            fits = group_lassos_cv(Q, targets, blocks, folds=folds, n_lambdas=self.n_lambdas, ratio=self.ratio)
        scores = np.sum([blocks.norms(fit.coefficients) for fit in fits], axis=0)
        details = {
            "lambda": [fit.lambda_ for fit in fits],
            "r2": [fit.r2 for fit in fits],
            "converged": all(fit.converged for fit in fits),
        }
        return Importance(scores.reshape(layout.members, len(layout.units)), Facts(details=details))


class Blocks(NamedTuple):
    """Neighbouring columns that act together: a block for every member of every unit, one member after the other."""

    starts: np.ndarray  # (blocks + 1,) where each block begins, and where the last one ends; a block may be empty
    weights: np.ndarray  # (blocks,) in the penalty: sqrt(d_g)

    def norms(self, values: np.ndarray) -> np.ndarray:
        """(blocks,) root of the sum of squares over the columns of each."""
        ends = zip(self.starts[:-1], self.starts[1:], strict=True)
        return np.array([np.linalg.norm(values[first:end]) for first, end in ends])

    def curvatures(self, gram: np.ndarray) -> np.ndarray:
        """(blocks,) the largest eigenvalue of each block of a Gram matrix; 0 for an empty one."""
        found = np.zeros(len(self.weights))
        for g, (first, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            if end > first:
                found[g] = max(float(np.linalg.eigvalsh(gram[first:end, first:end])[-1]), 0.0)
        return found


class GroupMoments(NamedTuple):
    """Moments of centred data, with the blocks of their columns."""

    moments: Moments
    blocks: Blocks
    curvatures: np.ndarray  # (blocks,) the largest eigenvalue of each in the Gram matrix

    @property
    def response(self) -> float:
        return self.moments.response

    @property
    def largest_penalty(self) -> float:
        """The smallest penalty under which no block acts."""
        return float(np.max(self.blocks.norms(self.moments.cross) / self.blocks.weights))

    def path(
        self, lambdas: np.ndarray, start: np.ndarray, tolerance: float, max_iterations: int
    ) -> tuple[np.ndarray, bool]:
        """Coefficients (columns, penalties), each started from the last; and whether every gap was closed."""
        from grip2.engine.group_descent import descend_blocks  # compiled: it takes a second to import

        found, converged = descend_blocks(
            np.ascontiguousarray(self.moments.gram, dtype=float),
            np.ascontiguousarray(self.moments.cross, dtype=float),
            float(self.response),
            self.blocks.starts,
            self.blocks.weights,
            self.curvatures,
            np.ascontiguousarray(lambdas, dtype=float),
            np.ascontiguousarray(start, dtype=float),
            float(tolerance),
            int(max_iterations),
        )
        return np.asarray(found), bool(converged)


def orthonormal_blocks(Z: np.ndarray, layout: Layout) -> tuple[np.ndarray, Blocks]:
    """Blocks of columns with Q'Q / n = 1, each of which spans the columns of one member of a unit."""
    p, parts = layout.units.n_columns, []
    for member in range(layout.members):
        for columns in layout.units.columns:
            own = Z[:, member * p + columns]
            if len(columns) > 1:
                variance, axes = np.linalg.eigh(own.T @ own / len(own))
                kept = variance > LEAST_VARIANCE * max(float(variance[-1]), 1.0)
                own = own @ (axes[:, kept] / np.sqrt(variance[kept]))
            parts.append(own)
    sizes = np.array([part.shape[1] for part in parts])
    of_units = np.maximum(sizes.reshape(layout.members, -1).max(axis=0), 1)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.concatenate(parts, axis=1), Blocks(starts, np.sqrt(np.tile(of_units, layout.members)))


def group_lassos_cv(
    Q: np.ndarray,
    targets: Sequence[np.ndarray],
    blocks: Blocks,
    *,
    folds: Folds,
    n_lambdas: int = 100,
    ratio: float = 1e-3,
) -> list[LassoFit]:
    """The group lasso of every target at its cross-validated penalty, for columns as `orthonormal_blocks` makes them."""
    whole, parts = moments_by_fold(Q, targets[0], folds)
    curvatures = blocks.curvatures(whole.gram), [blocks.curvatures(part.training.gram) for part in parts]
    fits: list[LassoFit] = []
    for target in targets:
        if fits:
            whole, parts = with_response(Q, target, folds, whole, parts)
        all_rows = GroupMoments(whole, blocks, curvatures[0])
        training = [
            Fold(GroupMoments(part.training, blocks, own), part.mean, part.y_mean)
            for part, own in zip(parts, curvatures[1], strict=True)
        ]
        lambdas = lambda_grid(all_rows.largest_penalty, n_lambdas, ratio)
        fits.append(along_path(Q, target, folds, all_rows, training, lambdas))
    return fits
