"""Input gradients and SHAP values: naive NumPy twins, completeness, golden values of shap's DeepExplainer."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from grip2.engine.attribution import (
    input_gradients,
    mean_absolute_gradient,
    mean_absolute_shap,
    shap_values,
)
from grip2.engine.mlp import Layer
from grip2.engine.schedule import Schedule
from grip2.engine.train import predict, train
from grip2.engine.training import TrainingConfig
from grip2.responses import response_from
from grip2.statistics import MALD, DeepSHAP
from grip2.statistics.network_attribution import some_rows
from grip2.symmetry import Members
from grip2.units import Layout, Units

GOLDEN = Path(__file__).parents[1] / "golden" / "shap_values.npz"


def network(inputs: int, hidden: int, depth: int, outputs: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    sizes = [inputs, *([hidden] * depth), outputs]
    return tuple(
        Layer(
            (rng.standard_normal((a, b)) * np.sqrt(2 / a)).astype(np.float32),
            (0.3 * rng.standard_normal(b)).astype(np.float32),
        )
        for a, b in itertools.pairwise(sizes)
    )


def naive_gradient(parameters, row: np.ndarray, output: int) -> np.ndarray:
    """Chain rule by hand for one row: multiply by each weight matrix, zero where its ReLU was closed."""
    open_units = []
    h = row.astype(float)
    for layer in parameters[:-1]:
        a = h @ layer.weight + layer.bias
        open_units.append(a > 0)
        h = np.maximum(a, 0)
    back = parameters[-1].weight[:, output].astype(float)
    for layer, is_open in zip(parameters[-2::-1], open_units[::-1], strict=True):
        back = layer.weight @ (back * is_open)
    return back


def naive_shap(parameters, row: np.ndarray, background: np.ndarray, output: int) -> np.ndarray:
    """DeepLIFT's rescale rule for one row, one background row at a time."""
    total = np.zeros(len(row))
    for reference in background:
        multipliers = []
        h, h0 = row.astype(float), reference.astype(float)
        for layer in parameters[:-1]:
            a, a0 = h @ layer.weight + layer.bias, h0 @ layer.weight + layer.bias
            h, h0 = np.maximum(a, 0), np.maximum(a0, 0)
            multipliers.append([(u - u0) / (v - v0) for u, u0, v, v0 in zip(h, h0, a, a0, strict=True)])
        back = parameters[-1].weight[:, output].astype(float)
        for layer, multiplier in zip(parameters[-2::-1], multipliers[::-1], strict=True):
            back = layer.weight @ (back * np.array(multiplier))
        total += back * (row - reference)
    return total / len(background)


def trained(task: str, depth: int = 2, n: int = 300, inputs: int = 8):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((n, inputs)).astype(np.float32)
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    if task == "classification":
        y = np.digitize(y, [-0.5, 0.5]).astype(float)
    schedule = Schedule(kind="fixed", lambda_min=0.0, lambda_max=0.0, block_size=400)
    config = TrainingConfig(schedule=schedule, hidden=32, depth=depth, steps=400, batch_size=64)
    return x, train(x, response_from(y, task).target(), config=config, rng=rng).parameters


