"""What every registered statistic must hold; a new one in the registry is picked up by itself.

Networks run with small settings here: the contract is about the entry point and about symmetry, not about power. All tests of
a statistic use few shapes of tables, since every new shape is compiled anew: pairs (single columns, one copy), and units of one
to three columns with three copies.
"""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from grip2 import statistics
from grip2.engine.mlp import Layer, initialise
from grip2.errors import Grip2Error
from grip2.responses import response_from, times_and_events
from grip2.result import Importance
from grip2.statistics import Ensemble, FromEstimator, Statistic, effect_chain
from grip2.statistics.registry import STATISTICS, WRAPPERS
from grip2.symmetry import Members, shuffled
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
# Without those that train the network of another one: where every run compiles anew, one of each kind will do.
ONE_OF_A_KIND = [name for name in NAMES if name not in ("staged", "grip1", "grip1a", "gr", "shap", "ensemble")]
FINDS_SIGNALS = [name for name in NAMES if name != "random"]  # the floor of every comparison finds nothing


def independent(
    n: int, units: Units, copies: int, acting: list[int], seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X (n, p), copies (copies, n, p) and y, the sum of the columns ``acting``, and noise.

    All columns are independent normal ones: then independent copies are jointly exchangeable with them.
    """
    rng = np.random.default_rng(seed)
    X, *Xk = rng.standard_normal((1 + copies, n, units.n_columns))
    return X, np.stack(Xk), X[:, acting].sum(axis=1) + 0.5 * rng.standard_normal(n)


def in_classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def easy(n: int = 300, p: int = 4, task: str = "regression", n_classes: int = 2, signals: int = 2, seed: int = 0):
    """Single columns with one copy; the first ``signals`` matter."""
    X, Xk, y = independent(n, Units.single(p), 1, list(range(signals)), seed)
    return X, Xk[0], in_classes(y, n_classes) if task == "classification" else y


# Four units of one, two, one and three columns, the columns of the larger ones interleaved.
UNITS = Units(np.array([0, 1, 2, 3, 1, 3, 3]))
COPIES = 3


def easy_units(seed: int = 0):
    """Units with three copies; the first acts, and the last acts through two of its three columns."""
    return independent(300, UNITS, COPIES, [0, 5, 6], seed)


@functools.cache
def scored(name: str) -> Importance:
    """Each statistic once on the easy table, for the tests that compare with it."""
    return statistic_for(name).importance(*easy(), rng=np.random.default_rng(1))


@functools.cache
def scored_units(name: str) -> Importance:
    return statistic_for(name).importance(*easy_units(), rng=np.random.default_rng(1), units=UNITS)


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
    the_users = str(np.random.get_state())  # noqa: NPY002  (NumPy's global generator is not ours to advance)
    found = statistic.importance(X, Xk, y, rng=rng)
    assert str(np.random.get_state()) == the_users  # noqa: NPY002
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


def of_task(y: np.ndarray, task: str) -> np.ndarray:
    """A response of another kind that depends on the same columns as the measurement ``y``."""
    rng, noise = np.random.default_rng(3), (y - y.mean()) / y.std()
    if task == "counts":
        return rng.poisson(np.exp(0.5 + noise))
    if task == "ordered":
        return in_classes(y, 4)
    times, limits = rng.exponential(np.exp(-2 * noise)), rng.exponential(5.0, len(y))
    return times_and_events(np.minimum(times, limits), times <= limits)


# Every kind of response that is neither a measurement nor classes, which the other tests are about.
OTHER_TASKS = ["counts", "ordered", "survival"]


@pytest.mark.parametrize("task", OTHER_TASKS)
@pytest.mark.parametrize("name", NAMES)
def test_every_statistic_honours_every_response(name, task):
    """Scores for all members, larger where the response depends on the column; the same for an encoded response."""
    X, Xk, y = easy(150)
    y = of_task(y, task)
    statistic = statistic_for(name)
    found = statistic.importance(X, Xk, y, rng=np.random.default_rng(2), task=task)
    assert found.scores.shape == (2, 4)
    assert (found.scores >= 0).all()
    if name in FINDS_SIGNALS:
        assert found.W[:2].min() > np.abs(found.W[2:]).max(), found.W
    if name in ("lcd", "lapa", "rf"):
        again = statistic.importance(X, Xk, response_from(y, task), rng=np.random.default_rng(2))
        np.testing.assert_array_equal(found.scores, again.scores)


@pytest.mark.parametrize("task", OTHER_TASKS)
def test_the_order_of_rows_does_not_matter(task):
    """A lasso path by likelihood has no randomness: the same scores for permuted rows, up to the solver's tolerance.

    Scores lie on the grid of penalties: a column that enters within that tolerance of a point may be one point off.
    """
    X, Xk, y = easy(150)
    y, order = of_task(y, task), np.random.default_rng(0).permutation(len(X))
    statistic = statistic_for("lapa")
    found = statistic.importance(X, Xk, y, rng=np.random.default_rng(1), task=task)
    again = statistic.importance(X[order], Xk[order], y[order], rng=np.random.default_rng(1), task=task)
    same = np.isclose(found.scores, again.scores, rtol=1e-3)
    assert same.sum() >= same.size - 1
    np.testing.assert_allclose(np.log(found.scores / again.scores), 0, atol=0.3)


class OnlyMeasurements(Statistic):
    """A statistic that says what it cannot do."""

    honours = ("regression",)

    def _importance(self, members, response, *, rng, progress):
        return Importance(members.layout.norms(np.abs(members.standardised().T @ response.y)))


@pytest.mark.parametrize("statistic", [OnlyMeasurements(), Ensemble(OnlyMeasurements(), 2, budget="each")])
def test_a_response_that_a_statistic_cannot_honour_is_refused_by_name(statistic):
    X, Xk, y = easy()
    assert statistic.importance(X, Xk, y, rng=np.random.default_rng(0)).W.shape == (4,)
    with pytest.raises(Grip2Error, match=r"OnlyMeasurements: y is times to an event \(task 'survival'\).* Staged\(\)"):
        statistic.importance(X, Xk, of_task(y, "survival"), rng=np.random.default_rng(0), task="survival")


def test_an_estimator_for_another_response_is_refused_by_name():
    X, Xk, y = easy()
    for task in OTHER_TASKS:
        with pytest.raises(Grip2Error, match=f"task '{task}'.* needs a regressor, and LogisticRegression is none"):
            FromEstimator(LogisticRegression()).importance(
                X, Xk, of_task(y, task), rng=np.random.default_rng(0), task=task
            )


class Nulls(NamedTuple):
    """Data sets of 60 rows in which one column acts, and so the first unit; all other units are null."""

    units: Units
    copies: int


NULL_PAIRS = Nulls(Units.single(40), 1)
NULL_UNITS = Nulls(Units.from_labels([*range(20), *range(10), *range(5)]), COPIES)


def null_wins(statistic: Statistic, nulls: Nulls, replicates: int, *, without_shuffle: bool = False) -> np.ndarray:
    """(members,) how many null units each member wins alone, over fresh data sets.

    ``without_shuffle`` calls the statistic itself, without the random order of members that makes any statistic fair.
    """
    wins = np.zeros(1 + nulls.copies, dtype=int)
    for seed in range(replicates):
        X, Xk, y = independent(60, nulls.units, nulls.copies, [0], 1000 + seed)
        rng = np.random.default_rng(seed)
        if without_shuffle:
            members, response = Members((X, *Xk), nulls.units), response_from(y, "regression")
            found = statistic.sized(len(X))._importance(members, response, rng=rng, progress=None)
        else:
            found = statistic.importance(X, Xk, y, rng=rng, units=nulls.units)
        wins += np.bincount(found.scores.argmax(axis=0)[1:][found.W[1:] != 0], minlength=len(wins))
    return wins


def is_balanced(wins: np.ndarray) -> bool:
    """Wins of every member within two-sided binomial bounds at FALSE_ALARM in all: members of a null unit win alike."""
    tests = 1 if len(wins) == 2 else len(wins)  # of two members one decides
    low, high = binom.ppf([FALSE_ALARM / 2 / tests, 1 - FALSE_ALARM / 2 / tests], wins.sum(), 1 / len(wins))
    return bool(((low <= wins) & (wins <= high)).all())


# Few steps: what is unequal at the start or in the update must not be forgotten during training.
SHORT = {"steps": 30, "learning_rate": 1e-3}


NETWORKS = ["grip2", "grip1", "grip1a", "gr"]
MANY_NULLS = [*NETWORKS, "effects", "staged"]  # tested with four times as many signs below


@pytest.mark.parametrize(
    ("name", "without_shuffle"),
    [*((name, False) for name in NAMES), *((name, True) for name in NAMES if name not in MANY_NULLS)],
)
def test_members_of_null_pairs_win_alike(name, without_shuffle):
    """10 replicates of 39 null pairs; false alarm 1e-4. Also without the shuffle, so that a slip inside is seen."""
    wins = null_wins(statistic_for(name, **SHORT), NULL_PAIRS, 10, without_shuffle=without_shuffle)
    assert wins.sum() >= 30
    assert is_balanced(wins), wins


def many_null_wins(name: str) -> np.ndarray:
    """40 replicates of 39 null pairs, without the shuffle."""
    wins = null_wins(statistic_for(name, **SHORT), NULL_PAIRS, 40, without_shuffle=True)
    assert wins.sum() >= 1500
    return wins


@pytest.mark.parametrize("name", MANY_NULLS)
def test_members_of_many_null_pairs_win_alike_without_the_shuffle(name):
    """40 replicates of 39 null pairs, at least 1,500 wins: within the binomial bound, 0.451 to 0.549; false alarm 1e-4."""
    wins = many_null_wins(name)
    assert is_balanced(wins), wins


@pytest.mark.parametrize("name", NAMES)
def test_members_of_null_units_win_alike_without_the_shuffle(name):
    """10 replicates of 19 null units of one to three columns, three copies, at least 30 wins; false alarm 1e-4."""
    wins = null_wins(statistic_for(name, **SHORT), NULL_UNITS, 10, without_shuffle=True)
    assert wins.sum() >= 30
    assert is_balanced(wins), wins


def larger_first_columns(*sizes: int, rng: np.random.Generator):
    """The broken twin of `initialise`: weights of the first half of the columns start 5 % larger."""
    first, *rest = initialise(*sizes, rng=rng)
    factor = np.where(np.arange(len(first.weight)) < len(first.weight) // 2, 1.05, 1.0)
    return (Layer(first.weight * factor[:, None], first.bias), *rest)


@pytest.mark.parametrize("name", NETWORKS)
def test_unequal_starting_weights_are_caught(monkeypatch, name):
    monkeypatch.setattr("grip2.engine.train.initialise", larger_first_columns)
    wins = many_null_wins(name)
    assert not is_balanced(wins), wins


@pytest.mark.parametrize("name", ["effects", "staged"])
def test_unequal_probabilities_are_caught(monkeypatch, name):
    """The broken twin of the model of effects, alone and in `Staged`: the first member counts half as much again."""
    collect = effect_chain.Chain.collect

    def favouring_the_first(self, *arguments):
        draws = collect(self, *arguments)
        return draws._replace(probability=draws.probability * [[1.5], [1.0]])

    monkeypatch.setattr(effect_chain.Chain, "collect", favouring_the_first)
    wins = many_null_wins(name)
    assert not is_balanced(wins), wins


class FavoursOneMember(Statistic):
    """Correlation with y, and a little more for the member in one place: a broken statistic."""

    def __init__(self, place: int = 0) -> None:
        self.place = place

    def _importance(self, members, response, *, rng, progress):
        scores = members.layout.norms(np.abs(members.standardised().T @ response.y))
        scores[self.place] += 5.0
        return Importance(scores)


@pytest.mark.parametrize(("nulls", "place"), [(NULL_PAIRS, 0), (NULL_UNITS, 0), (NULL_UNITS, 2)])
def test_a_biased_statistic_is_caught_and_the_shuffle_cures_it(nulls, place):
    assert not is_balanced(null_wins(FavoursOneMember(place), nulls, 20, without_shuffle=True))
    assert is_balanced(null_wins(FavoursOneMember(place), nulls, 20))


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


@pytest.mark.parametrize("name", NAMES)
def test_one_score_for_every_member_of_every_unit(name):
    found = scored_units(name)
    assert found.scores.shape == (1 + COPIES, len(UNITS))
    assert found.W.shape == (len(UNITS),)
    assert (found.scores >= 0).all()
    again = clone(statistic_for(name)).importance(*easy_units(), rng=np.random.default_rng(1), units=UNITS)
    np.testing.assert_array_equal(found.scores, again.scores)
    if found.surface is not None:
        assert found.surface.activity.shape[1:] == found.scores.shape


@pytest.mark.parametrize("name", FINDS_SIGNALS)
def test_acting_units_have_the_largest_W(name):
    W = scored_units(name).W
    assert W[[0, 3]].min() > np.abs(W[[1, 2]]).max(), W


@pytest.mark.parametrize("name", ["staged", *(name for name in ONE_OF_A_KIND if name in FINDS_SIGNALS)])
def test_acting_units_are_found_among_three_classes(name):
    X, Xk, y = easy_units()
    found = statistic_for(name, "classification").importance(
        X, Xk, in_classes(y, 3), rng=np.random.default_rng(2), task="classification", units=UNITS
    )
    assert found.W[[0, 3]].min() > np.abs(found.W[[1, 2]]).max(), found.W


# Statistics whose only randomness is that of folds, which are the same rows for the same generator: their scores are exchanged
# up to the tolerance of the solver.
EXACT = ["lcd", "glcd", "lapa", "lasso-curves", "estimator"]


@pytest.mark.parametrize("name", FINDS_SIGNALS)
def test_exchanged_members_exchange_their_scores(name):
    """The original of the first unit changes places with its first copy, that of the last with its second copy."""
    X, Xk, y = easy_units()
    order = np.tile(np.arange(1 + COPIES)[:, None], len(UNITS))
    order[[0, 1], 0] = 1, 0
    order[[0, 2], 3] = 2, 0
    A, *others = shuffled((X, *Xk), UNITS, order).tables
    found = statistic_for(name).importance(A, np.stack(others), y, rng=np.random.default_rng(1), units=UNITS)
    np.testing.assert_array_equal(found.scores.argmax(axis=0)[[0, 3]], [1, 2])
    assert (found.W[[0, 3]] < 0).all()
    if name in EXACT:
        expected = np.take_along_axis(scored_units(name).scores, order, axis=0)
        np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-4 * expected.max())


@pytest.mark.parametrize("name", [name for name in ONE_OF_A_KIND if statistic_for(name).batches_draws])
def test_draws_of_units_scored_together_are_those_scored_alone(name):
    """Few steps: rounding differs between one network and a batch of them, and training amplifies it."""
    X, Xk, y = independent(60, NULL_UNITS.units, COPIES, [0], seed=0)
    draws = (Xk, np.random.default_rng(1).standard_normal(Xk.shape))
    statistic, units = statistic_for(name, **SHORT), NULL_UNITS.units
    together = statistic.importances(X, draws, y, rngs=[np.random.default_rng(k) for k in range(2)], units=units)
    for k, copies in enumerate(draws):
        alone = statistic.importance(X, copies, y, rng=np.random.default_rng(k), units=units)
        np.testing.assert_allclose(together[k].scores, alone.scores, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_column_in_a_copy_ties_its_unit_or_leaves_it_to_the_other_columns(name):
    """Column 2 is a unit by itself: nobody wins. Column 3 is one of three: the unit is scored as if it were not there."""
    X, Xk, y = easy_units()
    Xk[1][:, 2] = 7.0
    Xk[0][:, 3] = 7.0
    found, without = (
        statistic_for(name).importance(A, B, y, rng=np.random.default_rng(1), units=UNITS)
        for A, B in ((X, Xk), (without_column(X, 3), without_column(Xk, 3)))
    )
    np.testing.assert_array_equal(found.scores, without.scores)
    assert found.W[2] == 0
    assert found.W[3] != 0
    if name in FINDS_SIGNALS:
        assert found.scores[:, 3].argmax() == 0


def without_column(tables: np.ndarray, j: int) -> np.ndarray:
    return np.where(np.arange(tables.shape[-1]) == j, 0.0, tables)


@pytest.mark.parametrize("name", NAMES)
def test_units_and_copies_of_the_wrong_shape_are_refused(name):
    X, Xk, y = easy_units()
    statistic, rng = statistic_for(name), np.random.default_rng(0)
    with pytest.raises(Grip2Error, match="units must cover the 7 columns of X, got 4"):
        statistic.importance(X, Xk, y, rng=rng, units=Units.single(4))
    with pytest.raises(Grip2Error, match="Xk must have the shape of X"):
        statistic.importance(X, Xk[:, :, :5], y, rng=rng, units=UNITS)
    with pytest.raises(Grip2Error, match="at least one copy"):
        statistic.importance(X, Xk[:0], y, rng=rng, units=UNITS)
