"""Planted defects: mistakes that implementations of knockoffs make, each a patch of the library inside a ``with`` block.

The first line of each docstring is its description in the report.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from grip2 import decision, draws, filter, result, selection_input, selector
from grip2.derandomize import e_values, inner_level
from grip2.knockoffs import CopulaKnockoffs, GaussianKnockoffs, conditional
from grip2.knockoffs import base as sampling
from grip2.knockoffs.base import KnockoffSampler
from grip2.knockoffs.conditional import ConditionalGaussian
from grip2.knockoffs.score_map import ScoreMap
from grip2.result import Importance
from grip2.standardise import standardise
from grip2.statistics import base
from grip2.statistics.base import Statistic

Defect = Callable[[], AbstractContextManager[None]]
DEFECTS: dict[str, Defect] = {}


def planted(function: Callable[[], Iterator[None]]) -> Defect:
    made = contextmanager(function)
    DEFECTS[function.__name__.replace("_", " ")] = made
    return made


def description(name: str) -> str:
    return (DEFECTS[name].__doc__ or "").strip().splitlines()[0]


def _replaced(owner: Any, name: str, change: Callable[..., Any]) -> AbstractContextManager[Any]:
    """``owner.name`` becomes ``change(original, *arguments)``."""
    original = getattr(owner, name)

    def changed(*arguments: Any, **named: Any) -> Any:
        return change(original, *arguments, **named)

    return patch.object(owner, name, changed)


@planted
def transposed_factor() -> Iterator[None]:
    """The noise of Gaussian knockoffs is multiplied by C instead of its transpose."""

    def draw(original: Any, law: ConditionalGaussian, X: np.ndarray, rng: np.random.Generator) -> Any:
        wrong = copy.copy(law)
        wrong.C = law.C.T
        return original(wrong, X, rng)

    with _replaced(ConditionalGaussian, "draw", draw):
        yield


@planted
def mean_not_subtracted() -> Iterator[None]:
    """The conditional mean of the knockoffs is computed from X instead of X minus its mean."""

    def draw(original: Any, law: ConditionalGaussian, X: np.ndarray, rng: np.random.Generator) -> Any:
        wrong = copy.copy(law)
        wrong.mean = np.zeros_like(law.mean)
        return original(wrong, X, rng)

    with _replaced(ConditionalGaussian, "draw", draw):
        yield


@planted
def s_too_large() -> Iterator[None]:
    """S is half as large again as it may be; negative eigenvalues of the conditional covariance are set to zero."""

    def too_large(original: Any, *arguments: Any, **named: Any) -> Any:
        return 1.5 * original(*arguments, **named)

    def clipped(original: Any, M: np.ndarray, *, who: str) -> tuple[np.ndarray, float]:
        values, vectors = np.linalg.eigh(M)
        return vectors * np.sqrt(np.maximum(values, 0.0)), 0.0

    with _replaced(conditional, "choose_s", too_large), _replaced(conditional, "jittered_cholesky", clipped):
        yield


@planted
def not_scaled_back() -> Iterator[None]:
    """Knockoffs are drawn for standardised columns and returned without their scale."""

    def sample(original: Any, sampler: GaussianKnockoffs, X: np.ndarray, rng: Any, copies: int) -> Any:
        scale = np.sqrt(np.diag(sampler.covariance_))
        return sampler.mean_ + (original(sampler, X, rng, copies) - sampler.mean_) / scale

    with _replaced(GaussianKnockoffs, "_sample", sample):
        yield


@planted
def copies_drawn_one_by_one() -> Iterator[None]:
    """Every copy is a valid knockoff, but the copies are not jointly exchangeable with X."""

    def sample(original: Any, sampler: Any, X: np.ndarray, rng: Any, copies: int) -> Any:
        return np.concatenate([original(sampler, X, rng, 1) for _ in range(copies)])

    with _replaced(GaussianKnockoffs, "_sample", sample), _replaced(CopulaKnockoffs, "_sample", sample):
        yield


@planted
def identical_copies() -> Iterator[None]:
    """All copies of a draw are the same one."""

    def sample(original: Any, sampler: Any, X: np.ndarray, rng: Any, copies: int) -> Any:
        return np.repeat(original(sampler, X, rng, copies)[:1], copies, axis=0)

    with _replaced(GaussianKnockoffs, "_sample", sample), _replaced(CopulaKnockoffs, "_sample", sample):
        yield


@planted
def split_groups() -> Iterator[None]:
    """The columns of a unit's copy come from different copies."""

    def sample(original: Any, sampler: Any, X: np.ndarray, rng: Any, copies: int) -> Any:
        drawn = original(sampler, X, rng, copies)
        mixed = drawn.copy()
        for columns in sampler.units_.columns:
            for place, column in enumerate(columns):
                mixed[:, :, column] = np.roll(drawn[:, :, column], place, axis=0)
        return mixed

    with _replaced(GaussianKnockoffs, "_sample", sample):
        yield


