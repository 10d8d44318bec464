"""Level contrasts: the coefficients of least squares, for selected categories only."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from grip2 import KnockoffSelector
from grip2.level_contrasts import level_contrasts
from grip2.report import selection_page
from grip2.report.cards import cards
from grip2.responses import response_from
from grip2.result import SelectionResult
from grip2.statistics import LassoCoefficient
from grip2.tables import prepare

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "selection.schema.json").read_text())


def table(n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(n), "z": rng.standard_normal(n), "w": rng.standard_normal(n)})
    frame["kind"] = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    y = frame["x"] + frame["kind"].map({"a": 0.0, "b": 1.0, "c": -1.5}) + 0.3 * rng.standard_normal(n)
    return frame, y.to_numpy()


def test_they_are_least_squares_coefficients_of_the_selected_columns():
    frame, y = table()
    prepared = prepare(frame)
    response = response_from(y, "regression")
    selected = np.array([name in ("x", "kind") for name in prepared.units.names])
    found = level_contrasts(prepared, response, selected)
    assert [(each.variable, each.level, each.reference) for each in found] == [("kind", "b", "a"), ("kind", "c", "a")]
    design = np.column_stack([frame["x"], frame["kind"] == "b", frame["kind"] == "c"])
    naive = LinearRegression().fit(design, (y - y.mean()) / y.std()).coef_[1:]
    np.testing.assert_allclose([each.difference for each in found], naive, rtol=1e-4)
    assert [each.n_rows for each in found] == [int((frame["kind"] == level).sum()) for level in "bc"]
    assert all(0 < each.standard_error < 0.1 for each in found)
    only_x = np.array([name == "x" for name in prepared.units.names])
    assert level_contrasts(prepared, response, only_x) == ()


def test_several_classes_have_none():
    frame, _ = table()
    classes = response_from(np.repeat(["u", "v", "w", "v"], 100), "classification")
    assert level_contrasts(prepare(frame), classes, np.ones(4, dtype=bool)) == ()


def test_a_mixed_table_with_missing_values_and_two_draws():
    frame, y = table()
    rng = np.random.default_rng(1)
    for name in frame.columns:
        frame[name] = frame[name].mask(rng.random(len(frame)) < 0.1)
    fitted = KnockoffSelector(LassoCoefficient(), "copula", fdr=0.5, n_draws=2, random_state=0).fit(frame, y)
    again = KnockoffSelector(LassoCoefficient(), "copula", fdr=0.5, n_draws=2, random_state=0, n_jobs=2).fit(frame, y)
    assert {"x", "kind"} <= set(fitted.result_.selected)
    np.testing.assert_array_equal(fitted.W_, again.W_)
    signs = {each.level: np.sign(each.difference) for each in fitted.result_.level_contrasts}
    assert signs == {"b": 1, "c": -1}
    assert fitted.get_support().tolist() == [name in fitted.result_.selected for name in frame.columns]


def nested(n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """Postal codes of three cities: two of the first, one of each other; the price depends on the code and on a number."""
    rng = np.random.default_rng(2)
    code = rng.choice(["a1", "a2", "b1", "c1"], n, p=[0.4, 0.3, 0.2, 0.1])
    frame = pd.DataFrame({"size": rng.standard_normal(n), "code": code, "city": [each[0] for each in code]})
    y = frame["size"] + frame["code"].map({"a1": 0.0, "a2": 1.0, "b1": -1.0, "c1": 2.0}) + 0.2 * rng.standard_normal(n)
    return frame, y.to_numpy()


def test_levels_that_another_selected_category_determines_have_no_difference():
    frame, y = nested()
    prepared = prepare(frame)
    response = response_from(y, "regression")
    found = level_contrasts(prepared, response, np.ones(3, dtype=bool))
    by_level = {(each.variable, each.level): each for each in found}
    within = by_level["code", "a2"]  # compared with a1, in the same city
    assert within.told == ""
    assert within.difference == pytest.approx(1 / y.std(), abs=0.05)
    assert 0 < within.standard_error < 0.05
    for of, level, other in (
        ("code", "b1", "city"),
        ("code", "c1", "city"),
        ("city", "b", "code"),
        ("city", "c", "code"),
    ):
        each = by_level[of, level]
        assert (each.difference, each.standard_error, each.inseparable_from) == (None, None, (other,))
        assert each.told == f"cannot be told from {other}"
        assert each.n_rows > 0
    alone = level_contrasts(prepared, response, np.array([name != "city" for name in prepared.units.names]))
    assert all(each.estimated and each.standard_error < 0.1 for each in alone)


def test_a_city_that_hardly_differs_from_its_code_is_still_estimated():
    """Three rows of another city are information, and the error says how little."""
    frame, y = nested()
    moved = frame.index[frame["code"] == "b1"][:3]
    frame.loc[moved, "city"] = "a"
    found = level_contrasts(prepare(frame), response_from(y, "regression"), np.ones(3, dtype=bool))
    by_level = {(each.variable, each.level): each for each in found}
    assert by_level["code", "b1"].estimated
    assert 0.05 < by_level["code", "b1"].standard_error < 1
    assert not by_level["code", "c1"].estimated


def test_a_selection_of_inseparable_levels_is_written_shown_and_read():
    frame, y = nested()
    result = (
        KnockoffSelector(LassoCoefficient(), "gaussian", fdr=0.5, random_state=0, describe=False).fit(frame, y).result_
    )
    prepared = prepare(frame)
    contrasts = level_contrasts(prepared, response_from(y, "regression"), np.ones(3, dtype=bool))
    result = replace(result, level_contrasts=contrasts, selected_mask=np.ones(3, dtype=bool))
    assert SelectionResult.from_json(result.to_json()) == result
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(json.loads(result.to_json()))) == []
    (card,) = [card for card in cards(result) if card.name == "code"]
    assert card.contrasts[0].level == "a2", "levels without a difference come last"
    page = selection_page(result)
    assert "cannot be told from city" in page
    assert "leave one of the two out, or select them as one group" in page
    old = json.loads(result.to_json())
    for each in old["level_contrasts"]:
        del each["inseparable_from"]
    assert SelectionResult.from_dict(old).level_contrasts[0].inseparable_from == ()
