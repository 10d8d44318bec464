"""Columns of any kind, to ranks and back: the round trip of the copula."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.knockoffs.marginals import learn_marginal

FEW = settings(max_examples=60, deadline=None, derandomize=True)
VALUES = st.floats(-1e12, 1e12, allow_nan=False, allow_subnormal=False)
# Ties, spikes and constant columns come from few values; steps come from whole numbers.
COLUMNS = st.one_of(
    st.lists(VALUES, min_size=2, max_size=60),
    st.lists(st.sampled_from([-3.5, 0.0, 0.0, 1e-9, 2.0]), min_size=2, max_size=60),
    st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=60),
).map(np.array)
RNG = np.random.default_rng


@given(COLUMNS, st.booleans(), st.integers(0, 100))
@FEW
def test_round_trip(column, discrete, seed):
    """Every value of a column comes back, whichever of its ranks a tied value was given."""
    marginal = learn_marginal(column, discrete=discrete)
    u = marginal.to_uniform(column, RNG(seed))
    assert ((u >= 0) & (u <= 1)).all()
    back = marginal.from_uniform(u)
    np.testing.assert_allclose(back, column, rtol=1e-9, atol=1e-9 * np.ptp(column))


@given(COLUMNS, st.booleans(), st.lists(st.floats(0, 1), min_size=1, max_size=30))
@FEW
def test_any_rank_becomes_a_value_of_the_range_in_order(column, discrete, ranks):
    marginal = learn_marginal(column, discrete=discrete)
    values = marginal.from_uniform(np.sort(ranks))
    slack = 1e-12 * max(1.0, np.abs(column).max())
    assert (values >= column.min() - slack).all()
    assert (values <= column.max() + slack).all()
    assert (np.diff(values) >= -slack).all()


@given(COLUMNS, st.booleans(), st.integers(0, 100))
@FEW
def test_ranks_lie_in_their_cells_and_keep_the_order(column, discrete, seed):
    marginal = learn_marginal(column, discrete=discrete)
    u = marginal.to_uniform(column, RNG(seed))
    low, high = marginal.cell(column)
    assert (low <= u + 1e-12).all()
    assert (u <= high + 1e-12).all()
    order = np.argsort(column, kind="stable")
    rises = np.diff(column[order]) > 0
    assert (np.diff(u[order])[rises] >= -1e-12).all()


@given(st.lists(VALUES, min_size=2, max_size=40), st.lists(VALUES, min_size=1, max_size=10), st.integers(0, 100))
@FEW
def test_values_that_were_never_seen_have_a_rank(column, others, seed):
    u = learn_marginal(np.array(column), discrete=False).to_uniform(np.array(others), RNG(seed))
    assert ((u >= 0) & (u <= 1)).all()
