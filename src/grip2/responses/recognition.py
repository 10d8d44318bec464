"""Which kind of response a user's y is."""

from __future__ import annotations

from typing import Any

import numpy as np

from grip2.errors import Grip2Error, did_you_mean
from grip2.responses.base import Response
from grip2.responses.classes import SeveralClasses, TwoClasses
from grip2.responses.counts import LARGEST, LEAST_SKEWNESS, MOST_DISTINCT, Counts
from grip2.responses.given import rows_of
from grip2.responses.measurement import Measurement
from grip2.responses.ordered import OrderedClasses
from grip2.responses.survival import Survival
from grip2.user_warnings import warn_user

# In the order in which they are tried.
KINDS: tuple[type[Response], ...] = (Survival, OrderedClasses, Counts, TwoClasses, SeveralClasses, Measurement)
AUTOMATIC = "auto"
FEW_WHOLE_NUMBERS = 10


def register(kind: type[Response]) -> type[Response]:
    """Make a kind of response of your own known by its ``task``; usable as a class decorator. It is tried before the others.

    This lasts as long as the process.
    """
    global KINDS
    if not (isinstance(kind, type) and issubclass(kind, Response)):
        raise Grip2Error(f"register: a kind must be a subclass of grip2.responses.Response, got {kind!r}.")
    if kind.task == AUTOMATIC:
        raise Grip2Error(f"register: the task of {kind.__name__} must not be {AUTOMATIC!r}: choose another name.")
    KINDS = (kind, *(known for known in KINDS if known is not kind))
    return kind


def tasks() -> tuple[str, ...]:
    """What ``task=`` may be, beside "auto"."""
    return tuple(dict.fromkeys(kind.task for kind in reversed(KINDS)))


def check_task(task: str, who: str) -> None:
    if task not in (AUTOMATIC, *tasks()):
        raise Grip2Error(
            f"{who}: task must be one of {', '.join((AUTOMATIC, *tasks()))}, got {task!r}.{did_you_mean(task, tasks())}"
        )


def response_from(values: Any, task: str = AUTOMATIC, *, who: str = "response", guess_counts: bool = True) -> Response:
    """The response that these values are, by the task named or, for "auto", by what they look like.

    ``values`` are one column; or times to an event: a structured array with two fields, or two columns, one of which is
    the event (booleans or 0/1); or ordered categories of pandas (`rows_of` has the rules).
    "auto": two columns are survival, ordered categories are ordered classes; of one column text, booleans and two distinct
    values are classes, whole numbers from 0 that are mostly small and most often 0 are counts, everything else is a
    measurement. Other counts, and ordered classes that are plain numbers, have to be asked for. ``guess_counts=False``: all
    counts have to be, where models of them cannot be fitted.
    """
    check_task(task, who)
    rows = rows_of(values, who)
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        raise Grip2Error(f"{who}: y must be finite, got NaN or infinity.")
    if task == AUTOMATIC:
        check_varies(rows, who)
    for kind in KINDS:
        if kind is Counts and task == AUTOMATIC and not guess_counts:
            continue
        if task in (AUTOMATIC, kind.task) and kind.recognises(rows, asked=task == kind.task):
            if task == AUTOMATIC:
                _warn_of_whole_numbers(rows, kind, who)
            return kind.encode(rows, who)
    raise Grip2Error(
        f"{who}: {task} needs one column, got {' and '.join(rows.dtype.names or ())}. Leave the task out, or pass one column."
    )


def check_varies(values: np.ndarray, who: str) -> None:
    """Refuse a response with the same value in every row; a response of several fields is checked by its kind."""
    if values.dtype.names is None and len(np.unique(values)) < 2:
        only = "one class" if values.dtype.kind in "OUSb" else "a constant"
        raise Grip2Error(
            f"{who}: y is {only} ({values[:1].tolist()[0]!r} in every row); there is nothing to explain. Choose another target."
        )


def _warn_of_whole_numbers(values: np.ndarray, kind: type[Response], who: str) -> None:
    if kind is Counts:
        warn_user(
            f"{who}: y has whole numbers from 0, most often 0, as counts have. "
            "If they are something else, say so: a measurement, task='regression'; ordered classes, task='ordered' "
            "(--task on the command line)."
        )
    n_distinct = len(np.unique(values)) if values.dtype.kind in "iu" else 0
    if kind is Measurement and 0 < n_distinct <= FEW_WHOLE_NUMBERS:
        also = "classes, task='classification'; ordered classes, task='ordered'"
        also += "; counts, task='counts'" if values.min() >= 0 else ""
        warn_user(
            f"{who}: y has {n_distinct} distinct whole numbers and is treated as {kind.noun} ({kind.task}). "
            f"If they are something else, say so: {also} (--task on the command line).",
        )
    elif kind is Measurement and _may_count(values):
        warn_user(
            f"{who}: y has whole numbers from {values.min():g} to {values.max():g}, skewed as counts are, and is treated as "
            f"{kind.noun} ({kind.task}). If they count something, say so: task='counts' (--task on the command line)."
        )


def _may_count(values: np.ndarray) -> bool:
    """Whole numbers from 0 or 1 on, clearly skewed, none of them large: counts that are not most often 0."""
    if values.dtype.kind not in "iuf" or not (values.min() in (0, 1) and values.max() <= LARGEST):
        return False
    if (values != np.floor(values)).any() or not FEW_WHOLE_NUMBERS < len(np.unique(values)) <= MOST_DISTINCT:
        return False
    centred = values - values.mean()
    return bool((centred**3).mean() > LEAST_SKEWNESS * (centred**2).mean() ** 1.5)