@planted
def y_leaked() -> Iterator[None]:
    """The sampler sees y: knockoffs are made uncorrelated with it."""

    def work(original: Any, statistic: Any, sampler: Any, X: Any, response: Any, *rest: Any) -> Any:
        y = (response.y - response.y.mean()) / np.linalg.norm(response.y - response.y.mean())

        def sample(drawn: Any, *arguments: Any, **named: Any) -> Any:
            Xk = drawn(*arguments, **named)
            return Xk - y[:, None] * (y @ Xk)[..., None, :]

        with _replaced(KnockoffSampler, "sample", sample):
            return original(statistic, sampler, X, response, *rest)

    with _replaced(draws, "_importances", work):
        yield


@planted
def shared_seed() -> Iterator[None]:
    """Data and knockoffs made from one seed use the same random numbers."""

    def stream(original: Any, rng: np.random.Generator, purpose: str) -> Any:
        if purpose != "knockoffs":
            return original(rng, purpose)
        return np.random.default_rng(rng.bit_generator.seed_seq.entropy)  # type: ignore[attr-defined]

    with _replaced(sampling, "stream", stream):
        yield


@planted
def swapped_levels() -> Iterator[None]:
    """Knockoffs of 0/1 columns have their levels exchanged."""

    def sample(original: Any, sampler: Any, X: np.ndarray, **named: Any) -> Any:
        Xk = original(sampler, X, **named)
        return np.where(np.isin(X, (0.0, 1.0)).all(axis=0), 1.0 - Xk, Xk)

    with _replaced(KnockoffSampler, "sample", sample):
        yield


@planted
def independent_dummies() -> Iterator[None]:
    """Knockoffs of a category's indicators are drawn column by column, so that a row may have two levels."""
    rng = np.random.default_rng(0)

    def values(original: Any, scores: ScoreMap, Z: np.ndarray) -> Any:
        X = original(scores, Z)
        for category in scores.categories:
            X[:, category.columns] = rng.permuted(X[:, category.columns], axis=0)
        return X

    with _replaced(ScoreMap, "values", values):
        yield


@planted
def median_in_x_only() -> Iterator[None]:
    """Missing values of X are filled with the median, those behind the knockoffs are drawn."""

    def work(original: Any, statistic: Any, sampler: Any, X: np.ndarray, *rest: Any) -> Any:
        filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)

        def importances(scored: Any, self: Any, _: np.ndarray, *arguments: Any, **named: Any) -> Any:
            return scored(self, filled, *arguments, **named)

        with _replaced(Statistic, "importances", importances):
            return original(statistic, sampler, X, *rest)

    with _replaced(draws, "_importances", work):
        yield


