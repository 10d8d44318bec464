"""Training on rows that are fed: the run that rows in memory give in the same order."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from grip2.engine import host_loop
from grip2.engine.schedule import Schedule
from grip2.engine.target import Target
from grip2.engine.train import lay_out, train
from grip2.engine.training import TrainingConfig
from grip2.errors import Grip2Error
from grip2.responses import Measurement
from grip2.statistics.fed_rows import FedRows

CONFIG = TrainingConfig(schedule=Schedule(block_size=5), hidden=8, depth=1, steps=60, batch_size=32)


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", 16)


def table() -> tuple[np.ndarray, Target]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 6)).astype(np.float32)
    y = x[:, 0] + 0.1 * rng.standard_normal(300)
    return x, Measurement(y).target(0.2 * y[:, None])


def test_rows_in_the_same_order_give_the_same_run():
    x, target = table()
    rng = np.random.default_rng(1)
    order = lay_out(300, 6, 1, CONFIG, copy.deepcopy(rng)).row_numbers.reshape(-1)
    asked = []

    def feed(n_rows: int) -> tuple[np.ndarray, Target]:
        start = sum(asked)
        asked.append(n_rows)
        rows = np.resize(order[start:], n_rows)  # the last chunk is shorter; what it is given beyond is not used
        return x[rows], target.take(rows)

    fed = train(x, target, config=CONFIG, rng=copy.deepcopy(rng), feed=feed)
    known = train(x, target, config=CONFIG, rng=copy.deepcopy(rng))
    assert asked == [16 * 32] * 4
    np.testing.assert_allclose(fed.loss_curve, known.loss_curve, rtol=1e-5)
    np.testing.assert_allclose(fed.importance, known.importance, rtol=1e-4)


def test_all_rows_at_every_step_cannot_be_fed():
    x, target = table()
    whole = TrainingConfig(schedule=Schedule(block_size=5), hidden=8, depth=1, steps=60, batch_size=None)
    with pytest.raises(Grip2Error, match="need a batch size"):
        train(x, target, config=whole, rng=np.random.default_rng(1), feed=lambda n: (x, target))


def test_fed_rows_lose_and_repeat_nothing():
    numbers = np.arange(100.0)

    def pieces():
        for part in np.split(numbers, [7, 40, 41, 90]):
            yield part[:, None], Measurement(part)

    feed = FedRows(pieces(), lambda Z, response: (Z, response.target(2 * Z)))
    found = [feed(n) for n in (10, 5, 60, 25)]
    for x, target in found:
        np.testing.assert_array_equal(x[:, 0], target.y)
        np.testing.assert_array_equal(2 * x, target.logits)
    np.testing.assert_array_equal(np.concatenate([x[:, 0] for x, _ in found]), numbers)
