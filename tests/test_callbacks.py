"""scikit-learn's callbacks, where the installed version has them."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from grip2 import KnockoffSelector
from grip2.callbacks import SUPPORTED
from grip2.knockoffs import GaussianKnockoffs
from grip2.statistics import LassoCoefficient

needs_callbacks = pytest.mark.skipif(not SUPPORTED, reason="scikit-learn before 1.9 has no callbacks")


class Recorder:
    """A callback that remembers what it is told."""

    max_propagation_depth = None

    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        self.told.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.told.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.told.append(("end", context.task_name))

    def teardown(self, estimator, context):
        self.told.append("teardown")


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    return X, X[:, :3].sum(axis=1)


def selector(**changes):
    return KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), fdr=0.4, random_state=0, **changes)


@needs_callbacks
def test_a_callback_is_told_of_every_percent():
    X, y = data()
    recorder = Recorder()
    fitted = selector().set_callbacks(recorder).fit(X, y)
    told = recorder.told
    assert told[:2] == ["setup", ("begin", "fit")]
    assert told[-2:] == [("end", "fit"), "teardown"]
    inner = told[2:-2]
    assert len(inner) == 200
    assert {name for _, name in inner} >= {"fitting knockoffs", "measuring importance"}
    assert not [name for name in vars(fitted) if name.startswith("_callback")]
    np.testing.assert_array_equal(fitted.W_, selector().fit(X, y).W_)
    clone(fitted).fit(X, y)


@needs_callbacks
def test_a_failed_fit_is_torn_down():
    recorder = Recorder()
    X, _ = data()
    with pytest.raises(ValueError, match="NaN"):
        selector().set_callbacks(recorder).fit(X, np.full(80, np.nan))
    assert recorder.told[-1] == "teardown"
    assert recorder.told.count("teardown") == recorder.told.count("setup") == 1


@needs_callbacks
@pytest.mark.filterwarnings("ignore:The estimator LinearRegression does not support callbacks")
def test_scikit_learns_own_progress_bar_and_pipelines():
    from sklearn.callback import ProgressBar

    X, y = data()
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        selector().set_callbacks(ProgressBar()).fit(X, y)
    assert "KnockoffSelector - fit" in shown.getvalue()
    assert "100%" in shown.getvalue()
    recorder = Recorder()
    make_pipeline(selector(), LinearRegression()).set_callbacks(recorder).fit(X, y)
    assert ("end", "measuring importance") in recorder.told


def test_nothing_is_missed_where_scikit_learn_has_none():
    code = """
import sys
sys.modules["sklearn.callback"] = None  # as in older versions
import sklearn
vars(sklearn).pop("callback", None)
import numpy as np
import grip2.callbacks
assert not grip2.callbacks.SUPPORTED

def fit(): pass

assert grip2.callbacks.with_callbacks(fit) is fit
task = grip2.callbacks.FitTask(None, None, None)
assert task.progress() is None
task.end()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
