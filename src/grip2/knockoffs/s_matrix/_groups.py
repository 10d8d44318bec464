"""The parameter ``groups`` of every solver: which columns share a block of S, and the form of the result that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from grip2.errors import Grip2Error
from grip2.units import Units

Groups = Sequence[object] | np.ndarray | Units | None


def units_of(groups: Groups, p: int) -> Units | None:
    """The partition of p columns that ``groups`` (a label for every column, or units) stands for; None without groups."""
    if groups is None or isinstance(groups, Units):
        units = groups
    else:
        try:
            units = Units.from_labels(list(groups))
        except TypeError as error:  # labels that cannot be keys of a dictionary, such as lists
            raise Grip2Error(
                f"groups: must hold one label (a text or a number) for every column, got {groups!r}."
            ) from error
    if units is not None and units.n_columns != p:
        raise Grip2Error(
            f"groups: must hold one label for each of the {p} columns, got {units.n_columns} labels. "
            "Give columns without a group a label of their own."
        )
    return units


def has_blocks(units: Units | None) -> TypeGuard[Units]:
    """Does some unit have several columns? If not, S is diagonal."""
    return units is not None and not units.all_single


def in_form(s: np.ndarray, units: Units | None) -> np.ndarray:
    """A diagonal S as callers expect it: the vector s without groups, the (p, p) matrix with them."""
    return s if units is None else np.diag(s)


def rescaled(S: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """S from the correlation scale to the scale of Sigma."""
    root = np.sqrt(variance)
    return np.asarray(S * root[:, None] * root)
