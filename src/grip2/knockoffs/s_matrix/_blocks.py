"""Block-diagonal matrices whose blocks have different sizes: all entries in one vector, and their products with full matrices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grip2.units import Units


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a partition whose units lie side by side, as in ``order``.

    A block-diagonal matrix is the vector of the entries of its blocks, block after block. The dot product of two such vectors
    is the trace of the product of two symmetric matrices, so vectors can be used where a method expects vectors.
    """

    units: Units

    @cached_property
    def order(self) -> np.ndarray:
        """(p,) the original column at each place."""
        return np.concatenate(self.units.columns)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The places of each block's columns."""
        ends = np.cumsum(self.units.sizes).tolist()
        return tuple(slice(end - size, end) for end, size in zip(ends, self.units.sizes.tolist(), strict=True))

    @cached_property
    def _entries(self) -> tuple[slice, ...]:
        """The places of each block's entries in the vector."""
        squares = self.units.sizes**2
        ends = np.cumsum(squares).tolist()
        return tuple(slice(end - square, end) for end, square in zip(ends, squares.tolist(), strict=True))

    def split(self, vector: np.ndarray) -> list[np.ndarray]:
        """The blocks as (d, d) views into the vector."""
        sizes = self.units.sizes.tolist()
        return [vector[entries].reshape(d, d) for entries, d in zip(self._entries, sizes, strict=True)]

    def joined(self, blocks: Iterable[np.ndarray]) -> np.ndarray:
        """The vector of these blocks."""
        return np.concatenate([block.ravel() for block in blocks])

    def diagonal_of(self, matrix: np.ndarray) -> np.ndarray:
        """The diagonal blocks of a (p, p) matrix."""
        return self.joined(matrix[places, places] for places in self.slices)

    def pair_sums(self, values: np.ndarray) -> np.ndarray:
        """``values[i] + values[j]`` for every entry (i, j) of every block."""
        return self.joined(np.add.outer(values[places], values[places]) for places in self.slices)

    def pair_products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """``left[i] right[j] + right[i] left[j]`` for every entry (i, j) of every block."""
        found = []
        for places in self.slices:
            product = np.outer(left[places], right[places])
            found.append(product + product.T)
        return self.joined(found)

    def sandwich(self, A: np.ndarray, middle: np.ndarray, B: np.ndarray) -> np.ndarray:
        """The diagonal blocks of ``A Y B + B Y A`` for symmetric (p, p) matrices A and B and the block-diagonal Y ``middle``.

        ``4 p^2 d`` operations for blocks of size d: small beside a factorisation.
        """
        product = np.empty(A.shape)
        for places, block in zip(self.slices, self.split(middle), strict=True):
            np.matmul(block, A[places], out=product[places])
        found = []
        for places in self.slices:
            half = product[:, places].T @ B[:, places]
            found.append(half + half.T)
        return self.joined(found)

    def congruence(self, matrix: np.ndarray, roots: list[np.ndarray]) -> np.ndarray:
        """``V' matrix V`` for the block-diagonal V with these blocks."""
        right = np.empty(matrix.shape)
        for places, root in zip(self.slices, roots, strict=True):
            np.matmul(matrix[:, places], root, out=right[:, places])
        found = np.empty(matrix.shape)
        for places, root in zip(self.slices, roots, strict=True):
            np.matmul(root.T, right[places], out=found[places])
        return found

    def grouped(self, matrix: np.ndarray) -> np.ndarray:
        """A (p, p) matrix with rows and columns in the order of the blocks."""
        return np.ascontiguousarray(matrix[np.ix_(self.order, self.order)])

    def to_matrix(self, blocks: Iterable[np.ndarray]) -> np.ndarray:
        """The (p, p) matrix with these blocks, symmetric and exactly zero elsewhere, in the original order of columns."""
        p = self.units.n_columns
        found = np.zeros((p, p))
        for columns, block in zip(self.units.columns, blocks, strict=True):
            found[np.ix_(columns, columns)] = (block + block.T) / 2
        return found
