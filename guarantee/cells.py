"""The cells of the suite: which statistic meets which knockoffs, copies, task, table and signal.

Derived from the registries and from what classes declare, so a new statistic or sampler is picked up by itself.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from grip2.knockoffs.registry import SAMPLERS
from grip2.statistics.base import Statistic
from grip2.statistics.registry import STATISTICS
from guarantee.designs import BASE, DESIGNS, Design
from guarantee.probes import PROBES
from guarantee.signals import TASKS

EXACT = "exact"  # the law of X is known
LEARNT = "learnt"  # copula knockoffs learnt from many other rows of the same law
COPIES = (1, 3)

# Statistics that run over all designs: cheap, and between them they see linear effects, curves and any pair of columns.
SCREENS = ("correlation", "raw product", "lcd")
OF_CURVES = "lasso-curves"
# The default statistic and its two parts, on all designs too, with fewer signals because a fit takes up to a second.
MODELS = ("effects", "grip2", "staged")
DESIGNS_OF_ABS = (BASE, "blocks 0.8", "heavy tails")

# Settings for the suite, of whichever statistic has them: networks and chains small enough for thousands of fits. The guarantee
# does not depend on how well a statistic is tuned; the last family of cells has the defaults.
QUICK = {
    "omega": (1e-2, 1e-1), "steps": 150, "epochs": 2, "hidden": 8, "depth": 1, "batch_size": 32, "block_size": 10,
    "learning_rate": 1e-2, "n_trees": 20, "sweeps": 100, "n_lambdas": 25, "rows": 64, "background": 16,
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One row of the report. ``family`` says what it is for; cells of the first families run first."""

    family: str
    statistic: str
    sampler: str
    copies: int
    task: str
    design: str
    signal: str = "linear"
    draws: int = 1
    whole: bool = False  # through `KnockoffSelector`, with everything that it checks, instead of its parts
    defaults: bool = False  # the statistic with its default settings

    @property
    def key(self) -> str:
        """Identifies the cell in the file of trials."""
        how = ("draws" + str(self.draws) if self.draws > 1 else "", "selector" if self.whole else "")
        words = (self.statistic, self.sampler, str(self.copies), self.task, self.design, self.signal, *how)
        return " | ".join([*filter(None, words), *(["defaults"] if self.defaults else [])])

    @property
    def exact(self) -> bool:
        """Does the theorem hold, so that the cell must pass?"""
        return self.sampler in (EXACT, "fixed")

    @property
    def tests_signs(self) -> bool:
        """Without the shuffle, on exact knockoffs. A whole selection is looked at from outside, where the shuffle stays."""
        return self.exact and not self.whole

    def seed(self, trial: int) -> int:
        """Of the data and of the procedure alike, as a user may choose them: they must not share random numbers."""
        return zlib.crc32(self.key.encode()) * 10_000_000 + trial

    def make_statistic(self) -> Statistic:
        if self.statistic in PROBES:
            return PROBES[self.statistic]()
        statistic: Statistic = STATISTICS.create(self.statistic)
        return statistic if self.defaults else with_quick_settings(statistic)


def with_quick_settings(statistic: Statistic) -> Statistic:
    paths = {path: path.rpartition("__")[2] for path in statistic.get_params()}
    changed: Statistic = statistic.set_params(**{path: QUICK[name] for path, name in paths.items() if name in QUICK})
    return changed


def all_cells() -> list[Cell]:
    """Every cell once, the most informative families first."""
    families = (_statistics, _models, _designs, _signals, _selector, _samplers, _defaults)
    return list({cell.key: cell for family in families for cell in family()}.values())


def _statistics() -> list[Cell]:
    """Every statistic on exact knockoffs, for every copies and task."""
    found = [
        Cell("statistics", name, EXACT, copies, task, BASE)
        for task in TASKS
        for name in (*PROBES, *STATISTICS.names())
        for copies in COPIES
        if _honours(name, task)
    ]
    return found + [
        Cell("statistics", name, "fixed", 1, "regression", BASE)
        for name in (*PROBES, *STATISTICS.names())
        if _gram(name)
    ]


