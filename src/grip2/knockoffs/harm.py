"""Harm: the false discovery rate that these knockoffs give on this very table, estimated by simulation.

A test of exchangeability shows whether knockoffs are wrong, not whether it matters: with many rows it detects errors too small
to harm any selection. Here the harm itself is measured. Responses with a known truth are simulated on the columns of X: a few
units at random have effects. A lasso on lines and bends of the columns scores all members of all units, the knockoff filter
selects, and the false discoveries are counted. The response of the user is never used.

Effects are straight, even, or products of two units, with as much noise as signal; or straight and strong, with a hundredth of
that noise. The lasso cannot explain products: their residual is correlated with null units that depend on the true ones in ways
that the knockoffs do not share. For the same reason a statistic that models straight lines only, such as the lasso coefficient
difference, may exceed the level for even effects although a model of curves keeps it. Even effects are therefore also scored by
a lasso on lines alone (``lines_only``), and the verdict on such a statistic rests on both. Strong effects reveal small errors:
if a column is nearly a function of the others and its knockoff is not, as after shrinking correlations, null columns beat their
knockoffs unless noise hides it.

Two numbers come out for each kind of effect and each target rate. ``fdr`` is the mean share of false discoveries in the
simulated selections. ``excess`` is informative even if selections are empty: among the null units with the largest ``|W|``, as
many as the filter counts at this rate, copies must win m times as often as originals; ``excess`` is how many times more often
than that originals win. The false discovery rate is at most about ``excess`` times its target (Barber, Candes and Samworth,
2020, give the theorem behind this), and less if little is selected. Verdicts and choices rest on ``fdr``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from grip2.blas_threads import one_blas_thread
from grip2.filter import contrast, knockoff_threshold
from grip2.knockoffs.unit_effects import bends_of, unit_effect
from grip2.progress import Progress, counted_progress
from grip2.standardise import standardise
from grip2.units import Layout, Units

LEVELS = (0.1, 0.2)
# The largest simulated false discovery rate at which each level counts as kept.
KEPT = {0.1: 0.12, 0.2: 0.23}
BENT, STRONG = "even", "strong"
FAMILIES = ("linear", BENT, "products", STRONG)
# Variance of the signal over that of the noise. Strong effects are straight ones with hardly any noise.
SIGNAL_TO_NOISE = {"linear": 1.0, BENT: 1.0, "products": 1.0, STRONG: 100.0}
RESPONSES = 400
FEWEST_ROWS, FEWEST_UNITS = 30, 5
# Units with an effect: a fifth of all, but no more than this.
MOST_TRUE = 20
# Penalties, as multiples of the universal one: the larger keeps the strongest null units only, the smaller keeps many.
_PENALTIES = (0.5, 0.25)
# Duality gap of the lasso, as a share of the variance of the noise, and its sweeps at most. A gap relative to the variance of
# the response would hide false discoveries of strong effects, whose noise is a hundredth of it.
_TOLERANCE, _MOST_SWEEPS = 1e-3, 1_000
# Columns of the table of both functions of all members, and its entries, at most.
_MOST_COLUMNS, _MOST_ENTRIES = 1_500, 20_000_000


@dataclass(frozen=True)
class SimulatedRate:
    """Simulated selections at one target rate, for one kind of effects."""

    family: str
    level: float
    fdr: float  # mean share of false discoveries: the estimated false discovery rate
    fdr_error: float  # its standard error
    excess: float  # originals of null units win so many times as often as they should
    excess_error: float
    power: float  # mean share of the true units that is selected


@dataclass(frozen=True)
class Harm:
    """Simulated rates of these knockoffs; see the top of this file."""

    rates: tuple[SimulatedRate, ...]
    responses: int
    rows: int
    units: int
    copies: int
    notes: tuple[str, ...]  # what was left out to save time
    lines_only: tuple[SimulatedRate, ...] = ()  # even effects, scored by a lasso on straight lines

    def worst(self, level: float) -> SimulatedRate:
        """The kind of effects with the largest estimated rate at a target rate."""
        return max((rate for rate in self.rates if rate.level == level), key=lambda rate: rate.fdr)

    def exceeds_level(self, by: float = 2.0) -> bool:
        """Does some estimated rate exceed its bound in ``KEPT`` by more than so many standard errors?"""
        return any(rate.fdr - by * rate.fdr_error > KEPT[rate.level] for rate in self.rates)

    def exceeds_target(self, by: float = 1.0) -> bool:
        """Does some estimated rate exceed its target rate by more than so many standard errors?"""
        return any(rate.fdr - by * rate.fdr_error > rate.level for rate in self.rates)

    @property
    def power(self) -> float:
        """Mean power over all kinds of effects and target rates."""
        return float(np.mean([rate.power for rate in self.rates]))

    def without_strong(self) -> Harm:
        """Without the rates of strong effects."""
        return replace(self, rates=tuple(rate for rate in self.rates if rate.family != STRONG))

    def for_lines_only(self) -> Harm:
        """With the rates of statistics that model straight lines only, too."""
        return replace(self, rates=(*self.rates, *self.lines_only))

    def inflation(self) -> float:
        """The largest ratio of the estimated rate to its target."""
        return max(self.worst(level).fdr / level for level in LEVELS)


def can_simulate(X: np.ndarray, units: Units) -> bool:
    """Are there enough rows and units for a simulated selection to mean anything?"""
    return len(X) >= FEWEST_ROWS and len(units) >= FEWEST_UNITS


def predict_harm(
    X: np.ndarray,
    draws: Sequence[np.ndarray],
    *,
    units: Units,
    rng: np.random.Generator,
    responses: int = RESPONSES,
    progress: Progress | None = None,
) -> Harm:
    """Estimate the harm of knockoffs of the rows of X.

    ``draws`` holds one or more independent draws of knockoffs, each (copies, n, p); each gets a share of the responses.
    Large tables are cut down to a random part of their rows, copies and units; ``notes`` says to which.
    """
    cut = _cut(X.shape, len(draws[0]), units, rng)
    counted: list[_Response] = []
    after_response = counted_progress(progress, responses)
    with one_blas_thread():
        for share, copies in zip(np.array_split(np.arange(responses), len(draws)), draws, strict=True):
            members = [cut.of(X), *(cut.of(copy) for copy in copies[: cut.copies])]
            for each in _simulated(members, cut.units, len(share), rng):
                counted.append(each)
                after_response()
    return Harm(
        tuple(
            _rate(family, level, [each.curves[level] for each in counted if each.family == family], cut.copies)
            for family in FAMILIES
            for level in LEVELS
        ),
        responses,
        len(cut.row_indices),
        len(cut.units),
        cut.copies,
        cut.notes,
        tuple(
            _rate(BENT, level, [each.lines[level] for each in counted if each.lines is not None], cut.copies)
            for level in LEVELS
        ),
    )


@dataclass(frozen=True)
class _Cut:
    """The part of a table that is simulated on."""

    row_indices: np.ndarray
    columns: np.ndarray
    units: Units
    copies: int
    notes: tuple[str, ...]

    def of(self, table: np.ndarray) -> np.ndarray:
        if len(self.row_indices) == len(table) and len(self.columns) == table.shape[1]:
            return table
        return np.asarray(table[np.ix_(self.row_indices, self.columns)])


def _cut(shape: tuple[int, int], copies: int, units: Units, rng: np.random.Generator) -> _Cut:
    n, p = shape
    notes = []
    few = max(1, min(copies, _MOST_COLUMNS // (2 * p) - 1))
    if few < copies:
        notes.append(f"{few} of {copies} copies")
    columns, kept = np.arange(p), units
    most = _MOST_COLUMNS // (2 * (1 + few))
    if p > most:
        order = rng.permutation(len(units))
        fits = np.cumsum(units.sizes[order]) <= most
        chosen = np.sort(order[: max(2, int(np.count_nonzero(fits)))])
        columns = np.flatnonzero(np.isin(units.of_column, chosen))
        kept = Units.from_labels(units.of_column[columns].tolist())
        notes.append(f"{len(chosen)} of {len(units)} units")
    rows = np.arange(n)
    most_rows = max(100, _MOST_ENTRIES // (2 * (1 + few) * len(columns)))
    if n > most_rows:
        rows = np.sort(rng.choice(n, most_rows, replace=False))
        notes.append(f"{most_rows:,} of {n:,} rows")
    return _Cut(rows, columns, kept, few, tuple(notes))


@dataclass(frozen=True)
class _Counts:
    """One simulated selection, and who wins among the largest null units."""

    fdp: float
    power: float
    originals: int
    copies: int


class _Response(NamedTuple):
    """Selections for one simulated response, by target rate."""

    family: str
    curves: dict[float, _Counts]  # of a lasso on lines and bends
    lines: dict[float, _Counts] | None  # of one on lines only; for even effects


def _simulated(
    members: Sequence[np.ndarray], units: Units, responses: int, rng: np.random.Generator
) -> Iterator[_Response]:
    """Simulate responses, score all members and count, for one draw of knockoffs."""
    if not responses:
        return
    layout = Layout(len(members), units)
    n_copies = len(members) - 1
    lines = np.hstack([standardise(table.astype(float, copy=False)) for table in members])
    bends = bends_of(np.hstack([table.astype(float, copy=False) for table in members]), lines)
    # In random order, so that no member has an advantage if coordinate descent has not quite converged.
    order = rng.permutation(2 * lines.shape[1])
    Z = np.hstack([lines, bends])[:, order]
    Y, truth = _responses(lines, bends, units, responses, rng)
    curves = _Lasso.of(Z, Y)
    straight = order < lines.shape[1]
    only_lines = _Lasso.of(Z[:, straight], Y[FAMILIES.index(BENT) :: len(FAMILIES)])
    for b in range(responses):
        turn, kind = divmod(b, len(FAMILIES))
        penalty = turn % len(_PENALTIES)  # one for each response, in turn: each kind of response gets both
        W = _contrasts(curves.coefficients(b, FAMILIES[kind], penalty), order, layout)
        on_lines = None
        if FAMILIES[kind] == BENT:
            W_of_lines = _contrasts(only_lines.coefficients(turn, BENT, penalty), order[straight], layout)
            on_lines = {level: _counts(W_of_lines, truth[b], level, n_copies) for level in LEVELS}
        yield _Response(FAMILIES[kind], {level: _counts(W, truth[b], level, n_copies) for level in LEVELS}, on_lines)


def _contrasts(coefficients: np.ndarray, places: np.ndarray, layout: Layout) -> np.ndarray:
    """(units,) W of lasso coefficients; ``places``: the number of the line of each, or after all lines of the bend."""
    scores = np.zeros(2 * layout.n_columns)
    scores[places] = coefficients**2
    return contrast(layout.norms(np.sqrt(scores.reshape(2, -1).sum(axis=0))))


@dataclass(frozen=True)
class _Lasso:
    """Lassos of many standardised responses on one table."""

    gram: np.ndarray  # (columns, columns) per row
    cross: np.ndarray  # (responses, columns) per row
    penalties: np.ndarray  # for noise of variance 1

    @classmethod
    def of(cls, Z: np.ndarray, Y: np.ndarray) -> _Lasso:
        penalties = np.array(_PENALTIES) * np.sqrt(2 * np.log(Z.shape[1]) / len(Z))
        return cls(Z.T @ Z / len(Z), Y @ Z / len(Z), penalties)

    def coefficients(self, response: int, family: str, penalty: int) -> np.ndarray:
        """(columns,) coefficients at one of the penalties, given by its number."""
        from grip2.engine.lasso_descent import descend  # compiled: it takes a second to import

        noise = np.sqrt(1.0 / (1.0 + SIGNAL_TO_NOISE[family]))  # of a standardised response
        down_to = noise * self.penalties[: penalty + 1]
        nothing = np.zeros(len(self.gram))
        path, _ = descend(self.gram, self.cross[response], 1.0, down_to, nothing, _TOLERANCE * noise**2, _MOST_SWEEPS)
        return np.asarray(path[:, -1])


def _responses(
    lines: np.ndarray, bends: np.ndarray, units: Units, responses: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(responses, n) standardised responses, kinds of effects in turn, and (responses, units) what is true."""
    n = len(lines)
    n_true = min(len(units), max(2, min(MOST_TRUE, len(units) // 5)))
    Y, truth = np.empty((responses, n)), np.zeros((responses, len(units)), dtype=bool)
    for b in range(responses):
        family = FAMILIES[b % len(FAMILIES)]
        chosen = rng.permutation(len(units))[:n_true]
        truth[b, chosen] = True
        bent = family == BENT
        effects = np.stack([unit_effect(lines, bends, units.columns[unit], rng, bent=bent) for unit in chosen])
        if family == "products" and n_true > 1:
            half = n_true // 2
            effects = standardise((effects[:half] * effects[half : 2 * half]).T).T
            if n_true % 2:  # one is left without a partner
                truth[b, chosen[-1]] = False
        signal = rng.choice([-1.0, 1.0], len(effects)) @ effects
        noise = rng.standard_normal(n) / np.sqrt(SIGNAL_TO_NOISE[family])
        Y[b] = standardise(standardise(signal) + noise)
    return Y, truth


def _counts(W: np.ndarray, true: np.ndarray, level: float, copies: int) -> _Counts:
    selected = W >= knockoff_threshold(W, level, copies=copies)
    n_selected = max(1, int(selected.sum()))
    n_true = int(true.sum())
    nulls = W[~true]
    # The filter accepts level x copies wins of copies for every selection, and expects level wins of originals.
    looked_at = int(np.ceil(level * (1 + copies) * n_true / (1 - level)))
    largest = nulls[np.argsort(-np.abs(nulls), kind="stable")[:looked_at]]
    return _Counts(
        float((selected & ~true).sum() / n_selected),
        float((selected & true).sum() / n_true),
        int(np.count_nonzero(largest > 0)),
        int(np.count_nonzero(largest < 0)),
    )


def _rate(family: str, level: float, counted: Sequence[_Counts], copies: int) -> SimulatedRate:
    false = np.array([each.fdp for each in counted])
    originals = np.array([each.originals for each in counted], dtype=float)
    beaten = np.array([each.copies for each in counted], dtype=float)
    # One win of copies is added: the ratio stays finite, and is too small by a negligible amount.
    excess = copies * originals.sum() / (beaten.sum() + 1)
    spread = np.sqrt(np.sum((copies * originals - excess * beaten) ** 2)) / (beaten.sum() + 1)
    return SimulatedRate(
        family,
        level,
        float(false.mean()),
        float(false.std(ddof=1) / np.sqrt(len(false))) if len(false) > 1 else 1.0,
        float(excess),
        float(spread),
        float(np.mean([each.power for each in counted])),
    )
