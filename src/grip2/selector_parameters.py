"""Checks the parameters of `KnockoffSelector`: every message names the parameter, what must hold and what was got."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from grip2.copies import check_copies
from grip2.errors import Grip2Error
from grip2.filter import check_fdr
from grip2.knockoffs import KnockoffSampler
from grip2.knockoffs.registry import SAMPLERS
from grip2.registry import Registry
from grip2.statistics.base import Statistic
from grip2.statistics.registry import STATISTICS

# What `transform` does if nothing is selected.
WARN, ERROR, KEEP_ALL = "warn", "error", "keep_all"


def check_parameters(given: Mapping[str, Any], who: str) -> None:
    """Raise if a parameter, given by its name, cannot be used; ``who`` begins the message."""
    try:
        check_fdr(given["fdr"])
    except ValueError as error:
        raise Grip2Error(f"{who}: {error}") from None
    check_copies(given["copies"], who)
    n_draws, n_jobs, offset, columns = (given[name] for name in ("n_draws", "n_jobs", "offset", "columns"))
    if offset not in (0, 1):
        raise Grip2Error(f"{who}: offset must be 0 or 1, got {offset!r}.")
    if not isinstance(n_draws, numbers.Integral) or n_draws < 1:
        raise Grip2Error(f"{who}: n_draws must be a whole number of at least 1, got {n_draws!r}.")
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise Grip2Error(f"{who}: n_jobs must be a whole number other than 0, or None, got {n_jobs!r}.")
    if not isinstance(given["describe"], bool | np.bool_):
        raise Grip2Error(f"{who}: describe must be True or False, got {given['describe']!r}.")
    if given["empty"] not in (WARN, ERROR, KEEP_ALL):
        raise Grip2Error(f"{who}: empty must be {WARN!r}, {ERROR!r} or {KEEP_ALL!r}, got {given['empty']!r}.")
    if int(n_draws) > 1 and offset != 1:
        raise Grip2Error(f"{who}: several draws are combined by e-values, which need offset=1.")
    if columns is not None and not isinstance(columns, Mapping):
        raise Grip2Error(
            f"{who}: columns must map names to roles, such as {{'zip': 'category'}}, got {type(columns).__name__}."
        )
    check_part(given["statistic"], "statistic", Statistic, STATISTICS, "LassoCoefficient()", who)
    check_part(given["knockoffs"], "knockoffs", KnockoffSampler, SAMPLERS, "GaussianKnockoffs()", who)


def check_part(part: Any, name: str, base: type, names: Registry, example: str, who: str) -> None:
    """Refuse a part that is neither an object of the class ``base``, nor a registered name, nor None."""
    if part is None or isinstance(part, base):
        return
    if isinstance(part, str):
        try:
            names.load(part)
        except Grip2Error as error:
            raise Grip2Error(f"{who}: {error}") from None
        return
    if isinstance(part, type) and issubclass(part, base):
        raise Grip2Error(f"{who}: {name} must be an object, got the class {part.__name__}. Write {part.__name__}().")
    wrapped = (
        " A model of scikit-learn becomes one by grip2.statistics.FromEstimator(model)." if base is Statistic else ""
    )
    raise Grip2Error(
        f"{who}: {name} must be a name such as {names.names()[0]!r} or an object such as {example}, got "
        f"{type(part).__name__}.{wrapped if isinstance(part, BaseEstimator) else ''}"
    )
