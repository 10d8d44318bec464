"""Settings by name: from the words of a command line or a plan to the parameters of a statistic or a sampler.

Names may be dotted where one statistic holds another: ``network.steps``. Values are numbers, texts, true or false, none, or
pairs such as ``[0.001, 0.1]``; for a parameter that holds another statistic, its name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from sklearn.base import BaseEstimator, clone

from grip2.errors import Grip2Error, did_you_mean

Configured = TypeVar("Configured", bound=BaseEstimator)


def parse_settings(words: Iterable[str]) -> dict[str, Any]:
    """``["steps=5000", "network.omega=[0.01, 0.1]"]`` as a mapping of names to values."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise Grip2Error(f"--set: expected name=value, for example steps=5000, got {word!r}.")
        found[name.strip()] = _value(text.strip())
    return found


def with_settings(
    configured: Configured, settings: Mapping[str, Any], *, create: Callable[[str], Any] | None = None
) -> Configured:
    """A clone with settings changed by name; an unknown name raises and suggests a neighbour.

    ``create`` makes what a parameter holds from its name, where that is another statistic. Whole parts are replaced before
    parts of them are changed: ``{"network": "grip1", "network.steps": 500}`` changes the steps of the new network.
    """
    changed = clone(configured)
    for path in sorted(settings, key=lambda name: name.count(".")):
        _set(changed, path, path, settings[path], create)
    return changed


def _set(owner: Any, path: str, whole: str, value: Any, create: Callable[[str], Any] | None) -> None:
    name, _, rest = path.partition(".")
    known = owner.get_params(deep=False)
    if name not in known:
        raise Grip2Error(
            f"{type(owner).__name__} has no setting {name!r}; it has {', '.join(sorted(known))}."
            f"{did_you_mean(name, known)}"
        )
    current = known[name]
    if rest:
        if not isinstance(current, BaseEstimator):
            raise Grip2Error(f"{whole}: {name} of {type(owner).__name__} is {current!r}, which has no settings.")
        inner = clone(current)
        _set(inner, rest, whole, value, create)
        owner.set_params(**{name: inner})
    elif isinstance(current, BaseEstimator) and isinstance(value, str) and create is not None:
        owner.set_params(**{name: create(value)})
    else:
        owner.set_params(**{name: plain_value(value)})


def plain_value(value: Any) -> Any:
    """A value as a constructor takes it: TOML knows neither pairs nor None, which is written "none"."""
    if isinstance(value, list):
        return tuple(plain_value(item) for item in value)
    return None if value == "none" else value


def _value(text: str) -> Any:
    """A value as TOML reads it; a bare word is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
