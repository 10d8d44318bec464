"""What every registered statistic must hold; a new one in the registry is picked up by itself.

Networks run with small settings here: the contract is about the door, not about power.
"""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from grip2 import statistics
from grip2.result import Importance
from grip2.statistics import Ensemble, FromEstimator, Statistic, registry

# Applied to whichever of these parameters a statistic has.
QUICK = {
    "omega": (1e-2, 1e-1), "steps": 150, "epochs": 2, "hidden": 8, "depth": 1, "batch_size": 32,
    "block_size": 10, "learning_rate": 1e-2, "n_trees": 20, "sweeps": 100, "n_lambdas": 25, "rows": 64, "background": 16,
}  # fmt: skip
FALSE_ALARM = 1e-4


def quick(name: str, **settings) -> Statistic:
    known = registry.create(name).get_params()
    return registry.create(name, **{key: value for key, value in {**QUICK, **settings}.items() if key in known})


def statistic_for(name: str, task: str = "regression") -> Statistic:
    if name == "ensemble":
        return Ensemble(quick("mald", steps=300), 2)
    if name == "estimator":
        return FromEstimator(LinearRegression() if task == "regression" else LogisticRegression())
    return quick(name)


POSTERIOR = "grip2.statistics.effects:EffectPosterior"  # known by its place only
NAMES = [*registry.names(), "ensemble", "estimator", POSTERIOR]


def easy(n: int, p: int, task: str = "regression", n_classes: int = 2, signals: int = 2, seed: int = 0):
    """Independent normal columns, whose knockoffs are independent copies; the first ``signals`` matter."""
    rng = np.random.default_rng(seed)
    X, Xk = rng.standard_normal((2, n, p))
    y = X[:, :signals].sum(axis=1) + 0.5 * rng.standard_normal(n)
    if task == "classification":
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return X, Xk, y


def test_every_public_statistic_is_under_contract():
    public = {value for name in statistics.__all__ if not inspect.isabstract(value := getattr(statistics, name))}
    covered = {type(statistic_for(name)) for name in NAMES}
    assert public == covered - {type(statistic_for(POSTERIOR))}


@pytest.mark.parametrize("name", NAMES)
def test_shapes_no_mutation_and_a_generator_that_moves(name):
    X, Xk, y = easy(80, 3)
    before = X.copy(), Xk.copy(), y.copy()
    for array in (X, Xk, y):
        array.setflags(write=False)
    statistic, rng = statistic_for(name), np.random.default_rng(1)
    settings, state = repr(statistic.get_params()), str(rng.bit_generator.state)
    found = statistic.importance(X, Xk, y, rng=rng)
    assert found.original.shape == found.knockoff.shape == found.W.shape == (3,)
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
    X, Xk, y = easy(80, 3)
    first = statistic_for(name).importance(X, Xk, y, rng=np.random.default_rng(1))
    again = clone(statistic_for(name)).importance(X, Xk, y, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(first.original, again.original)
    np.testing.assert_array_equal(first.knockoff, again.knockoff)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("task", "n_classes"), [("regression", 0), ("classification", 2), ("classification", 3)])
def test_larger_on_an_easy_signal(name, task, n_classes):
    X, Xk, y = easy(300, 4, task, n_classes)
    found = statistic_for(name, task).importance(X, Xk, y, rng=np.random.default_rng(2), task=task)
    assert found.W[:2].min() > np.abs(found.W[2:]).max()


@pytest.mark.parametrize("name", ["lcd", "mald"])
def test_a_new_process_gives_the_same_numbers(name):
    here = statistic_for(name).importance(*easy(80, 3), rng=np.random.default_rng(1))
    code = (
        f"import sys; sys.path.insert(0, {str(__file__.rsplit('/', 1)[0])!r})\n"
        "import numpy as np; from test_statistics_contract import easy, statistic_for\n"
        f"found = statistic_for({name!r}).importance(*easy(80, 3), rng=np.random.default_rng(1))\n"
        "print(found.W.tobytes().hex())"
    )
    there = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(there.stdout.strip())), here.W)


def null_signs(
    statistic: Statistic, replicates: int, n: int = 60, p: int = 20, *, past_the_door: bool = False
) -> tuple[int, int]:
    """How many null W are positive, and how many are not zero, over fresh data sets with one weak signal.

    ``past_the_door`` calls the statistic itself, without the swap that would make any statistic fair.
    """
    positive = nonzero = 0
    for seed in range(replicates):
        X, Xk, y = easy(n, p, signals=1, seed=1000 + seed)
        rng = np.random.default_rng(seed)
        if past_the_door:
            nulls = statistic.sized(len(X))._importance(X, Xk, y, rng=rng, task="regression", progress=None).W[1:]
        else:
            nulls = statistic.importance(X, Xk, y, rng=rng).W[1:]
        positive, nonzero = positive + int((nulls > 0).sum()), nonzero + int((nulls != 0).sum())
    return positive, nonzero


def is_balanced(positive: int, nonzero: int) -> bool:
    """Within the two-sided binomial bound at FALSE_ALARM: signs of null W are independent fair coins."""
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], nonzero, 0.5)
    return bool(low <= positive <= high)


@pytest.mark.parametrize("past_the_door", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_signs_of_nulls_are_fair_coins(name, past_the_door):
    """20 replicates of 19 null pairs; false alarm 1e-4. Also without the swap, so that a slip inside is seen."""
    statistic = statistic_for(name)
    if "steps" in statistic.get_params():
        statistic.set_params(steps=30)
    positive, nonzero = null_signs(statistic, 20, past_the_door=past_the_door)
    assert nonzero >= 30
    assert is_balanced(positive, nonzero), f"{positive} of {nonzero} null W are positive"


class Partial(Statistic):
    """Correlation with y, and a little more for whatever comes first: a broken statistic."""

    def _importance(self, X, Xk, y, *, rng, task, progress):
        first, second = np.abs(X.T @ y), np.abs(Xk.T @ y)
        return Importance(first + 5.0, second)


class Unswapped(Partial):
    """The same past the door that swaps."""

    def importance(self, X, Xk, y, *, rng, task="regression", progress=None):
        return self._importance(X, Xk, y, rng=rng, task=task, progress=progress)


def test_the_sign_test_catches_a_partial_statistic_and_the_swap_cures_it():
    assert not is_balanced(*null_signs(Unswapped(), 20))
    assert not is_balanced(*null_signs(Partial(), 20, past_the_door=True))
    assert is_balanced(*null_signs(Partial(), 20))


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_refused_in_words(name):
    X, Xk, y = easy(30, 3)
    statistic, rng = statistic_for(name), np.random.default_rng(0)
    with pytest.raises(ValueError, match="Xk must have the shape of X"):
        statistic.importance(X, Xk[:, :2], y, rng=rng)
    with pytest.raises(ValueError, match="one class only"):
        statistic.importance(X, Xk, np.zeros(30), rng=rng, task="classification")
    with pytest.raises(ValueError, match="finite"):
        statistic.importance(X, Xk, np.where(np.arange(30) == 3, np.nan, y > 0), rng=rng, task="classification")
    with pytest.raises(ValueError, match="task must be one of"):
        statistic.importance(X, Xk, y, rng=rng, task="ranking")
