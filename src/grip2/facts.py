"""How a selection came about, as typed records that pages and programs read.

Nothing in them is tied to one member of a pair: they are the same whichever of the two is the original.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any


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
    """The network that was trained last, and how."""

    schedule: str  # which of (lambda, a) moved
    lambda_min: float
    lambda_max: float
    approach_from: float | None  # where an ascending path of lambda began; None: drawn at random
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
    """What was chosen from the data before the network was trained, and by which rule."""

    lambda_rule: str  # "given", "held-out prediction" or "gradient ratio"
    block_rule: str  # "given", "share of the steps" or "pilot run"
    best_lambda: float | None = None  # that predicts held-out rows best
    # In units of y. Each half of the held-out rows is judged at the lambda that the other half chose.
    held_out_loss: float | None = None
    null_loss: float | None = None  # without the network: of what is known before it, or of the best constant
    target_losses: Mapping[str, float] = field(
        default_factory=dict
    )  # of each thing the network might learn, at best the null


@dataclass(frozen=True)
class LimitingUnit:
    """A unit that is hard to tell from its own knockoff, which costs it power."""

    name: str
    correlation: float  # of its columns with their own knockoffs, the mean
    resembles: str  # the other unit that it is most correlated with
    resemblance: float  # the largest absolute correlation of a column of one with a column of the other


@dataclass(frozen=True)
class KnockoffQuality:
    """How much knockoffs resemble their originals: near 1 they cannot be told apart, and there is no power."""

    sampler: str
    mean_correlation: float
    largest_correlation: float
    n_low_power: int  # features with a correlation of at least 0.95
    verdict: str = ""  # "good", "usable" or "do not trust", from simulated responses; empty: not examined
    verdict_reasons: tuple[str, ...] = ()
    unit_correlations: tuple[float, ...] = ()  # of every unit, in the order of the features: the mean over its columns
    limiting: tuple[LimitingUnit, ...] = ()  # the largest correlations first
    draws_copies: bool = True  # could the sampler draw several copies?


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

    source: str  # "file", "folder" or "memory"
    rows: int  # that the statistic has used: all
    sample_rows: int  # of them, on which what needs a table in memory was decided
    block_rows: int  # whose knockoffs were drawn at once and never stored

    def sentence(self) -> str:
        """For the assumptions of a selection."""
        return (
            f"The table was read block by block: importances come from all {self.rows:,} rows, and marginal distributions, basis "
            f"functions, the choice of pairs and the network from {self.sample_rows:,} of them, drawn at random."
        )


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the user's table: what it was taken for."""

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
    difference: float  # of what the model without features leaves of y, adjusted for all other selected features
    standard_error: float


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
    """A record of plain values back as the dataclass it was, with the records inside it."""
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
