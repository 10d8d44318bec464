"""The penalties: values by hand, gradients by finite differences."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grip2.engine.input_groups import InputGroups
from grip2.engine.mlp import group_activities, initialise
from grip2.engine.penalty import deep_penalty, group_penalty
from tests.naive.training import penalty_gradient


@pytest.mark.parametrize("numbers", [None, [0, 1, 0, 2, 0]])
@pytest.mark.parametrize("a", [0.1, 0.5, 1.0])
def test_gradient_by_finite_differences(a, numbers):
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((5, 3))
    epsilon, step = 1e-6, 1e-6
    groups = None if numbers is None else InputGroups.numbered(np.array(numbers))
    with jax.enable_x64(True):
        by_engine = np.asarray(jax.grad(group_penalty)(jnp.asarray(weight), a, epsilon, groups))
        for j in range(5):
            for k in range(3):
                moved = [weight.copy(), weight.copy()]
                moved[0][j, k] += step
                moved[1][j, k] -= step
                up, down = (float(group_penalty(jnp.asarray(w), a, epsilon, groups)) for w in moved)
                assert by_engine[j, k] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-8)
    np.testing.assert_allclose(by_engine, penalty_gradient(weight, 1.0, a, epsilon, numbers), rtol=1e-12)


def test_value_by_hand():
    weight = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert float(group_penalty(weight, 1.0, 0.0)) == pytest.approx(5.0)
    assert float(group_penalty(weight, 0.5, 0.0)) == pytest.approx(np.sqrt(5.0))


def test_values_of_groups_by_hand():
    """A group of four columns, of which one has weights, and a single column."""
    groups = InputGroups.numbered(np.array([0, 1, 0, 0, 0]))
    weight = np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert float(group_penalty(weight, 1.0, 0.0, groups)) == pytest.approx(np.sqrt(4) * 5.0 + 2.0)
    assert float(group_penalty(weight, 0.5, 0.0, groups)) == pytest.approx(np.sqrt(4) * np.sqrt(5.0) + np.sqrt(2.0))
    np.testing.assert_allclose(group_activities(weight, groups), [5.0 / np.sqrt(4), 2.0])
    np.testing.assert_allclose(group_activities(weight), [5.0, 2.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("groups", [None, InputGroups.numbered(np.array([0, 0]))])
def test_gradient_is_finite_at_zero(groups):
    gradient = jax.grad(group_penalty)(jnp.zeros((2, 3)), 0.1, 1e-8, groups)
    np.testing.assert_array_equal(np.asarray(gradient), np.zeros((2, 3)))


def test_deep_penalty_leaves_the_first_layer_and_biases_alone():
    parameters = initialise(4, 3, 2, 1, rng=np.random.default_rng(0))
    expected = 0.5 * sum((layer.weight**2).sum() for layer in parameters[1:])
    assert float(deep_penalty(parameters)) == pytest.approx(expected, rel=1e-5)
