"""Gaussian copula knockoffs (appendix B.2): any margins, Gaussian dependence; both learned from X, so approximate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri

from grip2._random import generator_from, stream
from grip2.knockoffs.base import KnockoffSampler, as_matrix, row_blocks
from grip2.knockoffs.conditional import ConditionalGaussian
from grip2.knockoffs.covariance import check_not_constant, mean_and_scale, scatter, shrink, stabilised
from grip2.knockoffs.gaussian import repairs
from grip2.knockoffs.margins import learn_margin
from grip2.knockoffs.s_matrix import choose_s


class CopulaKnockoffs(KnockoffSampler):
    """Second-order knockoffs of normal scores, mapped back to the observed margins.

    Parameters
    ----------
    s : {"mvr", "maxent", "sdp", "equi"} or array
        How the diagonal of S is chosen, or its values, in the space of the normal scores.
    extra_shrinkage : float
        Added to Ledoit-Wolf's weight of ``mu I`` (appendix B.2; the paper calls it small and gives no value).
        0.01 keeps the smallest eigenvalue of a collinear table near 0.01, at the price of correlations that
        are 1 % too small.
    discrete : {"observed", "interpolate"}
        "observed": knockoffs of a discrete column take observed values only. A column counts as discrete when
        at least half of its rows share their value with another row, or when its values are whole numbers
        with a repeat. "interpolate": the paper's linear interpolation for every column, which invents values
        between the observed ones.
    clip : float
        Ranks are kept in [clip, 1 - clip] before the probit (appendix B.2).

    Attributes
    ----------
    covariance_, s_ : in the space of the normal scores.
    shrinkage_ : total weight of ``mu I`` in ``covariance_``.
    discrete_columns_ : (p,) bool, the columns whose knockoffs take observed values only.
    ridge_, jitter_ : relative size of the numerical repairs, 0.0 when none was needed.
    """

    def __init__(
        self,
        s: str | np.ndarray = "mvr",
        extra_shrinkage: float = 0.01,
        discrete: str = "observed",
        clip: float = 1e-6,
    ) -> None:
        self.s = s
        self.extra_shrinkage = extra_shrinkage
        self.discrete = discrete
        self.clip = clip

    def fit(self, X: np.ndarray, y: None = None) -> Self:
        """Learn margins and the covariance of the normal scores, choose s, factorise."""
        who = type(self).__name__
        self._check_parameters(who)
        matrix = as_matrix(X, who)
        if len(matrix) < 2:
            raise ValueError(f"{who}: at least two rows are needed, got {len(matrix)}.")
        check_not_constant(X, *mean_and_scale(matrix), who)
        p = matrix.shape[1]
        observed = self.discrete == "observed"
        self.margins_ = [learn_margin(matrix[:, j], discrete=observed) for j in range(p)]
        self.discrete_columns_ = np.array([margin.discrete for margin in self.margins_])
        # fit takes no generator, and ties need random ranks: a stream of the library's own, the same in every
        # fit.
        moments = scatter(self._scores(matrix, stream(generator_from(0), "copula covariance")))
        Sigma, self.shrinkage_ = shrink(moments, self.extra_shrinkage)
        self.covariance_, self.ridge_ = stabilised(Sigma, who=who)
        self.s_ = choose_s(self.s, self.covariance_, who=who)
        self._law = ConditionalGaussian(np.zeros(p), self.covariance_, self.s_, who=who)
        self.jitter_ = self._law.jitter
        self.n_features_in_ = p
        return self

    def _check_parameters(self, who: str) -> None:
        if self.discrete not in ("observed", "interpolate"):
            raise ValueError(f"{who}: discrete must be 'observed' or 'interpolate', got {self.discrete!r}.")
        if not 0 <= self.extra_shrinkage <= 1:
            raise ValueError(f"{who}: extra_shrinkage must be in [0, 1], got {self.extra_shrinkage}.")
        if not 0 < self.clip < 0.5:
            raise ValueError(f"{who}: clip must be in (0, 0.5), got {self.clip}.")

    def _scores(self, X: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Normal scores ``Z = probit(U)`` of the rows of X, block by block."""
        for rows in row_blocks(X):
            block = X[rows]
            U = np.empty(block.shape)
            for j, margin in enumerate(self.margins_):
                U[:, j] = margin.to_uniform(block[:, j], rng)
            yield ndtri(np.clip(U, self.clip, 1 - self.clip, out=U))

    def _sample(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        out = np.empty(X.shape, X.dtype)
        ranks, noise = rng.spawn(2)
        for rows, Z in zip(row_blocks(X), self._scores(X, ranks), strict=True):
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
            f"The correlations were estimated from the same rows and shrunk (weight {self.shrinkage_:.3g} on no "
            "correlation), so control is approximate.",
        ]
        if self.discrete_columns_.any():
            texts.append(
                f"{int(self.discrete_columns_.sum())} of {self.n_features_in_} columns are discrete: tied values get "
                "random ranks, so their dependence is matched approximately even with unlimited rows."
            )
        return texts + repairs(self.ridge_, self.jitter_)
