"""Ensemble: the mean of its members, at the budget it promises."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from grip2.errors import Grip2Error
from grip2.facts import Facts
from grip2.responses import response_from
from grip2.result import Importance
from grip2.statistics import GRIP2, MALD, DeepPINK, DeepSHAP, Ensemble, LassoCoefficient, Staged, Statistic
from grip2.symmetry import Members
from grip2.units import Units

made: list[int] = []  # steps of every member of `Noise` that was run


class Noise(Statistic):
    """Importances drawn from the stream, to see who gets which stream; counts its steps."""

    def __init__(self, steps: int = 100) -> None:
        self.steps = steps

    def _importance(self, members, response, *, rng, progress):
        made.append(self.steps)
        return Importance(rng.random((2, len(members.units))), Facts(details={"steps": self.steps}))


def data(n: int = 60, p: int = 4):
    X, Xk = np.random.default_rng(0).standard_normal((2, n, p))
    return X, Xk, X[:, 0] + 0.1 * Xk[:, 1]


def test_importance_is_the_mean_over_members():
    X, Xk, y = data()
    ensemble = Ensemble(Noise(), 3)
    response = response_from(y, "regression")
    table = Members((X, Xk), Units.single(4))
    found = ensemble._importance(table, response, rng=np.random.default_rng(5), progress=None)
    runs = [Noise()._importance(table, response, rng=rng, progress=None) for rng in np.random.default_rng(5).spawn(3)]
    np.testing.assert_allclose(found.scores, np.mean([run.scores for run in runs], axis=0))


def test_budgets():
    X, Xk, y = data()
    for budget, steps in (("split", 33), ("each", 100)):
        made.clear()
        found = Ensemble(Noise(100), 3, budget=budget).importance(X, Xk, y, rng=np.random.default_rng(0))
        assert made == [steps] * 3
        assert found.facts == Facts(members=3, details={"steps": steps})


def test_the_given_statistic_is_left_alone():
    statistic = Noise(100)
    Ensemble(statistic, 4).importance(*data(), rng=np.random.default_rng(0))
    assert statistic.steps == 100


@pytest.mark.parametrize(
    "statistic",
    [
        MALD(steps=40, hidden=4, depth=1, batch_size=16),
        DeepPINK(steps=40),
        GRIP2((1e-2, 1e-1), steps=40, hidden=4, depth=1, batch_size=16, block_size=5),
    ],
)
def test_members_trained_as_a_batch_are_those_trained_alone(statistic):
    X, Xk, y = data()
    statistic = statistic.sized(len(X))
    response = response_from(y, "regression")
    table = Members((X, Xk, X[::-1]), Units(np.array([0, 0, 1, 2])))
    found = Ensemble(statistic, 2)._importance(table, response, rng=np.random.default_rng(5), progress=None)
    half = type(statistic)(**{**statistic.get_params(), "steps": 20})
    runs = [half._importance(table, response, rng=rng, progress=None) for rng in np.random.default_rng(5).spawn(2)]
    np.testing.assert_allclose(found.scores, np.mean([run.scores for run in runs], axis=0), rtol=1e-3, atol=1e-5)


def test_members_of_large_networks_share_what_comes_before_them(monkeypatch):
    """Above the size of batches: one additive model of all rows and one of those kept, and members that are those of a batch."""
    module = importlib.import_module("grip2.statistics.effects")
    fitted, fit = [], module.fit_effects
    monkeypatch.setattr(module, "fit_effects", lambda *args, **more: fitted.append(1) or fit(*args, **more))
    network = GRIP2((1e-2, 1e-1), steps=40, hidden=4, depth=1, batch_size=16, block_size=5)
    statistic = Ensemble(Staged(network=network), 2)
    X, Xk, y = data()
    batched = statistic.importance(X, Xk, y, rng=np.random.default_rng(0))
    monkeypatch.setattr("grip2.statistics.network_size.BATCH_BELOW_FLOPS", 0)
    one_by_one = statistic.importance(X, Xk, y, rng=np.random.default_rng(0))
    assert len(fitted) == 2 * 2
    np.testing.assert_allclose(one_by_one.W, batched.W, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("statistic", "trainer", "single"),
    [
        (
            MALD(steps=90, hidden=4, depth=1, batch_size=16),
            "network_attribution.train_batch",
            "network_attribution.train",
        ),
        (
            DeepSHAP(steps=90, hidden=4, depth=1, background=5),
            "network_attribution.train_batch",
            "network_attribution.train",
        ),
        (DeepPINK(steps=90), "deeppink.train_filter_network", None),
        (
            GRIP2((1e-2, 1e-1), steps=90, hidden=4, depth=1, block_size=5),
            "network_runs.train_batch",
            "network_runs.train",
        ),
    ],
)
def test_small_networks_are_trained_in_one_call(monkeypatch, statistic, trainer, single):
    """All 9 members, which is more than knockoff copies are ever trained together."""
    module = importlib.import_module(f"grip2.statistics.{trainer.split('.')[0]}")
    train_all, members = getattr(module, trainer.split(".")[1]), []

    def counted(*args, rngs, **settings):
        members.append(len(rngs))
        return train_all(*args, rngs=rngs, **settings)

    monkeypatch.setattr(f"grip2.statistics.{trainer}", counted)
    monkeypatch.setattr("grip2.statistics.network_attribution._trained_last", {})
    if single is not None:
        monkeypatch.setattr(f"grip2.statistics.{single}", lambda *_, **__: pytest.fail("one was trained by itself"))
    found = Ensemble(statistic, 9).importance(*data(), rng=np.random.default_rng(0))
    assert members == [9]
    assert found.facts.members == 9


def test_errors_say_what_to_do():
    X, Xk, y = data()
    rng = np.random.default_rng(0)
    with pytest.raises(Grip2Error, match=r"LassoCoefficient has no steps set\. Set them, or use budget='each'"):
        Ensemble(LassoCoefficient(), 2).importance(X, Xk, y, rng=rng)
    with pytest.raises(Grip2Error, match="DeepPINK has no steps set"):
        Ensemble(DeepPINK(), 2).importance(X, Xk, y, rng=rng)
    with pytest.raises(Grip2Error, match="k must be at least 1, got 0"):
        Ensemble(Noise(), 0).importance(X, Xk, y, rng=rng)
    with pytest.raises(Grip2Error, match="budget must be 'split' or 'each', got 'all'"):
        Ensemble(Noise(), 2, budget="all").importance(X, Xk, y, rng=rng)
    with pytest.raises(Grip2Error, match="2 steps cannot be split over 3 members"):
        Ensemble(Noise(2), 3).importance(X, Xk, y, rng=rng)


def test_warm_up_is_split_too():
    member = Ensemble(GRIP2((1e-2, 1e-1), steps=100, warmup=50), 5).member()
    assert (member.steps, member.warmup) == (20, 10)


def test_steps_of_the_network_of_stages_are_split():
    given = Staged(network=GRIP2(steps=100, warmup=3))
    network = Ensemble(given, 5).member().network
    assert (network.steps, network.warmup, given.network.steps) == (20, 0, 100)
    assert Ensemble(Staged(), 5).sized(2000).member().network.steps == GRIP2().sized(2000).steps // 5
