"""Gaussian copula knockoffs (appendix B.2): any margins, Gaussian dependence; both learned from X, so approximate."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri

from grip2._random import generator_from, stream
from grip2.errors import Grip2Error
from grip2.knockoffs.base import KnockoffSampler, as_matrix, row_blocks
from grip2.knockoffs.conditional import ConditionalGaussian
from grip2.knockoffs.covariance import (
    Scatter,
    check_not_constant,
    check_shrinkage,
    mean_and_scale,
    scatter,
    shrink_by,
    shrinkage_sentence,
    stabilised,
)
from grip2.knockoffs.gaussian import repairs
from grip2.knockoffs.latent import Cells, latent_moments
from grip2.knockoffs.margins import learn_margin
from grip2.knockoffs.s_matrix import choose_s

# Correlations of hidden scores are estimated from at most this many rows; the error stays near 1 / sqrt(10,000).
_LATENT_ROWS = 10_000
# Sweeps of the Gibbs sampler before a draw counts, from a start of random ranks.
_SWEEPS = 10


class CopulaKnockoffs(KnockoffSampler):
    """Second-order knockoffs of normal scores, mapped back to the observed margins.

    Parameters
    ----------
    s : {"mvr", "maxent", "sdp", "equi"} or array
        How the diagonal of S is chosen, or its values, in the space of the normal scores.
    extra_shrinkage : float
        Added to Ledoit-Wolf's weight of ``mu I`` (appendix B.2; the paper calls it small and gives no value); unused
        where ``shrinkage`` does without Ledoit-Wolf. 0.01 keeps the smallest eigenvalue of a collinear table near
        0.01, at the price of correlations that are 1 % too small.
    discrete : {"latent", "ranks", "interpolate"}
        What is done with discrete columns: those whose values occur four times or more on average, or are whole numbers
        with a repeat. "latent" and "ranks" keep knockoffs on observed values.
        "latent": the normal score of a row is drawn from the cell of its value given all other columns, and the
        correlations are those of the scores (stochastic EM). Exact for a Gaussian copula up to estimation. The same
        is done for spiked columns, which are continuous but for a value that 1 % of the rows or more share.
        "ranks": the score is drawn from the cell by itself, as in the paper (randomised ranks). Faster; too weak
        dependence between discrete or spiked columns.
        "interpolate": the paper's randomised ranks and linear interpolation for every column, which invents values.
    clip : float
        Ranks are kept in [clip, 1 - clip] before the probit (appendix B.2).
    shrinkage : {"least", "ledoit_wolf"}
        How the correlations of the scores are shrunk. "least": only as much as keeps their smallest eigenvalue at
        0.01, usually not at all; the paper's rule where there are fewer than 2p rows. "ledoit_wolf": the paper's rule
        (Ledoit-Wolf plus ``extra_shrinkage``) for any number of rows, which loses control of the false discovery
        rate where nulls sit next to strong features of one sign.

    Attributes
    ----------
    covariance_, s_ : in the space of the normal scores.
    shrinkage_ : total weight of no correlation in ``covariance_``.
    discrete_columns_ : (p,) bool, the columns whose knockoffs take observed values only.
    spiked_columns_ : (p,) bool, the other columns with a value that 1 % of the rows or more share.
    ridge_, jitter_ : relative size of the numerical repairs, 0.0 when none was needed.
    """

    def __init__(
        self,
        s: str | np.ndarray = "mvr",
        extra_shrinkage: float = 0.01,
        discrete: str = "latent",
        clip: float = 1e-6,
        shrinkage: str = "least",
    ) -> None:
        self.s = s
        self.extra_shrinkage = extra_shrinkage
        self.discrete = discrete
        self.clip = clip
        self.shrinkage = shrinkage

    def fit(self, X: np.ndarray, y: None = None) -> Self:
        """Learn margins and the covariance of the normal scores, choose s, factorise."""
        who = type(self).__name__
        self._check_parameters(who)
        matrix = as_matrix(X, who)
        if len(matrix) < 2:
            raise Grip2Error(f"{who}: at least two rows are needed, got {len(matrix)}.")
        check_not_constant(X, *mean_and_scale(matrix), who)
        p = matrix.shape[1]
        observed = self.discrete != "interpolate"
        self.margins_ = [learn_margin(matrix[:, j], discrete=observed) for j in range(p)]
        self.discrete_columns_ = np.array([margin.discrete for margin in self.margins_])
        self.spiked_columns_ = np.array([margin.spiked for margin in self.margins_])
        Sigma, self.shrinkage_ = shrink_by(self.shrinkage, self._moments(matrix), self.extra_shrinkage)
        self.covariance_, self.ridge_ = stabilised(Sigma, who=who)
        self.s_ = choose_s(self.s, self.covariance_, who=who)
        self._precision = np.linalg.inv(self.covariance_) if self._latent() else None
        self._law = ConditionalGaussian(np.zeros(p), self.covariance_, self.s_, who=who)
        self.jitter_ = self._law.jitter
        self._remember_columns(X, p)
        return self

    def _check_parameters(self, who: str) -> None:
        check_shrinkage(self.shrinkage, who)
        if self.discrete not in ("latent", "ranks", "interpolate"):
            raise Grip2Error(f"{who}: discrete must be 'latent', 'ranks' or 'interpolate', got {self.discrete!r}.")
        if not 0 <= self.extra_shrinkage <= 1:
            raise Grip2Error(f"{who}: extra_shrinkage must be in [0, 1], got {self.extra_shrinkage}.")
        if not 0 < self.clip < 0.5:
            raise Grip2Error(f"{who}: clip must be in (0, 0.5), got {self.clip}.")

    def _moments(self, X: np.ndarray) -> Scatter:
        """Moments of the normal scores of the rows of X."""
        # fit takes no generator, and ties need random ranks: a stream of the library's own, the same in every fit.
        rng = stream(generator_from(0), "copula covariance")
        if not self._latent():
            return scatter(self._ranked(X[rows], rng) for rows in row_blocks(X))
        if len(X) > _LATENT_ROWS:
            X = X[np.sort(rng.choice(len(X), _LATENT_ROWS, replace=False))]
        return latent_moments(self._ranked(X, rng), self._cells(X), rng)

    def _latent(self) -> bool:
        return self.discrete == "latent" and bool(self._hidden().any())

    def _hidden(self) -> np.ndarray:
        """Columns that show only the cell of a normal score, in some rows at least."""
        return self.discrete_columns_ | self.spiked_columns_

    def _ranked(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Normal scores ``Z = probit(U)`` of some rows, ties by random ranks."""
        U = np.empty(X.shape)
        for j, margin in enumerate(self.margins_):
            U[:, j] = margin.to_uniform(X[:, j], rng)
        return ndtri(np.clip(U, self.clip, 1 - self.clip, out=U))

    def _cells(self, X: np.ndarray) -> Cells:
        columns = np.flatnonzero(self._hidden())
        low, high = np.empty((len(X), len(columns))), np.empty((len(X), len(columns)))
        for place, j in enumerate(columns):
            low[:, place], high[:, place] = self.margins_[j].cell(X[:, j])
        # The outermost cells have no outer end. Values beyond all seen ones own [1, 1] or [0, 0]: they get the clipped tail.
        return Cells(columns, ndtri(np.minimum(low, 1 - self.clip)), ndtri(np.maximum(high, self.clip)))

    def _sample(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        out = np.empty(X.shape, X.dtype)
        ranks, noise, hidden = rng.spawn(3)
        for rows in row_blocks(X):
            Z = self._ranked(X[rows], ranks)
            if self._precision is not None:
                self._cells(X[rows]).draw(Z, self._precision, _SWEEPS, hidden)
            U = ndtr(self._law.draw(Z, noise))
            for j, margin in enumerate(self.margins_):
                out[rows, j] = margin.from_uniform(U[:, j])
        return out

    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""
        texts = [
            "The rows of X are independent draws from one distribution.",
            "After a monotone transformation of each column, the rows are multivariate normal (Gaussian copula): "
            "knockoffs are exact if this holds and margins and correlations are known.",
            "The margins were estimated from the same rows (empirical quantiles), so control is approximate.",
            f"The correlations were {shrinkage_sentence(self.shrinkage_)}",
        ]
        count = (
            f"{int(self.discrete_columns_.sum())} of {self.n_features_in_} columns are discrete and "
            f"{int(self.spiked_columns_.sum())} spiked (many rows share one value)"
        )
        if self._latent():
            texts.append(f"{count}: their hidden normal scores were drawn by a Gibbs sampler of {_SWEEPS} sweeps.")
        elif self._hidden().any():
            texts.append(
                f"{count}: tied values get random ranks, so their dependence is too weak even with unlimited rows."
            )
        return texts + repairs(self.ridge_, self.jitter_)
