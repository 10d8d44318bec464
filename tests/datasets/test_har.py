"""HAR: the mixed-type pipeline of appendix C.1 on a small table with all kinds of columns, and the real file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grip2.datasets import load_har
from grip2.datasets.files import DataFileError
from grip2.datasets.har import prepare_mixed


def test_mixed_pipeline():
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, np.nan, 9.0], "kind": ["x", None, "y", "x"], "b": [0, 1, 1, 0]},
    )
    X, names = prepare_mixed(frame)
    assert names == ("a", "b", "kind_x", "kind_y")
    assert X.dtype == np.float32
    assert np.allclose(X.mean(axis=0), 0, atol=1e-6)
    assert np.allclose(X.std(axis=0), 1, atol=1e-6)
    filled = np.array([1.0, 2.0, 2.0, 9.0])  # the missing value is imputed by the median
    assert np.allclose(X[:, 0], (filled - filled.mean()) / filled.std(), atol=1e-6)
    assert np.argmin(X[:, 2]) == 2, "the missing category is the most frequent one, x"


def test_damaged_file_is_refused(tmp_path):
    (tmp_path / "har").mkdir()
    (tmp_path / "har" / "har.npz").write_bytes(b"PK")
    with pytest.raises(DataFileError, match=r"har\.npz: changed or truncated \(2 bytes"):
        load_har(tmp_path)


def test_real_file(data_home):
    whole = load_har(data_home, redundancy_threshold=None)
    assert whole.X.shape == (10299, 561)
    table = load_har(data_home)
    n, p = table.X.shape
    assert n == 10299
    assert 200 < p < 300
    assert table.n_columns == 561
    assert table.X.dtype == np.float32
    assert np.allclose(table.X.mean(axis=0), 0, atol=1e-4)
    assert np.allclose(table.X.std(axis=0), 1, atol=1e-4)
    assert len(set(table.feature_names)) == p
    assert set(table.feature_names) <= set(whole.feature_names)
    correlation = np.abs(np.corrcoef(table.X, rowvar=False)) - np.eye(p)
    assert correlation.max() <= 0.98 + 1e-6


def test_rows(data_home):
    assert load_har(data_home, rows=500).X.shape[0] == 500
    with pytest.raises(ValueError, match="rows must be between 2 and 10299"):
        load_har(data_home, rows=1)
