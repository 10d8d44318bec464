"""The compiled group lasso against the lasso, against the conditions of its optimum, and against proximal gradient steps."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine.group_descent import descend_blocks
from grip2.engine.lasso_descent import descend

TOLERANCE = 1e-10


class Problem:
    """Correlated columns in blocks, a response of two blocks, and its moments."""

    def __init__(self, sizes: tuple[int, ...], *, n: int = 150, orthonormal: bool, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        p = int(self.starts[-1])
        Q = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
        Q -= Q.mean(0)
        if orthonormal:
            for first, end in self.blocks:
                Q[:, first:end] = np.linalg.qr(Q[:, first:end])[0] * np.sqrt(n)
        y = Q[:, : sizes[0]].sum(1) - 0.5 * Q[:, -sizes[-1] :].sum(1) + rng.standard_normal(n)
        y -= y.mean()
        self.gram, self.cross, self.response = Q.T @ Q / n, Q.T @ y / n, float(y @ y) / n
        self.weights = np.sqrt(np.array(sizes, dtype=float))
        self.curvatures = np.array([np.linalg.eigvalsh(self.gram[a:b, a:b])[-1] for a, b in self.blocks])

    @property
    def blocks(self) -> list[tuple[int, int]]:
        return list(zip(self.starts[:-1], self.starts[1:], strict=True))

    def norms(self, values: np.ndarray) -> np.ndarray:
        return np.array([np.linalg.norm(values[a:b]) for a, b in self.blocks])

    def penalties(self, count: int = 6) -> np.ndarray:
        return np.geomspace(1.0, 0.01, count) * np.max(self.norms(self.cross) / self.weights)

    def objective(self, b: np.ndarray, penalty: float) -> float:
        return 0.5 * b @ self.gram @ b - self.cross @ b + penalty * float(self.weights @ self.norms(b))

    def path(self, *, most: int = 100_000) -> tuple[np.ndarray, bool]:
        nothing = np.zeros(len(self.cross))
        return descend_blocks(
            self.gram, self.cross, self.response, self.starts, self.weights, self.curvatures, self.penalties(), nothing,
            TOLERANCE, most,
        )  # fmt: skip


SIZES = [(3, 1, 4, 2), (1,) * 8, (5,) * 30, (40, 2)]


@pytest.mark.parametrize("orthonormal", [True, False])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_conditions_of_an_optimum_hold(sizes, orthonormal):
    made = Problem(sizes, orthonormal=orthonormal)
    path, converged = made.path()
    assert converged
    acting, accuracy = 0, 1e-4 * np.sqrt(made.response)
    for b, penalty in zip(path.T, made.penalties(), strict=True):
        gradient = made.cross - made.gram @ b
        for (first, end), weight in zip(made.blocks, made.weights, strict=True):
            norm = np.linalg.norm(b[first:end])
            if norm > 0:
                acting += 1
                np.testing.assert_allclose(gradient[first:end], penalty * weight * b[first:end] / norm, atol=accuracy)
            else:
                assert np.linalg.norm(gradient[first:end]) <= penalty * weight + accuracy
    assert acting > 0


@pytest.mark.parametrize("sizes", SIZES[:3])
def test_proximal_gradient_steps_find_nothing_better(sizes):
    """The naive twin: 20,000 steps of length 1 / largest eigenvalue from zero."""
    made = Problem(sizes, orthonormal=False)
    step = 1.0 / np.linalg.eigvalsh(made.gram)[-1]
    path, _ = made.path()
    for k, penalty in enumerate(made.penalties()):
        b = np.zeros(len(made.cross))
        for _ in range(20_000):
            pulled = b + step * (made.cross - made.gram @ b)
            before = b
            b = np.zeros_like(b)
            for (first, end), weight in zip(made.blocks, made.weights, strict=True):
                norm = np.linalg.norm(pulled[first:end])
                if norm > step * penalty * weight:
                    b[first:end] = (1 - step * penalty * weight / norm) * pulled[first:end]
            if np.max(np.abs(b - before)) < 1e-10:
                break
        assert abs(made.objective(path[:, k], penalty) - made.objective(b, penalty)) < 1e-7 * made.response


def test_blocks_of_one_column_are_the_lasso():
    made = Problem((1,) * 12, orthonormal=False)
    found, _ = made.path()
    nothing = np.zeros(12)
    lasso, _ = descend(made.gram, made.cross, made.response, made.penalties(), nothing, TOLERANCE, 100_000)
    np.testing.assert_allclose(found, lasso, atol=1e-5)


def test_empty_blocks_and_columns_of_zeros_stay_out_and_any_start_ends_at_the_same_place():
    made = Problem((3, 1, 2), orthonormal=True)
    plain, _ = made.path()
    # A block without columns, then one whose only column is zero.
    gram = np.zeros((7, 7))
    gram[:6, :6] = made.gram
    starts = np.array([0, 3, 4, 6, 6, 7])
    weights, curvatures = np.append(made.weights, [1.0, 1.0]), np.append(made.curvatures, [0.0, 0.0])
    cross = np.append(made.cross, 0.0)
    for start in (np.zeros(7), np.append(np.random.default_rng(0).standard_normal(6), 0.0)):
        found, converged = descend_blocks(
            gram, cross, made.response, starts, weights, curvatures, made.penalties(), start, TOLERANCE, 100_000
        )
        assert converged
        np.testing.assert_allclose(found[:6], plain, atol=1e-4)
        assert not found[6].any()


def test_too_few_sweeps_are_told():
    _, converged = Problem((5,) * 30, orthonormal=False).path(most=1)
    assert not converged
