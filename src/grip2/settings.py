"""Sets parameters of statistics and samplers by name, for the command line and for plans.

Names are dotted if one statistic holds another: ``network.steps``. Values are numbers, texts, true or false, none, or pairs such
as ``[0.001, 0.1]``; for a parameter that holds another statistic, its name.
"""

from __future__ import annotations

import tomllib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sklearn.base import BaseEstimator, clone

from grip2.errors import Grip2Error, did_you_mean

Configured = TypeVar("Configured", bound=BaseEstimator)

_IN_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", types.NoneType: "none"}


def parse_settings(words: Iterable[str]) -> dict[str, Any]:
    """``["steps=5000", "network.omega=[0.01, 0.1]"]`` as a mapping of names to values."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise Grip2Error(f"--set: expected name=value, for example network.steps=5000, got {word!r}.")
        found[name.strip()] = _value(text.strip())
    return found


def with_settings(
    configured: Configured, settings: Mapping[str, Any], *, create: Callable[[str], Any] | None = None
) -> Configured:
    """A clone with settings changed by name; an unknown name raises and suggests a similar one.

    ``create`` makes a statistic that a parameter holds from its name. Whole statistics are replaced before their settings are
    changed: ``{"network": "grip1", "network.steps": 500}`` changes the steps of the new network.
    """
    changed: Configured = clone(configured)
    for path in sorted(settings, key=lambda name: name.count(".")):
        _set(changed, path, path, settings[path], create)
    return changed


def _set(owner: Any, path: str, whole: str, value: Any, create: Callable[[str], Any] | None) -> None:
    name, _, rest = path.partition(".")
    known = owner.get_params(deep=False)
    if name not in known:
        raise Grip2Error(_unknown(owner, name, known))
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
        owner.set_params(**{name: _checked(type(owner), name, plain_value(value))})


def places_of(statistic: BaseEstimator, name: str) -> list[str]:
    """Dotted names under which a statistic or, if it does not, those that it holds have a setting; empty if none has it."""
    first, _, rest = name.partition(".")
    held = dict(held_by(statistic))
    if first in statistic.get_params(deep=False):
        if not rest:
            return [name]
        return [f"{first}.{place}" for place in places_of(held[first], rest)] if first in held else []
    return [f"{part}.{place}" for part, inner in held.items() for place in places_of(inner, name)]


def held_by(statistic: BaseEstimator) -> Iterator[tuple[str, BaseEstimator]]:
    """The parameters of a statistic that are statistics or models themselves, with their names."""
    for name, value in statistic.get_params(deep=False).items():
        if isinstance(value, BaseEstimator):
            yield name, value


def _unknown(owner: Any, name: str, known: Mapping[str, Any]) -> str:
    """The message for an unknown setting: what replaced it, where it is, or what is similar to it."""
    who = type(owner).__name__
    if name in getattr(owner, "replaced_settings", {}):
        return f"{who} has no setting {name!r} any more. Instead: {owner.replaced_settings[name]}."
    settings = f"it has {', '.join(sorted(known))}" if known else "it has none"
    places = places_of(owner, name)
    inside = [f"{part}.{inner}" for part, held in held_by(owner) for inner in held.get_params(deep=False)]
    if places:
        hint = f" Did you mean {places[0]!r}?"
    else:
        near = did_you_mean(name, [*known, *(path.rpartition(".")[2] for path in inside)])
        meant = near.partition("'")[2].rpartition("'")[0]
        hint = f" Did you mean {places_of(owner, meant)[0]!r}?" if meant and places_of(owner, meant) else near
    return f"{who} has no setting {name!r}; {settings}.{hint}"


def plain_value(value: Any) -> Any:
    """A value as a constructor takes it: TOML has lists in place of tuples, and no None, which is written "none"."""
    if isinstance(value, list):
        return tuple(plain_value(item) for item in value)
    return None if value == "none" else value


def _value(text: str) -> Any:
    """A value as TOML reads it; a word without quotes is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _checked(owner: type[Any], name: str, value: Any) -> Any:
    """``value`` if it fits the type that the constructor of ``owner`` declares for ``name``; without a type anything fits."""
    try:
        declared = get_type_hints(owner.__init__).get(name, Any)
    except NameError:  # a type that its module imports for type checkers only
        return value
    if not _fits(value, declared):
        expected = [words for option in _options(declared) if (words := _in_words(option))]
        raise Grip2Error(
            f"{owner.__name__}: {name} must be {' or '.join(expected) or 'given in Python'}, got {value!r}."
        )
    return value


def _options(declared: Any) -> tuple[Any, ...]:
    return get_args(declared) if get_origin(declared) in (types.UnionType, Union) else (declared,)


def _fits(value: Any, declared: Any) -> bool:
    if declared is Any:
        return True
    options = _options(declared)
    if len(options) > 1:
        return any(_fits(value, option) for option in options)
    inner = get_args(declared)
    if get_origin(declared) is Literal:
        return value in inner
    if get_origin(declared) is tuple:
        inner = inner[:1] * len(value) if inner[-1] is Ellipsis and isinstance(value, tuple) else inner
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(_fits, value, inner))
    if isinstance(value, bool):
        return declared is bool
    if declared is float:
        return isinstance(value, (int, float))
    return not isinstance(declared, type) or isinstance(value, declared)


def _in_words(declared: Any) -> str:
    """The values of one type in words; empty if they cannot be written as text."""
    inner = get_args(declared)
    if get_origin(declared) is Literal:
        return " or ".join(map(str, inner))
    if get_origin(declared) is tuple:
        return f"a list such as [{', '.join('0.1' for _ in inner)}]"
    return _IN_WORDS.get(declared, "")