def _biased() -> AbstractContextManager[Any]:
    """A tenth more for the first place, whatever stands there."""

    def unshuffled(original: Any, importance: Importance, order: np.ndarray) -> Any:
        scores = importance.scores.copy()
        scores[0] *= 1.1
        return original(Importance(scores), order)

    return _replaced(Importance, "unshuffled", unshuffled)


@planted
def statistic_favours_the_first() -> Iterator[None]:
    """The statistic gives the first place a tenth more, which the shuffle hides from the false discoveries."""
    with _biased():
        yield


@planted
def shuffle_missing() -> Iterator[None]:
    """The same statistic, and the members are not shuffled."""

    def in_place(_: Any, n_units: int, members: int, rng: Any) -> np.ndarray:
        return np.tile(np.arange(members)[:, None], n_units)

    with _biased(), _replaced(base, "draw_order", in_place):
        yield


@planted
def calibration_looks_at_originals() -> Iterator[None]:
    """All members of a unit are weighted by the correlation of the original with y."""

    def importances(original: Any, self: Any, X: np.ndarray, Xks: Any, y: Any, **named: Any) -> Any:
        found = original(self, X, Xks, y, **named)
        weights = np.abs(standardise(X).T @ getattr(y, "y", y)) / len(X)
        units = named["units"]
        of_unit = np.array([weights[columns].max() for columns in units.columns])
        return [Importance(each.scores * of_unit) for each in found]

    with _replaced(Statistic, "importances", importances):
        yield


@planted
def offset_zero() -> Iterator[None]:
    """The filter estimates false discoveries without the added 1."""

    def without_one(original: Any, n_positive: Any, n_negative: Any, offset: int = 1, copies: int = 1) -> Any:
        return original(n_positive, n_negative, 0, copies)

    with _replaced(filter, "fdp_from_counts", without_one):
        yield


@planted
def q_values_without_one() -> Iterator[None]:
    """The q-values, not the selection, are computed without the added 1."""

    def without_one(original: Any, W: np.ndarray, offset: int = 1, copies: int = 1) -> Any:
        return original(W, 0, copies)

    with _replaced(decision, "q_values", without_one):
        yield


@planted
def threshold_zero() -> Iterator[None]:
    """Zero is a candidate for the threshold, and units with W = 0 count as found."""

    def with_zero(original: Any, W: np.ndarray, fdr: float, offset: int = 1, copies: int = 1) -> float:
        estimate = (offset + np.sum(W < 0)) / (copies * max(1, int(np.sum(W >= 0))))
        return 0.0 if estimate <= fdr else float(original(W, fdr, offset, copies))

    with _replaced(decision, "knockoff_threshold", with_zero):
        yield


@planted
def ties_go_to_the_original() -> Iterator[None]:
    """Where the original shares the largest score with a copy, it counts as the winner."""

    def contrast(original: Any, scores: np.ndarray) -> np.ndarray:
        others = np.sort(scores[1:], axis=0)
        tau = scores[0] - np.median(others, axis=0)
        return np.asarray(np.where(scores[0] >= others[-1], tau, original(scores)))

    with _replaced(result, "contrast", contrast):
        yield


@planted
def draws_counted_as_independent() -> Iterator[None]:
    """All draws share one set of knockoffs, and their e-values are multiplied as if they were independent."""

    def one_set(original: Any, *arguments: Any, rngs: Any, **named: Any) -> Any:
        drawn = original(*arguments, rngs=rngs[:1], **named)
        return replace(drawn, importances=drawn.importances * len(rngs))

    def product(_: Any, found: Any, fdr: float, copies: int = 1) -> Any:
        return np.prod([e_values(W, inner_level(fdr), copies) for W in found], axis=0)

    with _replaced(selector, "draw_importances", one_set), _replaced(decision, "mean_e_values", product):
        yield


@planted
def repeated_rows_accepted() -> Iterator[None]:
    """Tables whose rows are repeated are not refused."""
    with _replaced(selection_input, "independent_rows", lambda _, data, who: data):
        yield
