"""`AutomaticKnockoffs`: the sampler that does the least harm on a table, chosen from X alone.

Copula knockoffs come first. If no simulated false discovery rate (`grip2.knockoffs.harm`) exceeds its target by more than a
standard error, they are chosen, and nothing else is fitted. Otherwise other samplers are fitted and judged in the same way:
sequential knockoffs, and copula knockoffs with more shrinkage (few rows) or less (columns that nearly determine each other). The
choice is stricter than the verdict, because other statistics can fit more than the lasso of the simulation: on the tables on
which both were compared they exceeded its rates by about 0.03. The random numbers of the judgement are the same in every fit,
so that a table always gets the same choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self, TypeVar

import numpy as np

from grip2._random import generator_from, stream
from grip2.blas_threads import one_blas_thread
from grip2.copies import AUTOMATIC, choose_copies
from grip2.errors import Grip2Error
from grip2.knockoffs.base import Categories, Groups, KnockoffSampler, Verdict, as_matrix
from grip2.knockoffs.copula import CopulaKnockoffs
from grip2.knockoffs.covariance import ScatterSums
from grip2.knockoffs.exchangeability import Pairs, swap_accuracy
from grip2.knockoffs.harm import FEWEST_ROWS, FEWEST_UNITS, LEVELS, Harm, predict_harm
from grip2.knockoffs.registry import SAMPLERS
from grip2.knockoffs.verdict import rates_in_words, verdict_of_harm
from grip2.progress import Progress, begin, split_progress
from grip2.units import Units

# Rows that knockoffs are judged on, at most.
_ROWS = 10_000
# Tables with more columns than the first number are not judged; those with more than the second get no other samplers.
_WIDEST, _WIDEST_COMPARED = 2_000, 500
# Simulated responses of a quick judgement, and of a thorough one, without which no sampler is rejected.
_QUICK, _THOROUGH = 120, 320
_FDR_OF_COPIES = 0.1  # as many copies are judged as the selector draws at this rate
_SAME_ACCURACY = 0.05  # accuracies of classifiers are compared in steps of this size
# Shares of the time of a choice, for the progress bar: the fit of copula knockoffs, their quick judgement, and everything after
# it, if they do harm.
_WORK = (500, 2_500, 7_000)

_Sampler = TypeVar("_Sampler", bound=KnockoffSampler)


@dataclass(frozen=True)
class Candidate:
    """A fitted sampler and how it was judged."""

    label: str
    sampler: KnockoffSampler
    harm: Harm
    # Held-out accuracy of a classifier that distinguishes rows from swapped rows; None: not computed.
    accuracy: float | None = None

    def rates(self) -> str:
        """The simulated rates, in words."""
        return rates_in_words([self.harm.worst(level) for level in LEVELS])


class AutomaticKnockoffs(KnockoffSampler):
    """Copula knockoffs where they do no harm, otherwise the sampler that does the least.

    Parameters
    ----------
    s : {"mvr", "maxent", "sdp", "equi"} or array
        As in ``CopulaKnockoffs``; sequential knockoffs, which choose no S, ignore it.

    Attributes
    ----------
    chosen_ : the fitted sampler that draws.
    reason_ : one sentence on what was chosen and why.
    candidates_ : the samplers that were judged, with simulated false discovery rates.
    harm_ : the simulated rates of the chosen sampler; None if it was not judged.
    judged_on_ : the rows on which responses were simulated, in words.
    covariance_, s_, units_ : those of ``chosen_``.
    """

    draws_copies: ClassVar[bool] = True
    draws_groups: ClassVar[bool] = True
    draws_categories: ClassVar[bool] = True
    completes: ClassVar[bool] = True
    reports_progress: ClassVar[bool] = True
    judges: ClassVar[bool] = True

    chosen_: KnockoffSampler
    reason_: str
    candidates_: tuple[Candidate, ...]
    judged_on_: str

    def __init__(self, s: str | np.ndarray = "mvr") -> None:
        self.s = s

    def fit(
        self,
        X: np.ndarray,
        y: None = None,
        *,
        groups: Groups = None,
        categories: Categories = (),
        one_of_each: np.ndarray | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit candidates until one does no harm; see ``KnockoffSampler.fit``.

        ``one_of_each``: the numbers of rows to judge them on, one of each cluster, where rows belong together. All are fitted
        to all rows.
        """
        copula = self._fit_candidate(CopulaKnockoffs(s=self.s), X, groups, categories)
        matrix = as_matrix(X, type(self).__name__, missing=True)
        judged = matrix if one_of_each is None else matrix[one_of_each]
        self.judged_on_ = "on this table" if one_of_each is None else f"on one row of each of {len(judged):,} clusters"
        self._unjudged = _cannot_be_judged(judged, copula.units_, clustered=one_of_each is not None)
        self.chosen_, self.reason_, self.candidates_ = self._choose(
            copula, matrix, judged, groups, categories, progress
        )
        self._remember_columns(X, matrix.shape[1], self.chosen_.units_)
        return self

    @property
    def covariance_(self) -> np.ndarray:  # type: ignore[override]
        return self.chosen_.covariance_

    @property
    def harm_(self) -> Harm | None:
        return next((each.harm for each in self.candidates_ if each.sampler is self.chosen_), None)

    def _fit_candidate(self, sampler: _Sampler, X: np.ndarray, groups: Groups, categories: Categories) -> _Sampler:
        try:
            return sampler.fit(X, groups=groups, categories=categories)
        except Grip2Error as error:
            raise Grip2Error(str(error).replace(type(sampler).__name__, type(self).__name__, 1)) from None

    def _choose(
        self,
        copula: CopulaKnockoffs,
        X: np.ndarray,
        judged: np.ndarray,
        groups: Groups,
        categories: Categories,
        progress: Progress | None,
    ) -> tuple[KnockoffSampler, str, tuple[Candidate, ...]]:
        units = copula.units_
        if self._unjudged:
            return copula, f"Copula knockoffs, not compared with others: {self._unjudged}.", ()
        begin(progress, "judging the knockoffs")
        _, for_quick, for_others = split_progress(progress, *_WORK)
        judge = Judge.of(judged, units)
        drawn = judge.draw(copula, 0)
        harm = judge.quick(drawn, for_quick)
        compared = X.shape[1] <= _WIDEST_COMPARED
        wanted = self._wanted(X, copula, groups, categories) if compared else []
        parts = split_progress(for_others, *[1_000] * (1 + len(wanted)))
        first = Candidate("copula", copula, harm)
        if harm.exceeds_target():
            first = judge.thorough("copula", copula, drawn, progress=parts[0])
        about = f"Copula knockoffs: simulated false discovery rates are {first.rates()}"
        if not first.harm.exceeds_target():
            return copula, f"{about}.", (first,)
        if not compared:
            left_out = f"no others were fitted to a table of more than {_WIDEST_COMPARED} columns"
            return copula, f"{about}; {left_out}.", (first,)
        others = ((label, _fitted_or_none(fit)) for label, fit in wanted)
        candidates = [
            first,
            *(
                judge.thorough(label, sampler, progress=part)
                for (label, sampler), part in zip(others, parts[1:], strict=True)
                if sampler is not None
            ),
        ]
        best = _best(candidates)
        rest = ", ".join(f"{each.rates()} with {each.label} knockoffs" for each in candidates if each is not best)
        reason = f"{best.label.capitalize()} knockoffs: simulated false discovery rates are {best.rates()}"
        return best.sampler, f"{reason}; {rest}." if rest else f"{reason}.", tuple(candidates)

    def _wanted(
        self, X: np.ndarray, copula: CopulaKnockoffs, groups: Groups, categories: Categories
    ) -> list[tuple[str, Callable[[], KnockoffSampler]]]:
        """The other samplers for this table: their labels, and how they are fitted."""
        sequential = partial(self._fit_candidate, SAMPLERS.create("sequential"), X, groups, categories)
        wanted: list[tuple[str, Callable[[], KnockoffSampler]]] = [("sequential", sequential)]
        if copula.shrinkage_:
            wanted.append(("less shrunk copula", partial(copula.reshrunk, X, shrinkage="numerical")))
        if len(X) < 2 * X.shape[1]:
            wanted += [
                (f"copula (extra shrinkage {extra:g})", partial(copula.reshrunk, X, extra_shrinkage=extra))
                for extra in (0.1, 0.3)
            ]
        return wanted

    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        return self.chosen_._sample(X, rng, copies)

    def _complete(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.chosen_._complete(X, rng)

    @property
    def refines(self) -> bool:
        return self.chosen_.refines

    def scores(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        return self.chosen_.scores(X, rng=rng)

    def refine(self, sums: ScatterSums) -> None:
        self.chosen_.refine(sums)

    def s_for(self, copies: int = 1) -> np.ndarray:
        """S of the chosen sampler for this number of copies."""
        self.check_can_draw(copies=copies)
        return self.chosen_.s_for(copies)

    def own_correlation(self, copies: int = 1) -> np.ndarray:
        """(p,) correlation of every column with its own knockoff, of the chosen sampler."""
        return self.chosen_.own_correlation(copies)

    def correlations_of(self, columns: np.ndarray) -> np.ndarray:
        return self.chosen_.correlations_of(columns)

    def verdict(self, *, lines_only: bool = False, explained: float | None = None) -> Verdict | None:
        """What simulated responses say about the chosen sampler; None where the table was not judged."""
        if self.harm_ is None:
            return None
        return verdict_of_harm(self.harm_, lines_only=lines_only, explained=explained, where=self.judged_on_)

    @property
    def unjudged(self) -> str:
        """Why responses were not simulated; empty where they were."""
        return self._unjudged

    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""
        return [*self.chosen_.assumptions(), self.reason_]


@dataclass(frozen=True)
class Drawn:
    """Rows and their knockoffs."""

    X: np.ndarray  # (n, p), completed
    copies: np.ndarray  # (copies, n, p)


@dataclass(frozen=True)
class Judge:
    """Judges samplers on some rows of a table, with the same random numbers for all."""

    X: np.ndarray
    units: Units
    copies: int

    @classmethod
    def of(cls, X: np.ndarray, units: Units) -> Judge:
        if len(X) > _ROWS:
            rng = stream(generator_from(0), "rows to judge knockoffs on")
            X = X[np.sort(rng.choice(len(X), _ROWS, replace=False))]
        copies = choose_copies(
            AUTOMATIC,
            fdr=_FDR_OF_COPIES,
            n_rows=len(X),
            n_columns=X.shape[1],
            n_units=len(units),
            draws_copies=True,
        ).copies
        return cls(X, units, copies)

    def draw(self, sampler: KnockoffSampler, number: int) -> Drawn:
        """The rows, completed in the same way for every ``number``, and their knockoffs, which differ."""
        with one_blas_thread():  # as in the draws of a selection
            X = sampler.complete(self.X, rng=stream(generator_from(0), "values to judge by"))
            copies = sampler.sample(X, rng=stream(generator_from(number), "knockoffs to judge"), copies=self.copies)
        return Drawn(X, copies if copies.ndim == 3 else copies[np.newaxis])

    def quick(self, first: Drawn, progress: Progress | None = None) -> Harm:
        return self._harm([first], _QUICK, progress)

    def thorough(
        self, label: str, sampler: KnockoffSampler, first: Drawn | None = None, *, progress: Progress | None = None
    ) -> Candidate:
        draws = [self.draw(sampler, 0) if first is None else first, self.draw(sampler, 1)]
        accuracy = swap_accuracy(
            Pairs.standardised(draws[0].X, draws[0].copies[0]), self.units, stream(generator_from(0), "judge by swaps")
        )
        return Candidate(label, sampler, self._harm(draws, _THOROUGH, progress), accuracy)

    def _harm(self, draws: list[Drawn], responses: int, progress: Progress | None) -> Harm:
        return predict_harm(
            draws[0].X,
            [each.copies for each in draws],
            units=self.units,
            rng=stream(generator_from(0), "responses to judge by"),
            responses=responses,
            progress=progress,
        )


def _fitted_or_none(fit: Callable[[], KnockoffSampler]) -> KnockoffSampler | None:
    """The fitted sampler; None if it cannot be fitted to this table."""
    try:
        return fit()
    except (Grip2Error, np.linalg.LinAlgError):
        return None


def _cannot_be_judged(X: np.ndarray, units: Units, clustered: bool) -> str:
    """Why knockoffs of a table are not judged; empty if they are."""
    if len(X) < FEWEST_ROWS:
        what = f"{len(X)} {'clusters, of each of which one row counts' if clustered else 'rows'}"
        return f"{what}, at least {FEWEST_ROWS} are needed"
    if len(units) < FEWEST_UNITS:
        return f"{len(units)} units, at least {FEWEST_UNITS} are needed"
    return f"more than {_WIDEST} columns" if X.shape[1] > _WIDEST else ""


def _best(candidates: list[Candidate]) -> Candidate:
    """Of those that keep the target, the one that a classifier distinguishes least from X; among equals the most powerful one.

    If none keeps the target: the one with the least harm.
    """
    eligible = [each for each in candidates if not each.harm.exceeds_target()]
    if not eligible:
        return min(candidates, key=lambda each: each.harm.inflation())
    return min(eligible, key=lambda each: (round((each.accuracy or 0.5) / _SAME_ACCURACY), -each.harm.power))
