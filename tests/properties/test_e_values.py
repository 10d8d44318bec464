"""e-BH and e-values of several draws on any numbers: against their definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.derandomize import e_benjamini_hochberg, e_levels, e_q_values, e_values, mean_e_values, selection_frequency

FEW = settings(max_examples=60, deadline=None, derandomize=True)
E = st.lists(st.floats(0, 1e4), min_size=1, max_size=15).map(np.array)
W = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=15).map(np.array)
LEVELS = st.sampled_from([0.05, 0.1, 0.25, 0.5])


def by_definition(e: np.ndarray, fdr: float) -> np.ndarray:
    """The largest k such that the k largest are at least p / (k fdr)."""
    p = len(e)
    fits = [k for k in range(1, p + 1) if np.sort(e)[-k] >= p / (k * fdr) * (1 - 1e-12)]
    return e >= np.sort(e)[-max(fits)] if fits else np.zeros(p, bool)


@given(E, LEVELS)
@FEW
def test_e_bh_equals_its_definition(e, fdr):
    np.testing.assert_array_equal(e_benjamini_hochberg(e, fdr), by_definition(e, fdr))


@given(E, LEVELS, LEVELS)
@FEW
def test_a_higher_level_never_selects_less(e, one, other):
    low, high = sorted((one, other))
    assert (e_benjamini_hochberg(e, low) <= e_benjamini_hochberg(e, high)).all()


@given(E, LEVELS)
@FEW
def test_levels_say_where_each_is_selected(e, fdr):
    levels = e_levels(e)
    clear = np.abs(levels - fdr) > 1e-9
    np.testing.assert_array_equal((levels <= fdr)[clear], e_benjamini_hochberg(e, fdr)[clear])


@given(W, LEVELS, st.integers(1, 5))
@FEW
def test_one_draw_is_its_own_mean(w, level, copies):
    e = e_values(w, level, copies)
    assert (e >= 0).all()
    assert e.sum() == 0 or (w[e > 0] > 0).all()
    np.testing.assert_array_equal(mean_e_values([w, w], 0.1, copies, level), mean_e_values([w] * 4, 0.1, copies, level))


DRAWS = st.integers(1, 8).flatmap(
    lambda p: st.lists(st.lists(st.integers(-4, 9).map(float), min_size=p, max_size=p), min_size=2, max_size=4)
)


@given(DRAWS, st.integers(1, 5))
@FEW
def test_several_draws(draws, copies):
    """Their order does not matter, q-values lie in (0, 1], and frequencies count draws."""
    several = [np.array(w) for w in draws]
    q = e_q_values(several, copies)
    assert ((q > 0) & (q <= 1)).all()
    np.testing.assert_allclose(q, e_q_values(several[::-1], copies), rtol=1e-12)
    counts = selection_frequency(several, 0.2, copies) * len(several)
    np.testing.assert_allclose(counts, counts.round(), atol=1e-12)
