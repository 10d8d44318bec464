"""The distribution of knockoff copies given X, all jointly Gaussian: factorised once, sampled any number of times (appendix B.1).

Let S be diagonal, or block-diagonal with one block for every unit. Members (the original and its m copies) are jointly
exchangeable, unit by unit, if all have covariance Sigma and any two of them have cross-covariance Sigma - S: permuting the
members of a unit then leaves the joint covariance unchanged, because off its blocks Sigma - S equals Sigma. Given X, each copy
must have mean ``X - (X - mean) Sigma^-1 S`` and covariance ``2S - S Sigma^-1 S``, and two copies the covariance
``S - S Sigma^-1 S``. This exists if (m + 1)/m Sigma - S is positive semidefinite (Gimenez and Zou, 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from grip2.errors import Grip2Error
from grip2.knockoffs.base import KnockoffSampler, NumericalRepairWarning, as_matrix, row_blocks
from grip2.knockoffs.s_matrix import choose_s
from grip2.knockoffs.s_matrix._scale import cholesky_factor
from grip2.knockoffs.wide import WideLaws
from grip2.units import Units
from grip2.user_warnings import warn_user

# The first jitter tried and the largest one accepted, relative to the conditional variances.
_FIRST_JITTER, _LAST_JITTER = 1e-12, 1e-4


class ConditionalGaussian:
    """Copies drawn together: ``copy_k = X - (X - mean) A + U C^T + (e_k - e_mean) L^T`` with ``A = Sigma^-1 S``.

    U and e_1 .. e_m are independent standard normal rows, e_mean is the mean of the e_k, ``L L^T = S`` and
    ``C C^T = (m + 1)/m S - S Sigma^-1 S``. The deviations of the e_k from their mean have variance 1 - 1/m and covariance
    -1/m, so copies have the conditional covariances that the text above asks for. For one copy the last term is zero and
    no e is drawn. ``S`` is (p,), the diagonal, or (p, p).
    """

    def __init__(self, mean: np.ndarray, Sigma: np.ndarray, S: np.ndarray, *, copies: int = 1, who: str) -> None:
        self.mean, self.S, self.copies = mean, S, copies
        full = np.diag(S) if S.ndim == 1 else S
        # A = Solve(Sigma, S), solved on the correlation scale so that accuracy does not depend on the columns' units.
        root = np.sqrt(np.diag(Sigma))
        solved = cho_solve(cho_factor(Sigma / root[:, None] / root, lower=True), full / root[:, None])
        self.A = solved / root[:, None]
        M = (copies + 1) / copies * full - (S[:, None] * self.A if S.ndim == 1 else S @ self.A)
        self.C, self.jitter = jittered_cholesky((M + M.T) / 2, who=who)
        # (p,) where S is diagonal; not used for one copy.
        self.L = np.sqrt(S) if S.ndim == 1 else _root(S) if copies > 1 else S

    def astype(self, dtype: np.dtype) -> ConditionalGaussian:
        """The same distribution with arrays of another precision, for one call of ``sample``."""
        law = object.__new__(ConditionalGaussian)
        law.mean, law.S, law.A, law.C, law.L = (
            array.astype(dtype, copy=False) for array in (self.mean, self.S, self.A, self.C, self.L)
        )
        law.copies, law.jitter = self.copies, self.jitter
        return law

    def draw(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(copies, rows, p) copies of some rows. Random numbers are used row by row: drawing in blocks changes nothing."""
        n, p = X.shape
        noise = rng.standard_normal((n, 1 if self.copies == 1 else 1 + self.copies, p), dtype=self.A.dtype.type)
        # C^T, not C: with C the covariance of the noise would be C^T C, which is not M.
        common = noise[:, 0] @ self.C.T
        common += X
        common -= (X - self.mean) @ self.A
        if self.copies == 1:
            return np.asarray(common[np.newaxis])
        deviations = noise[:, 1:]
        deviations -= deviations.mean(axis=1, keepdims=True)
        drawn = np.empty((self.copies, n, p), common.dtype)
        for k in range(self.copies):
            own = deviations[:, k]
            np.add(common, own * self.L if self.L.ndim == 1 else own @ self.L.T, out=drawn[k])
        return drawn


