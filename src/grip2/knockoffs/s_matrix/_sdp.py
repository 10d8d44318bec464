"""Semidefinite programme: the s with the largest sum, by a primal-dual interior-point method that certifies its result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix._groups import Groups, has_blocks, in_form, units_of
from grip2.knockoffs.s_matrix._scale import (
    ceiling_of,
    cholesky_factor,
    correlation_scale,
    interior_start,
    inverse_from,
    lift,
)

_MAX_ITERATIONS = 60
_MAX_SHORTENINGS = 60


def sdp(Sigma: np.ndarray, *, copies: int = 1, groups: Groups = None, tolerance: float = 1e-6) -> np.ndarray:
    """The s that maximises ``sum(s)`` subject to ``0 <= s <= 1`` and ``cR - diag(s)`` positive semidefinite.

    R is the correlation matrix and c = (m + 1) / m for m copies. The result lies strictly inside the constraints. Its sum is
    within ``tolerance * max(sum(s), p / 1000)`` of the optimum, as a dual feasible point proves, unless rounding error stops
    the iteration first (condition numbers above about 1e7).
    """
    ceiling = ceiling_of(copies)
    R, scale = correlation_scale(Sigma)
    units = units_of(groups, len(R))
    if has_blocks(units):
        raise Grip2Error("sdp: there is no solver for groups of several columns. Use s='mvr', s='maxent' or s='equi'.")
    R, _ = lift(R)
    return in_form(np.asarray(solve(R, tolerance, ceiling).s * scale), units)


@dataclass
class State:
    """Primal s; dual Z (for ``cR - diag(s)``), lower (for ``s >= 0``) and upper (for ``s <= 1``).

    The dual programme: minimise ``trace(cRZ) + sum(upper)`` subject to ``diag(Z) + upper - lower = 1``, with Z positive
    semidefinite and lower and upper nonnegative. The start is dual feasible and every step keeps it so; therefore ``gap``
    bounds the distance from the optimum.
    """

    R: np.ndarray
    s: np.ndarray
    Z: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    ceiling: float  # c

    @property
    def gap(self) -> float:
        return float(self.ceiling * np.sum(self.R * self.Z) + self.upper.sum() - self.s.sum())

    @property
    def M(self) -> np.ndarray:
        return self.ceiling * self.R - np.diag(self.s)

    def complementarity(self) -> float:
        total = np.sum(self.M * self.Z) + self.s @ self.lower + (1 - self.s) @ self.upper
        return float(total) / (3 * len(self.s))

    def moved(self, step: Step, primal: float, dual: float) -> State:
        return State(
            self.R,
            self.s + primal * step.s,
            self.Z + dual * step.Z,
            self.lower + dual * step.lower,
            self.upper + dual * step.upper,
            self.ceiling,
        )


@dataclass
class Step:
    """A change of every variable of ``State``."""

    s: np.ndarray
    Z: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def solve(R: np.ndarray, tolerance: float, ceiling: float) -> State:
    """Mehrotra's predictor-corrector method with the HKM direction; it solves only p x p systems."""
    p = len(R)
    # Dual feasible: diag(Z) + upper - lower = 1 for Z = I, upper = lower = 1.
    state = State(R, np.minimum(interior_start(R, ceiling), 0.5), np.eye(p), np.ones(p), np.ones(p), ceiling)
    for _ in range(_MAX_ITERATIONS):
        if state.gap <= tolerance * max(float(state.s.sum()), p / 1000):
            break
        system = _System.at(state)
        if system is None:  # rounding error allows no further progress
            break
        predictor = system.step(0.0)
        mu = state.complementarity()
        predicted = state.moved(predictor, *_lengths(state, predictor)).complementarity()
        target = mu * float(np.clip((predicted / mu) ** 2, 1e-6, 1.0))
        corrector = system.step(target, after=predictor)
        primal, dual = _lengths(state, corrector)
        if max(primal, dual) < 1e-6:
            break
        state = state.moved(corrector, 0.95 * primal, 0.95 * dual)
    return state


@dataclass
class _System:
    """The Newton system at a state, factorised once for both predictor and corrector."""

    state: State
    inverse: np.ndarray  # of M
    factor: np.ndarray  # of the scaled Schur complement
    scale: np.ndarray

    @classmethod
    def at(cls, state: State) -> _System | None:
        factor = cholesky_factor(state.M)
        if factor is None:
            return None
        inverse = inverse_from(factor)
        schur = inverse * state.Z
        schur[np.diag_indices_from(schur)] += state.lower / state.s + state.upper / (1 - state.s)
        scale = 1 / np.sqrt(np.diag(schur))
        schur_factor = cholesky_factor(schur * scale[:, None] * scale)
        return None if schur_factor is None else cls(state, inverse, schur_factor, scale)

    def step(self, mu: float, after: Step | None = None) -> Step:
        """Newton step toward ``MZ = mu I, s lower = mu, (1 - s) upper = mu``; ``after`` adds the second-order term."""
        s, w = self.state.s, 1 - self.state.s
        zero = np.zeros_like(s)
        matrix = None if after is None else _symmetric((self.inverse * after.s) @ after.Z)
        low = zero if after is None else -after.s * after.lower / s
        up = zero if after is None else after.s * after.upper / w
        right = 1 - mu * (np.diag(self.inverse) + 1 / w - 1 / s) - up + low
        if matrix is not None:
            right = right - np.diag(matrix)
        ds = self.scale * lapack.dpotrs(self.factor, right * self.scale, lower=1)[0]
        Z = _symmetric((self.inverse * ds) @ self.state.Z) + mu * self.inverse - self.state.Z
        if matrix is not None:
            Z += matrix
        lower = mu / s - self.state.lower * (1 + ds / s) + low
        upper = mu / w - self.state.upper * (1 - ds / w) + up
        return Step(ds, Z, lower, upper)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return np.asarray((matrix + matrix.T) / 2)


def _lengths(state: State, step: Step) -> tuple[float, float]:
    """The longest step lengths, at most 1, that keep the primal and the dual variables feasible."""
    primal = min(_ratio(state.s, step.s), _ratio(1 - state.s, -step.s))
    dual = min(_ratio(state.lower, step.lower), _ratio(state.upper, step.upper))
    return _shorten(state.M, -np.diag(step.s), primal), _shorten(state.Z, step.Z, dual)


def _ratio(x: np.ndarray, dx: np.ndarray) -> float:
    """The longest step length, at most 1, that keeps ``x + length * dx`` nonnegative."""
    worst = float((dx / x).min())
    return min(1.0, -1 / worst) if worst < 0 else 1.0


def _shorten(matrix: np.ndarray, direction: np.ndarray, length: float) -> float:
    """The step length, reduced until ``matrix + length * direction`` is positive definite."""
    for _ in range(_MAX_SHORTENINGS):
        if cholesky_factor(matrix + length * direction) is not None:
            return length
        length *= 0.8
    return 0.0
