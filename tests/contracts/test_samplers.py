"""What every registered sampler must satisfy; a new entry in the registry is tested without any change here."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from tests.knockoffs.cases import ar1, joint, largest_z, law_of, members, normal_rows, uneven, z_bound

from grip2 import knockoffs
from grip2.errors import Grip2Error
from grip2.knockoffs import KnockoffSampler
from grip2.knockoffs.registry import SAMPLERS
from grip2.units import Units

RNG = np.random.default_rng
CLASSES = {name: SAMPLERS.load(name) for name in SAMPLERS.names()}
EVERY = pytest.mark.parametrize("Sampler", CLASSES.values(), ids=CLASSES.keys())


@pytest.fixture
def X() -> np.ndarray:
    return normal_rows(120, ar1(6, 0.5), RNG(0)) + 2


def test_every_public_sampler_is_registered():
    public = {value for name in knockoffs.__all__ if inspect.isclass(value := getattr(knockoffs, name))}
    samplers = {value for value in public if issubclass(value, KnockoffSampler) and not inspect.isabstract(value)}
    assert samplers == {SAMPLERS.load(entry.name) for entry in SAMPLERS.own_entries()}
    assert {"GaussianKnockoffs", "CopulaKnockoffs", "FixedXKnockoffs"} <= {sampler.__name__ for sampler in samplers}
    assert set(knockoffs.__all__) <= set(dir(knockoffs))
    with pytest.raises(AttributeError, match="no attribute 'BestKnockoffs'"):
        _ = knockoffs.BestKnockoffs


@EVERY
def test_shapes_and_no_mutation(Sampler, X):
    before = X.copy()
    X.setflags(write=False)
    sampler = Sampler()
    settings = repr(sampler.get_params())
    the_users = str(np.random.get_state())  # noqa: NPY002  (NumPy's global generator is not ours to advance)
    Xk = sampler.fit(X).sample(X, rng=RNG(1))
    assert str(np.random.get_state()) == the_users  # noqa: NPY002
    assert Xk.shape == X.shape
    assert Xk.dtype == X.dtype
    assert np.isfinite(Xk).all()
    assert not np.shares_memory(X, Xk)
    np.testing.assert_array_equal(X, before)
    assert repr(sampler.get_params()) == settings


@EVERY
def test_fitted_attributes_and_assumptions(Sampler, X):
    sampler = Sampler().fit(X)
    check_is_fitted(sampler)
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
def test_the_same_seed_gives_the_same_knockoffs(Sampler, X):
    sampler = Sampler().fit(X)
    first, second = sampler.sample(X, rng=RNG(3)), clone(sampler).fit(X).sample(X, rng=RNG(3))
    np.testing.assert_array_equal(first, second)
    assert np.abs(sampler.sample(X, rng=RNG(4)) - first).max() > 0


@EVERY
def test_the_generator_advances(Sampler, X):
    sampler, rng = Sampler().fit(X), RNG(3)
    state = str(rng.bit_generator.state)
    first = sampler.sample(X, rng=rng)
    assert str(rng.bit_generator.state) != state
    assert np.abs(sampler.sample(X, rng=rng) - first).max() > 0


@pytest.mark.parametrize("name", CLASSES)
def test_a_new_process_gives_the_same_knockoffs(name, X, tmp_path):
    here = SAMPLERS.create(name).fit(X).sample(X, rng=RNG(3))
    np.save(tmp_path / "X.npy", X)
    program = (
        "import sys, numpy as np; from grip2.knockoffs.registry import SAMPLERS; X = np.load(sys.argv[1]);"
        f"Xk = SAMPLERS.create({name!r}).fit(X).sample(X, rng=np.random.default_rng(3)); print(Xk.tobytes().hex())"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "X.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(done.stdout.strip())).reshape(X.shape), here)


@EVERY
def test_fit_is_deterministic(Sampler, X):
    X[:, 0] = np.round(X[:, 0])
    np.testing.assert_array_equal(Sampler().fit(X).s_, Sampler().fit(X).s_)


def unexplained(sampler: KnockoffSampler, X: np.ndarray, Xk: np.ndarray) -> np.ndarray:
    """Residual variance of each column of Xk regressed on X, divided by what it must be: the diagonal of 2S - S Sigma^-1 S."""
    X, Xk = X - X.mean(axis=0), Xk - Xk.mean(axis=0)
    residuals = Xk - X @ np.linalg.lstsq(X, Xk, rcond=None)[0]
    s, variance = sampler.s_, np.diag(sampler.covariance_)
    conditional = (2 * s - s**2 * np.diag(np.linalg.inv(sampler.covariance_))) / variance
    return (residuals**2).mean(axis=0) / X.var(axis=0) / conditional


@EVERY
def test_data_and_sampler_may_share_a_seed(Sampler):
    """Knockoffs have noise of their own even if the data were simulated from the same seed.

    One data set of 4,000 rows: each of six ratios of variances has a standard error of 0.022; bound 0.15, false-alarm rate
    below 1e-9. The broken twin draws its noise from a generator with the seed of the data: a linear function of X, ratio 0.
    """
    Z = RNG(0).standard_normal((4000, 6))
    X = Z @ np.linalg.cholesky(ar1(6, 0.5)).T
    sampler = Sampler().fit(X)
    assert np.abs(unexplained(sampler, X, sampler.sample(X, rng=RNG(0))) - 1).max() < 0.15
    gaussian = knockoffs.GaussianKnockoffs().fit(X)
    assert unexplained(gaussian, X, law_of(gaussian).draw(X, RNG(0))[0]).max() < 0.15


@EVERY
@pytest.mark.parametrize("Frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_read_as_their_values(Sampler, Frame, X):
    frame = Frame(X)
    expected = Sampler().fit(frame.to_numpy()).sample(frame.to_numpy(), rng=RNG(0))
    np.testing.assert_array_equal(Sampler().fit(frame).sample(frame, rng=RNG(0)), expected)


@pytest.mark.parametrize("Sampler", [Sampler for Sampler in CLASSES.values() if not Sampler.fixed_x])
def test_memory_layout_does_not_matter(Sampler, X):
    """Sums over rows or columns round differently, so knockoffs differ in their last digits only.

    This does not hold for fixed-X knockoffs: rounding error may flip the sign of an eigenvector, and with it the noise.
    """
    by_columns = np.asfortranarray(X)
    expected = Sampler().fit(X).sample(X, rng=RNG(0))
    np.testing.assert_allclose(Sampler().fit(by_columns).sample(by_columns, rng=RNG(0)), expected, rtol=1e-9)


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
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)


@EVERY
def test_one_column(Sampler):
    X = RNG(0).standard_normal((50, 1))
    assert Sampler().fit(X).sample(X, rng=RNG(0)).shape == (50, 1)


@EVERY
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:, 0], "rows and columns"),
        (lambda X: np.where(np.arange(6) == 2, np.inf, X), "NaN or infinity in column 2. Impute"),
        (lambda X: np.where(np.arange(6) == 2, 1.0, X), "a constant column 2. Drop it"),
        (lambda X: np.where(np.arange(6) < 2, 0.1, X), "got constant columns 0, 1. Drop them"),
        (lambda X: csr_array(X), "X must be a dense array, got a sparse one"),
        (lambda X: X + 1j, "must hold real numbers, got complex"),
        (lambda X: pd.DataFrame(X).convert_dtypes().mask(X > 3), "missing values in columns 0, .*Impute"),
        (lambda X: X.astype(str).astype(object) + "a", "must hold numbers"),
        (lambda X: X[:0], "rows and columns"),
    ],
    ids=["vector", "infinite", "constant", "constants", "sparse", "complex", "missing", "text", "empty"],
)
def test_bad_input_says_who_what_and_what_to_do(Sampler, X, change, message):
    with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: .*{message}"):
        Sampler().fit(change(X))


@EVERY
def test_missing_values_are_completed_or_refused(Sampler, X):
    holed = X.copy()
    holed[3, 2] = np.nan
    if not Sampler.completes:
        with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: .*NaN or infinity in column 2. Impute"):
            Sampler().fit(holed)
        return
    sampler = Sampler().fit(holed)
    completed = sampler.complete(holed, rng=RNG(0))
    assert np.isnan(holed[3, 2])
    assert np.isfinite(completed[3, 2])
    seen = ~np.isnan(holed)
    np.testing.assert_array_equal(completed[seen], holed[seen])
    with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: .*NaN or infinity in column 2. Impute"):
        sampler.sample(holed, rng=RNG(0))


@EVERY
def test_columns_keep_names_and_order(Sampler, X):
    table = pd.DataFrame(X, columns=list("abcdef"))
    sampler = Sampler().fit(table)
    expected = sampler.sample(table, rng=RNG(0))
    # An array has no names to compare.
    np.testing.assert_array_equal(sampler.sample(table.to_numpy(), rng=RNG(0)), expected)
    with pytest.raises(
        Grip2Error, match=f"{Sampler.__name__}: columns must be those of fit.*'f' at position 0.*Reorder"
    ):
        sampler.sample(table[list("fedcba")], rng=RNG(0))
    with pytest.raises(Grip2Error, match="got 'z' at position 5, where fit had 'f'"):
        sampler.sample(table.rename(columns={"f": "z"}), rng=RNG(0))
    sampler.fit(X).sample(table[list("abcdef")], rng=RNG(0))  # names of an earlier fit are forgotten


@EVERY
def test_bad_s_is_refused_in_words(Sampler, X):
    with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: s must hold 6 values"):
        Sampler(s=0.1).fit(X)
    with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: s must be one of .*got 'mrv'. Did you mean 'mvr'?"):
        Sampler(s="mrv").fit(X)


@EVERY
def test_misuse_is_refused_in_words(Sampler, X):
    with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: call fit before sample"):
        Sampler().sample(X, rng=RNG(0))
    sampler = Sampler().fit(X)
    with pytest.raises(Grip2Error, match="fitted on 6 columns"):
        sampler.sample(X[:, :5], rng=RNG(0))
    with pytest.raises(TypeError, match="rng must be a numpy"):
        sampler.sample(X, rng=0)


@EVERY
def test_rows_that_were_not_fitted(Sampler, X):
    """A sampler that treats X as fixed refuses them; every other sampler draws their knockoffs."""
    sampler = Sampler().fit(X)
    new = X[:30] + 0.1
    if sampler.fixed_x:
        with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: X must be the same matrix as in fit"):
            sampler.sample(new, rng=RNG(0))
    else:
        assert sampler.sample(new, rng=RNG(0)).shape == new.shape


@EVERY
def test_rows_are_added_where_the_sampler_declares_it(Sampler, X):
    sampler, rng = Sampler(), RNG(0)
    y = X[:, 0] + RNG(1).standard_normal(len(X))
    state = str(rng.bit_generator.state)
    same_X, same_y = sampler.augment_rows(X, y, rng=rng)
    assert len(X) >= sampler.rows_needed(6)
    assert same_X is X
    assert same_y is y
    assert str(rng.bit_generator.state) == state
    few = max(sampler.rows_needed(6) - 2, 8)
    longer, response = sampler.augment_rows(X[:few], y[:few], rng=rng)
    if sampler.augments_rows:
        assert len(longer) == len(response) >= sampler.rows_needed(6) > few
        np.testing.assert_array_equal(response[:few], y[:few])
    else:
        assert sampler.rows_needed(6) == 0
        assert len(longer) == len(response) == few
    assert sampler.fit(longer).sample(longer, rng=rng).shape == longer.shape


SEVERAL = pytest.mark.parametrize("Sampler", [Sampler for Sampler in CLASSES.values() if Sampler.draws_copies])
GROUPED = pytest.mark.parametrize("Sampler", [Sampler for Sampler in CLASSES.values() if Sampler.draws_groups])
LABELS = ("a", "b", "a", "c", "c", "d")


@EVERY
def test_copies_that_cannot_be_drawn_are_refused_in_words(Sampler, X):
    sampler = Sampler().fit(X)
    for copies in (0, -1, 1.5, True, "auto"):
        with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: copies must be a whole number of at least 1, got"):
            sampler.sample(X, rng=RNG(0), copies=copies)
    if not Sampler.draws_copies:
        for refused in (lambda: sampler.sample(X, rng=RNG(0), copies=3), lambda: sampler.s_for(3)):
            with pytest.raises(Grip2Error, match=f"{Sampler.__name__}: .* one copy only, got copies=3"):
                refused()


@EVERY
def test_one_copy_is_a_table_by_default(Sampler, X):
    sampler = Sampler().fit(X)
    np.testing.assert_array_equal(sampler.sample(X, rng=RNG(1), copies=1), sampler.sample(X, rng=RNG(1)))
    np.testing.assert_array_equal(sampler.s_for(1), sampler.s_)
    np.testing.assert_array_equal(sampler.own_correlation(), 1.0 - sampler.s_ / np.diag(sampler.covariance_))
    assert sampler.units_.all_single


@SEVERAL
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_several_copies(Sampler, X, dtype):
    X = X.astype(dtype)
    sampler = Sampler().fit(X)
    Xk = sampler.sample(X, rng=RNG(1), copies=3)
    assert Xk.shape == (3, *X.shape)
    assert Xk.dtype == dtype
    assert np.isfinite(Xk).all()
    assert min(np.abs(Xk[a] - Xk[b]).max() for a, b in ((0, 1), (0, 2), (1, 2))) > 0.1
    np.testing.assert_array_equal(Sampler().fit(X).sample(X, rng=RNG(1), copies=3), Xk)
    assert np.all(sampler.s_for(3) < sampler.s_for(1))
    assert np.linalg.eigvalsh(4 / 3 * sampler.covariance_ - np.diag(sampler.s_for(3)))[0] > -1e-8


@SEVERAL
def test_a_pickled_sampler_keeps_what_it_has_factorised(Sampler, X, monkeypatch):
    sampler = Sampler().fit(X, groups=LABELS)
    expected = sampler.sample(X, rng=RNG(1), copies=3)
    again = pickle.loads(pickle.dumps(sampler))

    def refuse(*_, **__):
        raise AssertionError("solved again")

    monkeypatch.setattr("grip2.knockoffs.conditional.choose_s", refuse)
    np.testing.assert_array_equal(again.sample(X, rng=RNG(1), copies=3), expected)
    np.testing.assert_array_equal(again.s_for(3), sampler.s_for(3))
    with pytest.raises(AssertionError, match="solved again"):
        again.s_for(2)


@SEVERAL
def test_a_new_fit_forgets_what_was_factorised(Sampler, X):
    sampler = Sampler().fit(X)
    first = sampler.s_for(3)
    assert np.abs(sampler.fit(normal_rows(120, ar1(6, 0.9), RNG(2))).s_for(3) - first).max() > 0.01


@GROUPED
def test_groups(Sampler, X):
    sampler = Sampler(s="mvr").fit(X, groups=LABELS)
    same = np.equal.outer(LABELS, LABELS)
    assert len(sampler.units_) == 4
    assert sampler.s_.shape == (6, 6)
    assert np.all(sampler.s_[~same] == 0)
    assert np.linalg.eigvalsh(2 * sampler.covariance_ - sampler.s_)[0] > -1e-8
    np.testing.assert_array_equal(sampler.own_correlation(), 1.0 - np.diag(sampler.s_) / np.diag(sampler.covariance_))
    Xk = sampler.sample(X, rng=RNG(1))
    assert Xk.shape == X.shape
    as_units = Sampler(s="mvr").fit(X, groups=Units.from_labels(LABELS))
    np.testing.assert_array_equal(as_units.sample(X, rng=RNG(1)), Xk)
    assert sum("unit by unit, not column by column" in text for text in sampler.assumptions()) == 1
    assert not any("unit by unit" in text for text in sampler.fit(X).assumptions())


@GROUPED
def test_groups_of_one_column_are_no_groups(Sampler, X):
    sampler = Sampler().fit(X, groups=list("abcdef"))
    assert sampler.s_.shape == (6,)
    np.testing.assert_array_equal(sampler.sample(X, rng=RNG(1)), Sampler().fit(X).sample(X, rng=RNG(1)))


@GROUPED
def test_bad_groups_are_refused_in_words(Sampler, X):
    with pytest.raises(
        Grip2Error, match=f"{Sampler.__name__}: groups: must hold one label for each of the 6 columns, got 3"
    ):
        Sampler().fit(X, groups=["a", "b", "b"])
    with pytest.raises(Grip2Error, match="groups"):
        Sampler(s="sdp").fit(X, groups=LABELS)


@pytest.mark.parametrize(
    "Sampler", [Sampler for Sampler in CLASSES.values() if Sampler.draws_copies and Sampler.draws_groups]
)
def test_covariance_of_all_members_of_groups(Sampler):
    """Three copies of four units, everything estimated; bound and false-alarm rate as below, for 24 columns."""
    rng = RNG(2)
    X = normal_rows(MOMENT_ROWS, uneven(6), rng)
    sampler = Sampler().fit(X, groups=LABELS)
    Xk = sampler.sample(X, rng=rng, copies=3)
    bound = z_bound(24)
    assert moment_error(sampler, X, Xk) < bound
    assert moment_error(sampler, X, Xk[[0, 0, 0]]) > 2 * bound
    assert moment_error(sampler, X, np.roll(Xk, 1, axis=2)) > 2 * bound


# One data set of 20,000 rows, 78 second moments of (X, Xk): the largest error exceeds this many standard errors with
# probability below 1e-5 (union bound; the estimated covariance is the target, which only makes errors smaller).
MOMENT_ROWS, MOMENT_BOUND = 20_000, z_bound(12)


def moment_error(sampler: KnockoffSampler, X: np.ndarray, Xk: np.ndarray) -> float:
    """Largest error of the covariance of all members, in standard errors: R within a member, R - S between two.

    Columns are scaled by the mean and standard deviation of X: some samplers work with correlations.
    """
    copies = 1 if Xk.ndim == 2 else len(Xk)
    root, S = np.sqrt(np.diag(sampler.covariance_)), sampler.s_for(copies)
    scale = np.outer(root, root)
    target = joint(sampler.covariance_ / scale, S / root**2 if S.ndim == 1 else S / scale, copies)
    return largest_z(
        (members(X, Xk) - np.tile(X.mean(axis=0), 1 + copies)) / np.tile(X.std(axis=0), 1 + copies), target
    )


@EVERY
def test_covariance_of_originals_and_knockoffs(Sampler):
    rng = RNG(1)
    X = normal_rows(MOMENT_ROWS, uneven(6), rng)
    sampler = Sampler().fit(X)
    Xk = sampler.sample(X, rng=rng)
    assert moment_error(sampler, X, Xk) < MOMENT_BOUND
    # Broken twins: knockoffs of shuffled rows, of columns in another order, and copies of the originals.
    assert moment_error(sampler, X, rng.permutation(Xk)) > 2 * MOMENT_BOUND
    assert moment_error(sampler, X, np.roll(Xk, 1, axis=1)) > 2 * MOMENT_BOUND
    assert moment_error(sampler, X, X) > 2 * MOMENT_BOUND


@pytest.mark.parametrize("name", ["gaussian", "copula", "fixed"])
def test_the_covariance_test_detects_a_transposed_factor(name):
    """The classical mistake: noise ``U C`` where ``U C^T`` is right. With s = "equi" C is far from symmetric."""
    rng = RNG(1)
    X = normal_rows(MOMENT_ROWS, uneven(6), rng)
    sampler = SAMPLERS.create(name, s="equi").fit(X)
    assert moment_error(sampler, X, sampler.sample(X, rng=rng)) < MOMENT_BOUND
    if name == "fixed":
        sampler._C = sampler._C.T
    else:
        law_of(sampler).C = law_of(sampler).C.T
    assert moment_error(sampler, X, sampler.sample(X, rng=rng)) > 2 * MOMENT_BOUND
