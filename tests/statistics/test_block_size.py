"""The block size M: a share of the steps, or the paper's pilot run."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine.automatic_sizes import automatic_block_size
from grip2.engine.schedule import Schedule
from grip2.engine.train import train
from grip2.engine.training import TrainingConfig
from grip2.errors import Grip2Error
from grip2.responses import Measurement
from grip2.statistics import GRIP2
from grip2.statistics.block_size import BlockSize, pilot_block_size
from grip2.statistics.held_out import NetworkProblem
from grip2.symmetry import Members
from grip2.units import Units


def test_pilot_run():
    rng = np.random.default_rng([0, 7])
    X, Xk = rng.standard_normal((2, 300, 10))
    response = Measurement.encode(X[:, :5].sum(axis=1) + rng.standard_normal(300), "test")
    members = Members((X, Xk), Units.single(10))
    problem = NetworkProblem(members.standardised(), members.layout, response)
    config = TrainingConfig(schedule=Schedule(lambda_min=1e-3, lambda_max=1e-2), hidden=8, depth=1, batch_size=None)

    def rule(tolerance: float) -> int:
        return pilot_block_size(problem, config=config, rng=np.random.default_rng(0), tolerance=tolerance)

    sizes = [rule(tolerance) for tolerance in (1.0, 0.05)]
    with pytest.warns(UserWarning, match="still moving after 200 updates"):
        sizes.append(rule(1e-9))
    assert sizes[0] <= sizes[1] <= sizes[2]
    assert sizes[0] == 6, "with a generous delta the first five updates already count as sustained"
    assert sizes[2] == 200, "with an impossible delta the longest block is taken"
    settled = BlockSize("pilot", 1.0).settle(problem, config, np.random.default_rng(0))
    assert settled.schedule.block_size == 6


def test_pilot_run_with_units(monkeypatch):
    """The pilot trains on the groups of the problem: its norms are those of the members of units."""
    members = Members(tuple(np.random.default_rng(0).standard_normal((3, 60, 4))), Units(np.array([0, 1, 0, 0])))
    response = Measurement.encode(members.tables[0].sum(axis=1), "test")
    problem = NetworkProblem(members.standardised(), members.layout, response)
    config = TrainingConfig(schedule=Schedule(lambda_min=1e-3, lambda_max=1e-2), hidden=2, depth=1, steps=100)
    runs = []

    def kept(*args, **settings):
        runs.append(train(*args, **settings))
        return runs[-1]

    monkeypatch.setattr("grip2.statistics.block_size.train", kept)
    pilot_block_size(problem, config=config, rng=np.random.default_rng(0), tolerance=1.0)
    assert runs[0].snapshots.shape == (80, 6)


@pytest.mark.parametrize(
    ("size", "rule", "needs_pilot", "blocks"),
    [
        ("auto", "share of the steps", False, automatic_block_size(3000)),
        ("pilot", "pilot run", True, automatic_block_size(3000)),
        (40, "given", False, 40),
        (np.int64(40), "given", False, 40),
    ],
)
def test_rules(size, rule, needs_pilot, blocks):
    chosen = BlockSize(size, 0.01)
    chosen.check(3000, "test")
    assert (chosen.rule, chosen.needs_pilot, chosen.before_pilot(3000)) == (rule, needs_pilot, blocks)
    assert (chosen.pilot_steps > 0) == needs_pilot


def test_automatic_is_a_120th_of_the_steps():
    assert automatic_block_size(3000) == 25
    assert GRIP2(block_size="auto", steps=3000).sized(1000).config().schedule.block_size == 25


@pytest.mark.parametrize("size", ["long", None, 0, -3, 2.5, True])
def test_bad_sizes_are_refused_and_the_choices_named(size):
    """None was the automatic size of earlier versions, and "auto" the pilot run: the message says what they are called now."""
    with pytest.raises(Grip2Error, match=r"block_size must be .* 'auto' \(a 120th of the steps\) or 'pilot'"):
        BlockSize(size, 0.01).check(1000, "GRIP2")
    with pytest.raises(Grip2Error, match=r"^GRIP2: block_size must be"):
        GRIP2(block_size=size, steps=100).sized(100)


def test_a_block_longer_than_the_run_is_refused():
    with pytest.raises(Grip2Error, match="100 steps hold no whole block of 101; give more steps"):
        BlockSize(101, 0.01).check(100, "GRIP2")
