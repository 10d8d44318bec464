"""What every registered statistic must hold; a new one in the registry is picked up by itself.

Networks run with small settings here: the contract is about the entry point and about symmetry, not about power. All tests of
a statistic use few shapes of tables, since every new shape is compiled anew.
"""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from grip2 import statistics
from grip2.engine.mlp import Layer, initialise
from grip2.errors import Grip2Error
from grip2.responses import response_from
from grip2.result import Importance
from grip2.statistics import Ensemble, FromEstimator, Statistic, effect_sampler
from grip2.statistics.registry import STATISTICS, WRAPPERS
from grip2.symmetry import Members
from grip2.units import Units

# Applied to whichever of these parameters a statistic has, or the statistics that it holds.
QUICK = {
    "omega": (1e-2, 1e-1), "steps": 150, "epochs": 2, "hidden": 8, "depth": 1, "batch_size": 32,
    "block_size": 10, "learning_rate": 1e-2, "n_trees": 20, "sweeps": 100, "n_lambdas": 25, "rows": 64, "background": 16,
}  # fmt: skip
FALSE_ALARM = 1e-4


def with_quick_settings(statistic: Statistic, **settings) -> Statistic:
    chosen = {**QUICK, **settings}
    known = {path: path.rpartition("__")[2] for path in statistic.get_params()}
    return statistic.set_params(**{path: chosen[name] for path, name in known.items() if name in chosen})


def statistic_for(name: str, task: str = "regression", **settings) -> Statistic:
    if name == "ensemble":
        return Ensemble(with_quick_settings(STATISTICS.create("mald"), **{"steps": 300, **settings}), 2)
    if name == "estimator":
        return FromEstimator(LinearRegression() if task == "regression" else LogisticRegression())
    return with_quick_settings(STATISTICS.create(name), **settings)


NAMES = [*STATISTICS.names(), "ensemble", "estimator"]
FINDS_SIGNALS = [name for name in NAMES if name != "random"]  # the floor of every comparison finds nothing


def easy(n: int = 300, p: int = 4, task: str = "regression", n_classes: int = 2, signals: int = 2, seed: int = 0):
    """Independent normal columns, whose knockoffs are independent copies; the first ``signals`` matter."""
    rng = np.random.default_rng(seed)
    X, Xk = rng.standard_normal((2, n, p))
    y = X[:, :signals].sum(axis=1) + 0.5 * rng.standard_normal(n)
    if task == "classification":
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return X, Xk, y


@functools.cache
def scored(name: str) -> Importance:
    """Each statistic once on the easy table, for the tests that compare with it."""
    return statistic_for(name).importance(*easy(), rng=np.random.default_rng(1))


def test_every_public_statistic_is_under_contract():
    public = {value for name in statistics.__all__ if not inspect.isabstract(value := getattr(statistics, name))}
    assert public == {type(statistic_for(name)) for name in NAMES}


def test_the_public_names_are_those_of_the_registry():
    registered = {STATISTICS.load(entry.name).__name__ for entry in STATISTICS.own_entries()}
    assert set(statistics.__all__) == registered | set(WRAPPERS) | {"Statistic"}
    assert set(dir(statistics)) == set(statistics.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_shapes_no_mutation_and_a_generator_that_advances(name):
    X, Xk, y = easy()
    before = X.copy(), Xk.copy(), y.copy()
    for array in (X, Xk, y):
        array.setflags(write=False)
    statistic, rng = statistic_for(name), np.random.default_rng(1)
    settings, state = repr(statistic.get_params()), str(rng.bit_generator.state)
    found = statistic.importance(X, Xk, y, rng=rng)
    assert found.original.shape == found.knockoff.shape == found.W.shape == (4,)
    assert np.isfinite(found.W).all()
    assert (found.original >= 0).all()
    assert (found.knockoff >= 0).all()
    for array, copy in zip((X, Xk, y), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert repr(statistic.get_params()) == settings
    assert not [attribute for attribute in vars(statistic) if attribute not in statistic.get_params()]
    assert str(rng.bit_generator.state) != state


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_numbers(name):
    again = clone(statistic_for(name)).importance(*easy(), rng=np.random.default_rng(1))
    np.testing.assert_array_equal(scored(name).original, again.original)
    np.testing.assert_array_equal(scored(name).knockoff, again.knockoff)


def test_a_generator_used_twice_gives_other_random_numbers():
    rng = np.random.default_rng(1)
    statistic = statistic_for("random")
    first, second = (statistic.importance(*easy(), rng=rng) for _ in range(2))
    np.testing.assert_array_equal(first.W, scored("random").W)
    assert not np.array_equal(first.W, second.W)


def test_a_new_process_gives_the_same_numbers():
    """One lasso, one attribution and the default, which holds the model of effects and the network."""
    names = ["lcd", "mald", "staged"]
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_statistics import scored\n"
        f"for name in {names!r}: print(scored(name).W.tobytes().hex())"
    )
    there = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    for name, line in zip(names, there.stdout.split(), strict=True):
        np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(line)), scored(name).W)


