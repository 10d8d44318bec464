"""What a knockoff statistic is: hyper-parameters, and one method that scores all members of every unit.

``importance`` is the only entry point. It checks the input, puts the members of every unit in random order, calls the subclass
and puts the scores back in place, so that no author can forget the random order on which the guarantee rests.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.progress import Progress, share_progress
from grip2.responses import Response, response_from, rows_of, tasks
from grip2.result import Importance
from grip2.settings import held_by
from grip2.statistics.paper_settings import paper_settings
from grip2.symmetry import Members, draw_order, shuffled
from grip2.units import Layout, Units

if TYPE_CHECKING:
    from grip2.statistics.effect_sums import WholeTable

_ROWS_OF_A_CHECK = 1000  # assumed for automatic sizes where settings are checked without data


class Statistic(BaseEstimator, ABC):
    """Base of all statistics. The constructor stores hyper-parameters and nothing else.

    A subclass implements ``_importance``; it may assume finite floating-point arrays of one shape and an encoded response
    (`grip2.responses`). Larger importance means more evidence; all members of a unit must be scored by the same rule.
    What a statistic can do beyond that is declared by the attributes below.
    """

    # True for statistics that see the data only through Z'Z and Z'y, Z the table of all members: the fixed-X guarantee
    # needs it.
    gram_based: ClassVar[bool] = False
    # True for statistics that model straight lines only: curved effects that they cannot fit can mislead them
    # (`grip2.knockoffs.harm`).
    lines_only: ClassVar[bool] = False
    # True for statistics that gain from scoring several knockoff draws, or members of an ensemble, in one call.
    batches_draws: ClassVar[bool] = False
    # Time that one draw takes, where fitting knockoffs takes 1: a rough guess, for the progress bar.
    relative_time: ClassVar[int] = 1

    # Tasks of the responses (`grip2.responses`) that the statistic can honour; None: all of them.
    honours: ClassVar[tuple[str, ...] | None] = None

    # False for the lasso itself: reports show the lasso's selection on the same knockoffs beside that of other statistics.
    compared_with_lasso: ClassVar[bool] = True

    # Names of settings of earlier versions, each with what replaces it.
    replaced_settings: ClassVar[Mapping[str, str]] = {}

    # Settings that the paper fixes for its experiments; statistics that it does not tune have none.
    paper_tunes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def paper(cls, setting: str) -> Self:
        """As the paper ran it in one of its experiments: "synthetic", "semireal" or "hiv" (`grip2.statistics.paper_settings`).

        Statistics that the paper does not tune come with their defaults.
        """
        return cls(**paper_settings(setting, cls.paper_tunes, who=cls.__name__))

    def draws_together(self, n_rows: int, layout: Layout) -> int:
        """How many knockoff draws it pays to score in one call of `importances`; 1 where nothing is shared."""
        return 1

    def sized(self, n_rows: int) -> Self:
        """A copy with every setting that follows from the number of rows filled in; itself where there is none."""
        return self

    @property
    def streams(self) -> bool:
        """Can it be computed block by block, from a table too long for memory (`grip2.streaming`)?"""
        return False

    def streamed(self, whole: WholeTable) -> Statistic:
        """The statistic for one knockoff draw of a table that is read block by block.

        It is given a random sample of the rows; ``whole`` computes sums over all of them. Only for statistics whose
        ``streams`` is True.
        """
        raise Grip2Error(
            f"{type(self).__name__}: this statistic needs all rows in memory at once. Use Staged() or EffectPosterior(), which "
            "read a table block by block."
        )

    def fit_identity(self) -> str | None:
        """A text that is equal for statistics that read different scores off the same fit; None: the fit is not shared."""
        return None

    def check_settings(self) -> None:
        """Refuse settings that are bad whatever the data, of this statistic and of those that it holds."""
        for _, part in held_by(self):
            if isinstance(part, Statistic):
                part.check_settings()
        self.sized(_ROWS_OF_A_CHECK)._check_settings()

    def _check_settings(self) -> None:
        """Refuse bad settings; sizes that follow from the table have been filled in."""

    def check_response(self, response: Response) -> None:
        """Refuse a response that the statistic cannot honour."""
        if self.honours is not None and response.task not in self.honours:
            raise Grip2Error(
                f"{type(self).__name__}: y is {response.noun} (task {response.task!r}), which this statistic cannot honour, only "
                f"{', '.join(self.honours)}. Staged(), EffectPosterior() and LassoCoefficient() honour every response."
            )

    def importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        y: np.ndarray | Response,
        *,
        rng: np.random.Generator,
        task: str = "regression",
        units: Units | None = None,
        progress: Progress | None = None,
    ) -> Importance:
        """Importance of every unit of ``X`` (n, p) and of its knockoffs ``Xk``, (n, p) or (copies, n, p), for ``y``.

        Every column is a unit unless ``units`` says otherwise.
        """
        return self.importances(X, [Xk], y, rngs=[rng], task=task, units=units, progress=progress)[0]

    def importances(
        self,
        X: np.ndarray,
        Xks: Sequence[np.ndarray],
        y: np.ndarray | Response,
        *,
        rngs: Sequence[np.random.Generator],
        task: str = "regression",
        units: Units | None = None,
        progress: Progress | None = None,
    ) -> list[Importance]:
        """`importance` on several knockoff draws of one ``X``; a statistic may compute them together.

        ``y`` is an array that ``task`` says how to read, or an encoded response.
        """
        who = type(self).__name__
        X = _matrix(X, "X", who)
        draws = [(X, *_copies(Xk, X.shape, who)) for Xk in Xks]
        if len(X) < 2:
            raise Grip2Error(f"{who}: X must have at least 2 rows, got {len(X)}.")
        units = Units.single(X.shape[1]) if units is None else units
        if units.n_columns != X.shape[1]:
            raise Grip2Error(f"{who}: units must cover the {X.shape[1]} columns of X, got {units.n_columns}.")
        response = y if isinstance(y, Response) else _response(y, len(X), task, who)
        shuffles = [
            Shuffle.drawn(tables, units, stream(rng, "pair swap")) for tables, rng in zip(draws, rngs, strict=True)
        ]
        streams = [stream(rng, "statistic") for rng in rngs]
        sized = self.sized(len(X))
        sized.check_response(response)
        members = [shuffle.members(tables) for shuffle, tables in zip(shuffles, draws, strict=True)]
        found = sized._importances(members, response, rngs=streams, progress=progress)
        return [shuffle.undone(importance) for importance, shuffle in zip(found, shuffles, strict=True)]

    def streamed_importance(
        self,
        tables: tuple[np.ndarray, ...],
        response: Response,
        *,
        whole: Callable[[Shuffle], WholeTable],
        rng: np.random.Generator,
        units: Units,
        progress: Progress | None = None,
    ) -> Importance:
        """`importance` of a table that is read block by block, of which ``tables`` and ``response`` are a random sample.

        ``tables``: rows and their knockoff copies. ``whole``: all rows, with members shuffled in the same way.
        """
        shuffle = Shuffle.drawn(tables, units, stream(rng, "pair swap"))
        own = stream(rng, "statistic")
        sized = self.sized(len(response))
        sized.check_response(response)
        statistic = sized.streamed(whole(shuffle))
        found = statistic._importances([shuffle.members(tables)], response, rngs=[own], progress=progress)
        return shuffle.undone(found[0])

    @abstractmethod
    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        """Score all members of every unit; which of them is the original is not known here."""

    def _importances(
        self,
        draws: Sequence[Members],
        response: Response,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress | None,
    ) -> list[Importance]:
        """Score several draws, one after the other unless a subclass computes them together."""
        found = []
        for k, (members, rng) in enumerate(zip(draws, rngs, strict=True)):
            of_part = share_progress(progress, k, len(draws))
            found.append(self._importance(members, response, rng=rng, progress=of_part))
        return found


class BatchedStatistic(Statistic):
    """Base of statistics that score several knockoff draws in one call; a subclass implements ``_importances``."""

    batches_draws: ClassVar[bool] = True
    relative_time: ClassVar[int] = 6

    @abstractmethod
    def _importances(
        self,
        draws: Sequence[Members],
        response: Response,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress | None,
    ) -> list[Importance]:
        """Score several draws. The version of this class does so one after the other, each in a call of its own."""
        return super()._importances(draws, response, rngs=rngs, progress=progress)

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        return self._importances([members], response, rngs=[rng], progress=progress)[0]


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


@dataclass(frozen=True, eq=False)
class Shuffle:
    """The random order of the members of one draw: shuffles tables, and puts scores back in their places."""

    units: Units
    order: np.ndarray  # (members, units)
    dead: np.ndarray  # (columns,) True: constant in the original or in a copy, so without information

    @classmethod
    def drawn(cls, tables: Sequence[np.ndarray], units: Units, rng: np.random.Generator) -> Shuffle:
        # A constant column scores zero, so the other members of its unit would win whatever they are.
        dead = np.asarray(np.any([(table == table[:1]).all(axis=0) for table in tables], axis=0))
        return cls(units, draw_order(len(units), len(tables), rng), dead)

    def members(self, tables: tuple[np.ndarray, ...]) -> Members:
        """Shuffled; dead columns of larger units are zero in all members, so that the other columns decide."""
        dead = self.dead & (self.units.sizes[self.units.of_column] > 1)
        if dead.any():
            tables = tuple(np.where(dead, table.dtype.type(0), table) for table in tables)
        return shuffled(tables, self.units, self.order)

    def undone(self, importance: Importance) -> Importance:
        """Every score in the place of its member; a unit all of whose columns are dead is a tie."""
        alive = np.bincount(self.units.of_column, weights=~self.dead, minlength=len(self.units))
        return importance.unshuffled(self.order).tied(np.asarray(alive == 0))


def _copies(Xk: np.ndarray, shape: tuple[int, ...], who: str) -> list[np.ndarray]:
    """Knockoffs, (n, p) or (copies, n, p), as a list of tables."""
    Xk = np.asarray(Xk)
    tables = [_matrix(table, "Xk", who) for table in (Xk if Xk.ndim == 3 else [Xk])]
    for table in tables:
        if table.shape != shape:
            raise Grip2Error(f"{who}: Xk must have the shape of X, {shape}, got {table.shape}.")
    if not tables:
        raise Grip2Error(f"{who}: Xk must hold at least one copy, got shape {Xk.shape}.")
    return tables


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
    rows = rows_of(y, who)
    if rows.shape != (n_rows,):
        raise Grip2Error(f"{who}: y must have shape ({n_rows},) to match X, got {rows.shape}.")
    return response_from(rows, task, who=who)
