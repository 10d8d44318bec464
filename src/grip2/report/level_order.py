"""The level contrasts of one selected unit, in the order in which people want them."""

from __future__ import annotations

from grip2.facts import LevelContrast
from grip2.result import SelectionResult


def contrasts_of(result: SelectionResult, name: str) -> tuple[LevelContrast, ...]:
    """The largest difference first; levels without one last."""
    variables = {name, *result.groups.get(name, ())}
    found = [each for each in result.level_contrasts if each.variable in variables]
    return tuple(sorted(found, key=_place))


def _place(contrast: LevelContrast) -> tuple[bool, float]:
    return contrast.difference is None, -abs(contrast.difference or 0.0)