@pytest.mark.parametrize("name", NAMES)
def test_draws_scored_together_are_those_scored_alone(name):
    """Rounding differs between one network and a batch of them, and training amplifies it."""
    X, Xk, y = easy()
    other = easy(seed=1)[1]
    statistic = statistic_for(name)
    together = statistic.importances(X, [Xk, other], y, rngs=[np.random.default_rng(k) for k in (1, 2)])
    alone = [scored(name), statistic.importance(X, other, y, rng=np.random.default_rng(2))]
    for one, same in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.original, same.original, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(one.knockoff, same.knockoff, rtol=1e-3, atol=1e-5)
    assert not np.array_equal(together[0].W, together[1].W)


@pytest.mark.parametrize("name", FINDS_SIGNALS)
@pytest.mark.parametrize(("task", "n_classes"), [("regression", 0), ("classification", 2), ("classification", 3)])
def test_larger_on_an_easy_signal(name, task, n_classes):
    X, Xk, y = easy(task=task, n_classes=n_classes)
    found = statistic_for(name, task).importance(X, Xk, y, rng=np.random.default_rng(2), task=task)
    assert found.W[:2].min() > np.abs(found.W[2:]).max()


def null_signs(statistic: Statistic, replicates: int, *, without_swap: bool = False) -> tuple[int, int]:
    """How many null W are positive, and how many are not zero, over fresh data sets with one signal and 39 nulls.

    ``without_swap`` calls the statistic itself, without the random exchange of pairs that makes any statistic fair.
    """
    positive = nonzero = 0
    for seed in range(replicates):
        X, Xk, y = easy(60, 40, signals=1, seed=1000 + seed)
        rng = np.random.default_rng(seed)
        if without_swap:
            response = response_from(y, "regression")
            nulls = (
                statistic.sized(len(X))
                ._importance(Members((X, Xk), Units.single(40)), response, rng=rng, progress=None)
                .W[1:]
            )
        else:
            nulls = statistic.importance(X, Xk, y, rng=rng).W[1:]
        positive, nonzero = positive + int((nulls > 0).sum()), nonzero + int((nulls != 0).sum())
    return positive, nonzero


def is_balanced(positive: int, nonzero: int) -> bool:
    """Within the two-sided binomial bound at FALSE_ALARM: signs of null W are independent fair coins."""
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], nonzero, 0.5)
    return bool(low <= positive <= high)


# Few steps: what is unequal at the start or in the update must not be forgotten during training.
SHORT = {"steps": 30, "learning_rate": 1e-3}


NETWORKS = ["grip2", "grip1", "grip1a", "gr"]
MANY_NULLS = [*NETWORKS, "effects", "staged"]  # tested with four times as many signs below


@pytest.mark.parametrize(
    ("name", "without_swap"),
    [*((name, False) for name in NAMES), *((name, True) for name in NAMES if name not in MANY_NULLS)],
)
def test_signs_of_nulls_are_fair_coins(name, without_swap):
    """10 replicates of 39 null pairs; false alarm 1e-4. Also without the swap, so that a slip inside is seen."""
    positive, nonzero = null_signs(statistic_for(name, **SHORT), 10, without_swap=without_swap)
    assert nonzero >= 30
    assert is_balanced(positive, nonzero), f"{positive} of {nonzero} null W are positive"


