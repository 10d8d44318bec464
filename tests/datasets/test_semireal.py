"""Signal injection: a support that stays, weights and noise that do not, and the noise level asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grip2.datasets import make_semireal

X = np.random.default_rng(5).standard_normal((4000, 33)).astype(np.float32)


def test_support_is_fixed_and_the_rest_is_not():
    first, second = (make_semireal(X, random_state=seed) for seed in (1, 2))
    assert len(first.support) == math.ceil(0.2 * 33)
    assert np.array_equal(first.support, second.support)
    assert not np.allclose(first.signal, second.signal)
    assert not np.array_equal(make_semireal(X, support=1, random_state=1).support, first.support)
    again = make_semireal(X, random_state=1)
    assert np.array_equal(again.y, first.y)


def test_support_size_is_not_rounded_up_by_a_binary_fraction():
    assert len(make_semireal(X[:, :15], random_state=0).support) == 3


def test_signal_depends_on_the_support_only():
    made = make_semireal(X, random_state=3)
    moved = X.copy()
    others = np.setdiff1d(np.arange(33), made.support)
    moved[:, others] = 0
    assert np.allclose(make_semireal(moved, random_state=3).signal, made.signal)


def test_noise_level():
    made = make_semireal(X, snr=0.2, random_state=4)
    noise = made.y - made.signal
    # 4,000 rows: the ratio of variances has a relative standard error of sqrt(2 / 4000) = 0.022; five of them.
    assert abs(made.signal.var() / noise.var() / 0.2 - 1) < 0.11


def test_fixed_weights():
    first, second = (make_semireal(X, weights=7, random_state=seed) for seed in (1, 2))
    assert np.array_equal(first.signal, second.signal)
    assert not np.array_equal(first.y, second.y)


def test_given_support():
    assert make_semireal(X, support=np.array([4, 2]), random_state=0).support.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"share": 0.0}, "share must be in"),
        ({"snr": 0.0}, "snr must be positive"),
        ({"hidden": 0}, "hidden must be at least 1"),
        ({"support": np.array([40])}, "columns from 0 to 32"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_semireal(X, **arguments)
