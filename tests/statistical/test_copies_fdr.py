"""False discovery rate with several copies and with groups: exact Gaussian knockoffs, a cheap statistic, fresh data sets.

300 replicates each. Bound: mean of the false discovery proportion at most q plus 4 standard errors, which an exact procedure at
level q exceeds with probability 3e-5. The broken twins exceed it, so the bound has power to see them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics import Statistic
from grip2.symmetry import Members
from grip2.units import Units
from tests.knockoffs.cases import ar1, normal_rows

REPLICATES, N = 300, 200
LEVELS = (0.1, 0.2)

Sample = Callable[[GaussianKnockoffs, np.ndarray, int, np.random.Generator], np.ndarray]


class Correlations(Statistic):
    """Absolute correlation with the response, the root of the sum of squares over the columns of a unit.

    It looks at each column alone, so null units that are correlated with acting ones have large scores: only exchangeable
    members keep them from being selected.
    """

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        return Importance(members.layout.norms(np.abs(members.standardised().T @ response.y) / members.n_rows))


@dataclass(frozen=True)
class Design:
    """A distribution of tables and of responses: ``acting`` random units act through all their columns."""

    covariance: np.ndarray
    units: Units
    acting: int
    effect: float = 0.35
    s: str = "mvr"


def equicorrelated(p: int, rho: float) -> np.ndarray:
    return np.full((p, p), rho) + (1 - rho) * np.eye(p)


# Neighbours are correlated.
NEIGHBOURS = Design(ar1(40, 0.5), Units.single(40), acting=14)
# All columns are correlated alike, and S is as large as one copy allows: a copy is nearly a function of X, so that copies drawn
# one by one are nearly equal to each other.
ALIKE = Design(equicorrelated(40, 0.5), Units.single(40), acting=14, effect=0.4, s="equi")
# 30 units of one, two and three columns. Columns of a unit are apart, so correlations run within units and between them.
UNEQUAL = Units.from_labels([*range(30), *range(20), *range(10)])
GROUPS = Design(ar1(60, 0.6), UNEQUAL, acting=12)
GROUPS_ALIKE = Design(equicorrelated(60, 0.5), UNEQUAL, acting=12, s="equi")


def drawn_together(sampler: GaussianKnockoffs, X: np.ndarray, copies: int, rng: np.random.Generator) -> np.ndarray:
    return sampler.sample(X, rng=rng, copies=copies)


def drawn_one_by_one(sampler: GaussianKnockoffs, X: np.ndarray, copies: int, rng: np.random.Generator) -> np.ndarray:
    """The broken twin: each copy is a valid knockoff, but given X the copies are independent."""
    return np.stack([sampler.sample(X, rng=rng) for _ in range(copies)])


@dataclass(frozen=True)
class Outcome:
    """Over the replicates, at each of LEVELS: the mean FDP, its standard error and the mean power."""

    fdp: np.ndarray
    error: np.ndarray
    power: np.ndarray

    @property
    def controlled(self) -> np.ndarray:
        return self.fdp <= np.array(LEVELS) + 4 * self.error

    def __str__(self) -> str:
        cells = zip(LEVELS, self.fdp, self.error, self.power, strict=True)
        return ", ".join(f"q = {q}: FDP {fdp:.3f} +- {error:.3f}, power {power:.2f}" for q, fdp, error, power in cells)


@threadpool_limits.wrap(limits=1)  # the matrices are too small to share between threads
def simulate(design: Design, copies: int, sample: Sample = drawn_together, seed: int = 1) -> Outcome:
    rng = np.random.default_rng(seed)
    p, units = len(design.covariance), design.units
    sampler = GaussianKnockoffs(np.zeros(p), design.covariance, s=design.s)
    sampler.fit(np.zeros((2, p)), groups=None if units.all_single else units.of_column)
    proportions, found = np.empty((2, REPLICATES, len(LEVELS)))
    for replicate in range(REPLICATES):
        X = normal_rows(N, design.covariance, rng)
        truth = rng.permutation(len(units)) < design.acting
        effects = design.effect * rng.choice([-1.0, 1.0], p) * truth[units.of_column]
        y = X @ effects + rng.standard_normal(N)
        Xk = sample(sampler, X, copies, rng)
        W = Correlations().importance(X, Xk, y, rng=rng, units=units).W
        for level, q in enumerate(LEVELS):
            selected = knockoff_threshold(W, q, copies=copies) <= W
            proportions[replicate, level] = np.sum(selected & ~truth) / max(1, np.sum(selected))
            found[replicate, level] = np.sum(selected & truth) / design.acting
    return Outcome(proportions.mean(axis=0), proportions.std(axis=0) / np.sqrt(REPLICATES), found.mean(axis=0))


@pytest.mark.parametrize(
    ("design", "copies"),
    [
        pytest.param(NEIGHBOURS, 1, id="neighbours-1"),
        pytest.param(NEIGHBOURS, 3, id="neighbours-3"),
        pytest.param(NEIGHBOURS, 5, id="neighbours-5"),
        pytest.param(ALIKE, 5, id="alike-5"),
        pytest.param(GROUPS, 1, id="groups-1"),
        pytest.param(GROUPS, 3, id="groups-3"),
        pytest.param(GROUPS_ALIKE, 5, id="groups-alike-5"),
    ],
)
def test_copies_drawn_together_keep_the_level(design, copies):
    outcome = simulate(design, copies)
    print(outcome)
    assert outcome.controlled.all(), outcome
    assert outcome.power[1] > 0.2, outcome  # a test without discoveries shows nothing


@pytest.mark.parametrize("design", [pytest.param(ALIKE, id="single columns"), pytest.param(GROUPS_ALIKE, id="groups")])
def test_copies_drawn_one_by_one_lose_control(design):
    """They resemble each other more than they resemble the original, which therefore wins too often."""
    outcome = simulate(design, 5, drawn_one_by_one)
    print(outcome)
    assert not outcome.controlled.any(), outcome
    assert (outcome.fdp > 1.5 * np.array(LEVELS)).all(), outcome


def test_group_knockoffs_judged_column_by_column_lose_control():
    """They are exchangeable group by group only: a null column beside an acting one of its group is selected with it."""
    covariance, labels = np.kron(equicorrelated(3, 0.8), ar1(20, 0.4)), [*range(20)] * 3
    of_groups = GaussianKnockoffs(np.zeros(60), covariance).fit(np.zeros((2, 60)), groups=labels)

    def drawn_for_groups(_: GaussianKnockoffs, X: np.ndarray, copies: int, rng: np.random.Generator) -> np.ndarray:
        return of_groups.sample(X, rng=rng, copies=copies)

    outcome = simulate(Design(covariance, Units.single(60), acting=20), 1, drawn_for_groups)
    print(outcome)
    assert not outcome.controlled.any(), outcome