class KnockoffLaws:
    """The distributions of the knockoffs for all numbers of copies; each is solved and factorised once, when first asked for.

    ``s`` is a sampler's parameter: the name of a solver, or the values. Unknown names, and values that are infeasible even for
    one copy, are refused at once.
    """

    def __init__(self, mean: np.ndarray, Sigma: np.ndarray, s: str | np.ndarray, units: Units, *, who: str) -> None:
        self._mean, self._Sigma, self._s, self._who = mean, Sigma, s, who
        self._groups = None if units.all_single else units
        self._made: dict[int, ConditionalGaussian] = {}
        self._check()

    def _check(self) -> None:
        if isinstance(self._s, str):
            pair = None if self._groups is None else Units(np.zeros(2, dtype=np.intp))
            choose_s(self._s, np.eye(2), who=self._who, groups=pair)
        else:
            choose_s(self._s, self._Sigma, who=self._who, groups=self._groups)

    def for_copies(self, copies: int) -> ConditionalGaussian:
        """The distribution of this number of copies given X."""
        if copies not in self._made:
            S = choose_s(self._s, self._Sigma, who=self._who, copies=copies, groups=self._groups)
            self._made[copies] = ConditionalGaussian(self._mean, self._Sigma, S, copies=copies, who=self._who)
        return self._made[copies]

    @property
    def jitter(self) -> float:
        """The largest jitter of any number of copies asked for so far."""
        return max((law.jitter for law in self._made.values()), default=0.0)


class JointCopiesSampler(KnockoffSampler):
    """Base of samplers whose copies are Gaussian given X, on a scale of their own; ``fit`` sets ``_laws``."""

    draws_copies: ClassVar[bool] = True
    draws_groups: ClassVar[bool] = True

    _laws: KnockoffLaws | WideLaws

    def s_for(self, copies: int = 1) -> np.ndarray:
        """S for this number of copies: its diagonal (p,) for single columns, with groups the block-diagonal matrix (p, p).

        The first call for a number of copies solves and factorises; a sampler that is pickled afterwards keeps the result.
        """
        self.check_can_draw(copies=copies)
        return self._laws.for_copies(copies).S

    def _completed_by(self, filled: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
        """A copy of X with its incomplete rows replaced, in blocks, by what ``filled`` makes of them."""
        who = type(self).__name__
        completed = as_matrix(X, who, missing=True).copy()
        if completed.shape[1] != self.n_features_in_:
            raise Grip2Error(
                f"{who}: fitted on {self.n_features_in_} columns, got an array of shape {completed.shape}."
            )
        incomplete = np.flatnonzero(np.isnan(completed).any(axis=1))
        for block in row_blocks(completed[incomplete]):
            completed[incomplete[block]] = filled(completed[incomplete[block]])
        return completed

    @property
    def jitter_(self) -> float:
        """The largest jitter of any number of copies asked for so far."""
        return self._laws.jitter


def _root(S: np.ndarray) -> np.ndarray:
    """L with ``L L^T = S`` for a positive semidefinite S, singular or not."""
    root = np.sqrt(np.diag(S))
    scale = np.where(root > 0, root, 1.0)
    values, vectors = eigh(S / scale[:, None] / scale)
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))  # clips rounding error only


def jittered_cholesky(M: np.ndarray, *, who: str) -> tuple[np.ndarray, float]:
    """Lower triangular C with ``C C^T = M + jitter * diag(M)``, and the jitter.

    The jitter is 0 if M can be factorised; otherwise it grows tenfold until M can. It is relative to the diagonal because
    conditional variances may differ by many orders of magnitude, and an absolute jitter would swamp the small ones. Warns
    when the jitter is not 0.
    """
    diagonal = np.diag(M)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = M / root[:, None] / root
    free = np.flatnonzero(diagonal > 0)  # where s_j = 0 the knockoff equals its original: no noise
    C = np.zeros_like(M)
    jitter = 0.0
    while jitter <= _LAST_JITTER:
        factor = cholesky_factor(scaled[np.ix_(free, free)] + jitter * np.eye(len(free))) if len(free) else M[:0, :0]
        if factor is not None:
            C[np.ix_(free, free)] = factor * root[free, None]
            break
        jitter = _FIRST_JITTER if jitter == 0.0 else 10 * jitter
    else:
        raise Grip2Error(
            f"{who}: the conditional covariance of the knockoffs must be positive semidefinite, and is not even after "
            f"a jitter of {_LAST_JITTER:g}. Use a smaller s, or more shrinkage of Sigma."
        )
    if jitter:
        warn_user(
            f"{who}: a jitter of {jitter:.0e} times each conditional variance was needed to factorise the conditional "
            "covariance of the knockoffs. Their variances are too large by at most that fraction, and the effect on the "
            "false discovery rate is of that size.",
            NumericalRepairWarning,
        )
    return C, jitter
