"""Human activity recognition by smartphone (OpenML 1478), prepared as in appendix C.1; the class labels are not used.

Anguita et al. (2013), ESANN. Rows are overlapping time windows of 30 people, so they are not independent; the paper ignores
this.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from grip2.datasets.files import VARIABLE, DataFileError, data_folder, local_file
from grip2.errors import Grip2Error
from grip2.grouping import CorrelationGrouping

OPENML_ID = 1478
N_FEATURES = 561


@dataclass(frozen=True)
class HARTable:
    """Covariates for semi-real data: float32, every column with mean 0 and standard deviation 1."""

    X: np.ndarray  # (n, p)
    feature_names: tuple[str, ...]
    n_columns: int  # number of columns before screening and grouping
    n_redundant: int  # number of near-duplicates dropped by screening


def load_har(
    data_home: str | Path | None = None,
    *,
    redundancy_threshold: float | None = 0.98,
    group_threshold: float = 0.90,
    rows: int | None = None,
) -> HARTable:
    """Covariates of HAR after screening, grouping and the paper's mixed-type pipeline.

    Read from ``har/har.npz`` in the local folder (``data_home`` or GRIP2_DATA); if it is missing, downloaded by
    ``fetch_openml``, which keeps a copy in that folder. The representative of a group is the member with the largest
    variance in the original units, so grouping comes before the pipeline, which scales all variances to one.
    ``redundancy_threshold=None`` skips screening and grouping. ``rows`` is the number of rows to keep, evenly spaced.
    """
    frame = _raw(data_home)
    if rows is not None:
        if not 2 <= rows <= len(frame):
            raise Grip2Error(f"load_har: rows must be between 2 and {len(frame)}, got {rows}.")
        frame = frame.iloc[np.linspace(0, len(frame) - 1, rows).round().astype(int)]
    n_columns = frame.shape[1]
    n_redundant = 0
    if redundancy_threshold is not None:
        grouping = CorrelationGrouping(redundancy_threshold, group_threshold).fit(frame)
        n_redundant = int(grouping.n_redundant_)
        frame = frame.loc[:, grouping.get_support()]
    X, names = prepare_mixed(frame)
    return HARTable(X, names, n_columns, n_redundant)


def prepare_mixed(frame: pd.DataFrame) -> tuple[np.ndarray, tuple[str, ...]]:
    """The mixed-type pipeline of appendix C.1: a dense float32 matrix and the names of its columns.

    Numeric columns: median imputation and standardisation. Categorical columns: missing values become the most frequent
    category, then one-hot encoding (unseen categories become zeros). Finally every column, including the one-hot ones, is
    scaled to mean 0 and standard deviation 1 ("global standardization").
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = [name for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name])]
    categorical = [name for name in frame.columns if name not in numeric]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps: list[tuple[str, Any, list[Any]]] = [
        ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        ("categories", make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot), categorical),
    ]
    pipeline = ColumnTransformer([step for step in steps if step[2]], verbose_feature_names_out=False)
    # Missing text may be None, which the imputer would treat as a category of its own.
    frame = frame.astype(dict.fromkeys(categorical, object)).where(frame.notna(), np.nan)
    X = np.asarray(pipeline.fit_transform(frame), dtype=float)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-8)
    return X.astype(np.float32), tuple(str(name) for name in pipeline.get_feature_names_out())


def _raw(data_home: str | Path | None) -> pd.DataFrame:
    path = local_file("har/har.npz", data_home)
    if path is not None:
        with np.load(path, allow_pickle=False) as content:
            return pd.DataFrame(content["X"], columns=[str(name) for name in content["feature_names"]])
    return _from_openml(data_folder(data_home))


def fetch_har(data_home: str | Path | None = None) -> None:
    """Download the table if it is neither in the local folder nor, from an earlier download, in scikit-learn's copy."""
    if local_file("har/har.npz", data_home) is None:
        _from_openml(data_folder(data_home))


def _from_openml(folder: Path) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    try:
        frame = fetch_openml(data_id=OPENML_ID, as_frame=True, data_home=str(folder), parser="auto").data
    except OSError as error:
        raise DataFileError(
            f"har: {folder / 'har' / 'har.npz'} does not exist, and OpenML could not be reached ({error}). "
            f"Set {VARIABLE} to a folder that holds it, or try again with a network connection."
        ) from None
    if frame.shape[1] != N_FEATURES:
        raise DataFileError(f"har: OpenML {OPENML_ID} must have {N_FEATURES} covariates, got {frame.shape[1]}.")
    return frame