@pytest.mark.parametrize(("depth", "outputs"), [(1, 1), (3, 1), (2, 3)])
def test_gradients_agree_with_the_chain_rule_by_hand(depth, outputs):
    parameters = network(7, 9, depth, outputs)
    x = np.random.default_rng(1).standard_normal((11, 7)).astype(np.float32)
    expected = np.array([[naive_gradient(parameters, row, k) for row in x] for k in range(outputs)])
    np.testing.assert_allclose(input_gradients(parameters, x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_mean_absolute_gradient_does_not_depend_on_batches(power):
    parameters = network(7, 9, 2, 3)
    x = np.random.default_rng(1).standard_normal((50, 7)).astype(np.float32)
    expected = (np.abs(input_gradients(parameters, x)) ** power).mean(axis=1).sum(axis=0)
    for batch_size in (7, 50, 64):
        found = mean_absolute_gradient(parameters, x, power=power, batch_size=batch_size)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(("depth", "outputs"), [(1, 1), (3, 1), (2, 3)])
def test_shap_values_agree_with_the_rescale_rule_by_hand(depth, outputs):
    parameters = network(6, 8, depth, outputs)
    x, background = np.random.default_rng(1).standard_normal((2, 9, 6)).astype(np.float32)
    expected = np.array([[naive_shap(parameters, row, background, k) for row in x] for k in range(outputs)])
    np.testing.assert_allclose(shap_values(parameters, x, background), expected, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("name", ["shallow", "deep", "classes"])
def test_shap_values_agree_with_deep_explainer(name):
    golden = np.load(GOLDEN)
    depth = sum(key.startswith(f"{name}_") for key in golden.files) // 2 - 2
    parameters = tuple(
        Layer(*(golden[f"{name}_{2 * k + i}"].astype(np.float32) for i in (0, 1))) for k in range(depth + 1)
    )
    found = shap_values(parameters, golden[f"{name}_x"], golden[f"{name}_background"])
    np.testing.assert_allclose(found, golden[f"{name}_shap"], atol=1e-5)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("depth", [1, 3])
def test_shap_values_of_trained_networks_are_complete(task, depth):
    x, parameters = trained(task, depth)
    background = x[:40]
    values = shap_values(parameters, x[50:], background)
    outputs = predict(parameters, x[50:]).T
    base = predict(parameters, background).mean(axis=0)
    np.testing.assert_allclose(values.sum(axis=2), outputs - base[:, None], atol=1e-4)


def test_shap_of_the_background_itself_and_batches():
    parameters = network(6, 8, 2, 1)
    x = np.random.default_rng(1).standard_normal((5, 6)).astype(np.float32)
    # Every pre-activation equals its reference: the rule divides nothing by nothing.
    np.testing.assert_allclose(shap_values(parameters, x[:1], x[:1]), 0.0, atol=1e-7)
    expected = np.abs(shap_values(parameters, x, x[:2])).mean(axis=1).sum(axis=0)
    np.testing.assert_allclose(mean_absolute_shap(parameters, x, x[:2]), expected, rtol=1e-6)


@pytest.mark.parametrize("statistic", [MALD, DeepSHAP])
def test_members_of_a_unit_score_the_sum_over_its_columns(statistic):
    """Three copies; the units change what is added up, not the network, which is trained once."""
    rng = np.random.default_rng(0)
    X, copies = rng.standard_normal((60, 4)), rng.standard_normal((3, 60, 4))
    small = statistic(steps=40, hidden=4, depth=1, batch_size=16)
    single, grouped = (
        small._importance(
            Members((X, *copies), units),
            response_from(X[:, 0], "regression"),
            rng=np.random.default_rng(1),
            progress=None,
        ).scores
        for units in (Units.single(4), Units(np.array([0, 1, 0, 2])))
    )
    assert single.shape == (4, 4)
    expected = np.stack([single[:, 0] + single[:, 2], single[:, 1], single[:, 3]], axis=1)
    np.testing.assert_allclose(grouped, expected, rtol=1e-6)


@pytest.mark.parametrize("statistic", [MALD, DeepSHAP])
def test_paper_settings(statistic):
    assert statistic.paper("synthetic").get_params()["hidden"] == 512
    assert statistic.paper("hiv").get_params()["batch_size"] is None
    with pytest.raises(ValueError, match=r"setting must be one of .*, got 'moon'"):
        statistic.paper("moon")


def test_some_rows():
    Z = np.arange(20.0).reshape(10, 2)
    rng = np.random.default_rng(0)
    assert some_rows(Z, None, rng) is Z
    assert some_rows(Z, 99, rng) is Z
    assert len(np.unique(some_rows(Z, 4, rng)[:, 0])) == 4
    with pytest.raises(ValueError, match="at least 1 or None, got 0"):
        some_rows(Z, 0, rng)


def test_mald_power_must_be_positive():
    X, Xk = np.random.default_rng(0).standard_normal((2, 20, 2))
    with pytest.raises(ValueError, match="power must be positive, got 0"):
        MALD(steps=2, hidden=2, power=0).importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))


@pytest.mark.parametrize("value", [2.5, 8.0, True, 0, -3, "8", float("nan")])
@pytest.mark.parametrize(
    ("statistic", "name"),
    [
        *((MALD, name) for name in ("steps", "hidden", "depth", "batch_size", "rows")),
        *((DeepSHAP, name) for name in ("steps", "hidden", "depth", "batch_size", "rows", "background")),
    ],
)
def test_whole_numbers_are_asked_for_before_anything_is_trained(monkeypatch, statistic, name, value):
    for trainer in ("train", "train_batch"):
        monkeypatch.setattr(f"grip2.statistics.network_attribution.{trainer}", lambda *_, **__: pytest.fail("trained"))
    X, Xk = np.random.default_rng(0).standard_normal((2, 20, 2))
    bad, none = statistic(**{name: value}), " or None" if name in ("batch_size", "rows") else ""
    auto = "" if name in ("rows", "background") else " or 'auto'"
    message = f"^{statistic.__name__}: {name} must be a whole number of at least 1{none}{auto}, got {value!r}\\.$"
    with pytest.raises(ValueError, match=message):
        bad.importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        bad.draws_together(20, Layout(2, Units.single(2)))


@pytest.mark.parametrize("name", ["steps", "hidden", "depth", "background"])
def test_none_is_refused_where_it_means_nothing(name):
    X, Xk = np.random.default_rng(0).standard_normal((2, 20, 2))
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1.*, got None"):
        DeepSHAP(**{name: None}).importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))


def test_whole_numbers_of_numpy_are_whole_numbers():
    X, Xk = np.random.default_rng(0).standard_normal((2, 20, 2))
    small = {"steps": 4, "hidden": 2, "depth": 1, "batch_size": 8, "rows": 10, "background": 5}
    plain = DeepSHAP(**small)
    of_numpy = DeepSHAP(**{name: np.int64(value) for name, value in small.items()})
    expected, found = (s.importance(X, Xk, X[:, 0], rng=np.random.default_rng(0)) for s in (plain, of_numpy))
    np.testing.assert_array_equal(found.W, expected.W)
