"""Gaussian copula knockoffs (appendix B.2): any marginal distributions, Gaussian dependence.

Approximate, because marginal distributions and dependence are both estimated from X.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from grip2._random import generator_from, stream
from grip2.blas_threads import one_blas_thread
from grip2.errors import Grip2Error
from grip2.knockoffs.base import Categories, as_matrix, row_blocks, units_of_columns
from grip2.knockoffs.category import CategoryScores, category_models
from grip2.knockoffs.column_moments import ColumnFit, column_correlations, match_columns
from grip2.knockoffs.conditional import JointCopiesSampler, KnockoffLaws
from grip2.knockoffs.covariance import (
    FLOOR,
    Scatter,
    ScatterSums,
    check_not_constant,
    check_observed,
    check_shrinkage,
    mean_and_scale,
    scatter,
    shrink_by,
    shrinkage_sentence,
    stabilised,
    with_block,
)
from grip2.knockoffs.gaussian import repairs
from grip2.knockoffs.latent import latent_moments, with_fixed_blocks
from grip2.knockoffs.s_matrix._groups import Groups
from grip2.knockoffs.score_map import ScoreMap
from grip2.knockoffs.wide import WIDE, WideCorrelation, WideLaws, is_wide

# Correlations of latent normal scores are estimated from at most this many rows: the standard error is about 1 / sqrt(10,000).
_LATENT_ROWS = 10_000
# Burn-in sweeps of the Gibbs sampler for each draw; it starts from randomised ranks.
_SWEEPS = 10
# Burn-in sweeps if correlations were matched to those of the columns: such correlation matrices are often nearly singular.
_SWEEPS_MATCHED = 30
# Rounds in which the missing values of a wide table are drawn and its correlations estimated anew.
_WIDE_ROUNDS = 3


class CopulaKnockoffs(JointCopiesSampler):
    """Second-order knockoffs of the normal scores, mapped back to the observed marginal distributions.

    Parameters
    ----------
    s : {"mvr", "maxent", "sdp", "equi"} or array
        The solver that chooses S, or its values on the scale of the normal scores: the diagonal, or with groups the
        block-diagonal matrix.
    extra_shrinkage : float
        Added to Ledoit-Wolf's weight on ``mu I`` (appendix B.2; the paper calls it small and gives no value). Has no
        effect where ``shrinkage`` does not use Ledoit-Wolf. 0.01 keeps the smallest eigenvalue of a collinear table
        near 0.01, at the cost of correlations that are 1 % too small.
    discrete : {"latent", "ranks", "interpolate"}
        How discrete columns are treated. A column is discrete if its values occur four times or more on average, or if
        all values are whole numbers and at least one repeats. With "latent" and "ranks", knockoffs of a discrete column
        take observed values only.

        - "latent": each value stands for an interval (cell) of normal scores. The score of a row is drawn from its cell
          given all other columns, and the correlations are those of the scores (stochastic EM). Exact for a Gaussian
          copula up to estimation error. Where the columns themselves would miss their observed correlations by more than
          the standard error, the correlations of the scores are changed until they do not (``column_moments.py``), because
          statistics see the columns. Spiked columns, which are continuous except for one value shared by 1 % of the
          rows or more, are treated in the same way.
        - "ranks": the score is drawn uniformly from its cell, ignoring the other columns, as in the paper (randomised
          ranks). Faster, but the dependence between discrete or spiked columns comes out too weak.
        - "interpolate": the paper's randomised ranks and linear interpolation for every column, which produces values
          between the observed ones.
    clip : float
        Ranks are clipped to [clip, 1 - clip] before the probit transform (appendix B.2).
    shrinkage : {"least", "numerical", "ledoit_wolf"}
        How the correlations of the scores are shrunk.

        - "least": just enough to keep their smallest eigenvalue at 0.01, usually not at all; with fewer than 2p rows the
          paper's rule is used instead.
        - "numerical": only as much as computations need, to a smallest eigenvalue of 1e-6; with fewer than 2p rows Ledoit-Wolf
          without ``extra_shrinkage``. For columns that nearly determine each other, such as spectra: the knockoffs of "least"
          are too independent there, which strong effects reveal.
        - "ledoit_wolf": the paper's rule (Ledoit-Wolf plus ``extra_shrinkage``) for any number of rows. It loses control
          of the false discovery rate where null features are correlated with strong features whose effects share a sign.

    Attributes
    ----------
    covariance_ : covariance of the normal scores.
    s_ : S of one copy on the same scale, its diagonal or with groups the whole matrix; ``s_for(copies)`` gives it for
        several copies.
    units_ : the units of columns.
    shrinkage_ : total weight on zero correlation in ``covariance_``.
    discrete_columns_ : (p,) bool, the columns whose knockoffs take observed values only.
    spiked_columns_ : (p,) bool, the continuous columns with a value that 1 % of the rows or more share.
    column_fit_ : how well the correlations of discrete and spiked columns themselves are met, before and after they were
        matched; None if there are fewer than two such columns or too few rows.
    ridge_, jitter_ : relative size of the numerical repairs, 0.0 when none was needed. The factorisation, and with it any
        jitter, happens when a number of copies is first asked for, by ``sample`` or ``s_for``.

    Notes
    -----
    Why the members (X and its copies) are jointly exchangeable, unit by unit, if the model holds: then ``X = F(Z)`` with
    normal scores Z of covariance Sigma and one increasing function for each column. The scores drawn from their
    distribution given X (determined by X in continuous columns, drawn from their cells by the Gibbs sampler in the others)
    are again normal with covariance Sigma. Copies of the scores are jointly exchangeable with them (``conditional.py``),
    and every member, X included, is the same function F of its scores, applied column by column: a permutation of members
    of a unit passes through it. The same holds for a category, whose indicator columns are a function of its scores (which
    utility is the largest): its columns lie in one unit, so all of them are permuted together. For this all copies must
    start from the same draw of the scores. With a draw of its own each copy would still be a valid knockoff, but the copies
    would not be jointly exchangeable with X.

    Categories follow a multinomial probit model (``category.py``), whatever ``discrete`` is: a category of K levels has
    K - 1 scores, and their covariance given all other columns is fixed.

    Missing values are drawn by ``complete`` given all observed values of their rows. If the model holds and values are
    missing completely at random, the completed rows have the distribution of X, and their knockoffs are exchangeable with
    them. If chance depends on other, observed columns, correlations are still estimated correctly, but the marginal
    distributions, which come from the observed values of each column alone, are not.
    """

    draws_categories: ClassVar[bool] = True
    completes: ClassVar[bool] = True

    # State after construction; ``fit`` changes it.
    _map: ScoreMap
    _sampled_moments: Scatter | None = None
    _covariance: np.ndarray | None = None  # None for a wide table
    _precision: np.ndarray | None = None
    _wide: bool = False
    column_fit_: ColumnFit | None = None
    shrinkage_: float

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

    def fit(self, X: np.ndarray, y: None = None, *, groups: Groups = None, categories: Categories = ()) -> Self:
        """Estimate the marginal distributions and the covariance of the normal scores.

        ``groups`` holds a label for every column: columns with the same label form a unit. None: every column is a unit.
        ``categories`` holds, for every category, the numbers of its 0/1 columns, which lie in one unit. Missing values are
        NaN, those of a category in all its columns.
        """
        who = type(self).__name__
        self._check_parameters(who)
        matrix = as_matrix(X, who, missing=True)
        if len(matrix) < 2:
            raise Grip2Error(f"{who}: at least two rows are needed, got {len(matrix)}.")
        check_observed(X, matrix, who)
        check_not_constant(X, *mean_and_scale(matrix), who)
        p = matrix.shape[1]
        units = units_of_columns(groups, p, who)
        of_categories = tuple(category_models(matrix, categories, units, X, who))
        self._wide = is_wide(*matrix.shape) and not of_categories
        self._map = ScoreMap.learn(
            matrix,
            of_categories,
            clip=self.clip,
            draws_in_cells=self.discrete == "latent" and not self._wide,
            observed_values=self.discrete != "interpolate",
        )
        self._remember_columns(X, p, units)
        self._sampled_moments = None
        self._estimate_laws(matrix)
        return self

    def reshrunk(self, X: np.ndarray, *, shrinkage: str = "least", extra_shrinkage: float = 0.01) -> CopulaKnockoffs:
        """A sampler with other shrinkage, fitted to the same table; what does not depend on shrinkage is not estimated again."""
        other = copy.copy(self)
        other.shrinkage, other.extra_shrinkage = shrinkage, extra_shrinkage
        other._check_parameters(type(self).__name__)
        other._estimate_laws(as_matrix(X, type(self).__name__, missing=True))
        return other

    def _estimate_laws(self, X: np.ndarray) -> None:
        """Everything that depends on shrinkage: the covariance of the scores, and the laws of their knockoffs."""
        who, p = type(self).__name__, X.shape[1]
        self._precision = None
        if self._wide:
            correlation = self._wide_correlation(X)
            self._covariance, self.ridge_, self.shrinkage_ = None, 0.0, correlation.shrinkage
            self._laws = WideLaws(correlation, self.s, who=who)
            return
        self._covariance, self.ridge_ = stabilised(self._estimate(X), who=who)
        if self._map.latent:
            self._precision = np.linalg.inv(self._covariance)
        self._laws = KnockoffLaws(np.zeros(p), self._covariance, self.s, self.units_, who=who)

    @property
    def covariance_(self) -> np.ndarray:  # type: ignore[override]
        """(p, p) covariance of the normal scores; for wide tables, of which only factors are kept, computed at every call."""
        if self._covariance is not None:
            return self._covariance
        assert isinstance(self._laws, WideLaws)
        return self._laws.correlation.dense()

    def own_correlation(self, copies: int = 1) -> np.ndarray:
        return 1.0 - self.s_for(copies) if self._wide else super().own_correlation(copies)

    def correlations_of(self, columns: np.ndarray) -> np.ndarray:
        if self._covariance is None:
            assert isinstance(self._laws, WideLaws)
            return self._laws.correlation.rows(columns)
        return super().correlations_of(columns)

    @property
    def refines(self) -> bool:
        """If all scores follow from the values. With drawn ones, correlations are those of at most 10,000 rows in any case."""
        return not self._wide and not self._map.latent

    @property
    def discrete_columns_(self) -> np.ndarray:
        return self._map.discrete

    @property
    def spiked_columns_(self) -> np.ndarray:
        return self._map.spiked

    def scores(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """Normal scores of complete rows."""
        return self._map.scores(X, rng)

    def refine(self, sums: ScatterSums) -> None:
        Sigma, self.shrinkage_ = shrink_by(self.shrinkage, sums.scatter(), self.extra_shrinkage)
        self._covariance, self.ridge_ = stabilised(Sigma, who=type(self).__name__)
        self._laws = KnockoffLaws(np.zeros(len(Sigma)), self._covariance, self.s, self.units_, who=type(self).__name__)

    def _wide_correlation(self, X: np.ndarray) -> WideCorrelation:
        """Correlations of the normal scores of a wide table; missing values are drawn under the last estimate, a few times."""
        rng = stream(generator_from(0), "copula covariance")
        Z, missing = self._map.scores(X, rng), np.isnan(X)
        found = WideCorrelation.of(Z, self.extra_shrinkage)
        for _ in range(_WIDE_ROUNDS if missing.any() else 0):
            found = WideCorrelation.of(found.completed(np.where(missing, np.nan, Z), rng), self.extra_shrinkage)
        return found

    def _check_parameters(self, who: str) -> None:
        check_shrinkage(self.shrinkage, who)
        if self.discrete not in ("latent", "ranks", "interpolate"):
            raise Grip2Error(f"{who}: discrete must be 'latent', 'ranks' or 'interpolate', got {self.discrete!r}.")
        if not 0 <= self.extra_shrinkage <= 1:
            raise Grip2Error(f"{who}: extra_shrinkage must be in [0, 1], got {self.extra_shrinkage}.")
        if not 0 < self.clip < 0.5:
            raise Grip2Error(f"{who}: clip must be in (0, 0.5), got {self.clip}.")

    def _moments(self, X: np.ndarray) -> Scatter:
        """Mean and covariance of the normal scores of X; kept for `reshrunk` if they take long to compute."""
        if self._sampled_moments is not None:
            return self._sampled_moments
        # Ties need random ranks, but fit takes no generator: a fixed stream, the same in every fit.
        rng = stream(generator_from(0), "copula covariance")
        if not self._map.latent and not np.isnan(X).any():
            return scatter(self._map.scores(X[block], rng) for block in row_blocks(X))
        if len(X) > _LATENT_ROWS:
            X = X[np.sort(rng.choice(len(X), _LATENT_ROWS, replace=False))]
        # For many products of small matrices, threads of the linear algebra library would mostly wait for each other.
        with one_blas_thread():
            self._sampled_moments = latent_moments(self._map.scores(X, rng), self._map.hidden(X), rng)
        return self._sampled_moments

    def _estimate(self, X: np.ndarray) -> np.ndarray:
        """The covariance of the normal scores; sets ``shrinkage_``, ``column_fit_`` and the means of utilities."""
        moments = self._moments(X)
        categories = self._map.categories
        root = np.sqrt(np.diag(moments.covariance)) if categories else np.ones(X.shape[1])
        unit = replace(moments, covariance=moments.covariance / root[:, None] / root)
        Sigma, self.shrinkage_ = shrink_by(self.shrinkage, unit, self.extra_shrinkage)
        Sigma = np.asarray(Sigma * root[:, None] * root)
        self.column_fit_ = None
        if self.shrinkage != "ledoit_wolf" and len(X) >= 2 * X.shape[1] and self._map.in_cells.sum() > 1:
            Sigma = self._matched(Sigma, X)
        if not categories:
            return Sigma
        no_rows = np.empty(0, dtype=int)
        fixed = with_fixed_blocks(Sigma, [CategoryScores(category, no_rows) for category in categories])
        self._map = self._map.with_categories(
            lambda category: category.among(fixed[np.ix_(category.columns, category.columns)])
        )
        return fixed

    def _matched(self, Sigma: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Sigma, changed if otherwise the columns themselves would miss their observed correlations; sets ``column_fit_``."""
        rng = stream(generator_from(0), "correlations of columns")
        if len(X) > _LATENT_ROWS:
            X = X[np.sort(rng.choice(len(X), _LATENT_ROWS, replace=False))]
        singles = np.flatnonzero(~self._map.of_categories)
        marginals = [self._map.marginals[j] for j in singles]
        scores = self._map.scores(X, rng)[:, singles]
        columns = column_correlations(X[:, singles], scores, marginals, self._map.in_cells[singles])
        block, self.column_fit_ = match_columns(Sigma[np.ix_(singles, singles)], columns, len(X), FLOOR)
        return with_block(Sigma, singles, block) if self.column_fit_.matched else Sigma

    def _sweeps(self) -> int:
        """Sweeps of the Gibbs sampler for each draw."""
        return _SWEEPS if self.column_fit_ is None or not self.column_fit_.matched else _SWEEPS_MATCHED

    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        law = self._laws.for_copies(copies)
        out = np.empty((copies, *X.shape), X.dtype)
        ranks, noise, hidden = rng.spawn(3)
        for block in row_blocks(X, copies):
            Z = self._map.scores(X[block], ranks)
            if self._precision is not None:
                self._map.hidden(X[block]).draw(Z, self._precision, self._sweeps(), hidden)
            for k, scores in enumerate(law.draw(Z, noise)):
                out[k, block] = self._map.values(scores)
        return out

    def _complete(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        precision = self._precision
        if precision is None and not self._wide:
            precision = np.linalg.inv(self.covariance_)

        def filled(rows: np.ndarray) -> np.ndarray:
            Z = self._map.scores(rows, rng)
            if precision is None:
                assert isinstance(self._laws, WideLaws)
                Z = self._laws.correlation.completed(np.where(np.isnan(rows), np.nan, Z), rng)
            else:
                self._map.hidden(rows).draw(Z, precision, self._sweeps(), rng)
            return np.where(np.isnan(rows), self._map.values(Z), rows)

        return self._completed_by(filled, X)

    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""
        texts = [
            "The rows of X are independent draws from one distribution.",
            "After a monotone transformation of each column, the rows are multivariate normal (Gaussian copula): "
            "knockoffs are exact if this holds and the marginal distributions and correlations are known.",
            "The marginal distributions were estimated from the same rows (empirical quantiles), so control is approximate.",
            f"The correlations were {shrinkage_sentence(self.shrinkage_)}",
        ]
        count = (
            f"{int(self.discrete_columns_.sum())} of {self.n_features_in_} columns are discrete and "
            f"{int(self.spiked_columns_.sum())} spiked (continuous, but many rows share one value)"
        )
        if self._map.latent:
            texts.append(
                f"{count}: their latent normal scores were drawn by a Gibbs sampler of {self._sweeps()} sweeps."
            )
        elif self._map.tied.any():
            texts.append(
                f"{count}: tied values get random ranks, so their dependence comes out too weak, however many rows there are."
            )
        if self._wide:
            texts.append(
                f"More than {WIDE:,} columns and fewer rows: correlations are those of the rows, shrunk, and all columns have "
                "one s; the covariance of so many columns cannot be estimated well, so treat what is found as candidates."
            )
        if self._map.categories:
            texts.append(
                f"Number of categories: {len(self._map.categories)}. Their levels follow a multinomial probit model given the "
                "other columns, with independent utilities."
            )
        if self.column_fit_ is not None and self.column_fit_.likeliest > self.column_fit_.standard_error:
            texts.append(self.column_fit_.sentence())
        return texts + self._about_units() + repairs(self.ridge_, self.jitter_)
