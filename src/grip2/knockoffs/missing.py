"""Missing entries of a table of normal scores, drawn given all other scores of their rows: one step of a Gibbs sampler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Missing scores of a row that are drawn together, at most: the work per row grows with the third power.
_TOGETHER = 64
_BATCH_BYTES = 16_000_000  # of the matrices of one batch


@dataclass(frozen=True, eq=False)
class MissingScores:
    """Missing entries. Those of a row are drawn together, so that strong correlations do not slow the sampler down."""

    columns: np.ndarray  # the columns that have such entries
    batches: tuple[
        tuple[np.ndarray, np.ndarray], ...
    ]  # rows (r,), and the numbers (r, m) of m missing columns of each row

    @classmethod
    def of(cls, missing: np.ndarray) -> MissingScores:
        """From the mask (n, p) of missing entries."""
        batches: list[tuple[np.ndarray, np.ndarray]] = []
        # The place of each missing entry among those of its row says in which turn it is drawn.
        turn = np.where(missing, (np.cumsum(missing, axis=1) - 1) // _TOGETHER, -1)
        for each in range(int(turn.max()) + 1):
            count = (turn == each).sum(axis=1)
            for m in np.unique(count[count > 0]):
                rows = np.flatnonzero(count == m)
                columns = np.nonzero(turn[rows] == each)[1].reshape(len(rows), m)
                parts = -(-len(rows) * int(m) ** 2 * 8 // _BATCH_BYTES)
                batches += zip(np.array_split(rows, parts), np.array_split(columns, parts), strict=True)
        return cls(np.flatnonzero(missing.any(axis=0)), tuple(batches))

    def sweep(self, Z: np.ndarray, precision: np.ndarray, rng: np.random.Generator) -> None:
        """Replace the missing entries, in place, by draws given all others under N(0, precision^-1).

        With Q the precision and M the missing entries of a row, they are normal with precision ``Q_MM`` and mean
        ``-Q_MM^-1 Q_MO z_O``. ``Q_MM^-1 (-Q_MO z_O + L e)`` with ``L L^T = Q_MM`` and standard normal e is such a draw.
        """
        for rows, columns in self.batches:
            z = Z[rows]
            np.put_along_axis(z, columns, 0.0, axis=1)
            pull = np.take_along_axis(z @ precision, columns, axis=1)[:, :, None]
            Q = precision[columns[:, :, None], columns[:, None, :]]
            noise = np.linalg.cholesky(Q) @ rng.standard_normal((*columns.shape, 1))
            Z[rows[:, None], columns] = np.linalg.solve(Q, noise - pull)[:, :, 0]
