"""Supports scikit-learn's callbacks (`sklearn.callback`, new in version 1.9) during a fit; does nothing in older versions.

A fit is one task with a hundred subtasks, one for each percent of the work, so that scikit-learn's progress bar shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from grip2.progress import PhasedProgress, Progress

Method = TypeVar("Method", bound=Callable[..., Any])

PERCENTS = 100

try:
    from sklearn import callback as _sklearn
except ImportError:  # scikit-learn before 1.9
    _sklearn = None

SUPPORTED = _sklearn is not None


class _NoCallbacks:
    """Base class for versions of scikit-learn without callbacks."""


CallbackSupport: Any = _sklearn.CallbackSupportMixin if SUPPORTED else _NoCallbacks


def with_callbacks(method: Method) -> Method:
    """``fit`` with a `FitTask` inside: callbacks are notified when it ends, even if it fails."""
    return cast("Method", _sklearn.with_callbacks(method)) if SUPPORTED else method


class _Percents(PhasedProgress):
    """Begins and ends a task of scikit-learn for every percent of a fit."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self._estimator, self._context = estimator, context
        self._name, self._reported = "fit", 0

    def __call__(self, done: int, total: int) -> bool | None:
        while self._reported < min(PERCENTS, PERCENTS * done // max(1, total)):
            task = self._context.subcontext(task_name=self._name)
            task.call_on_fit_task_begin(estimator=self._estimator)
            task.call_on_fit_task_end(estimator=self._estimator)
            self._reported += 1
        return None

    def phase(self, name: str, *, paced: bool = False) -> None:
        self._name = name


class FitTask:
    """The task of one fit, from its begin to its end; inside `with_callbacks`."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._context: Any = None
        if SUPPORTED:
            self._context = estimator._init_callback_context(max_subtasks=PERCENTS)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def progress(self) -> Progress | None:
        return None if self._context is None else _Percents(self._estimator, self._context)

    def end(self) -> None:
        """To be called when the estimator is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._data)
