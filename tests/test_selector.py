"""KnockoffSelector as a scikit-learn estimator, on every kind of input, good and bad."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from grip2 import KnockoffSelector, select
from grip2.copies import ImpossibleRequestWarning
from grip2.draws import OneRowEach
from grip2.errors import Grip2Error
from grip2.knockoffs import FixedXKnockoffs, GaussianKnockoffs
from grip2.selector import FITTED
from grip2.statistics import GRIP2, EffectPosterior, LassoCoefficient, Staged, Statistic
from grip2.tables import prepare

TINY = GRIP2((1e-2, 1e-1), hidden=4, depth=1, steps=60, block_size=20, batch_size=32)


def linear(n=400, p=30, k=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, :k].sum(axis=1) + 0.5 * rng.standard_normal(n)


def selector(**changes):
    settings = {
        "statistic": LassoCoefficient(),
        "knockoffs": GaussianKnockoffs(),
        "fdr": 0.2,
        "random_state": 0,
    }
    return KnockoffSelector(**(settings | changes))


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([KnockoffSelector(TINY, GaussianKnockoffs())])
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


def test_finds_a_linear_signal_with_the_lasso_and_with_grip2():
    X, y = linear()
    for statistic in (LassoCoefficient(), GRIP2((1e-2, 1e-1), hidden=16, depth=1, steps=1500)):
        fitted = selector(statistic=statistic).fit(X, y)
        assert set(np.flatnonzero(fitted.get_support())) >= set(range(10))
        assert fitted.W_.shape == (30,)
        assert fitted.threshold_ > 0
        np.testing.assert_array_equal(fitted.get_support(), fitted.q_values_ <= 0.2)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_keep_their_names(kind):
    X, y = linear()
    names = [f"gene_{j}" for j in range(30)]
    frame = pd.DataFrame(X, columns=names) if kind == "pandas" else pl.DataFrame(X, schema=names)
    target = pd.Series(y) if kind == "pandas" else pl.Series(y)
    fitted = selector().fit(frame, target)
    from_array = selector().fit(X, y)
    np.testing.assert_array_equal(fitted.W_, from_array.W_)
    assert fitted.result_.feature_names == tuple(names)
    assert set(fitted.get_feature_names_out()) == set(fitted.result_.selected)
    assert fitted.transform(frame).shape == (400, len(fitted.result_.selected))


def test_pipeline_clone_grid_search_and_pickle():
    X, y = linear()
    model = make_pipeline(StandardScaler(), selector(), LinearRegression())
    search = GridSearchCV(model, {"knockoffselector__fdr": [0.1, 0.3]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    fitted = selector().fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.W_, fitted.W_)
    assert again.result_ == fitted.result_
    np.testing.assert_array_equal(clone(fitted).fit(X, y).W_, fitted.W_)


def test_same_seed_same_result_in_a_new_process():
    X, y = linear(n=100, p=6, k=3)
    here = selector(statistic=TINY).fit(X, y).W_
    code = """
