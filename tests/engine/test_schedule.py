"""Schedules: which (lambda, a) each step has and where snapshots fall."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine.schedule import Schedule


def draw(steps=1000, seed=0, **settings):
    settings = {"lambda_min": 1e-3, "lambda_max": 1e-1, "block_size": 10} | settings
    return Schedule(**settings).draw(steps, np.random.default_rng(seed))


def test_two_dimensional_blocks():
    regimes = draw()
    by_block = regimes.lambda_.reshape(100, 10)
    assert np.all(by_block == by_block[:, :1])
    assert len(np.unique(by_block)) == 100
    assert regimes.lambda_.min() >= 1e-3
    assert regimes.lambda_.max() <= 1e-1
    assert regimes.a.min() >= 0.1
    assert regimes.a.max() <= 1.0
    np.testing.assert_array_equal(regimes.snapshot_steps, np.arange(9, 1000, 10))


def test_log_lambda_and_a_are_uniform():
    """20,000 blocks; Kolmogorov distance bound 2.3 / sqrt(n), false-alarm rate 5e-5 each."""
    regimes = draw(20_000, block_size=1)
    n = len(regimes.a)
    u = np.sort((np.log(regimes.lambda_) - np.log(1e-3)) / np.log(100))
    v = np.sort((regimes.a - 0.1) / 0.9)
    grid = (np.arange(n) + 0.5) / n
    assert np.abs(u - grid).max() < 2.3 / np.sqrt(n)
    assert np.abs(v - grid).max() < 2.3 / np.sqrt(n)
    linear = np.sort((regimes.lambda_ - 1e-3) / (1e-1 - 1e-3))
    assert np.abs(linear - grid).max() > 2.3 / np.sqrt(n), "uniform lambda instead of uniform log lambda would pass"


def test_ablations_hold_one_dimension():
    one = draw(kind="block_1d")
    assert np.all(one.a == 1)
    assert len(np.unique(one.lambda_)) == 100
    geometry = draw(kind="block_1d_a")
    np.testing.assert_allclose(geometry.lambda_, 1e-2)
    assert len(np.unique(geometry.a)) == 100
    fixed = draw(kind="fixed")
    np.testing.assert_allclose(fixed.lambda_, 1e-2)
    assert np.all(fixed.a == 1)
    np.testing.assert_array_equal(fixed.snapshot_steps, np.arange(9, 1000, 10))


def test_minibatch_schedule_snapshots_every_step():
    regimes = draw(50, kind="minibatch")
    np.testing.assert_array_equal(regimes.snapshot_steps, np.arange(50))
    assert len(np.unique(regimes.lambda_)) == 50


def test_warm_up_is_unpenalised_and_unrecorded():
    regimes = draw(100, warmup=7)
    assert len(regimes.lambda_) == 107
    assert np.all(regimes.lambda_[:7] == 0)
    np.testing.assert_array_equal(regimes.snapshot_steps, 7 + np.arange(9, 100, 10))


def test_incomplete_block_is_left_out():
    assert len(draw(59).lambda_) == 50
    with pytest.raises(ValueError, match="no whole block"):
        draw(9)


def test_ascending_path_records_omega_only():
    regimes = draw(approach_from=1e-4)
    assert np.all(np.diff(regimes.lambda_) >= 0)
    assert regimes.lambda_[0] == pytest.approx(1e-4)
    assert regimes.lambda_[-1] == pytest.approx(1e-1)
    recorded = regimes.lambda_[regimes.snapshot_steps]
    assert recorded.min() >= 1e-3
    assert len(recorded) == np.sum(np.geomspace(1e-4, 1e-1, 100) >= 1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "spiral"}, "kind must be one of"),
        ({"lambda_min": 0.2}, "lambda_min <= lambda_max"),
        ({"lambda_min": 0.0}, "0 < lambda_min"),
        ({"a_min": 0.0}, "range of a"),
        ({"block_size": 0}, "block_size"),
        ({"warmup": -1}, "warmup"),
        ({"approach_from": 1.0}, "approach_from"),
    ],
)
def test_bad_schedules_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        draw(**settings)
