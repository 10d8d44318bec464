"""The compiled engine against its naive twin, and what a run promises."""

from __future__ import annotations

import numpy as np
import pytest
from grip2.engine.losses import choose_loss

from grip2.engine import train as engine
from grip2.engine.schedule import KINDS, Schedule
from grip2.engine.train import (
    HeldOut,
    NonFiniteTrainingError,
    TrainingConfig,
    predict,
    prediction_loss,
    train,
    train_batch,
)
from tests.naive import training as naive


def problem(task="regression", n=60, m=8, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, m))
    f = x[:, 0] + np.abs(x[:, 1])
    if task == "regression":
        return x, f + 0.1 * rng.standard_normal(n)
    return x, np.digitize(f, [0.5] if task == "two" else [0.0, 1.0]).astype(float)


def small(**changes):
    settings = {
        "schedule": Schedule(lambda_min=1e-3, lambda_max=1e-1, block_size=20, warmup=10),
        "hidden": 6,
        "depth": 2,
        "steps": 300,
        "batch_size": 16,
        "deep_l2": 1e-3,
    }
    return TrainingConfig(**(settings | changes))


def both(x, y, task, config, seed=3):
    """The same run by the engine and by its naive twin."""
    run = train(x, y, task=task, config=config, rng=np.random.default_rng(seed))
    loss_name, n_outputs = choose_loss(task, y)
    layout = engine.lay_out(len(x), x.shape[1], n_outputs, config, np.random.default_rng(seed))
    twin = naive.train(
        x,
        y,
        loss_name=loss_name,
        config=config,
        parameters=layout.parameters,
        regimes=layout.regimes,
        rows=layout.rows,
    )
    return run, twin


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", ["regression", "two", "three"])
def test_engine_equals_naive_twin(kind, task):
    """In double precision the two agree to rounding after 310 steps; 1e-7 is far above it and far below any bug."""
    x, y = problem(task)
    schedule = Schedule(kind=kind, lambda_min=1e-3, lambda_max=1e-1, block_size=20, warmup=10)
    config = small(schedule=schedule, precision="float64")
    run, (snapshots, losses, ratios, parameters) = both(
        x, y, "regression" if task == "regression" else "classification", config
    )
    np.testing.assert_allclose(run.snapshots, snapshots, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(run.loss_curve, losses, rtol=1e-7)
    np.testing.assert_allclose(run.gradient_ratio, ratios, rtol=1e-5)
    np.testing.assert_allclose(run.importance, snapshots.mean(axis=0), rtol=1e-7)
    for layer, (weight, bias) in zip(run.parameters, parameters, strict=True):
        np.testing.assert_allclose(layer.weight, weight, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(layer.bias, bias, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "changes",
    [{"clip_norm": 1.0}, {"batch_size": None}, {"depth": 1, "hidden": 1}, {"depth": 3}, {"epsilon": 1e-4}],
)
def test_engine_equals_naive_twin_in_other_settings(changes):
    x, y = problem()
    run, (snapshots, losses, _, _) = both(x, y, "regression", small(precision="float64", **changes))
    np.testing.assert_allclose(run.snapshots, snapshots, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(run.loss_curve, losses, rtol=1e-7)


def test_single_precision_follows_the_twin():
    x, y = problem()
    run, (snapshots, _, _, _) = both(x, y, "regression", small(epsilon=1e-4))
    assert run.snapshots.dtype == np.float32
    np.testing.assert_allclose(run.snapshots, snapshots, rtol=1e-2, atol=2e-4)


@pytest.mark.parametrize("broken", ["no penalty gradient", "penalty on the deep layers", "no bias correction"])
def test_a_broken_twin_is_noticed(broken, monkeypatch):
    """The comparison above can fail: three plausible bugs move the snapshots by far more than its tolerance."""
    x, y = problem()
    if broken == "no penalty gradient":
        monkeypatch.setattr(naive, "penalty_gradient", lambda weight, *_: np.zeros_like(weight))
    config = small(precision="float64")
    run, (snapshots, _, _, _) = both(x, y, "regression", config)
    if broken == "penalty on the deep layers":
        _, (snapshots, _, _, _) = both(x, y, "regression", small(precision="float64", deep_l2=0.0))
    if broken == "no bias correction":
        _, (snapshots, _, _, _) = both(x, y, "regression", small(precision="float64", learning_rate=9e-4))
    assert np.max(np.abs(run.snapshots - snapshots)) > 1e-4


def test_chunks_do_not_change_the_run(monkeypatch):
    x, y = problem()
    whole = train(x, y, task="regression", config=small(), rng=np.random.default_rng(0))
    calls = []
    monkeypatch.setattr(engine, "CHUNK_STEPS_MAX", 32)
    chunked = train(
        x,
        y,
        task="regression",
        config=small(),
        rng=np.random.default_rng(0),
        progress=lambda *d: calls.append(d),
    )
    assert [done for done, _ in calls] == [*range(32, 310, 32), 310]
    assert len(chunked.snapshots) == 15
    np.testing.assert_allclose(chunked.snapshots, whole.snapshots, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(chunked.snapshot_lambda, whole.snapshot_lambda)


@pytest.mark.parametrize("own_tables", [False, True])
def test_batch_members_equal_single_runs(own_tables):
    x, y = problem()
    config = small(precision="float64")
    tables = np.stack([x, x[:, ::-1], 2 * x]) if own_tables else x
    targets = np.stack([y, y, -y]) if own_tables else y
    members = train_batch(
        tables, targets, task="regression", config=config, rngs=[np.random.default_rng(k) for k in range(3)]
    )
    for k, member in enumerate(members):
        alone = train(
            tables[k] if own_tables else x,
            targets[k] if own_tables else y,
            task="regression",
            config=config,
            rng=np.random.default_rng(k),
        )
        np.testing.assert_allclose(member.snapshots, alone.snapshots, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(member.loss_curve, alone.loss_curve, rtol=1e-7)


def test_same_seed_same_bits():
    x, y = problem()
    first, second = (train(x, y, task="regression", config=small(), rng=np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first.snapshots, second.snapshots)


def test_non_finite_training_is_an_error():
    x, y = problem()
    with pytest.raises(NonFiniteTrainingError, match=r"non-finite at step \d+ .*Lower the learning rate"):
        train(1e30 * x, y, task="regression", config=small(), rng=np.random.default_rng(0))


def test_caller_can_stop_a_run(monkeypatch):
    monkeypatch.setattr(engine, "CHUNK_STEPS_MAX", 64)
    x, y = problem()
    run = train(
        x,
        y,
        task="regression",
        config=small(),
        rng=np.random.default_rng(0),
        progress=lambda done, total: done < 128,
    )
    assert run.stop_reason == "stopped by the caller after 128 of 310 steps"
    assert len(run.snapshots) == 5
    assert len(run.loss_curve) == 128


def test_held_out_loss_is_that_of_the_recorded_network():
    x, y = problem(n=80)
    run = train(
        x[:60],
        y[:60],
        task="regression",
        config=small(),
        rng=np.random.default_rng(0),
        held_out=HeldOut(x[60:], y[60:]),
    )
    assert run.held_out_loss.shape == (15,)
    expected = np.mean((predict(run.parameters, x[60:])[:, 0] - y[60:]) ** 2)
    assert run.held_out_loss[-1] == pytest.approx(expected, rel=1e-5)
    assert prediction_loss(run.parameters, x[60:], y[60:], task="regression") == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("batch_size", [None, 8])
def test_an_offset_of_a_regression_is_the_training_of_its_residual(batch_size):
    x, y = problem(n=80)
    offset = np.linspace(-1, 1, 80)[:, None]
    config = small(precision="float64", batch_size=batch_size)
    runs = [
        train(x[:60], target[:60], task="regression", config=config, rng=np.random.default_rng(0), **more)
        for target, more in (
            (y - offset[:, 0], {"held_out": HeldOut(x[60:], y[60:] - offset[60:, 0])}),
            (y, {"offset": offset[:60], "held_out": HeldOut(x[60:], y[60:], offset[60:])}),
        )
    ]
    np.testing.assert_allclose(runs[1].snapshots, runs[0].snapshots, rtol=1e-9)
    np.testing.assert_allclose(runs[1].held_out_loss, runs[0].held_out_loss, rtol=1e-9)


@pytest.mark.parametrize(("task", "classes"), [("classification", 2), ("classification", 3)])
def test_a_constant_offset_is_a_shift_of_the_last_bias(task, classes, monkeypatch):
    x, y = problem()
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)).astype(float)
    outputs = 1 if classes == 2 else classes
    shift = np.linspace(0.5, 1.5, outputs)
    config = small(precision="float64")
    rows = np.tile(shift, (len(x), 1))
    found = train(x, labels, task=task, config=config, rng=np.random.default_rng(0), offset=rows)
    batch = train_batch(x, labels, task=task, config=config, rngs=[np.random.default_rng(0)], offset=rows)[0]
    original = engine.initialise

    def shifted(*args, rng):
        *first, last = original(*args, rng=rng)
        return (*first, last._replace(bias=last.bias + shift))

    monkeypatch.setattr(engine, "initialise", shifted)
    expected = train(x, labels, task=task, config=config, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.snapshots, expected.snapshots, rtol=1e-7)
    np.testing.assert_allclose(batch.snapshots, expected.snapshots, rtol=1e-7)


def test_minibatches_visit_every_row_once_a_pass():
    rows = engine.minibatches(50, 8, 14, np.random.default_rng(0))
    assert rows.shape == (14, 8)
    for start in (0, 6):
        part = rows[start : start + 6].ravel()
        assert len(set(part.tolist())) == 48


def test_columns_start_alike():
    """Group norms at the start do not depend on the column: their mean over 400 runs is constant within 5 se."""
    from grip2.engine.mlp import initialise

    rng = np.random.default_rng(0)
    norms = np.array([np.linalg.norm(initialise(6, 4, 1, 1, rng=rng)[0].weight, axis=1) for _ in range(400)])
    means, error = norms.mean(axis=0), norms.std(axis=0) / np.sqrt(len(norms))
    assert np.all(np.abs(means - means.mean()) < 5 * error)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": 0}, "hidden must be at least 1"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"deep_l2": -1.0}, "deep_l2"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"precision": "half"}, "precision"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)