import numpy as np
from tests.test_selector import TINY, linear, selector
print(selector(statistic=TINY).fit(*linear(n=100, p=6, k=3)).W_.tobytes().hex())
"""
    there = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert there.strip() == here.tobytes().hex()
    other = selector(statistic=TINY, random_state=1).fit(X, y).W_
    assert not np.array_equal(here, other)


def test_generator_as_random_state_advances():
    X, y = linear(n=100, p=6, k=3)
    rng = np.random.default_rng(0)
    first, second = (selector(random_state=rng).fit(X, y).W_ for _ in range(2))
    assert not np.array_equal(first, second)


def test_inputs_are_not_changed():
    X, y = linear(n=100, p=6, k=3)
    before = X.copy(), y.copy()
    selector(statistic=TINY).fit(X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize(("statistic", "p"), [(LassoCoefficient(), 150), (TINY, 30)])
def test_several_draws_do_not_depend_on_the_number_of_workers(statistic, p):
    X, y = linear(n=800, p=p)
    n_draws = 9 if statistic is TINY else 4  # more than one batch of networks
    one, two = (selector(statistic=statistic, n_draws=n_draws, n_jobs=jobs).fit(X, y).result_ for jobs in (None, 2))
    np.testing.assert_array_equal(one.W, two.W)
    np.testing.assert_array_equal(one.e_values, two.e_values)


def test_the_default_is_the_model_of_effects_before_the_network(monkeypatch):
    X, y = linear(n=100, p=6, k=3)
    small = Staged(EffectPosterior(sweeps=50), TINY)
    monkeypatch.setattr("grip2.statistics.staged.Staged", lambda: small)
    result = selector(statistic=None, fdr=0.4).fit(X, y).result_
    assert result.settings["statistic"]["name"] == "Staged"
    assert [stage.name for stage in result.facts.stages] == ["effects", "network"]
    np.testing.assert_array_equal(result.W, selector(statistic=small, fdr=0.4).fit(X, y).W_)
    monkeypatch.undo()
    plain = Staged()
    assert (type(plain.first), type(plain.network), plain.target) == (EffectPosterior, GRIP2, "auto")


def test_several_draws_find_what_matters():
    X, y = linear()
    one, two = (selector(n_draws=9, n_jobs=jobs).fit(X, y).result_ for jobs in (None, 2))
    np.testing.assert_array_equal(one.W, two.W)
    np.testing.assert_array_equal(one.e_values, two.e_values)
    assert set(one.selected) >= {f"x{j}" for j in range(10)}
    assert "averaged over 9 draws" in one.reason


def test_small_networks_of_several_draws_are_one_batch(monkeypatch):
    from grip2.statistics import network_runs

    X, y = linear(n=100, p=6, k=3)
    sizes = []
    original = network_runs.train_batch
    monkeypatch.setattr(network_runs, "train_batch", lambda x, *a, **k: sizes.append(len(x)) or original(x, *a, **k))
    selector(statistic=TINY, n_draws=3).fit(X, y)
    assert sizes == [3]


def test_task_is_recognised():
    X, y = linear(n=200, p=10, k=3)
    assert selector(statistic=TINY).fit(X, y).result_.task == "regression"
    for labels in (y > 0, (y > 0).astype(int), np.where(y > 0, "sick", "well")):
        assert selector(statistic=TINY).fit(X, labels).result_.task == "classification"
    thirds = np.digitize(y, [-1, 1])
    with pytest.warns(UserWarning, match="3 distinct whole numbers"):
        assert selector(statistic=TINY).fit(X, thirds).result_.task == "regression"
    result = selector(statistic=TINY, task="classification").fit(X, thirds).result_
    assert result.task == "classification"


def test_columns_need_not_be_named_by_text():
    X, y = linear(n=100, p=6, k=3)
    assert selector(statistic=TINY).fit(pd.DataFrame(X), y).result_.feature_names == tuple("012345")
    with pytest.raises(ValueError, match="column names must differ, got a more than once"):
        selector().fit(pd.DataFrame(X, columns=list("abcdea")), y)


def test_layout_and_precision_of_the_table():
    X, y = linear(n=100, p=6, k=3)
    plain = selector().fit(X, y).W_
    np.testing.assert_array_equal(selector().fit(np.asfortranarray(X), y).W_, plain)
    assert np.isfinite(selector(statistic=TINY).fit(X.astype(np.float32) + 1000, y).W_).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lambda y: np.where(y > 0, "a", None), "contains NaN in"),
        (lambda y: pd.date_range("2020-01-01", periods=len(y)), "y holds dates"),
        (lambda y: y.astype(str), "100 classes in 100 rows"),
    ],
)
def test_responses_that_are_no_responses(y, message):
    X, values = linear(n=100, p=6, k=3)
    with pytest.raises(Grip2Error, match=message):
        selector().fit(X, y(values))


def test_numbers_in_an_object_array_are_numbers():
    X, y = linear(n=100, p=6, k=3)
    assert selector(statistic=TINY).fit(X, y.astype(object)).result_.task == "regression"


def test_fixed_x_with_few_rows():
    """Rows are added for measurements, and the result says so; for classes there is nothing to add."""
    X, y = linear(n=45, p=30, k=10)
    result = selector(knockoffs=FixedXKnockoffs()).fit(X, y).result_
    assert any("rows of zeros were added" in sentence for sentence in result.assumptions)
    assert result.n_rows == 45
    assert FixedXKnockoffs().rows_needed(30) == 61
    with pytest.raises(
        Grip2Error, match=r"FixedXKnockoffs of 30 features needs at least 61 rows for two classes, got 45\. Use Copula"
    ):
        selector(knockoffs=FixedXKnockoffs()).fit(X, y > 0)
    neural = selector(statistic=TINY, knockoffs=FixedXKnockoffs()).fit(X, y).result_
    assert any("not a theorem" in sentence for sentence in neural.assumptions)


def test_draws_of_networks_on_classes():
    X, y = linear(n=200, p=10, k=3)
    result = selector(statistic=TINY, n_draws=3, task="classification").fit(X, np.digitize(y, [-1, 1])).result_
    assert result.e_values.shape == (10,)


def test_two_classes_are_found():
    X, y = linear(n=1000, k=10)
    fitted = selector(statistic=GRIP2((3e-3, 3e-2), hidden=16, depth=1, steps=1500)).fit(X, y > 0)
    assert set(np.flatnonzero(fitted.get_support())) >= set(range(10))


def test_empty_selection_is_explained():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 12)), rng.standard_normal(100)
    for copies, needed in ((1, 20), (4, 5)):
        possible = needed <= 12
        with nullcontext() if possible else pytest.warns(ImpossibleRequestWarning, match="nothing can be selected"):
            result = selector(fdr=0.05, copies=copies).fit(X, y).result_
        assert result.selected == []
        assert ("nothing can be selected" in result.reason) == (not possible)
        assert f"at least {needed} features must be selected together" in result.reason


def test_assumptions_name_what_is_estimated():
    X, y = linear()
    estimated = " ".join(selector().fit(X, y).result_.assumptions)
    assert "estimated" in estimated
    known = selector(knockoffs=GaussianKnockoffs(np.zeros(30), np.eye(30))).fit(X, y).result_
    assert "estimated" not in " ".join(known.assumptions)
    assert "modified" in " ".join(selector(offset=0).fit(X, y).result_.assumptions)


def test_select_in_one_call():
    X, y = linear()
    result = select(X, y, statistic=LassoCoefficient(), fdr=0.2, random_state=0, knockoffs=GaussianKnockoffs())
    assert result.selected == selector().fit(X, y).result_.selected
    assert result.settings["statistic"]["name"] == "LassoCoefficient"
    assert result.seed == 0


def bad(change):
    X, y = linear(n=40, p=5, k=2)
    return change(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (np.where(np.arange(5) == 2, np.inf, X), y), "infinity"),
        (lambda X, y: (X[:9], y[:9]), "at least 10 rows"),
        (lambda X, y: (X[:, :1], y), "at least 2 features"),
        (lambda X, y: (X, np.ones(40)), "y is a constant"),
        (lambda X, y: (X, np.full(40, "a")), "y is one class"),
        (lambda X, y: (X, y[:-1]), "X has 40 rows, y has 39 values"),
        (lambda X, y: (X, np.where(np.arange(40) == 3, np.nan, y)), "NaN"),
        (lambda X, y: (X, None), "requires y"),
    ],
)
def test_bad_data_is_refused(change, message):
    """Also scikit-learn's own complaints, such as those of missing values, arrive as errors that the user can mend."""
    X, y = bad(change)
    with pytest.raises(Grip2Error, match=f"^KnockoffSelector: .*{message}"):
        selector().fit(X, y)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_constant_response_is_refused_whatever_the_task(task):
    X, _ = linear(n=40, p=5, k=2)
    with pytest.raises(Grip2Error, match=r"y is a constant \(.*1\.0.* in every row\); there is nothing to explain"):
        selector(task=task).fit(X, np.ones(40))


