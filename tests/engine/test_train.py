"""The compiled engine against its naive twin, and what a run promises."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine import host_loop
from grip2.engine import train as engine
from grip2.engine.host_loop import NonFiniteTrainingError, minibatches
from grip2.engine.input_groups import InputGroups
from grip2.engine.mlp import initialise
from grip2.engine.schedule import KINDS, Schedule
from grip2.engine.target import Target
from grip2.engine.train import HeldOut, predict, train, train_batch
from grip2.engine.training import TrainingConfig
from grip2.errors import Grip2Error
from grip2.responses import Measurement, response_from
from tests.naive.broken_training import BROKEN, NEED_CLIPPING, NEED_GROUPS
from tests.naive.training import Trainer

RNG = np.random.default_rng

# Four members of three columns, of which the first and the last are one unit: groups of two and of one column.
UNITS = np.array([0, 1, 0, 2, 3, 2, 4, 5, 4, 6, 7, 6])


def problem(kind="regression", n=60, m=8, seed=0):
    """A table and its response: y as given (not standardised), two or three classes."""
    rng = RNG(seed)
    x = rng.standard_normal((n, m))
    f = x[:, 0] + np.abs(x[:, 1])
    if kind == "regression":
        return x, Measurement(f + 0.1 * rng.standard_normal(n))
    return x, response_from(np.digitize(f, [0.5] if kind == "two" else [0.0, 1.0]), "classification")


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


def both(x, response, config, twin=Trainer, seed=3, groups=None):
    """The same run by the engine and by its naive twin."""
    run = train(x, response.target(), config=config, rng=RNG(seed), groups=InputGroups.numbered(groups))
    layout = engine.lay_out(len(x), x.shape[1], response.n_outputs, config, RNG(seed))
    found = twin(
        x,
        response.y,
        kind=type(response).__name__,
        config=config,
        parameters=layout.parameters,
        regimes=layout.regimes,
        row_numbers=layout.row_numbers,
        groups=groups,
    ).run()
    return run, found


def assert_same_run(run, twin):
    """In double precision the two agree to rounding after 310 steps; 1e-7 is far above it and far below any bug."""
    np.testing.assert_allclose(run.snapshots, twin.snapshots, rtol=1e-7, atol=1e-9)  # of weights, as below
    np.testing.assert_allclose(run.loss_curve, twin.losses, rtol=1e-7)
    np.testing.assert_allclose(run.gradient_ratio, twin.ratios, rtol=1e-5)
    np.testing.assert_allclose(run.importance, twin.snapshots.mean(axis=0), rtol=1e-7)
    for layer, (weight, bias) in zip(run.parameters, twin.parameters, strict=True):
        np.testing.assert_allclose(layer.weight, weight, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(layer.bias, bias, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("response", ["regression", "two", "three"])
def test_engine_equals_naive_twin(kind, response):
    schedule = Schedule(kind=kind, lambda_min=1e-3, lambda_max=1e-1, block_size=20, warmup=10)
    assert_same_run(*both(*problem(response), small(schedule=schedule, precision="float64")))


@pytest.mark.parametrize(
    "changes",
    [
        {"clip_norm": 1.0},
        {"clip_norm": 0.05},
        {"batch_size": None},
        {"depth": 1, "hidden": 1},
        {"depth": 3},
        {"epsilon": 1e-4},
    ],
)
def test_engine_equals_naive_twin_in_other_settings(changes):
    assert_same_run(*both(*problem(), small(precision="float64", **changes)))


@pytest.mark.parametrize("changes", [{}, {"clip_norm": 0.05, "batch_size": None, "depth": 1, "epsilon": 1e-4}])
def test_engine_equals_naive_twin_with_units(changes):
    run, twin = both(*problem(m=12), small(precision="float64", **changes), groups=UNITS)
    assert run.importance.shape == (8,)
    assert_same_run(run, twin)


def test_units_of_one_column_are_columns():
    x, response = problem()
    config = small(precision="float64")
    found, expected = (
        train(x, response.target(), config=config, rng=RNG(0), groups=groups)
        for groups in (InputGroups.numbered(np.arange(8)), None)
    )
    np.testing.assert_allclose(found.snapshots, expected.snapshots, rtol=1e-9)
    np.testing.assert_allclose(found.loss_curve, expected.loss_curve, rtol=1e-9)


def test_exchanged_members_exchange_their_snapshots(monkeypatch):
    """Members 0 and 2 of the unit of two columns change places, with their starting weights: so do their norms. A factor for
    group size that one member lacks is noticed, on the same data and with the same seed."""
    x, response = problem(m=12)
    config = small(precision="float64")
    columns, of_groups = np.arange(12), np.arange(8)
    columns[[0, 2, 6, 8]] = [6, 8, 0, 2]
    of_groups[[0, 4]] = [4, 0]

    def snapshots(groups: InputGroups, order: np.ndarray) -> np.ndarray:
        def permuted(*sizes, rng):
            first, *rest = initialise(*sizes, rng=rng)
            return (first._replace(weight=first.weight[order]), *rest)

        monkeypatch.setattr(engine, "initialise", permuted)
        return train(x[:, order], response.target(), config=config, rng=RNG(0), groups=groups).snapshots

    def difference(groups: InputGroups) -> float:
        straight, exchanged = snapshots(groups, np.arange(12)), snapshots(groups, columns)
        return float(np.max(np.abs(exchanged - straight[:, of_groups])))

    groups = InputGroups.numbered(UNITS)
    assert groups is not None
    assert difference(groups) < 1e-8
    sizes = groups.sizes.copy()
    sizes[0] = 1
    assert difference(groups._replace(sizes=sizes)) > 1e-3


def test_single_precision_follows_the_twin():
    run, twin = both(*problem(), small(epsilon=1e-4))
    assert run.snapshots.dtype == np.float32
    np.testing.assert_allclose(run.snapshots, twin.snapshots, rtol=1e-2, atol=2e-4)


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_twins_are_noticed(broken):
    """The comparison above can fail: each of these bugs moves the snapshots by far more than its tolerance."""
    clip_norm = 0.05 if broken in NEED_CLIPPING else None
    config = small(precision="float64", clip_norm=clip_norm)
    table, groups = (problem(m=12), UNITS) if broken in NEED_GROUPS else (problem(), None)
    run, twin = both(*table, config, broken, groups=groups)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_same_run(run, twin)
    assert np.max(np.abs(run.snapshots - twin.snapshots)) > 1e-4


@pytest.mark.parametrize("capacity", [1, 32])
def test_chunks_do_not_change_the_run(monkeypatch, capacity):
    x, response = problem()
    config = small(precision="float64")
    held_out = HeldOut(x[:10], response.target().take(np.arange(10)))
    whole = train(x, response.target(), config=config, rng=RNG(0), held_out=held_out)
    calls = []
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", capacity)
    chunked = train(
        x,
        response.target(),
        config=config,
        rng=RNG(0),
        held_out=held_out,
        progress=lambda *done_and_total: calls.append(done_and_total),
    )
    assert calls == [(min(done, 310), 310) for done in range(capacity, 310 + capacity, capacity)]
    assert len(chunked.snapshots) == 15
    for name in ("snapshots", "gradient_ratio", "held_out_loss", "loss_curve", "importance"):
        np.testing.assert_allclose(getattr(chunked, name), getattr(whole, name), rtol=1e-9, err_msg=name)
    np.testing.assert_array_equal(chunked.snapshot_lambda, whole.snapshot_lambda)


@pytest.mark.parametrize("own_tables", [False, True])
@pytest.mark.parametrize("groups", [None, InputGroups.numbered(np.array([0, 1, 0, 0, 2, 3, 2, 2]))])
def test_batch_members_equal_single_runs(own_tables, groups):
    x, response = problem()
    config = small(precision="float64")
    y = response.y
    tables = np.stack([x, x[:, ::-1], 2 * x]) if own_tables else x
    responses = [Measurement(one) for one in ((y, y, -y) if own_tables else (y, y, y))]
    target = Target.stacked([one.target() for one in responses]) if own_tables else response.target()
    members = train_batch(tables, target, config=config, rngs=[RNG(k) for k in range(3)], groups=groups)
    for k, member in enumerate(members):
        table = tables[k] if own_tables else x
        alone = train(table, responses[k].target(), config=config, rng=RNG(k), groups=groups)
        np.testing.assert_allclose(member.snapshots, alone.snapshots, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(member.loss_curve, alone.loss_curve, rtol=1e-7)


def test_a_batch_needs_a_generator_for_each_table():
    x, response = problem()
    with pytest.raises(Grip2Error, match="2 tables for 3 generators"):
        train_batch(np.stack([x, x]), response.target(), config=small(), rngs=[RNG(k) for k in range(3)])


def test_schedules_of_a_batch_take_their_snapshots_together():
    x, response = problem()
    schedules = [Schedule(block_size=size) for size in (10, 20)]
    with pytest.raises(Grip2Error, match="snapshots after the same steps"):
        train_batch(x, response.target(), config=small(), rngs=[RNG(0), RNG(1)], schedules=schedules)


def test_same_seed_same_bits():
    x, response = problem()
    first, second = (train(x, response.target(), config=small(), rng=RNG(1)) for _ in range(2))
    np.testing.assert_array_equal(first.snapshots, second.snapshots)


def test_non_finite_training_is_an_error():
    x, response = problem()
    with pytest.raises(NonFiniteTrainingError, match=r"non-finite at step \d+ .*Lower the learning rate"):
        train(1e30 * x, response.target(), config=small(), rng=RNG(0))


@pytest.mark.parametrize("capacity", [1, 8, 4096])
def test_the_step_at_which_training_became_non_finite_is_named(monkeypatch, capacity):
    """One row has no finite y: its first minibatch is the step to name, of the member that meets it first."""
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", capacity)
    x, response = problem()
    y = response.y.copy()
    y[17] = np.nan
    config = small(batch_size=3)

    def first_step(seed):
        row_numbers = engine.lay_out(60, 8, 1, config, RNG(seed)).row_numbers
        return 1 + int(np.flatnonzero((row_numbers == 17).any(axis=1))[0])

    steps = [first_step(seed) for seed in (5, 6)]
    assert min(steps) > 1
    assert steps[0] != steps[1]
    with pytest.raises(NonFiniteTrainingError, match=f"non-finite at step {steps[0]} "):
        train(x, Measurement(y).target(), config=config, rng=RNG(5))
    with pytest.raises(NonFiniteTrainingError, match=f"non-finite at step {min(steps)} "):
        train_batch(x, Measurement(y).target(), config=config, rngs=[RNG(5), RNG(6)])


def test_weights_that_end_non_finite_are_an_error():
    """The losses of all steps are finite, the step after the last one is not: what is recorded would be worthless."""
    x, response = problem()
    config = small(schedule=Schedule(block_size=1), steps=1, learning_rate=1e38)
    with pytest.raises(NonFiniteTrainingError, match="non-finite at step 1 "):
        train(x, response.target(), config=config, rng=RNG(0))


def test_caller_can_stop_a_run(monkeypatch):
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", 64)
    x, response = problem()
    whole = train(x, response.target(), config=small(), rng=RNG(0))
    run = train(x, response.target(), config=small(), rng=RNG(0), progress=lambda done, total: done < 128)
    assert run.stop_reason == "stopped by the caller after 128 of 310 steps"
    assert whole.stop_reason == "all blocks done"
    assert len(run.snapshots) == 5
    assert len(run.loss_curve) == 128
    np.testing.assert_array_equal(run.snapshots, whole.snapshots[:5])
    np.testing.assert_array_equal(run.loss_curve, whole.loss_curve[:128])


def test_a_run_stopped_before_its_first_snapshot_has_nothing_to_tell(monkeypatch):
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", 8)
    x, response = problem()
    with pytest.raises(RuntimeError, match="stopped before its first snapshot"):
        train(x, response.target(), config=small(), rng=RNG(0), progress=lambda done, total: False)


@pytest.mark.parametrize(("n_held_out", "first_half"), [(20, 10), (21, 10), (1, 1)])
def test_held_out_loss_is_that_of_the_recorded_network_on_either_half(n_held_out, first_half):
    x, response = problem(n=60 + n_held_out)
    y = response.y
    run = train(
        x[:60],
        response.take(np.arange(60)).target(),
        config=small(),
        rng=RNG(0),
        held_out=HeldOut(x[60:], response.target().take(np.arange(60, len(x)))),
    )
    assert run.held_out_loss.shape == (15, 2)
    errors = (predict(run.parameters, x[60:])[:, 0] - y[60:]) ** 2
    second = errors[first_half:] if n_held_out > 1 else errors  # a single row is both halves
    assert run.held_out_loss[-1] == pytest.approx([errors[:first_half].mean(), second.mean()], rel=1e-5)


@pytest.mark.parametrize("batch_size", [None, 8])
def test_logits_of_a_regression_are_the_training_of_its_residual(batch_size):
    x, response = problem(n=80)
    logits = np.linspace(-1, 1, 80)[:, None]
    config = small(precision="float64", batch_size=batch_size)
    kept, held_out = np.arange(60), np.arange(60, 80)
    runs = [
        train(x[kept], whole.take(kept), config=config, rng=RNG(0), held_out=HeldOut(x[held_out], whole.take(held_out)))
        for whole in (Measurement(response.y - logits[:, 0]).target(), response.target(logits))
    ]
    np.testing.assert_allclose(runs[1].snapshots, runs[0].snapshots, rtol=1e-9)
    np.testing.assert_allclose(runs[1].held_out_loss, runs[0].held_out_loss, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_constant_logits_are_a_shift_of_the_last_bias(classes, monkeypatch):
    x, measured = problem()
    y = measured.y
    response = response_from(np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)), "classification")
    shift = np.linspace(0.5, 1.5, response.n_outputs)
    config = small(precision="float64")
    target = response.target(np.tile(shift, (len(x), 1)))
    found = train(x, target, config=config, rng=RNG(0))
    batch = train_batch(x, target, config=config, rngs=[RNG(0)])[0]
    original = engine.initialise

    def shifted(*args, rng):
        *first, last = original(*args, rng=rng)
        return (*first, last._replace(bias=last.bias + shift))

    monkeypatch.setattr(engine, "initialise", shifted)
    expected = train(x, response.target(), config=config, rng=RNG(0))
    np.testing.assert_allclose(found.snapshots, expected.snapshots, rtol=1e-7)
    np.testing.assert_allclose(batch.snapshots, expected.snapshots, rtol=1e-7)


def test_minibatches_visit_every_row_once_a_pass():
    row_numbers = minibatches(50, 8, 14, np.random.default_rng(0))
    assert row_numbers.shape == (14, 8)
    for start in (0, 6):
        part = row_numbers[start : start + 6].ravel()
        assert len(set(part.tolist())) == 48


def test_columns_start_alike():
    """Group norms at the start do not depend on the column: their mean over 400 runs is constant within 5 se."""
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
