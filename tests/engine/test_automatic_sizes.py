"""Sizes chosen from the shape of the table."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine.automatic_sizes import automatic_block_size, automatic_sizes
from grip2.statistics import GRIP2, MALD, DeepSHAP, Ensemble


@pytest.mark.parametrize(
    ("n_rows", "batch_size"),
    [(2, 64), (640, 64), (641, 128), (1000, 128), (2000, 256), (10_000, 1024), (100_000, 1024)],
)
def test_a_batch_is_about_a_tenth_of_the_rows(n_rows, batch_size):
    assert automatic_sizes(n_rows).batch_size == batch_size


def test_decay_fades_with_more_rows():
    assert automatic_sizes(500).deep_l2 == pytest.approx(1 / 500)
    assert automatic_sizes(50_000).deep_l2 == pytest.approx(1 / 50_000)


@pytest.mark.parametrize(("steps", "block_size"), [(3000, 25), (5000, 41), (100, 1), (1, 1)])
def test_blocks_are_a_120th_of_the_run(steps, block_size):
    assert automatic_block_size(steps) == block_size


def test_sizes_that_are_given_stay():
    sized = GRIP2(hidden=7, batch_size=None, deep_l2=0.0).sized(2000)
    assert (sized.hidden, sized.batch_size, sized.deep_l2) == (7, None, 0.0)
    assert (sized.depth, sized.steps) == (1, 3000)


@pytest.mark.parametrize("statistic", [GRIP2(), MALD(), DeepSHAP()])
def test_sizing_makes_a_copy(statistic):
    sized = statistic.sized(2000)
    assert statistic.hidden == statistic.batch_size == "auto"
    assert (sized.hidden, sized.batch_size) == (128, 256)
    assert sized.sized(100) is sized, "nothing left to choose"


def test_the_same_network_for_grip2_and_mald():
    ours, theirs = GRIP2().sized(5000), MALD().sized(5000)
    assert all(getattr(ours, name) == getattr(theirs, name) for name in ("hidden", "depth", "steps", "batch_size"))


def test_a_subclass_with_fewer_arguments_is_sized_too():
    class Mine(GRIP2):
        def __init__(self, omega="auto"):
            super().__init__(omega)

    assert Mine().sized(2000).batch_size == 256


@pytest.mark.parametrize(
    ("statistic", "message"),
    [
        (Ensemble("grip2"), "statistic must be a statistic"),
        (Ensemble(GRIP2), "statistic must be a statistic"),
        (Ensemble(MALD(steps="many")), "steps of MALD must be a whole number"),
        (GRIP2(block_size=4000), "3000 steps hold no whole block of 4000"),
        (GRIP2(block_size=True), "block_size must be a whole number"),
    ],
)
def test_bad_settings_end_before_anything_is_fitted(statistic, message):
    X = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.raises(ValueError, match=message):
        statistic.importance(X, X[::-1], X[:, 0], rng=np.random.default_rng(0))


@pytest.mark.parametrize("n_rows", [0, 1])
def test_too_few_rows_are_refused(n_rows):
    X = np.ones((n_rows, 2))
    with pytest.raises(ValueError, match="X must have at least 2 rows"):
        GRIP2().importance(X, X, np.ones(n_rows), rng=np.random.default_rng(0))


def test_ensembles_split_automatic_steps():
    assert Ensemble(GRIP2(), 5).sized(2000).member().steps == 600
    assert Ensemble(MALD(), 2).fit_identity() is not None, "before the table is known"


def test_what_was_chosen_is_in_the_record():
    rng = np.random.default_rng(0)
    X, Xk = rng.standard_normal((2, 300, 4))
    found = GRIP2(steps=50).importance(X, Xk, X[:, 0] + rng.standard_normal(300), rng=rng)
    used = found.facts.training
    assert (used.hidden, used.depth, used.steps, used.batch_size) == (128, 1, 50, 64)
    assert used.deep_l2 == pytest.approx(1 / 300)
    assert used.block_size == 1


@pytest.mark.parametrize("name", ["steps", "hidden", "depth"])
def test_words_other_than_auto_are_refused(name):
    X = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.raises(ValueError, match=f"{name} must be a whole number"):
        GRIP2(**{name: "many"}).importance(X, X[::-1], X[:, 0], rng=np.random.default_rng(0))