def test_sparse_input_is_refused():
    X, y = linear(n=40, p=5, k=2)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        selector().fit(scipy.sparse.csr_array(X), y)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fdr": 1.5}, r"KnockoffSelector: fdr must be in \(0, 1\), got 1.5"),
        ({"offset": 2}, "offset must be 0 or 1"),
        ({"n_draws": 0}, "n_draws"),
        ({"n_draws": 2, "offset": 0}, "need offset=1"),
        ({"task": "ranking"}, "task must be"),
        ({"statistic": 7}, "statistic must be a name such as 'staged' or an object such as LassoCoefficient"),
        ({"statistic": "grip"}, "Did you mean 'grip2'"),
        ({"knockoffs": 7}, "knockoffs must be a name such as 'auto' or an object such as GaussianKnockoffs"),
        ({"knockoffs": "gausian"}, "Did you mean 'gaussian'"),
        ({"random_state": "seed"}, "random_state"),
    ],
)
def test_bad_parameters_are_refused(changes, message):
    X, y = linear(n=40, p=5, k=2)
    with pytest.raises(Grip2Error, match=message):
        selector(**changes).fit(X, y)


def test_statistics_are_not_changed_by_fitting():
    X, y = linear(n=100, p=6, k=3)
    statistic = clone(TINY)
    before = statistic.get_params()
    selector(statistic=statistic).fit(X, y)
    assert statistic.get_params() == before
    assert isinstance(statistic, Statistic)


