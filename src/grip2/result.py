"""Frozen records of results: `Importance` of a statistic on one knockoff draw, and `SelectionResult` of a selection."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error
from grip2.facts import (
    ColumnFacts,
    Facts,
    KnockoffQuality,
    LassoComparison,
    LevelContrast,
    StreamFacts,
    record_from,
)
from grip2.feature_effects import EffectDescription
from grip2.filter import contrast
from grip2.plain_text import short_name
from grip2.result_views import ResultViews
from grip2.symmetry import unshuffled

# Of selection.json (docs/selection.schema.json); increased when a field changes its meaning or is removed.
SCHEMA_VERSION = 1

# Between the names of columns in a table; they may hold spaces and commas.
NAMES_APART = "; "

# The inside of a list of numbers in JSON: curves and surfaces have many, which stand on one line.
_LISTED_NUMBERS = re.compile(r"(?<=\[)\s+-?\d[-+\d.eE,\s]*(?=\])")


@dataclass(frozen=True)
class Surface:
    """Group activities over the regularization surface: row b was recorded under (lambda_[b], a[b])."""

    lambda_: np.ndarray  # (blocks,)
    a: np.ndarray  # (blocks,)
    activity: np.ndarray  # (blocks, members, units); the original first
    gradient_ratio: np.ndarray  # (blocks,) size of the penalty's gradient over that of the loss

    @property
    def original(self) -> np.ndarray:
        """(blocks, units)"""
        return np.asarray(self.activity[:, 0])

    @property
    def knockoff(self) -> np.ndarray:
        """(blocks, units) the mean over copies."""
        copies = self.activity[:, 1:]
        return np.asarray(copies[:, 0] if copies.shape[1] == 1 else copies.mean(axis=1))


@dataclass(frozen=True)
class Importance:
    """Importance of all members of every unit; larger means more important.

    ``facts`` say how it was computed. Statistics that average over a regularization surface have a ``surface``, those that train
    a network a ``loss_curve``.
    """

    scores: np.ndarray  # (1 + copies, units); the original first
    facts: Facts = field(default_factory=Facts)
    surface: Surface | None = None
    loss_curve: np.ndarray | None = None  # (steps,) prediction loss of every step's minibatch

    def __post_init__(self) -> None:
        scores = np.asarray(self.scores)
        if scores.ndim != 2 or len(scores) < 2:
            raise Grip2Error(
                f"Importance: scores must be those of at least two members of every unit, got shape {scores.shape}."
            )
        if not np.isfinite(scores).all():
            raise Grip2Error("Importance: every value must be finite, got NaN or infinity.")

    @property
    def copies(self) -> int:
        return len(self.scores) - 1

    @property
    def original(self) -> np.ndarray:
        """(units,)"""
        return np.asarray(self.scores[0])

    @property
    def knockoff(self) -> np.ndarray:
        """(units,) of the strongest copy."""
        return np.asarray(self.scores[1:].max(axis=0))

    @property
    def W(self) -> np.ndarray:
        """``W_j = S_j - S_{j+p}`` for one copy (section 2.6), see `grip2.filter.contrast` for several."""
        return contrast(self.scores)

    def tied(self, units: np.ndarray) -> Importance:
        """The same importances with all members of the units in ``units`` (a mask) at their mean, so that W is zero there."""
        mean = sum(self.scores[1:], start=self.scores[0]) / len(self.scores)
        return replace(self, scores=np.where(units, mean, self.scores))

    def unshuffled(self, order: np.ndarray) -> Importance:
        """The importances of shuffled members (`grip2.symmetry`) in their original order: the original first."""
        surface = self.surface
        if surface is not None:
            surface = replace(surface, activity=unshuffled(surface.activity, order))
        return replace(self, scores=unshuffled(self.scores, order), surface=surface)


# Types of single values of a selection.json; everything else is checked when records are made of it.
_KINDS: dict[str, tuple[type, ...]] = {
    "fdr": (int, float),
    "offset": (int,),
    "copies": (int,),
    "copies_reason": (str,),
    "threshold": (int, float, type(None)),
    "reason": (str,),
    "assumptions": (list,),
    "settings": (dict,),
    "task": (str,),
    "response": (str,),
    "n_rows": (int,),
    "seed": (int, type(None)),
    "versions": (dict,),
    "seconds": (int, float),
}


@dataclass(frozen=True, eq=False, repr=False)
class SelectionResult(ResultViews):
    """A selection, everything it was derived from, and what its guarantee rests on.

    Every entry is one unit: a column, or a group of columns under one name (``groups``). ``knockoff`` is the importance of the
    strongest copy. With several knockoff draws ``W`` and the importances are means over the draws, for information only: the
    selection itself comes from the averaged ``e_values``, ``threshold`` is the smallest selected e-value, and ``q_values`` are
    those of e-BH. Methods that show it or select at another fdr are in `ResultViews`.
    """

    feature_names: tuple[str, ...]
    W: np.ndarray
    q_values: np.ndarray
    selected_mask: np.ndarray
    original: np.ndarray
    knockoff: np.ndarray
    fdr: float
    offset: int
    threshold: float  # inf: nothing was selected
    reason: str
    assumptions: tuple[str, ...]
    facts: Facts  # of the first knockoff draw
    knockoff_quality: KnockoffQuality
    settings: Mapping[str, Any]  # of statistic and sampler, as they were given
    task: str
    response: str  # what y is, in words
    n_rows: int
    seed: int | None
    versions: Mapping[str, str]
    seconds: float
    copies: int = 1  # knockoffs of every unit
    copies_reason: str = "given"
    copies_limit: int | None = None  # the most that "auto" would draw from this table; None: not known
    e_values: np.ndarray | None = None  # with several draws
    frequency: np.ndarray | None = None  # with several draws: share of them that would select the unit by themselves
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the columns of each unit, if some have several
    columns: tuple[ColumnFacts, ...] = ()  # every column of the user's table, in its order
    level_contrasts: tuple[LevelContrast, ...] = ()  # of the selected categories
    effects: EffectDescription | None = None  # how the selected act, without an error guarantee; None: not described
    lasso: LassoComparison | None = None  # on the same knockoffs; None: not compared
    streamed: StreamFacts | None = None  # how a long table was read block by block; None: all of it at once
    W_draws: np.ndarray | None = None  # (draws, units) W of every draw, with several
    fitted_fdr: float | None = None  # of the fit, if `at` has chosen another fdr
    surface: Surface | None = None  # for the report; not part of the JSON
    origin: SelectionResult | None = None  # the result of the fit, if `at` has chosen another fdr; not part of the JSON

    @property
    def n_draws(self) -> int:
        """Knockoff draws that were combined."""
        return int(self.settings.get("n_draws", 1)) if self.W_draws is None else len(self.W_draws)

    @property
    def selected(self) -> list[str]:
        """Names of the selected features, most convincing first."""
        chosen = np.flatnonzero(self.selected_mask)
        rank = self.W if self.e_values is None else self.e_values
        order = np.lexsort((-self.W[chosen], -rank[chosen]))
        return [self.feature_names[j] for j in chosen[order]]

    def to_frame(self) -> pd.DataFrame:
        """One row per feature, selected first, then by W; ``stands_for`` names the columns of its unit, "; " between them."""
        frame = pd.DataFrame(
            {
                "name": list(self.feature_names),
                "W": self.W,
                "q_value": self.q_values,
                "selected": self.selected_mask,
                "original": self.original,
                "knockoff": self.knockoff,
            }
        )
        if self.e_values is not None:
            frame["e_value"] = self.e_values
        if self.frequency is not None:
            frame["frequency"] = self.frequency
        frame["stands_for"] = [NAMES_APART.join(self.groups.get(name, [name])) for name in self.feature_names]
        return frame.sort_values(["selected", "W"], ascending=False, kind="stable", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """The result in plain Python values, from which `from_dict` restores it."""
        columns: dict[str, list[Any]] = {
            "name": list(self.feature_names),
            "W": self.W.tolist(),
            "q_value": self.q_values.tolist(),
            "selected": [bool(value) for value in self.selected_mask],
            "original": self.original.tolist(),
            "knockoff": self.knockoff.tolist(),
        }
        if self.e_values is not None:
            columns["e_value"] = self.e_values.tolist()
        if self.frequency is not None:
            columns["frequency"] = self.frequency.tolist()
        if self.W_draws is not None:
            columns["W_draws"] = self.W_draws.T.tolist()
        if self.groups:
            columns["stands_for"] = [list(self.groups.get(name, [name])) for name in self.feature_names]
        return {
            "schema_version": SCHEMA_VERSION,
            "selected": self.selected,
            "features": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "fdr": self.fdr,
            "offset": self.offset,
            "copies": self.copies,
            "copies_reason": self.copies_reason,
            "copies_limit": self.copies_limit,
            "fitted_fdr": self.fitted_fdr,
            "threshold": None if np.isinf(self.threshold) else self.threshold,
            "reason": self.reason,
            "assumptions": list(self.assumptions),
            "stages": [_plain(asdict(stage)) for stage in self.facts.stages],
            "training": None if self.facts.training is None else _plain(asdict(self.facts.training)),
            "calibration": None if self.facts.calibration is None else _plain(asdict(self.facts.calibration)),
            "members": self.facts.members,
            "details": _plain(self.facts.details),
            "knockoff_quality": _plain(asdict(self.knockoff_quality)),
            "columns": [asdict(column) for column in self.columns],
            "level_contrasts": [_plain(asdict(contrast)) for contrast in self.level_contrasts],
            "effects": None if self.effects is None else _plain(asdict(self.effects)),
            "lasso": None if self.lasso is None else _plain(asdict(self.lasso)),
            "streamed": None if self.streamed is None else asdict(self.streamed),
            "settings": _plain(self.settings),
            "task": self.task,
            "response": self.response,
            "n_rows": self.n_rows,
            "seed": self.seed,
            "versions": dict(self.versions),
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        version = content.get("schema_version")
        if version != SCHEMA_VERSION:
            raise Grip2Error(
                f"SelectionResult: expected schema_version {SCHEMA_VERSION}, got {version!r}: the file was written by another "
                "version of grip2. Run the selection again."
            )
        for name, kinds in _KINDS.items():
            if name in content and not isinstance(content[name], kinds):
                raise TypeError(f"{name} is {content[name]!r}")
        features = content["features"]

        def column(name: str, dtype: type = float) -> np.ndarray:
            return np.array([feature[name] for feature in features], dtype=dtype)

        def has(name: str) -> bool:
            return bool(features) and name in features[0]

        return cls(
            feature_names=tuple(feature["name"] for feature in features),
            W=column("W"),
            q_values=column("q_value"),
            selected_mask=column("selected", bool),
            original=column("original"),
            knockoff=column("knockoff"),
            threshold=float("inf") if content["threshold"] is None else content["threshold"],
            assumptions=tuple(content["assumptions"]),
            facts=record_from(Facts, content),
            knockoff_quality=record_from(KnockoffQuality, content["knockoff_quality"]),
            columns=tuple(record_from(ColumnFacts, facts) for facts in content.get("columns", ())),
            level_contrasts=tuple(record_from(LevelContrast, facts) for facts in content.get("level_contrasts", ())),
            effects=None if content.get("effects") is None else record_from(EffectDescription, content["effects"]),
            lasso=None if content.get("lasso") is None else record_from(LassoComparison, content["lasso"]),
            streamed=None if content.get("streamed") is None else record_from(StreamFacts, content["streamed"]),
            e_values=column("e_value") if has("e_value") else None,
            frequency=column("frequency") if has("frequency") else None,
            copies=content.get("copies", 1),
            copies_reason=content.get("copies_reason", "given"),
            copies_limit=content.get("copies_limit"),
            fitted_fdr=content.get("fitted_fdr"),
            W_draws=column("W_draws").T if has("W_draws") else None,
            groups={feature["name"]: feature["stands_for"] for feature in features} if has("stands_for") else {},
            **{
                name: content[name]
                for name in (
                    "fdr", "offset", "reason", "settings", "task", "response", "n_rows", "seed", "versions", "seconds"
                )
            },
        )  # fmt: skip

    def to_json(self) -> str:
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        return _LISTED_NUMBERS.sub(lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Restore what `to_json` wrote; raises `Grip2Error` if the text is something else."""
        try:
            found = cls.from_dict(json.loads(text))
            found.to_dict()  # raises if the content cannot have been written by `to_json`
            return found
        except Grip2Error:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
            raise Grip2Error(
                f"SelectionResult: expected the content of a selection.json, and it was changed or cut off "
                f"({type(error).__name__}: {error}). Run the selection again."
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SelectionResult) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        head = f"{len(self.selected)} of {len(self.feature_names)} features selected at fdr {self.fdr:g}"
        names = ", ".join(map(short_name, self.selected[:20])) + (", ..." if len(self.selected) > 20 else "")
        if self.selected:
            return f"{head}: {names}"
        rest = self.reason.removeprefix(f"Nothing was selected at fdr {self.fdr:g}")
        return f"{head}. {rest}" if rest == self.reason else head + rest


def _plain(value: Any) -> Any:
    """A value in a form that JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return repr(value)
