"""Typed records of how a selection was made, which pages and programs read.

None of them belongs to a single member of a unit: they are the same whichever member is the original.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from grip2.plain_text import short_name

MOST_LIMITING = 5  # units that are named where the quality of knockoffs is printed


@dataclass(frozen=True)
class StageFacts:
    """One model of a statistic that has several."""

    name: str  # "effects", "lasso-curves", "network"
    explains: str  # the signals it can see, in words
    target: str  # "response": fitted to y; "residual": to what earlier stages leave
    held_out_share: float  # share of the variance or deviance of y that it explains on held-out rows, 0 to 1
    penalties: tuple[float, ...] = ()  # lambda of each lasso
    notes: tuple[str, ...] = ()  # what a reader should know of this fit, such as chains of a sampler that disagree


@dataclass(frozen=True)
class TrainingFacts:
    """How the final network was trained."""

    schedule: str  # which of (lambda, a) moved
    lambda_min: float
    lambda_max: float
    approach_from: float | None  # where an ascending path of lambda began; None: lambda was drawn at random
    a_min: float
    a_max: float
    block_size: int  # steps
    steps: int
    warmup: int  # unpenalised steps before them
    hidden: int  # units per layer
    depth: int  # hidden layers
    batch_size: int | None  # rows; None: all
    learning_rate: float
    deep_l2: float
    clip_norm: float | None
    epsilon: float
    stop_reason: str


@dataclass(frozen=True)
class CalibrationFacts:
    """Choices made from the data before the network was trained, and by which rules."""

    lambda_rule: str  # "given", "held-out prediction" or "gradient ratio"
    block_rule: str  # "given", "share of the steps" or "pilot run"
    best_lambda: float | None = None  # the one that predicts held-out rows best
    # In units of y. Each half of the held-out rows is judged at the lambda that the other half chose.
    held_out_loss: float | None = None
    null_loss: float | None = None  # without the network: of the stage before it, or of the best constant
    # Held-out loss of every target that the network might have learned; no larger than that without the network.
    target_losses: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class LimitingUnit:
    """A unit that nearly equals its own knockoff, which costs it power."""

    name: str
    correlation: float  # of its columns with their own knockoffs, the mean
    resembles: str  # the other unit that it is most correlated with
    resemblance: float  # the largest absolute correlation of a column of one with a column of the other


@dataclass(frozen=True)
class KnockoffQuality:
    """How much knockoffs resemble their originals: with correlations near 1 there is no power."""

    sampler: str
    mean_correlation: float
    largest_correlation: float
    n_low_power: int  # features with a correlation of at least 0.95
    verdict: str = ""  # "good", "usable" or "do not trust", from simulated responses; empty: not examined
    verdict_reasons: tuple[str, ...] = ()
    unit_correlations: tuple[float, ...] = ()  # of every unit, in the order of the features: the mean over its columns
    limiting: tuple[LimitingUnit, ...] = ()  # the largest correlations first
    draws_copies: bool = True  # could the sampler draw several copies?

    def __str__(self) -> str:
        judged = self.verdict or "no verdict on this table"
        few = "1 column is" if self.n_low_power == 1 else f"{self.n_low_power} columns are"
        lines = [
            f"Knockoffs ({self.sampler}): {judged}.",
            *(f"  {sentence}" for sentence in self.verdict_reasons),
            f"Correlation of a column with its own knockoff: {self.mean_correlation:.2f} on average, "
            f"{self.largest_correlation:.2f} at most; near 1 there is no power. {few} at 0.95 or above.",
        ]
        if self.limiting:
            named = [
                f"{short_name(unit.name)} ({unit.correlation:.2f}, resembles {short_name(unit.resembles)})"
                for unit in self.limiting[:MOST_LIMITING]
            ]
            more = len(self.limiting) - len(named)
            lines.append(f"Hardest to find: {', '.join(named)}{f' and {more} more' if more else ''}.")
        return "\n".join(lines)


@dataclass(frozen=True)
class LassoComparison:
    """What the lasso coefficient difference finds on the knockoffs of the first draw, one entry for every unit.

    It selects the units with a q-value of at most the target rate.
    """

    W: tuple[float, ...]
    q_values: tuple[float, ...]


@dataclass(frozen=True)
class StreamFacts:
    """A table that was read block by block."""

    source: str  # "file", "folder", "dask" or "memory"
    rows: int  # of the table; the statistic has used all of them
    sample_rows: int  # rows of the sample, for everything that needs a table in memory
    block_rows: int  # rows of a block, whose knockoffs were drawn together and not stored

    def sentence(self) -> str:
        """For the assumptions of a selection."""
        return (
            f"The table was read block by block: importances come from all {self.rows:,} rows, and marginal distributions, basis "
            f"functions, the choice of pairs and the network from {self.sample_rows:,} of them, drawn at random."
        )


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the user's table and its role."""

    name: str
    role: str  # "number", "category", ... (`grip2.tables.roles` has the rules)
    why: str  # the rule that gave the role, or "given"
    done: str  # what was done to it; empty: nothing
    missing: int  # rows without a value


@dataclass(frozen=True)
class LevelContrast:
    """One level of a selected category beside its reference level: a description, without an error guarantee."""

    variable: str
    level: str
    reference: str
    n_rows: int  # with this level
    # Of what the model without features leaves of y, adjusted for all other selected features. None: other selected columns
    # determine the rows of this level, or it has none, so that the data say nothing about it beside them.
    difference: float | None
    standard_error: float | None
    inseparable_from: tuple[str, ...] = ()  # columns of the user's table that do: "city" of a postal code

    @property
    def estimated(self) -> bool:
        return self.difference is not None

    @property
    def told(self) -> str:
        """Why there is no difference; empty where there is one."""
        if self.estimated:
            return ""
        others = ", ".join(short_name(name) for name in self.inseparable_from)
        return f"cannot be told from {others}" if others else "cannot be estimated"


@dataclass(frozen=True)
class Facts:
    """Everything a statistic reports beside its importances."""

    stages: tuple[StageFacts, ...] = ()
    training: TrainingFacts | None = None
    calibration: CalibrationFacts | None = None
    members: int = 1  # of a seed ensemble; the facts are those of the first
    details: Mapping[str, Any] = field(default_factory=dict)  # short notes of single statistics, for people only

    @property
    def explained(self) -> float | None:
        """The share of the response that the best stage explains on held-out rows; None: not measured."""
        return max((stage.held_out_share for stage in self.stages), default=None)


Record = typing.TypeVar("Record")


def record_from(kind: type[Record], content: Mapping[str, Any]) -> Record:
    """Restore a dataclass, and the dataclasses inside it, from plain values."""
    hints = typing.get_type_hints(kind)
    given = [item.name for item in fields(kind) if item.name in content]  # type: ignore[arg-type]
    return kind(**{name: _value_from(hints[name], content[name]) for name in given})


def _value_from(hint: Any, value: Any) -> Any:
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is tuple:
        return tuple(_value_from(typing.get_args(hint)[0], item) for item in value)
    if isinstance(hint, type) and is_dataclass(hint):
        return record_from(hint, value)
    return value