def test_a_result_before_fit_is_missing_and_says_what_to_do():
    unfitted = selector()
    assert not any(hasattr(unfitted, name) for name in FITTED)
    with pytest.raises(
        NotFittedError, match=r"KnockoffSelector: result_ is there after fit, .* call fit\(X, y\) first"
    ):
        _ = unfitted.result_
    with pytest.raises(AttributeError, match="no attribute 'reslt_'") as wrong:
        _ = unfitted.reslt_
    assert not isinstance(wrong.value, NotFittedError)
    X, y = linear(n=60, p=4, k=2)
    fitted = pickle.loads(pickle.dumps(selector().fit(X, y)))
    assert all(hasattr(fitted, name) for name in FITTED)
    assert not hasattr(fitted, "feature_names_in_")


def test_a_bad_number_of_processes_is_refused():
    X, y = linear(n=60, p=4, k=2)
    with pytest.raises(Grip2Error, match="n_jobs must be a whole number other than 0, or None, got 0"):
        selector(n_jobs=0).fit(X, y)


def few_true(n=500, p=30, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, :k].sum(axis=1) + rng.standard_normal(n)


def test_few_true_features_are_found_with_copies_and_never_with_one():
    X, y = few_true()
    one = selector(fdr=0.1, copies=1).fit(X, y).result_
    automatic = selector(fdr=0.1).fit(X, y).result_
    assert one.selected == []
    assert "With more copies fewer features suffice" in one.reason
    assert set(automatic.selected) >= {"x0", "x1", "x2"}
    assert automatic.copies == 5
    assert automatic.copies_reason.startswith("automatic")
    assert "(5 x " in automatic.reason
    assert any("5 knockoff copies are exchangeable" in sentence for sentence in automatic.assumptions)
    assert automatic.knockoff_quality.mean_correlation > one.knockoff_quality.mean_correlation


