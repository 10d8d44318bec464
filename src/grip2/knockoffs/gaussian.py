"""Gaussian knockoffs (appendix B.1): exact if X is normal with the given mean and covariance."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from grip2._random import generator_from, stream
from grip2.errors import Grip2Error
from grip2.knockoffs.base import Categories, as_matrix, row_blocks, units_of_columns
from grip2.knockoffs.conditional import JointCopiesSampler, KnockoffLaws
from grip2.knockoffs.covariance import (
    CovarianceEstimate,
    ScatterSums,
    check_not_constant,
    check_observed,
    check_shrinkage,
    mean_and_scale,
    shrink_by,
    shrinkage_sentence,
    shrunk_covariance,
    stabilised,
)
from grip2.knockoffs.latent import HiddenScores, latent_moments
from grip2.knockoffs.missing import MissingScores
from grip2.knockoffs.s_matrix._groups import Groups

# Sweeps of the Gibbs sampler of missing values, each of which draws up to 64 values of a row together (``missing.py``).
_SWEEPS = 10


class GaussianKnockoffs(JointCopiesSampler):
    """Second-order Gaussian knockoffs; exact for normal X with known mean and covariance, approximate otherwise.

    Parameters
    ----------
    mean, covariance : array or None
        Mean and covariance of the rows of X. None: estimated in ``fit`` (sample mean; covariance shrunk by ``shrinkage``).
    s : {"mvr", "maxent", "sdp", "equi"} or array
        The solver that chooses S, or its values in the units of the covariance: the diagonal, or with groups the
        block-diagonal matrix.
    shrinkage : {"least", "numerical", "ledoit_wolf"}
        How an estimated covariance is shrunk toward zero correlation, on the correlation scale.

        - "least": just enough to keep the smallest eigenvalue of the correlation matrix at 0.01, usually not at all; with
          fewer than 2p rows Ledoit-Wolf is used instead.
        - "numerical": only as much as computations need, to 1e-6, for columns that nearly determine each other.
        - "ledoit_wolf": Ledoit-Wolf for any number of rows. It loses control of the false discovery rate where null
          features are correlated with strong features whose effects share a sign.

    Attributes
    ----------
    mean_, covariance_ : what the knockoffs were built with, numerical repairs included.
    s_ : S of one copy, its diagonal or with groups the whole matrix; ``s_for(copies)`` gives it for several copies.
    units_ : the units of columns.
    shrinkage_ : weight on the shrinkage target in ``covariance_``; None if the covariance was given.
    ridge_, jitter_ : relative size of the numerical repairs, 0.0 when none was needed. The factorisation, and with it any
        jitter, happens when a number of copies is first asked for, by ``sample`` or ``s_for``.

    Notes
    -----
    Missing values (NaN) are drawn by ``complete`` given the observed values of their rows. With missing values, the mean and
    the variances are those of the observed values of each column, and the correlations are estimated by stochastic EM.
    """

    completes: ClassVar[bool] = True

    _laws: KnockoffLaws

    def __init__(
        self,
        mean: np.ndarray | None = None,
        covariance: np.ndarray | None = None,
        s: str | np.ndarray = "mvr",
        shrinkage: str = "least",
    ) -> None:
        self.mean = mean
        self.covariance = covariance
        self.s = s
        self.shrinkage = shrinkage

    def fit(self, X: np.ndarray, y: None = None, *, groups: Groups = None, categories: Categories = ()) -> Self:
        """Estimate what was not given. ``groups`` holds a label for every column; None: every column is a unit."""
        who = type(self).__name__
        check_shrinkage(self.shrinkage, who)
        matrix = as_matrix(X, who, missing=True)
        check_observed(X, matrix, who)
        p = matrix.shape[1]
        units = units_of_columns(groups, p, who)
        if self.covariance is None:
            holes = np.isnan(matrix).any()
            estimate = (
                self._estimate(X, matrix, who) if holes else shrunk_covariance(X, shrinkage=self.shrinkage, who=who)
            )
            mean, Sigma = estimate.mean, estimate.covariance
            self.shrinkage_: float | None = estimate.shrinkage
        else:
            mean, Sigma = None, _numbers(self.covariance, "covariance", who)
            self.shrinkage_ = None
            if Sigma.shape != (p, p):
                raise Grip2Error(f"{who}: covariance must be {p} x {p} for {p} columns, got shape {Sigma.shape}.")
        if self.mean is not None:
            mean = _numbers(self.mean, "mean", who)
            if mean.shape != (p,):
                raise Grip2Error(f"{who}: mean must hold {p} values, got shape {mean.shape}.")
            if not np.isfinite(mean).all():
                raise Grip2Error(f"{who}: mean must hold finite numbers only, got NaN or infinity.")
        self.mean_ = mean_and_scale(matrix)[0] if mean is None else mean
        try:
            self.covariance_, self.ridge_ = stabilised(Sigma, who=who)
        except ValueError as error:
            raise Grip2Error(f"{who}: covariance: {str(error).removeprefix('Sigma: ')}") from None
        self._laws = KnockoffLaws(self.mean_, self.covariance_, self.s, units, who=who)
        self._remember_columns(X, p, units)
        return self

    @property
    def refines(self) -> bool:
        return self.covariance is None

    def scores(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """Standardised rows."""
        return np.asarray((X - self.mean_) / np.sqrt(np.diag(self.covariance_)))

    def refine(self, sums: ScatterSums) -> None:
        moments, root = sums.scatter(), np.sqrt(np.diag(self.covariance_))
        correlation, self.shrinkage_ = shrink_by(self.shrinkage, moments)
        if self.mean is None:
            self.mean_ = self.mean_ + root * moments.mean
        self.covariance_, self.ridge_ = stabilised(correlation * np.outer(root, root), who=type(self).__name__)
        self._laws = KnockoffLaws(self.mean_, self.covariance_, self.s, self.units_, who=type(self).__name__)

    def _estimate(self, X: object, matrix: np.ndarray, who: str) -> CovarianceEstimate:
        """The mean and covariance of a table with missing values."""
        mean, scale = mean_and_scale(matrix)
        check_not_constant(X, mean, scale, who)
        rng = stream(generator_from(0), "gaussian covariance")  # fit takes no generator
        missing = np.isnan(matrix)
        Z = np.where(missing, rng.standard_normal(matrix.shape), (matrix - mean) / scale)
        moments = latent_moments(Z, HiddenScores(MissingScores.of(missing)), rng)
        correlation, weight = shrink_by(self.shrinkage, moments)
        return CovarianceEstimate(mean, correlation * np.outer(scale, scale), weight)

    def _complete(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        root = np.sqrt(np.diag(self.covariance_))
        precision = np.linalg.inv(self.covariance_ / root[:, None] / root)

        def filled(rows: np.ndarray) -> np.ndarray:
            missing = np.isnan(rows)
            Z = np.where(missing, 0.0, (rows - self.mean_) / root)
            HiddenScores(MissingScores.of(missing)).draw(Z, precision, _SWEEPS, rng)
            return np.where(missing, self.mean_ + root * Z, rows)

        return self._completed_by(filled, X)

    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        law = self._laws.for_copies(copies).astype(X.dtype)
        out = np.empty((copies, *X.shape), X.dtype)
        for block in row_blocks(X, copies):
            out[:, block] = law.draw(X[block], rng)
        return out

    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""
        known = []
        if self.mean is not None:
            known.append("mean")
        if self.covariance is not None:
            known.append("covariance")
        texts = ["The rows of X are independent draws from one multivariate normal distribution."]
        if known:
            texts.append(f"Its {' and '.join(known)} {'are' if len(known) == 2 else 'is'} exactly the one given.")
        if self.shrinkage_ is not None:
            texts.append(f"Its covariance was {shrinkage_sentence(self.shrinkage_)}")
        if self.mean is None:
            texts.append("Its mean was estimated from the same rows.")
        return texts + self._about_units() + repairs(self.ridge_, self.jitter_)


def repairs(ridge: float, jitter: float) -> list[str]:
    """One sentence for each numerical repair that was made."""
    texts = []
    if ridge:
        texts.append(f"The covariance was singular: a ridge of {ridge:.2g} times each variance was added.")
    if jitter:
        texts.append(f"A jitter of {jitter:.0e} times each conditional variance was added before factorising.")
    return texts


def _numbers(given: object, name: str, who: str) -> np.ndarray:
    """A parameter as an array of numbers."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise Grip2Error(
            f"{who}: {name} must be an array of numbers, got {given!r}. Leave it out to estimate it."
        ) from None
