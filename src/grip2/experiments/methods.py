"""Makes the statistic of a plan's method: the paper's values or defaults, then the plan's settings, then the method's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sklearn.base import BaseEstimator

from grip2.errors import Grip2Error, did_you_mean
from grip2.experiments.plan import DEFAULT_SETTING, Method, Plan, PlanError
from grip2.experiments.toml_lines import key_lines, line_of
from grip2.settings import held_by, places_of, with_settings
from grip2.statistics.base import Statistic
from grip2.statistics.ensemble import Ensemble
from grip2.statistics.registry import STATISTICS


def statistic_for(plan: Plan, method: Method) -> Statistic:
    """The statistic of a method.

    A setting of the plan changes every statistic that has it; if a statistic does not have it but holds others that do, such as
    the network of a staged one, it changes those. A method's own settings come last and name their place exactly.
    """
    setting = method.setting or plan.setting
    own = dict(method.settings)
    try:
        name = method.statistic
        start: Statistic = (
            STATISTICS.create(name) if setting == DEFAULT_SETTING else STATISTICS.create_paper(name, setting)
        )
        # The method's own settings may replace a statistic inside, to which the plan's settings then apply.
        changed = with_settings(start, own, create=STATISTICS.create)
        shared = {
            place: value
            for name, value in plan.shared_settings(method).items()
            for place in places_of(changed, name)
            if place not in own
        }
        changed = with_settings(start, {**shared, **own}, create=STATISTICS.create)
    except Grip2Error as error:
        raise Grip2Error(f"method {method.name!r}: {error}") from None
    return changed if method.ensemble == 1 else Ensemble(changed, method.ensemble, budget="split")


def check_methods(plan: Plan) -> None:
    """Refuse unknown settings and bad values, with the line of the plan, before a worker meets them, perhaps hours later."""
    for method in plan.methods:
        try:
            statistic = statistic_for(plan, method)
            _check_settings(statistic, method)
        except Grip2Error as error:
            raise PlanError.at(plan.file, plan.text, _line_of(plan, method, str(error)), str(error)) from None
    statistics = [statistic_for(plan, method) for method in plan.methods if plan.shared_settings(method)]
    known = sorted({name for statistic in statistics for name in _all_names(statistic)})
    for name in plan.settings if statistics else ():
        if not any(places_of(statistic, name) for statistic in statistics):
            line = line_of(key_lines(plan.text), ("settings", name))
            message = f"settings: no statistic of the plan has a setting {name!r}.{did_you_mean(name, known)}"
            raise PlanError.at(plan.file, plan.text, line, message)


def _check_settings(statistic: Statistic, method: Method) -> None:
    try:
        statistic.check_settings()
    except Grip2Error as error:
        raise Grip2Error(f"method {method.name!r}: {error}") from None


def _line_of(plan: Plan, method: Method, message: str) -> int | None:
    """The line of the setting that an error message names: among the plan's settings, or the method's."""
    for name in plan.shared_settings(method):
        if name not in method.settings and re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", message):
            return line_of(key_lines(plan.text), ("settings", name.partition(".")[0]))
    return method.line


def _all_names(statistic: BaseEstimator) -> Iterator[str]:
    parameters: dict[str, Any] = statistic.get_params(deep=False)
    yield from parameters
    for _, inner in held_by(statistic):
        yield from _all_names(inner)