def test_groups_are_selected_as_wholes_and_all_their_columns_kept():
    rng = np.random.default_rng(1)
    X, y = few_true(p=12, k=1)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    frame["c1"] = 0.95 * frame["c0"] + 0.3 * rng.standard_normal(len(frame))
    groups = {"pair": ["c0", "c1"], "rest": ["c4", "c7", "c9"]}
    fitted = selector(fdr=0.3, groups=groups, copies=4).fit(frame, y)
    assert fitted.result_.feature_names == ("pair", "c2", "c3", "rest", "c5", "c6", "c8", "c10", "c11")
    assert fitted.result_.selected == ["pair"]
    assert list(fitted.get_feature_names_out()) == ["c0", "c1"]
    assert fitted.transform(frame).shape == (500, 2)
    assert fitted.result_.groups["rest"] == ["c4", "c7", "c9"]
    assert any("answer for the group" in sentence for sentence in fitted.result_.assumptions)
    labels = ["pair", "pair", *(None if j not in (4, 7, 9) else "rest" for j in range(2, 12))]
    np.testing.assert_array_equal(clone(fitted).set_params(groups=labels).fit(frame, y).W_, fitted.W_)


def test_single_groups_change_nothing():
    X, y = linear()
    plain = selector().fit(X, y)
    np.testing.assert_array_equal(selector(groups=[f"x{j}" for j in range(30)]).fit(X, y).W_, plain.W_)


def test_fixed_x_knockoffs_have_one_copy():
    X, y = linear()
    result = selector(knockoffs=FixedXKnockoffs()).fit(X, y).result_
    assert (result.copies, result.copies_reason) == (1, "this kind of knockoffs exists in one copy only")
    with pytest.raises(Grip2Error, match="one copy"):
        selector(knockoffs=FixedXKnockoffs(), copies=3).fit(X, y)


def test_one_group_of_everything_is_refused():
    X, y = linear()
    with pytest.raises(Grip2Error, match="groups put all columns into 'all'"):
        selector(groups=["all"] * 30).fit(X, y)


def test_draws_report_how_often_each_feature_is_selected():
    X, y = few_true()
    result = selector(fdr=0.1, n_draws=4).fit(X, y).result_
    assert set(result.selected) >= {"x0", "x1", "x2"}
    assert result.frequency is not None
    assert (result.frequency[:3] == 1).all()
    assert set(np.round(4 * result.frequency).astype(int)) <= set(range(5))
    assert (result.to_frame()["frequency"] >= 0).all()


def test_draws_on_an_executor_are_those_of_one_process():
    X, y = few_true()
    alone = selector(n_draws=3).fit(X, y)
    with ThreadPoolExecutor(2) as executor:
        steps = []
        spread = selector(n_draws=3).fit(
            X, y, executor=executor, progress=lambda done, total: steps.append(done / total)
        )
    np.testing.assert_array_equal(alone.W_, spread.W_)
    assert steps[-1] == 1


def test_an_empty_selection_of_columns_that_are_too_much_alike_points_at_groups():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 1)) + 0.05 * rng.standard_normal((200, 12))
    result = selector(fdr=0.1).fit(X, rng.standard_normal(200)).result_
    assert result.selected == []
    assert "--group-threshold" in result.reason
    assert "--group-threshold" not in selector(fdr=0.1).fit(rng.standard_normal((200, 12)), X[:, 0]).result_.reason


