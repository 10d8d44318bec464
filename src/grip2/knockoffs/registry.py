"""Samplers by the names they have on the command line."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from grip2.errors import Grip2Error
from grip2.knockoffs.base import KnockoffSampler

_LOCATIONS = {
    "copula": ("grip2.knockoffs.copula", "CopulaKnockoffs"),
    "gaussian": ("grip2.knockoffs.gaussian", "GaussianKnockoffs"),
    "fixed": ("grip2.knockoffs.fixed_x", "FixedXKnockoffs"),
}


def names() -> list[str]:
    return list(_LOCATIONS)


def create(name: str, **parameters: Any) -> KnockoffSampler:
    """The sampler of a name; an unknown one raises ValueError and names its neighbours."""
    if name not in _LOCATIONS:
        near = difflib.get_close_matches(name, _LOCATIONS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise Grip2Error(f"knockoffs must be one of {', '.join(_LOCATIONS)}, got {name!r}.{hint}")
    module, class_name = _LOCATIONS[name]
    return getattr(importlib.import_module(module), class_name)(**parameters)
