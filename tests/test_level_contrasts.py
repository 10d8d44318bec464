"""Level contrasts: the coefficients of least squares, for selected categories only."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from grip2 import KnockoffSelector
from grip2.level_contrasts import level_contrasts
from grip2.responses import response_from
from grip2.statistics import LassoCoefficient
from grip2.tables import prepare


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
