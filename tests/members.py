"""Tables of all members of some units, for tests of statistics that look at them directly."""

from __future__ import annotations

import numpy as np

from grip2.symmetry import Members
from grip2.units import Layout, Units


def members_of(*tables: np.ndarray, units: Units | None = None) -> Members:
    """The original and its copies; every column is a unit unless ``units`` says otherwise."""
    return Members(tables, Units.single(tables[0].shape[1]) if units is None else units)


def table_of(*tables: np.ndarray, units: Units | None = None, dtype: type = np.float64) -> tuple[np.ndarray, Layout]:
    """The standardised columns of all members, and their layout."""
    members = members_of(*tables, units=units)
    return members.standardised(dtype), members.layout
