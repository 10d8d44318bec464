"""DeepPINK: its scoring rule and its training loop against hand computations."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine.filter_network import (
    FilterNetworkConfig,
    FilterNetworkParameters,
    filter_network_forward,
    filter_network_importance,
    initialise_filter_network,
    train_filter_network,
)
from grip2.engine.host_loop import NonFiniteTrainingError
from grip2.engine.mlp import Layer
from grip2.responses import Measurement
from grip2.statistics import DeepPINK
from grip2.symmetry import Members
from grip2.units import Layout, Units


def config(**changes) -> FilterNetworkConfig:
    settings = {
        "hidden": 3, "depth": 2, "steps": 5, "batch_size": 4, "learning_rate": 0.01, "l1": 0.02,
        "activation": "elu", "filter_start": 0.1,
    }  # fmt: skip
    return FilterNetworkConfig(**{**settings, **changes})


def test_importance_of_a_tiny_network_by_hand():
    # Two columns of three members, one hidden layer of two units, one output.
    parameters = FilterNetworkParameters(
        filters=np.array([[2.0, -1.0], [0.5, 3.0], [0.0, -0.25]]),
        filter_bias=np.zeros(2),
        layers=(
            Layer(np.array([[1.0, -2.0], [3.0, 0.0]]), np.zeros(2)),
            Layer(np.array([[4.0], [1.0]]), np.zeros(1)),
        ),
    )
    # w = W(0) W(1): w_1 = 1*4 + (-2)*1 = 2, w_2 = 3*4 + 0*1 = 12.
    # Member 0: |2 w_1| = 4, |-1 w_2| = 12; member 1: 1 and 36; member 2: 0 and 3.
    np.testing.assert_allclose(filter_network_importance(parameters), [4.0, 12.0, 1.0, 36.0, 0.0, 3.0])


def test_importance_sums_absolute_values_over_outputs():
    parameters = FilterNetworkParameters(
        filters=np.array([[2.0], [1.0]]),
        filter_bias=np.zeros(1),
        layers=(Layer(np.array([[1.0]]), np.zeros(1)), Layer(np.array([[3.0, -3.0]]), np.zeros(2))),
    )
    np.testing.assert_allclose(filter_network_importance(parameters), [12.0, 6.0])


def naive_forward(parameters: FilterNetworkParameters, x: np.ndarray) -> np.ndarray:
    z, bias = parameters.filters, parameters.filter_bias
    members, p = z.shape
    h = np.array([[sum(z[k, j] * row[k * p + j] for k in range(members)) + bias[j] for j in range(p)] for row in x])
    for layer in parameters.layers[:-1]:
        a = h @ layer.weight + layer.bias
        h = np.where(a > 0, a, np.exp(np.minimum(a, 0)) - 1)
    return h @ parameters.layers[-1].weight + parameters.layers[-1].bias


@pytest.mark.parametrize("members", [2, 4])
def test_forward_by_hand(members):
    rng = np.random.default_rng(0)
    parameters = initialise_filter_network(members, 3, 2, config(), rng)
    parameters = parameters._replace(filters=parameters.filters + rng.standard_normal((members, 3)))
    x = rng.standard_normal((5, 3 * members))
    np.testing.assert_allclose(filter_network_forward(parameters, x, "elu"), naive_forward(parameters, x), rtol=1e-4)


@pytest.mark.parametrize("members", [2, 4])
def test_training_follows_a_naive_loop(members):
    """Full-batch Adam on numerical gradients of squared error + l1 * sum |weights of the hidden layers|."""
    rng = np.random.default_rng(1)
    x, settings = rng.standard_normal((4, 2 * members)), config(steps=4)
    y = rng.standard_normal(4)
    start = initialise_filter_network(members, 2, 1, settings, np.random.default_rng(7).spawn(2)[0])
    shapes = [start.filters, start.filter_bias, *(part for layer in start.layers for part in layer)]
    sizes = np.cumsum([0, *(part.size for part in shapes)])

    def unflat(theta: np.ndarray) -> FilterNetworkParameters:
        parts = [theta[a:b].reshape(s.shape) for a, b, s in zip(sizes[:-1], sizes[1:], shapes, strict=True)]
        layers = tuple(Layer(parts[k], parts[k + 1]) for k in range(2, len(parts), 2))
        return FilterNetworkParameters(parts[0], parts[1], layers)

    def objective(theta: np.ndarray) -> float:
        parameters = unflat(theta)
        penalty = sum(np.abs(layer.weight).sum() for layer in parameters.layers[:-1])
        return float(np.mean((naive_forward(parameters, x)[:, 0] - y) ** 2) + settings.l1 * penalty)

    theta = np.concatenate([part.ravel() for part in shapes])
    m, v = np.zeros_like(theta), np.zeros_like(theta)
    for t in range(1, settings.steps + 1):
        gradient = np.array([
            (objective(theta + 1e-6 * e) - objective(theta - 1e-6 * e)) / 2e-6 for e in np.eye(len(theta))
        ])  # fmt: skip
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        theta -= settings.learning_rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)

    target, rngs = Measurement(y).target(), [np.random.default_rng(7)]
    run = train_filter_network([x], target, members=members, config=settings, rngs=rngs)[0]
    expected = unflat(theta)
    np.testing.assert_allclose(run.parameters.filters, expected.filters, atol=1e-4)
    for found, layer in zip(run.parameters.layers, expected.layers, strict=True):
        np.testing.assert_allclose(found.weight, layer.weight, atol=1e-4)
        np.testing.assert_allclose(found.bias, layer.bias, atol=1e-4)


def test_members_of_a_unit_score_the_sum_over_its_columns():
    """Three copies; the units change what is added up, not what is trained."""
    rng = np.random.default_rng(0)
    X, copies = rng.standard_normal((60, 4)), rng.standard_normal((3, 60, 4))
    response = Measurement.encode(X[:, 0], "test")
    tables = (X, *copies)
    single, grouped = (
        DeepPINK(epochs=5)._importance(Members(tables, units), response, rng=np.random.default_rng(1), progress=None)
        for units in (Units.single(4), Units(np.array([0, 1, 0, 2])))
    )
    assert single.scores.shape == (4, 4)
    columns = single.scores
    expected = np.stack([columns[:, 0] + columns[:, 2], columns[:, 1], columns[:, 3]], axis=1)
    np.testing.assert_allclose(grouped.scores, expected, rtol=1e-12)


def test_several_copies_at_once_are_the_single_ones():
    rng = np.random.default_rng(0)
    X, first, second = rng.standard_normal((3, 60, 4))
    y = X[:, 0] + rng.standard_normal(60)
    small = DeepPINK(epochs=5)
    together = small.importances(X, [first, second], y, rngs=[np.random.default_rng(k) for k in (1, 2)])
    for k, (found, Xk) in enumerate(zip(together, (first, second), strict=True)):
        alone = small.importance(X, Xk, y, rng=np.random.default_rng(k + 1))
        np.testing.assert_allclose(found.W, alone.W, rtol=1e-3, atol=1e-6)


def test_defaults_are_the_original_ones():
    resolved = DeepPINK()._config(1000, 50)
    assert (resolved.hidden, resolved.depth, resolved.batch_size) == (50, 2, 10)
    assert resolved.steps == 200 * 100
    assert resolved.l1 == pytest.approx(0.05 * np.sqrt(2 * np.log(50) / 1000))
    assert DeepPINK(batch_size=None)._config(1000, 50).steps == 200
    assert DeepPINK.paper("synthetic")._config(20_000, 500).steps == 5000
    assert (initialise_filter_network(2, 4, 1, resolved, np.random.default_rng(0)).filters == 0.1).all()


def test_progress_and_early_stop():
    X, Xk = np.random.default_rng(0).standard_normal((2, 60, 4))
    calls: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> bool:
        calls.append((done, total))
        return False

    found = DeepPINK(epochs=1000).importance(X, Xk, X[:, 0], rng=np.random.default_rng(0), progress=progress)
    assert calls == [(4096, 6000)]
    assert found.facts.details["stop_reason"] == "stopped by the caller after 4096 of 6000 steps"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"l1": -1.0}, "l1 must not be negative"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"activation": "tanh"}, "activation must be one of"),
    ],
)
def test_bad_settings(settings, message):
    X, Xk = np.random.default_rng(0).standard_normal((2, 20, 2))
    with pytest.raises(ValueError, match=message):
        DeepPINK(**settings).importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))


def test_divergence_is_an_error():
    X, Xk = np.random.default_rng(0).standard_normal((2, 20, 2))
    with pytest.raises(NonFiniteTrainingError, match="Lower the learning rate"):
        DeepPINK(steps=200, learning_rate=1e30).importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))


@pytest.mark.parametrize("value", [2.5, 8.0, True, 0, -3, "8", float("nan")])
@pytest.mark.parametrize("name", ["epochs", "steps", "hidden", "depth", "batch_size"])
def test_whole_numbers_are_asked_for(name, value):
    X, Xk = np.random.default_rng(0).standard_normal((2, 20, 2))
    none = " or None" if name in ("steps", "hidden", "batch_size") else ""
    message = f"^DeepPINK: {name} must be a whole number of at least 1{none}, got {value!r}\\.$"
    with pytest.raises(ValueError, match=message):
        DeepPINK(**{name: value}).importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        DeepPINK(**{name: value}).draws_together(20, Layout(2, Units.single(2)))


@pytest.mark.parametrize(
    ("n", "epochs", "batch_size", "steps"),
    [
        (100, 3, 10, 30),
        (105, 3, 10, 32),  # 31.5
        (109, 1, 10, 11),  # 10.9
        (19, 200, 10, 380),
        (7, 4, 10, 4),  # a batch is all rows
        (7, 4, None, 4),
        (250, 2, np.uint8(200), 3),  # 2.5
    ],
)
def test_steps_of_epochs_are_rounded_up(n, epochs, batch_size, steps):
    assert DeepPINK(epochs=epochs, batch_size=batch_size)._config(n, 5).steps == steps
    assert DeepPINK(epochs=np.uint8(epochs), batch_size=batch_size)._config(n, 5).steps == steps


def test_as_many_steps_are_made():
    X, Xk = np.random.default_rng(0).standard_normal((2, 105, 2))
    found = DeepPINK(epochs=3, batch_size=10).importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))
    assert len(found.loss_curve) == 32
