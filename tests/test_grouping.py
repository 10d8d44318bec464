"""Screening and grouping: the paper's three rules, names, and one representative for every feature."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from grip2.grouping import CorrelationGrouping
from grip2.knockoffs import CopulaKnockoffs

RNG = np.random.default_rng


def with_correlation(x: np.ndarray, r: float, rng: np.random.Generator) -> np.ndarray:
    """A column whose sample correlation with x is exactly r."""
    noise = rng.standard_normal(len(x))
    x = (x - x.mean()) / np.linalg.norm(x - x.mean())
    noise -= noise.mean() + (noise @ x) * x
    return r * x + np.sqrt(1 - r**2) * noise / np.linalg.norm(noise)


@pytest.fixture
def table() -> pd.DataFrame:
    """a ~ a_copy (0.99), a ~ a_near (-0.95, larger variance), b alone, c ~ c_near (0.85: too far)."""
    rng = RNG(0)
    a, b, c = rng.standard_normal((3, 500))
    return pd.DataFrame(
        {
            "a": a,
            "a_copy": with_correlation(a, 0.99, rng),
            "b": b,
            "a_near": 100 * with_correlation(a, -0.95, rng),
            "c": c,
            "c_near": with_correlation(c, 0.85, rng),
        }
    )


def test_the_three_rules(table):
    grouping = CorrelationGrouping().fit(table)
    assert grouping.get_feature_names_out().tolist() == ["b", "a_near", "c", "c_near"]
    assert grouping.members_ == {"b": ["b"], "a_near": ["a_near", "a", "a_copy"], "c": ["c"], "c_near": ["c_near"]}
    assert grouping.n_redundant_ == 1
    np.testing.assert_array_equal(grouping.representative_, [3, 3, 2, 3, 4, 5])


def test_transform(table):
    grouping = CorrelationGrouping().set_output(transform="pandas").fit(table)
    pd.testing.assert_frame_equal(grouping.transform(table), table[["b", "a_near", "c", "c_near"]])


def test_names_without_a_frame(table):
    grouping = CorrelationGrouping().fit(table.to_numpy())
    assert grouping.get_feature_names_out().tolist() == ["x2", "x3", "x4", "x5"]
    assert grouping.members_["x3"] == ["x3", "x0", "x1"]
    np.testing.assert_array_equal(grouping.transform(table.to_numpy()), table.to_numpy()[:, 2:])


def test_every_feature_has_one_representative():
    rng = RNG(1)
    base = rng.standard_normal((200, 10))
    X = base[:, rng.integers(10, size=60)] + rng.uniform(0, 0.5, 60) * rng.standard_normal((200, 60))
    grouping = CorrelationGrouping().fit(X)
    members = [name for names in grouping.members_.values() for name in names]
    assert sorted(members) == sorted(f"x{j}" for j in range(60))
    assert 10 <= len(grouping.members_) < 60


def test_within_groups_correlations_reach_the_threshold():
    """Complete linkage: every pair of a group, not only neighbours in a chain."""
    rng = RNG(2)
    walk = np.cumsum(rng.standard_normal((500, 30)) * 0.4, axis=1) + rng.standard_normal((500, 1)) * 2
    grouping = CorrelationGrouping(redundancy_threshold=1.0, group_threshold=0.8).fit(walk)
    correlation = np.abs(np.corrcoef(walk.T))
    for leader in np.unique(grouping.representative_):
        members = np.flatnonzero(grouping.representative_ == leader)
        assert correlation[np.ix_(members, members)].min() >= 0.8 - 1e-9
        assert walk[:, leader].var() == walk[:, members].var(axis=0).max()


def test_a_chain_of_copies_ends_at_a_kept_feature():
    """x1 is close to x0, x2 to x1 but not to x0: both are dropped, and x0 stands for all three."""
    rng = RNG(3)
    x0 = rng.standard_normal(2000)
    x1 = with_correlation(x0, 0.985, rng)
    x2 = with_correlation(x1, 0.985, rng)
    X = np.column_stack([x0, x1, x2])
    assert abs(np.corrcoef(x0, x2)[0, 1]) < 0.98
    grouping = CorrelationGrouping().fit(X)
    assert grouping.members_ == {"x0": ["x0", "x1", "x2"]}


def test_standardised_features_fall_back_on_the_first():
    rng = RNG(4)
    a = rng.standard_normal(300)
    X = np.column_stack([a, with_correlation(a, 0.95, rng)])
    assert CorrelationGrouping().fit(StandardScaler().fit_transform(X)).members_ == {"x0": ["x0", "x1"]}


def test_constant_columns_are_dropped_with_a_warning(table):
    table["d"] = 1.0
    with pytest.warns(UserWarning, match="constant columns were dropped: d"):
        grouping = CorrelationGrouping().fit(table)
    assert "d" not in grouping.members_
    assert grouping.representative_[-1] == -1
    assert not grouping.get_support()[-1]


def test_constant_columns_only_are_an_error():
    with pytest.raises(ValueError, match="CorrelationGrouping: at least one column must vary, got 3 constant ones"):
        CorrelationGrouping().fit(np.ones((10, 3)))


def test_pipeline_and_clone(table):
    pipeline = make_pipeline(CorrelationGrouping(group_threshold=0.8), StandardScaler())
    assert clone(pipeline).fit_transform(table).shape == (500, 3)


@pytest.mark.parametrize("name", ["redundancy_threshold", "group_threshold"])
@pytest.mark.parametrize("value", [0.0, 1.5])
def test_thresholds_are_checked(table, name, value):
    with pytest.raises(ValueError, match=rf"CorrelationGrouping: {name} must be in \(0, 1\], got {value}"):
        CorrelationGrouping(**{name: value}).fit(table)


def har() -> np.ndarray:
    path = Path(os.environ.get("GRIP2_DATA", "")) / "har" / "har.npz"
    if "GRIP2_DATA" not in os.environ or not path.is_file():
        pytest.skip("needs the HAR data: set GRIP2_DATA to a folder with har/har.npz")
    with np.load(path, allow_pickle=False) as archive:
        return archive["X"]


@pytest.mark.slow
def test_har():
    """561 features become about 250, and mvr takes the mean correlation with the knockoffs from 0.97 to below 0.9."""
    X = har()
    grouping = CorrelationGrouping().fit(X)
    small = grouping.transform(X)
    assert 225 <= small.shape[1] <= 275
    assert sum(len(names) for names in grouping.members_.values()) == 561
    found = {}
    for s in ("equi", "mvr"):
        Xk = CopulaKnockoffs(s=s).fit(small).sample(small, rng=RNG(0))
        pairs = [np.corrcoef(small[:, j], Xk[:, j])[0, 1] for j in range(small.shape[1])]
        found[s] = float(np.mean(pairs))
    print(f"HAR: p = {small.shape[1]}, mean correlation equi {found['equi']:.3f}, mvr {found['mvr']:.3f}")
    assert found["equi"] > 0.95
    assert found["mvr"] < 0.89
