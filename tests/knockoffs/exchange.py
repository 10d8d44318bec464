"""How far members are from exchangeable, in their means and second moments."""

from __future__ import annotations

import numpy as np

from grip2.units import Units


def largest_difference(members: list[np.ndarray], units: Units) -> float:
    """Largest difference between members, times sqrt(n), of means and second moments of columns standardised alike.

    If members are exchangeable, unit by unit, columns j and k of different units have one second moment, whichever members
    they are taken from; columns of one unit have one if both are taken from the same member.
    """
    n, p = members[0].shape
    mean = np.mean([member.mean(axis=0) for member in members], axis=0)
    scale = np.sqrt(np.mean([member.var(axis=0) for member in members], axis=0))
    standard = [(member - mean) / scale for member in members]
    products = np.array([[s.T @ t / n for t in standard] for s in standard])
    other = np.not_equal.outer(units.of_column, units.of_column)
    own = np.arange(len(members))
    across = np.ptp(products.reshape(-1, p, p), axis=0)[other].max()
    within = np.ptp(products[own, own], axis=0)[~other].max()
    means = np.ptp([member.mean(axis=0) for member in standard], axis=0).max()
    return float(np.sqrt(n) * max(across, within, means))
