"""Every solver on covariances of any kind: feasible, indifferent to units of measurement and to the order of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.knockoffs.s_matrix import RIDGE, SOLVERS
from grip2.knockoffs.s_matrix._groups import units_of

FEW = settings(max_examples=25, deadline=None, derandomize=True)
WITH_GROUPS = [name for name in SOLVERS if name != "sdp"]


@st.composite
def correlations(draw) -> np.ndarray:
    """Correlation matrices of 2 to 7 columns, from independent ones to nearly singular ones."""
    p, seed = draw(st.integers(2, 7)), draw(st.integers(0, 10_000))
    factors, noise = draw(st.integers(1, p)), draw(st.sampled_from([1e-6, 1e-2, 0.3, 3.0]))
    loadings = np.random.default_rng(seed).standard_normal((p, factors))
    covariance = loadings @ loadings.T + noise * np.eye(p)
    root = np.sqrt(np.diag(covariance))
    R = covariance / np.outer(root, root)
    np.fill_diagonal(R, 1.0)
    return R


def smallest_eigenvalues(S: np.ndarray, R: np.ndarray, copies: int) -> tuple[float, float]:
    matrix = np.diag(S) if S.ndim == 1 else S
    return np.linalg.eigvalsh(matrix)[0], np.linalg.eigvalsh((copies + 1) / copies * R - matrix)[0]


@pytest.mark.parametrize("name", SOLVERS)
@given(R=correlations(), copies=st.integers(1, 4))
@FEW
def test_feasible(name, R, copies):
    s = SOLVERS[name](R, copies=copies)
    of_s, of_d = smallest_eigenvalues(s, R, copies)
    assert s.shape == (len(R),)
    assert of_s >= 0
    assert of_d >= -(copies + 1) / copies * 1.01 * RIDGE
    assert (s <= 1 + 1e-9).all() or name in ("mvr", "maxent")


@pytest.mark.parametrize("name", WITH_GROUPS)
@given(R=correlations(), copies=st.integers(1, 3), data=st.data())
@FEW
def test_feasible_with_groups(name, R, copies, data):
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(R), max_size=len(R)))
    S = SOLVERS[name](R, copies=copies, groups=groups)
    of_s, of_d = smallest_eigenvalues(S, R, copies)
    assert of_s >= -1e-9
    assert of_d >= -(copies + 1) / copies * 1.01 * RIDGE
    labels = units_of(groups, len(R)).of_column
    assert (S[labels[:, None] != labels] == 0).all()
    np.testing.assert_allclose(S, S.T, atol=1e-12)


@pytest.mark.parametrize("name", SOLVERS)
@given(R=correlations(), data=st.data())
@FEW
def test_units_of_measurement_only_scale_s(name, R, data):
    scales = data.draw(st.lists(st.sampled_from([1e-6, 0.1, 1.0, 7.0, 1e6]), min_size=len(R), max_size=len(R)))
    scale = np.array(scales)
    s, scaled = SOLVERS[name](R), SOLVERS[name](R * np.outer(scale, scale))
    np.testing.assert_allclose(scaled / scale**2, s, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["equi", "mvr", "maxent"])  # the optimum of "sdp" may not be unique
@given(R=correlations(), data=st.data())
@FEW
def test_the_order_of_columns_does_not_matter(name, R, data):
    order = np.array(data.draw(st.permutations(range(len(R)))))
    s, permuted = SOLVERS[name](R), SOLVERS[name](R[np.ix_(order, order)])
    np.testing.assert_allclose(permuted, s[order], rtol=1e-3, atol=1e-6)