def test_progress_of_several_processes_comes_to_its_end():
    X, y = few_true()
    steps = []
    selector(n_draws=3, n_jobs=2, describe=False).fit(X, y, progress=lambda *at: steps.append(at))
    knockoffs, draws, whole = 1000, 2000, 3001  # two rounds of draws on two processes
    of_draws = [(knockoffs + draws * k // 3, whole) for k in (1, 2, 3)]
    assert steps == [(knockoffs, whole), *of_draws, of_draws[-1], (whole, whole)]


class Failing(Statistic):
    """Counts its calls and fails."""

    calls: ClassVar[list[int]] = []

    def _importance(self, members, response, *, rng, progress):
        self.calls.append(1)
        raise ArithmeticError("this draw failed")


def test_a_failed_draw_ends_the_others_that_have_not_begun():
    X, y = few_true()
    with ThreadPoolExecutor(1) as executor, pytest.raises(ArithmeticError, match="this draw failed"):
        KnockoffSelector(Failing(), n_draws=500, random_state=0).fit(X, y, executor=executor)
    assert len(Failing.calls) < 250


def test_more_copies_are_advised_only_where_there_can_be_more():
    X, y = few_true()
    for knockoffs, advised in ((GaussianKnockoffs(), True), (FixedXKnockoffs(), False)):
        result = selector(knockoffs=knockoffs, copies=1, fdr=0.05).fit(X, y).result_
        assert not result.selected
        assert ("With more copies fewer features suffice" in result.reason) == advised


def test_a_given_s_that_is_too_large_for_several_copies_has_as_many_as_it_allows():
    X, y = linear()
    for share, copies in ((1.9, 1), (1.3, 3), (0.5, 3)):
        sampler = GaussianKnockoffs(np.zeros(30), np.eye(30), s=np.full(30, min(share, 1.0)))
        assert selector(knockoffs=sampler).fit(X, y).result_.copies == 3
        correlated = 0.5 * np.eye(30) + 0.5
        sampler = GaussianKnockoffs(np.zeros(30), correlated, s=np.full(30, share * 0.5))
        result = selector(knockoffs=sampler).fit(X, y).result_
        assert result.copies == copies
        assert ("the given S allows no more" in result.copies_reason) == (copies < 3)


def test_clusters_give_one_row_each():
    rows = OneRowEach.of(["a", "b", "a", "c", "c", "c"], 6, "who")
    assert len(rows) == 3
    chosen = np.array([rows.choose(np.random.default_rng(seed)) for seed in range(600)])
    assert (np.diff(chosen, axis=1) > 0).all() or (np.sort(chosen, axis=1) == chosen).all()
    assert all(sorted(rows.of_row[draw]) == [0, 1, 2] for draw in chosen)
    # Each row of a cluster equally often: 600 draws, probability 1/2 and 1/3; 5 standard deviations, false alarm below 1e-5.
    share = np.bincount(chosen.ravel(), minlength=6) / 600
    expected = np.array([1 / 2, 1, 1 / 2, 1 / 3, 1 / 3, 1 / 3])
    assert (np.abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / 600)).all()
    with pytest.raises(Grip2Error, match="one label for each of the 6 rows"):
        OneRowEach.of(["a"], 6, "who")
    with pytest.raises(Grip2Error, match="1 rows without one"):
        OneRowEach.of(["a", None, "b"], 3, "who")


def test_repeated_rows_as_clusters_keep_the_level():
    """Rows that occur five times: refused; with clusters hardly anything is selected."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 30)), rng.standard_normal(60)
    label = np.tile(np.arange(60), 5)
    many, many_y = np.tile(X, (5, 1)), np.tile(y, 5)

    def selector() -> KnockoffSelector:
        return KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), copies=5, fdr=0.2, random_state=0)

    fitted = selector().fit(many, many_y, clusters=label)
    with pytest.raises(Grip2Error, match="rows must be independent of each other, got 600 pairs of equal rows"):
        selector().fit(many, many_y)
    assert len(fitted.result_.selected) <= 2
    assert any("one row of each of 60 clusters" in text for text in fitted.result_.assumptions)


def mixed(n=300, seed=0):
    """A table with columns of many kinds; y depends on three of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 8)), columns=list("abcdefgh"))
    frame["city"] = rng.choice(["Rome", "Oslo", "Bern"], n)
    frame["flag"] = rng.random(n) < 0.5
    frame["grade"] = pd.Categorical(rng.choice(["lo", "mid", "hi"], n), categories=["lo", "mid", "hi"], ordered=True)
    frame["visit"] = pd.date_range("2020-01-01", periods=n)
    y = 2 * frame["a"] + 3 * (frame["city"] == "Rome") + 2 * frame["flag"] + 0.5 * rng.standard_normal(n)
    return frame, y


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_as_they_come(library):
    frame, y = mixed()
    table = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "pyarrow": lambda: pa.Table.from_pandas(frame),
    }
    fitted = selector().fit(table[library](), y.to_numpy())
    assert set(fitted.result_.selected) >= {"a", "city", "flag"}
    assert fitted.n_features_in_ == 12
    assert set(fitted.get_feature_names_out()) == set(fitted.result_.selected)
    roles = {column.name: column.role for column in fitted.result_.columns}
    assert roles == dict.fromkeys("abcdefgh", "number") | {
        "city": "category", "flag": "0/1", "grade": "category" if library != "pandas" else "ordered", "visit": "date",
    }  # fmt: skip


