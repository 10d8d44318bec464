"""What a knockoff statistic is: hyper-parameters, and one method that scores every feature and its knockoff.

``importance`` is the only entry point. It checks the input, swaps random pairs, calls the subclass and swaps back, so that no
author can forget the swap on which the guarantee rests.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.progress import Progress, share_progress
from grip2.responses import Response, response_from, tasks
from grip2.result import Importance
from grip2.statistics.paper_settings import paper_settings
from grip2.symmetry import draw_swap, swap_pairs


class Statistic(BaseEstimator, ABC):
    """Base of all statistics. The constructor stores hyper-parameters and nothing else.

    A subclass implements ``_importance``; it may assume finite floating-point arrays of one shape and an encoded response
    (`grip2.responses`). Larger importance means more evidence; the two members of a pair must be scored by the same rule.
    What a statistic can do beyond that is declared by the attributes below.
    """

    # True for statistics that see the data only through [X, Xk]'[X, Xk] and [X, Xk]'y: the fixed-X guarantee needs it.
    gram_based: ClassVar[bool] = False
    # True for statistics that gain from scoring several knockoff draws, or members of an ensemble, in one call.
    batches_draws: ClassVar[bool] = False

    # Settings of earlier versions, and what replaces them.
    replaced_settings: ClassVar[Mapping[str, str]] = {}

    # Settings that the paper fixes for its experiments; statistics that it does not tune have none.
    paper_tunes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def paper(cls, setting: str) -> Self:
        """As the paper ran it in one of its experiments: "synthetic", "semireal" or "hiv" (`grip2.statistics.paper_settings`).

        Statistics that the paper does not tune come with their defaults.
        """
        return cls(**paper_settings(setting, cls.paper_tunes, who=cls.__name__))

    def draws_together(self, n_rows: int, n_features: int) -> int:
        """How many knockoff copies it pays to score in one call of `importances`; 1 where nothing is shared."""
        return 1

    def sized(self, n_rows: int) -> Self:
        """A copy with every setting that follows from the number of rows filled in; itself where there is none."""
        return self

    def fit_identity(self) -> str | None:
        """Equal for statistics that read different scores off one fit, given one generator; None: nothing is shared."""
        return None

    def importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        y: np.ndarray | Response,
        *,
        rng: np.random.Generator,
        task: str = "regression",
        progress: Progress | None = None,
    ) -> Importance:
        """Importance of every column of ``X`` and of its knockoff in ``Xk`` for predicting ``y``."""
        return self.importances(X, [Xk], y, rngs=[rng], task=task, progress=progress)[0]

    def importances(
        self,
        X: np.ndarray,
        Xks: Sequence[np.ndarray],
        y: np.ndarray | Response,
        *,
        rngs: Sequence[np.random.Generator],
        task: str = "regression",
        progress: Progress | None = None,
    ) -> list[Importance]:
        """`importance` on several knockoff draws of one ``X``; a statistic may compute them together.

        ``y`` is an array that ``task`` says how to read, or an encoded response.
        """
        who = type(self).__name__
        X = _matrix(X, "X", who)
        Xks = [_matrix(Xk, "Xk", who) for Xk in Xks]
        for Xk in Xks:
            if Xk.shape != X.shape:
                raise Grip2Error(f"{who}: Xk must have the shape of X, {X.shape}, got {Xk.shape}.")
        if len(X) < 2:
            raise Grip2Error(f"{who}: X must have at least 2 rows, got {len(X)}.")
        response = y if isinstance(y, Response) else _response(y, len(X), task, who)
        swaps = [draw_swap(X.shape[1], stream(rng, "pair swap")) for rng in rngs]
        pairs = [swap_pairs(X, Xk, swapped) for Xk, swapped in zip(Xks, swaps, strict=True)]
        streams = [stream(rng, "statistic") for rng in rngs]
        found = self.sized(len(X))._importances(pairs, response, rngs=streams, progress=progress)
        # A constant column scores nothing, so its partner would win whatever it is: such a pair says nothing about either.
        constant = _constant(X)
        ties = [constant | _constant(Xk) for Xk in Xks]
        return [importance.swap(swapped).tied(tie) for importance, swapped, tie in zip(found, swaps, ties, strict=True)]

    @abstractmethod
    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        response: Response,
        *,
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> Importance:
        """Score the columns of ``X`` and ``Xk``; which of the two holds the originals is not known here."""

    def _importances(
        self,
        pairs: Sequence[tuple[np.ndarray, np.ndarray]],
        response: Response,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress | None,
    ) -> list[Importance]:
        """Score several (X, Xk), one after the other unless a subclass computes them together."""
        found = []
        for k, ((X, Xk), rng) in enumerate(zip(pairs, rngs, strict=True)):
            of_part = share_progress(progress, k, len(pairs))
            found.append(self._importance(X, Xk, response, rng=rng, progress=of_part))
        return found


class BatchedStatistic(Statistic):
    """Base of statistics that score several knockoff draws in one call; a subclass implements ``_importances``."""

    batches_draws: ClassVar[bool] = True

    @abstractmethod
    def _importances(
        self,
        pairs: Sequence[tuple[np.ndarray, np.ndarray]],
        response: Response,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress | None,
    ) -> list[Importance]:
        """Score several (X, Xk). The version of this class does so one after the other, each in a call of its own."""
        return super()._importances(pairs, response, rngs=rngs, progress=progress)

    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        response: Response,
        *,
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> Importance:
        return self._importances([(X, Xk)], response, rngs=[rng], progress=progress)[0]


def check_whole(statistic: Statistic, *names: str, or_none: bool = False, of_network: bool = False) -> None:
    """Refuse parameters that are not whole numbers of at least 1, or None where it is allowed.

    Sizes ``of_network`` may be left automatic; by now they are numbers, and "auto" appears in the complaint only.
    """
    for name in names:
        value = getattr(statistic, name)
        if or_none and value is None:
            continue
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
            allowed = (
                "a whole number of at least 1" + (" or None" if or_none else "") + (" or 'auto'" if of_network else "")
            )
            raise Grip2Error(f"{type(statistic).__name__}: {name} must be {allowed}, got {value!r}.")


def _constant(values: np.ndarray) -> np.ndarray:
    """(columns,) which columns hold one value only."""
    return np.asarray((values == values[:1]).all(axis=0))


def _matrix(values: np.ndarray, name: str, who: str) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    # One layout in memory: sums over it then do not depend on how the caller stored the table.
    values = np.ascontiguousarray(values)
    if values.ndim != 2:
        raise Grip2Error(f"{who}: {name} must be two-dimensional, got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise Grip2Error(f"{who}: {name} must be finite, got NaN or infinity.")
    return values


def _response(y: np.ndarray, n_rows: int, task: str, who: str) -> Response:
    if task not in tasks():
        raise Grip2Error(f"{who}: task must be one of {', '.join(tasks())}, got {task!r}.")
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise Grip2Error(f"{who}: y must have shape ({n_rows},) to match X, got {y.shape}.")
    return response_from(y, task, who=who)
