"""The parts of a table, columns that one model draws together, and which model each part gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.errors import Grip2Error
from grip2.knockoffs.base import Categories
from grip2.knockoffs.marginals import learn_marginal
from grip2.knockoffs.sequential.models import ConditionalModel
from grip2.knockoffs.sequential.multinomial import learn_category
from grip2.knockoffs.sequential.residuals import learn_residuals, share_outside
from grip2.knockoffs.sequential.tilt import Support, learn_support, learn_tilt
from grip2.units import Units

# Ridges of the regressions, as small as possible, because shrinkage makes knockoffs less correlated with other columns than the
# originals are. Relative to the number of rows for least squares, so that collinear predictors can be solved for; in pseudo-rows
# for likelihoods, where it also keeps slopes finite if rare values are separable.
_RELATIVE_RIDGE = 1e-6
_PSEUDO_ROWS = 1.0
# A continuous column is drawn from its observed values, in bins, if a larger share of the draws of a regression than this lies
# outside its range. (By chance, a share of 2 / n of new values does.)
_MOST_OUTSIDE = 0.005


@dataclass(frozen=True, eq=False)
class Part:
    """Columns drawn together: one number, or the indicators of one category. ``support`` is None for continuous numbers."""

    columns: np.ndarray
    category: bool
    support: Support | None

    def learn(self, Z: np.ndarray, values: np.ndarray, most_alike: float) -> ConditionalModel:
        """The model of the part given predictors Z, from its values (rows, columns).

        A discrete number is drawn from its observed values unless its knockoff would have a higher correlation with it than
        ``most_alike``. Values that are nearly determined by other columns, a count that is 0 exactly where another is 0, say,
        have no other knockoffs that take observed values and keep second moments; a linear regression keeps the latter.
        """
        if self.category:
            return learn_category(Z, values, _PSEUDO_ROWS)
        column, continuous = values[:, 0], self.support is None
        residuals = learn_residuals(Z, column, _RELATIVE_RIDGE * len(Z), continuous=continuous)
        if continuous and share_outside(residuals, Z, column) <= max(_MOST_OUTSIDE, 4 / len(Z)):
            return residuals
        support = learn_support(column) if self.support is None else self.support
        return learn_tilt(Z, column, support, _PSEUDO_ROWS, most_alike) or residuals


@dataclass(frozen=True, eq=False)
class Plan:
    """The parts of every unit, and the random order in which units are drawn."""

    parts: tuple[tuple[Part, ...], ...]  # of every unit, in the order of drawing
    n_columns: int

    @property
    def n_parts(self) -> int:
        return sum(len(parts) for parts in self.parts)


def make_plan(X: np.ndarray, units: Units, categories: Categories, rng: np.random.Generator, who: str) -> Plan:
    """The plan for a table, which may have missing values."""
    category_of = _category_of(units, categories, who)
    drawn = []
    for unit in rng.permutation(len(units)):
        parts, seen = [], set()
        for j in units.columns[unit]:
            if j in category_of:
                number = category_of[j]
                if number not in seen:
                    seen.add(number)
                    parts.append(Part(np.array(categories[number], dtype=np.intp), True, None))
            else:
                parts.append(Part(np.array([j]), False, _support(X[:, j])))
        drawn.append(tuple(parts))
    return Plan(tuple(drawn), units.n_columns)


def _category_of(units: Units, categories: Categories, who: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for number, columns in enumerate(categories):
        for j in columns:
            if not 0 <= j < units.n_columns or j in found:
                raise Grip2Error(
                    f"{who}: categories must hold numbers of columns from 0 to {units.n_columns - 1}, each at most once, "
                    f"got {j} in category {number}."
                )
            found[int(j)] = number
        if len({int(units.of_column[j]) for j in columns}) > 1:
            raise Grip2Error(
                f"{who}: the columns of a category must lie in one unit, got category {number} in several. Give its "
                "columns one label in groups."
            )
    return found


def _support(column: np.ndarray) -> Support | None:
    """The support of a column that is discrete or has a value that many rows share; None for a continuous one."""
    observed = column[~np.isnan(column)]
    marginal = learn_marginal(observed, discrete=True)
    return learn_support(observed) if marginal.discrete or marginal.spiked else None
