"""Held-out prediction along a path: each half of the rows is judged by the other half's choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grip2.engine.schedule import Schedule
from grip2.engine.train import HeldOut, train
from grip2.engine.training import TrainingConfig
from grip2.responses import Measurement, response_from
from grip2.statistics.held_out import NetworkProblem, held_out_path, split_rows
from grip2.units import Layout, Units

RNG = np.random.default_rng
PATH = Schedule(lambda_min=1e-3, lambda_max=2.0, approach_from=1e-3, a_min=0.5, a_max=0.5, block_size=5)
CONFIG = TrainingConfig(schedule=PATH, hidden=8, depth=1, steps=100, batch_size=16, learning_rate=1e-2)


SIX_COLUMNS = Layout(2, Units.single(3))


def problem(kind, n=60, seed=0):
    rng = RNG([seed, 4])
    x = rng.standard_normal((n, 6))
    y = x[:, 0] + 0.5 * rng.standard_normal(n)
    if kind in ("measurement", "units"):
        layout = Layout(2, Units(np.array([0, 1, 0]))) if kind == "units" else SIX_COLUMNS
        return NetworkProblem(x, layout, Measurement.encode(y, "test"))
    response = response_from(np.digitize(y, [0.0] if kind == "two" else [-0.5, 0.5]), "classification")
    logits = 0.3 * rng.standard_normal((n, response.n_outputs)) if kind == "logits" else None
    return NetworkProblem(x, SIX_COLUMNS, response, logits)


def row_losses(given, held_out, seed):
    """(blocks, rows) and lambda: rows that are held out do not act on training, so each may be judged by itself."""
    kept = np.setdiff1d(np.arange(len(given.x)), held_out)
    losses = []
    for row in held_out:
        alone = HeldOut(given.x[[row]], given.target.take(np.array([row])))
        kept_target = given.target.take(kept)
        run = train(given.x[kept], kept_target, config=CONFIG, rng=RNG(seed), groups=given.groups, held_out=alone)
        losses.append(run.held_out_loss[:, 0])
    return np.array(losses).T, run.snapshot_lambda


@pytest.mark.parametrize("kind", ["measurement", "units", "two", "three", "logits"])
def test_either_half_is_judged_at_the_lambda_which_the_other_chose(kind):
    """11 held-out rows, so halves of 5 and 6; three neighbouring blocks are averaged."""
    given, held_out = problem(kind), np.arange(20, 31)
    found = held_out_path(given, config=CONFIG, rng=RNG(1), held_out=held_out)
    losses, lambda_ = row_losses(given, held_out, 1)
    windows = range(len(losses) - 2)

    def chosen_by(half):
        return min(windows, key=lambda k: np.mean([losses[k + d, row] for d in range(3) for row in half]))

    first, second = range(5), range(5, 11)
    judged = 0.0
    for row in range(11):
        k = chosen_by(second if row in first else first)
        judged += np.mean([losses[k + d, row] for d in range(3)]) / 11
    assert found.judged_loss == pytest.approx(judged, rel=1e-4)
    assert found.best_lambda == pytest.approx(lambda_[chosen_by(range(11)) + 1])
    assert found.judged_loss >= found.loss.min() - 1e-6, "a choice by other rows is no better than the best"
    assert found.share == pytest.approx(max(0.0, 1 - judged / found.null_loss), abs=1e-4)


def test_losses_of_the_null_model():
    held_out = np.arange(20, 31)
    others = np.setdiff1d(np.arange(60), held_out)
    given = problem("measurement")
    y = given.response.y
    found = held_out_path(given, config=CONFIG, rng=RNG(1), held_out=held_out)
    assert found.null_loss == pytest.approx(np.mean((y[held_out] - y[others].mean()) ** 2))
    given = problem("logits")
    found = held_out_path(given, config=CONFIG, rng=RNG(1), held_out=held_out)
    assert found.null_loss == pytest.approx(given.response.take(held_out).mean_loss(given.logits[held_out]))
    given = problem("three")
    counts = np.bincount(given.response.labels[others], minlength=3) + 1  # one row of prior for each class
    chances = counts / counts.sum()
    found = held_out_path(given, config=CONFIG, rng=RNG(1), held_out=held_out)
    assert found.null_loss == pytest.approx(-np.log(chances[given.response.labels[held_out]]).mean())


def test_pure_noise_is_not_explained():
    """100 tables without signal. Judged by rows that did not choose lambda, the network's mean share is 0.007 with standard
    error 0.003 (a share is never negative), more than four standard errors below the bound of 0.02: false-alarm rate below
    1e-5. The old rule, the least loss on the very rows that are judged, has a mean of 0.044 and is caught."""
    gains, shares, old_shares = [], [], []
    for seed in range(100):
        rng = RNG([seed, 5])
        x, y = rng.standard_normal((100, 6)), rng.standard_normal(100)
        noise = NetworkProblem(x, SIX_COLUMNS, Measurement.encode(y, "test"))
        found = held_out_path(noise, config=replace(CONFIG, steps=400), rng=rng)
        gains.append(1 - found.judged_loss / found.null_loss)
        shares.append(found.share)
        old_shares.append(max(0.0, 1 - found.loss.min() / found.null_loss))
    assert np.mean(shares) < 0.02
    assert np.mean(old_shares) > 0.02, "the bound would not notice the old rule"
    assert np.mean(gains) < 3.8 * np.std(gains, ddof=1) / 10, "noise seems to be predicted"


def test_rows_are_split_once_each():
    kept, held_out = split_rows(50, RNG(0))
    assert len(held_out) == 10
    assert sorted([*kept, *held_out]) == list(range(50))
    kept, given = split_rows(50, RNG(0), np.array([4, 2]))
    assert list(given) == [4, 2]
    assert sorted([*kept, 2, 4]) == list(range(50))


def test_a_path_ends_where_everything_is_forgotten_and_nothing_changes(monkeypatch):
    """Pure noise: every input is forgotten before the end of the path, and what is chosen is what the whole path chooses."""
    rng = RNG(3)
    given = NetworkProblem(
        rng.standard_normal((400, 6)), SIX_COLUMNS, Measurement.encode(rng.standard_normal(400), "t")
    )
    config = replace(CONFIG, hidden=32, steps=1500, learning_rate=1e-3, schedule=replace(PATH, block_size=25))
    monkeypatch.setattr("grip2.engine.host_loop.CHUNK_FLOPS", 1e6)
    short = held_out_path(given, config=config, rng=RNG(1))
    monkeypatch.setattr("grip2.statistics.held_out.NOTHING_ACTS", 0.0)
    whole = held_out_path(given, config=config, rng=RNG(1))
    blocks = len(short.loss)
    assert blocks < 0.95 * len(whole.loss)
    np.testing.assert_allclose(short.loss, whole.loss[:blocks], rtol=1e-12)
    # What is left out is a constant, up to rounding of weights that are held near zero.
    np.testing.assert_allclose(whole.loss[blocks:], short.loss[-1], rtol=0.01)
    assert abs(short.judged_loss - whole.judged_loss) < 0.01 * whole.null_loss
