"""Settings by name: read from words, checked against the constructor, applied to a clone."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from grip2.errors import Grip2Error
from grip2.knockoffs import CopulaKnockoffs
from grip2.settings import parse_settings, with_settings
from grip2.statistics import GRIP2, LassoCoefficient, Staged
from grip2.statistics.registry import STATISTICS


class Inner(BaseEstimator):
    def __init__(self, steps: int = 10, rate: float | None = 0.1, bounds: str | tuple[float, float] = "auto") -> None:
        self.steps = steps
        self.rate = rate
        self.bounds = bounds


class Other(BaseEstimator):
    def __init__(self, steps: int = 20) -> None:
        self.steps = steps


class Outer(BaseEstimator):
    """Holds another one, and has a setting of every kind."""

    def __init__(
        self,
        inner: BaseEstimator | None = None,
        mode: Literal["fast", "slow"] = "fast",
        flag: bool = False,
        sizes: tuple[int, ...] = (),
        matrix: np.ndarray | None = None,
        anything=None,
    ) -> None:
        self.inner = inner
        self.mode = mode
        self.flag = flag
        self.sizes = sizes
        self.matrix = matrix
        self.anything = anything


def create(name: str) -> BaseEstimator:
    return {"inner": Inner, "other": Other}[name]()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5000", 5000), ("1e-3", 1e-3), ("true", True), ("false", False), ("equi", "equi"), ("'a b'", "a b"), ("none", "none"),
        ("[0.001, 0.1]", [0.001, 0.1]), ("a=b", "a=b"), ("", ""),
    ],
)  # fmt: skip
def test_values_are_read_from_words(text, value):
    found = parse_settings([f" network.x = {text}"])
    assert found == {"network.x": value}
    assert type(found["network.x"]) is type(value)


def test_the_last_word_counts():
    assert parse_settings(["steps=1", "steps=2"]) == {"steps": 2}


@pytest.mark.parametrize("word", ["steps", "=5", " =5", ""])
def test_words_without_a_name_or_a_value(word):
    with pytest.raises(Grip2Error, match=f"--set: expected name=value, for example network.steps=5000, got {word!r}"):
        parse_settings([word])


def test_the_original_stays_as_it_is():
    before = LassoCoefficient()
    after = with_settings(before, {"folds": 7})
    assert after.folds == 7
    assert before.folds == LassoCoefficient().folds
    assert type(after) is LassoCoefficient


def test_lists_become_tuples_and_none_is_none():
    changed = with_settings(GRIP2(), {"omega": [0.001, 0.1], "batch_size": "none", "clip_norm": 1})
    assert changed.omega == (0.001, 0.1)
    assert changed.batch_size is None
    assert changed.clip_norm == 1


def test_dotted_names_reach_the_inner_one_after_it_was_replaced():
    start = Outer(inner=Inner(steps=5))
    assert with_settings(start, {"inner.steps": 7}).inner.steps == 7
    assert start.inner.steps == 5
    changed = with_settings(start, {"inner.steps": 500, "inner": "other"}, create=create)
    assert type(changed.inner) is Other
    assert changed.inner.steps == 500


def test_a_sampler():
    assert with_settings(CopulaKnockoffs(), {"s": "equi", "clip": 0.001}).get_params()["s"] == "equi"


@pytest.mark.parametrize(
    ("configured", "settings", "message"),
    [
        (LassoCoefficient(), {"fold": 7}, "LassoCoefficient has no setting 'fold'; it has .*folds.*Did you mean 'folds'"),
        (Outer(inner=Inner()), {"inner.stepz": 7}, "Inner has no setting 'stepz'; it has bounds, rate, steps. Did you mean"),
        (STATISTICS.create("random"), {"steps": 7}, "RandomScores has no setting 'steps'; it has none."),
        (Outer(), {"mode.x": 7}, "mode.x: mode of Outer is 'fast', which has no settings."),
        (Inner(), {"steps": "many"}, "Inner: steps must be a whole number, got 'many'."),
        (Inner(), {"steps": 1.5}, "Inner: steps must be a whole number, got 1.5."),
        (Inner(), {"steps": True}, "Inner: steps must be a whole number, got True."),
        (Inner(), {"rate": "fast"}, "Inner: rate must be a number or none, got 'fast'."),
        (Inner(), {"bounds": [1.0]}, r"Inner: bounds must be a text or a list such as \[0.1, 0.1\], got \(1.0,\)."),
        (Inner(), {"bounds": ["a", "b"]}, "Inner: bounds must be a text or a list"),
        (Outer(), {"mode": "medium"}, "Outer: mode must be fast or slow, got 'medium'."),
        (Outer(), {"flag": "maybe"}, "Outer: flag must be true or false, got 'maybe'."),
        (Outer(), {"flag": 1}, "Outer: flag must be true or false, got 1."),
        (Outer(), {"sizes": 3}, "Outer: sizes must be a list"),
        (Outer(), {"matrix": 3}, "Outer: matrix must be none, got 3."),
        (Outer(), {"inner": "other"}, "Outer: inner must be none, got 'other'."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(configured, settings, message):
    with pytest.raises(Grip2Error, match=message):
        with_settings(configured, settings)


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("mode", "slow", "slow"),
        ("flag", True, True),
        ("sizes", [1, 2, 3], (1, 2, 3)),
        ("sizes", [], ()),
        ("matrix", "none", None),
        ("anything", "yes", "yes"),
    ],
)
def test_what_fits_is_taken(name, value, taken):
    assert with_settings(Outer(), {name: value}).get_params()[name] == taken


def test_types_that_only_a_checker_knows_do_not_hinder():
    class Foreign(BaseEstimator):
        def __init__(self, x: "Unknown" = 1) -> None:  # noqa: F821, UP037
            self.x = x

    assert with_settings(Foreign(), {"x": 5}).x == 5


@pytest.mark.parametrize("name", [entry.name for entry in STATISTICS.own_entries()])
def test_the_settings_of_every_statistic_fit_their_own_declaration(name):
    """Defaults and the paper's values, written as in a plan, pass the check."""
    for configured in (STATISTICS.create(name), STATISTICS.load(name).paper("hiv")):
        plain = {
            setting: "none" if value is None else list(value) if isinstance(value, tuple) else value
            for setting, value in configured.get_params(deep=False).items()
            if not isinstance(value, BaseEstimator)
        }
        assert (
            with_settings(configured, plain).get_params(deep=False).keys() == configured.get_params(deep=False).keys()
        )


@pytest.mark.parametrize(
    ("name", "meant"), [("steps", "network.steps"), ("stpes", "network.steps"), ("sweps", "first.sweeps")]
)
def test_settings_of_an_inner_statistic_are_suggested_with_their_place(name, meant):
    with pytest.raises(Grip2Error, match=rf"Staged has no setting '{name}'.* Did you mean '{meant}'\?"):
        with_settings(Staged(), {name: 5})


def test_old_spellings_name_the_new_one():
    with pytest.raises(Grip2Error, match=r"GRIP2 has no setting 'linear' any more. Instead: Staged\(first="):
        with_settings(GRIP2(), {"linear": "lasso"})