def test_frames_keep_their_types():
    frame, y = mixed()
    fitted = selector().set_output(transform="pandas").fit(frame, y)
    kept = list(fitted.get_feature_names_out())
    pd.testing.assert_frame_equal(fitted.transform(frame), frame[kept])
    polars = pl.from_pandas(frame)
    assert fitted.set_output(transform="polars").transform(polars).equals(polars.select(kept))
    assert fitted.set_output(transform="default").transform(frame).dtype == object
    with pytest.raises(ValueError, match="feature names"):
        fitted.set_output(transform="pandas").transform(frame.rename(columns={"a": "z"}))


def test_changes_are_told_by_one_warning():
    frame, y = mixed()
    frame["flat"], frame["again"], frame["id"] = 1.0, frame["a"], np.arange(len(frame))
    with pytest.warns(
        UserWarning, match=r"flat: constant \(1\), left out; again: a copy of a.*; id: counts the rows"
    ) as told:
        fitted = selector().fit(frame, y)
    assert len(told) == 1
    assert fitted.get_support()[[0, 12, 13, 14]].tolist() == [True, False, True, False], (
        "a copy is selected with its column"
    )
    assert "again" in fitted.get_feature_names_out()
    assert fitted.result_.groups["a"] == ["a", "again"]
    quiet = selector(columns={"flat": "drop", "again": "drop", "id": "drop"}).fit(frame, y)
    np.testing.assert_array_equal(quiet.W_, fitted.W_)


def test_rows_without_a_target_are_left_out_with_their_clusters():
    X, y = few_true()
    frame = pd.DataFrame(X)
    series = pd.Series(y).where(frame.index != 3)
    labels = np.arange(len(X)) // 2
    with pytest.warns(UserWarning, match=f"y is missing in 1 of {len(X)} rows, which are left out"):
        left = selector().fit(frame, series, clusters=labels)
    kept = np.arange(len(X)) != 3
    np.testing.assert_array_equal(left.W_, selector().fit(X[kept], y[kept], clusters=labels[kept]).W_)
    assert left.result_.n_rows == len(X) - 1


def test_a_series_in_another_order_is_aligned():
    X, y = few_true()
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(len(X))])
    series = pd.Series(y, index=frame.index)
    plain = selector().fit(frame, series).W_
    with pytest.warns(UserWarning, match="put into the order of the table's index"):
        np.testing.assert_array_equal(selector().fit(frame, series.sample(frac=1, random_state=0)).W_, plain)
    with pytest.raises(Grip2Error, match="another index than X"):
        selector().fit(frame, series.reset_index(drop=True))


def test_missing_values_as_asked():
    X, y = few_true()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    with pytest.raises(Grip2Error, match=r"missing values in x0 \(.*FixedXKnockoffs cannot draw.*missing='indicator'"):
        selector(knockoffs=FixedXKnockoffs()).fit(X, y)
    with pytest.raises(Grip2Error, match="missing values in x0"):
        selector(missing="refuse").fit(X, y)
    for missing in ("median", "indicator"):
        with pytest.warns(UserWarning, match="missing values filled"):
            fitted = selector(missing=missing).fit(X, y)
        assert fitted.get_support()[:3].all()
        assert fitted.transform(X).shape[1] == fitted.get_support().sum()


def test_a_prepared_table_gives_the_same():
    frame, y = mixed()
    ready = prepare(frame)
    fitted = selector().fit(ready, y)
    np.testing.assert_array_equal(fitted.W_, selector().fit(frame, y).W_)
    assert list(fitted.feature_names_in_) == list(frame.columns)
    with pytest.raises(Grip2Error, match=r"X has \d+ rows, y has"):
        selector().fit(ready, y[:-1])