def many_null_signs(name: str) -> tuple[int, int]:
    """40 replicates of 39 null pairs, without the swap."""
    positive, nonzero = null_signs(statistic_for(name, **SHORT), 40, without_swap=True)
    assert nonzero >= 1500
    return positive, nonzero


@pytest.mark.parametrize("name", MANY_NULLS)
def test_signs_of_many_nulls_are_fair_without_the_swap(name):
    """40 replicates of 39 null pairs, at least 1,500 signs: within the binomial bound, 0.451 to 0.549; false alarm 1e-4."""
    positive, nonzero = many_null_signs(name)
    assert is_balanced(positive, nonzero), f"{positive} of {nonzero} null W are positive"


def larger_first_columns(*sizes: int, rng: np.random.Generator):
    """The broken twin of `initialise`: weights of the first half of the columns start 5 % larger."""
    first, *rest = initialise(*sizes, rng=rng)
    factor = np.where(np.arange(len(first.weight)) < len(first.weight) // 2, 1.05, 1.0)
    return (Layer(first.weight * factor[:, None], first.bias), *rest)


@pytest.mark.parametrize("name", NETWORKS)
def test_unequal_starting_weights_are_caught(monkeypatch, name):
    monkeypatch.setattr("grip2.engine.train.initialise", larger_first_columns)
    positive, nonzero = many_null_signs(name)
    assert not is_balanced(positive, nonzero), f"{positive} of {nonzero} null W are positive"


@pytest.mark.parametrize("name", ["effects", "staged"])
def test_unequal_probabilities_are_caught(monkeypatch, name):
    """The broken twin of the model of effects, alone and in `Staged`: the first member counts half as much again."""
    sample = effect_sampler._sample

    def favouring_the_first(*arguments):
        draws = sample(*arguments)
        return draws._replace(probability=draws.probability * [[1.5], [1.0]])

    monkeypatch.setattr(effect_sampler, "_sample", favouring_the_first)
    positive, nonzero = many_null_signs(name)
    assert not is_balanced(positive, nonzero), f"{positive} of {nonzero} null W are positive"


class FavoursTheFirst(Statistic):
    """Correlation with y, and a little more for whatever comes first: a broken statistic."""

    def _importance(self, members, response, *, rng, progress):
        first, second = np.abs([table.T @ response.y for table in members.tables])
        return Importance(np.stack([first + 5.0, second]))


def test_the_sign_test_catches_a_biased_statistic_and_the_swap_cures_it():
    assert not is_balanced(*null_signs(FavoursTheFirst(), 20, without_swap=True))
    assert is_balanced(*null_signs(FavoursTheFirst(), 20))


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_refused_in_words(name):
    X, Xk, y = easy(30, 3)
    statistic, rng = statistic_for(name), np.random.default_rng(0)
    with pytest.raises(Grip2Error, match="Xk must have the shape of X"):
        statistic.importance(X, Xk[:, :2], y, rng=rng)
    with pytest.raises(Grip2Error, match="one class only"):
        statistic.importance(X, Xk, np.zeros(30), rng=rng, task="classification")
    with pytest.raises(Grip2Error, match="finite"):
        statistic.importance(X, Xk, np.where(np.arange(30) == 3, np.nan, y > 0), rng=rng, task="classification")
    with pytest.raises(Grip2Error, match="task must be one of"):
        statistic.importance(X, Xk, y, rng=rng, task="ranking")


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_member_makes_a_tie(name):
    """A rare 0/1 column may get a constant knockoff, over which it would always win, null or not: the pair must not count."""
    X, Xk, y = easy(300, 4)
    X[:, 3] = 0.0
    X[:2, 3] = 1.0
    Xk[:, 3] = 0.0
    found = statistic_for(name).importance(X, Xk, y, rng=np.random.default_rng(0))
    assert found.W[3] == 0
    assert found.W[0] != 0
