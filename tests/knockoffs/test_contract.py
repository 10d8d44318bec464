"""What every sampler must hold; a new one in ``grip2.knockoffs`` is picked up by itself."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from grip2 import knockoffs
from grip2.knockoffs import KnockoffSampler
from tests.knockoffs.cases import ar1, normal_rows

RNG = np.random.default_rng
SAMPLERS = [
    value
    for name in knockoffs.__all__
    if inspect.isclass(value := getattr(knockoffs, name))
    and issubclass(value, KnockoffSampler)
    and not inspect.isabstract(value)
]
EVERY = pytest.mark.parametrize("Sampler", SAMPLERS)


@pytest.fixture
def X() -> np.ndarray:
    return normal_rows(120, ar1(6, 0.5), RNG(0)) + 2


def test_all_three_are_here():
    assert {sampler.__name__ for sampler in SAMPLERS} >= {"GaussianKnockoffs", "CopulaKnockoffs", "FixedXKnockoffs"}


@EVERY
def test_shape_and_no_mutation(Sampler, X):
    before = X.copy()
    Xk = Sampler().fit(X).sample(X, rng=RNG(1))
    assert Xk.shape == X.shape
    assert Xk.dtype == X.dtype
    assert not np.shares_memory(X, Xk)
    np.testing.assert_array_equal(X, before)


@EVERY
def test_metadata(Sampler, X):
    sampler = Sampler().fit(X)
    assert sampler.n_features_in_ == 6
    assert sampler.s_.shape == (6,)
    assert np.all(sampler.s_ > 0)
    assert np.linalg.eigvalsh(2 * sampler.covariance_ - np.diag(sampler.s_))[0] > -1e-8
    texts = sampler.assumptions()
    assert texts
    assert all(text.endswith(".") for text in texts)


@EVERY
def test_float32_stays_float32(Sampler, X):
    small = X.astype(np.float32)
    Xk = Sampler().fit(small).sample(small, rng=RNG(1))
    assert Xk.dtype == np.float32
    wide = Sampler().fit(X).sample(X, rng=RNG(1))
    assert abs(Xk.mean() - wide.mean()) < 0.5


@EVERY
def test_seeds(Sampler, X):
    sampler = Sampler().fit(X)
    first, second = sampler.sample(X, rng=RNG(3)), sampler.sample(X, rng=RNG(3))
    np.testing.assert_array_equal(first, second)
    rng = RNG(3)
    np.testing.assert_array_equal(sampler.sample(X, rng=rng), first)
    assert np.abs(sampler.sample(X, rng=rng) - first).max() > 0  # the generator has advanced


@EVERY
def test_fit_is_deterministic(Sampler, X):
    X[:, 0] = np.round(X[:, 0])
    np.testing.assert_array_equal(Sampler().fit(X).s_, Sampler().fit(X).s_)


@EVERY
def test_same_in_a_new_process(Sampler, X):
    here = Sampler().fit(X).sample(X, rng=RNG(3))
    program = (
        "import numpy as np; from grip2 import knockoffs; rng = np.random.default_rng(0);"
        "L = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6))));"
        "X = rng.standard_normal((120, 6)) @ L.T + 2;"
        f"Xk = knockoffs.{Sampler.__name__}().fit(X).sample(X, rng=np.random.default_rng(3)); print(repr(float(Xk.sum())))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(float(here.sum()), rel=1e-12)


@EVERY
def test_data_and_sampler_may_share_a_seed(Sampler):
    """Noise of the knockoffs against the normals that made the data: largest of 36 correlations over 4,000 rows.

    Bound 0.1 is 6.3 standard errors: false-alarm rate below 1e-8. Drawing from the very generator, the broken twin, gives 1.
    """
    Z = RNG(0).standard_normal((4000, 6))
    X = Z @ np.linalg.cholesky(ar1(6, 0.5)).T
    Xk = Sampler().fit(X).sample(X, rng=RNG(0))
    rest = Xk - X @ np.linalg.lstsq(X, Xk, rcond=None)[0]
    assert np.abs(np.corrcoef(rest.T, RNG(0).standard_normal((4000, 6)).T)[:6, 6:]).max() < 0.1


@EVERY
def test_frames_are_read(Sampler, X):
    expected = Sampler().fit(X).sample(X, rng=RNG(0))
    for frame in (pd.DataFrame(X), pl.DataFrame(X)):  # stored by columns: sums may differ in the last digit
        np.testing.assert_allclose(Sampler().fit(frame).sample(frame, rng=RNG(0)), expected, rtol=1e-9)


@EVERY
def test_integers_and_booleans_are_numbers(Sampler, X):
    counts = np.round(X * 5).astype(int)
    assert Sampler().fit(counts).sample(counts, rng=RNG(0)).dtype == float
    flags = X > 2
    assert np.isfinite(Sampler().fit(flags).sample(flags, rng=RNG(0))).all()


@EVERY
def test_clone_and_parameters(Sampler, X):
    sampler = Sampler(s="sdp")
    copy = clone(sampler.fit(X))
    assert copy.get_params()["s"] == "sdp"
    assert not hasattr(copy, "s_")


@EVERY
def test_one_column(Sampler):
    X = RNG(0).standard_normal((50, 1))
    assert Sampler().fit(X).sample(X, rng=RNG(0)).shape == (50, 1)


@EVERY
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:, 0], "rows and columns"),
        (lambda X: np.where(np.arange(6) == 2, np.nan, X), "NaN or infinity in column 2. Impute"),
        (lambda X: np.where(np.arange(6) == 2, 1.0, X), "a constant column 2. Drop it"),
        (lambda X: np.where(np.arange(6) < 2, 0.1, X), "got constant columns 0, 1. Drop them"),
        (lambda X: csr_array(X), "X must be a dense array, got a sparse one"),
        (lambda X: X + 1j, "must hold real numbers, got complex"),
        (lambda X: pd.DataFrame(X).convert_dtypes().mask(X > 3), "missing values in columns 0, .*Impute"),
        (lambda X: X.astype(str).astype(object) + "a", "must hold numbers"),
        (lambda X: X[:0], "rows and columns"),
    ],
    ids=["vector", "nan", "constant", "constants", "sparse", "complex", "missing", "text", "empty"],
)
def test_bad_input_says_who_what_and_what_to_do(Sampler, X, change, message):
    with pytest.raises(ValueError, match=f"{Sampler.__name__}: .*{message}"):
        Sampler().fit(change(X))


@EVERY
def test_columns_keep_names_and_order(Sampler, X):
    table = pd.DataFrame(X, columns=list("abcdef"))
    sampler = Sampler().fit(table)
    expected = sampler.sample(table, rng=RNG(0))
    np.testing.assert_array_equal(
        sampler.sample(table.to_numpy(), rng=RNG(0)), expected
    )  # no names, nothing to compare
    with pytest.raises(
        ValueError, match=f"{Sampler.__name__}: columns must be those of fit.*'f' at position 0.*Reorder"
    ):
        sampler.sample(table[list("fedcba")], rng=RNG(0))
    with pytest.raises(ValueError, match="got 'z' at position 5, where fit had 'f'"):
        sampler.sample(table.rename(columns={"f": "z"}), rng=RNG(0))
    sampler.fit(X).sample(table[list("abcdef")], rng=RNG(0))  # names of an earlier fit are forgotten


@EVERY
def test_one_number_is_no_s(Sampler, X):
    with pytest.raises(ValueError, match=f"{Sampler.__name__}: s must hold 6 values"):
        Sampler(s=0.1).fit(X)


@EVERY
def test_misuse(Sampler, X):
    with pytest.raises(ValueError, match="call fit before sample"):
        Sampler().sample(X, rng=RNG(0))
    sampler = Sampler().fit(X)
    with pytest.raises(ValueError, match="fitted on 6 columns"):
        sampler.sample(X[:, :5], rng=RNG(0))
    with pytest.raises(TypeError, match="rng must be a numpy"):
        sampler.sample(X, rng=0)
