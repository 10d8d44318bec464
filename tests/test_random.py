"""Seeds: reproducible, and never shared with a user's own streams."""

from __future__ import annotations

import numpy as np
import pytest

from grip2._random import generator_from, stream


def test_same_int_same_stream_and_none_differs():
    assert generator_from(3).random() == generator_from(3).random()
    assert generator_from(None).random() != generator_from(None).random()


def test_a_generator_advances():
    rng = np.random.default_rng(0)
    assert generator_from(rng).random() != generator_from(rng).random()
    legacy = np.random.RandomState(0)
    assert generator_from(legacy).random() != generator_from(legacy).random()


@pytest.mark.parametrize("seed", [0, 1, 42])
def test_no_draws_are_shared_with_default_rng(seed):
    """4,000 normals of each stream; |correlation| < 5 / sqrt(n), false-alarm rate 6e-7. The same seed would give 1."""
    n = 4000
    user = np.random.default_rng(seed).standard_normal(n)
    for ours in (
        generator_from(seed),
        stream(np.random.default_rng(seed), "knockoffs"),
        generator_from(seed).spawn(1)[0],
    ):
        values = ours.standard_normal(n)
        assert abs(np.corrcoef(user, values)[0, 1]) < 5 / np.sqrt(n)
        assert not np.isin(values, user).any()


def test_purposes_have_streams_of_their_own():
    first, second = (stream(np.random.default_rng(0), purpose).random() for purpose in ("a", "b"))
    assert first != second


@pytest.mark.parametrize("bad", ["0", 1.5, True, -1])
def test_other_seeds_are_refused(bad):
    with pytest.raises(ValueError, match="random_state must"):
        generator_from(bad)


def test_rng_must_be_a_generator():
    with pytest.raises(TypeError, match=r"numpy\.random\.Generator"):
        stream(0, "knockoffs")