def _models() -> list[Cell]:
    """The default statistic and its parts on every table, without signals and with signals of curves and of pairs."""
    return [
        Cell("models", statistic, EXACT, copies, "regression", design, signal)
        for design in DESIGNS
        if design != "repeated rows"
        for signal in ("none", "product", *(["abs"] if design in DESIGNS_OF_ABS else []))
        for statistic in MODELS
        for copies in COPIES
    ]


def _designs() -> list[Cell]:
    """The cheap statistics on every table, without and with signals, with exact and with estimated knockoffs."""
    samplers = (EXACT, *(name for name in SAMPLERS.names() if name != "auto"))
    return [
        Cell("designs", statistic, sampler, copies, "regression", design.name, signal)
        for sampler in samplers
        for design in DESIGNS.values()
        for signal in ("linear", "none")
        for statistic in SCREENS
        for copies in COPIES
        if design.name != "repeated rows"
        and _makes_sense(sampler, statistic, copies, design)
        # What learning the law of X costs shows where there are signals, and to statistics that users have.
        and (sampler in (EXACT, "fixed") or (signal == "linear" and statistic != "raw product"))
    ]


def _signals() -> list[Cell]:
    """Signals that a linear model does not see."""
    return [
        Cell("signals", OF_CURVES, sampler, copies, "regression", design, signal)
        for sampler in (EXACT, "copula")
        for design in DESIGNS_OF_ABS
        for signal in ("abs", "product")
        for copies in COPIES
    ]


def _selector() -> list[Cell]:
    """Whole selections: every check of the selector included, one draw and several."""
    found = [
        Cell("selector", "correlation", EXACT, copies, "regression", design, signal, draws, whole=True)
        for design in (BASE, "groups", "repeated rows")
        for signal in ("linear", "none")
        for copies in COPIES
        for draws in (1, 5)
    ]
    found += [Cell("selector", "lcd", "auto", copies, task, BASE, whole=True) for copies in COPIES for task in TASKS]
    return found + [
        Cell("selector", "lcd", "auto", copies, "regression", design.name, whole=True)
        for design in DESIGNS.values()
        if design.name not in (BASE, "repeated rows")
        # A whole selection prepares its table itself: it knows of categories and groups only what it is told.
        and not design.categories
        for copies in COPIES
    ]


def _samplers() -> list[Cell]:
    """Every statistic with every sampler that learns the law of X from the same rows: what that costs."""
    return [
        Cell("samplers", statistic, sampler, copies, task, BASE)
        for copies in COPIES
        for task in TASKS
        for sampler in SAMPLERS.names()
        for statistic in STATISTICS.names()
        if _makes_sense(sampler, statistic, copies, DESIGNS[BASE]) and _honours(statistic, task) and sampler != "fixed"
    ]


def _defaults() -> list[Cell]:
    """The default statistic with its default settings, on exact and on estimated knockoffs."""
    return [
        Cell("defaults", "staged", sampler, copies, "regression", BASE, defaults=True)
        for sampler in (EXACT, "auto")
        for copies in COPIES
    ]


def _honours(statistic: str, task: str) -> bool:
    made = PROBES[statistic] if statistic in PROBES else STATISTICS.load(statistic)
    return made.honours is None or task in made.honours


def _gram(statistic: str) -> bool:
    return (PROBES[statistic] if statistic in PROBES else STATISTICS.load(statistic)).gram_based


def _makes_sense(sampler: str, statistic: str, copies: int, design: Design) -> bool:
    """By what the classes declare."""
    if sampler == EXACT:
        return True
    made = SAMPLERS.load(sampler)
    if made.fixed_x:
        enough = design.n_rows >= made().rows_needed(design.units.n_columns)
        return copies == 1 and _gram(statistic) and enough and not design.missing
    return (
        (copies == 1 or made.draws_copies)
        and (made.completes or not design.missing)
        and (made.draws_groups or design.units.all_single)
        and (made.draws_categories or not design.categories)
    )
