"""The parts that take the effects of single features before the network of GRIP2 is trained (not in the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np

from grip2._random import stream
from grip2.statistics.curves import fit_curves
from grip2.statistics.effects import SWEEPS, class_probabilities, fit_effects
from grip2.statistics.lasso_first import fit_lasso
from grip2.statistics.parts import Part


def fit_parts(
    Z: np.ndarray,
    y: np.ndarray,
    *,
    linear: str | None,
    curves: bool,
    task: str,
    rng: np.random.Generator,
    rows: np.ndarray | None = None,
) -> tuple[Part, ...]:
    """ "posterior" or "lasso", as `GRIP2` takes it; ``rows``: the numbers of those to fit on, all by default.

    Of a fit to some rows only predictions count, so its sampler makes half the sweeps.
    """
    settings: dict[str, Any] = {"rows": rows, "curves": curves, "sweeps": SWEEPS if rows is None else SWEEPS // 2}
    if linear == "posterior" and task == "regression":
        return (fit_effects(Z, y, rng=stream(rng, "posterior"), **settings),)
    lassos = _lassos(Z, y, curves, task, rng, rows)
    if linear == "lasso":
        return lassos
    # Logits and shares are those of the lassos, which know what a class is; probabilities find more.
    found = class_probabilities(Z, y, rng=stream(rng, "posterior"), **settings)
    explained = sum(part.explained for part in lassos)
    penalties = [penalty for part in lassos for penalty in part.penalty]
    return (Part("additive", found, explained, y, lassos[-1].offset, penalties, probability=True),)


def _lassos(
    Z: np.ndarray, y: np.ndarray, curves: bool, task: str, rng: np.random.Generator, rows: np.ndarray | None
) -> tuple[Part, ...]:
    first = fit_lasso(Z, y, task=task, rng=stream(rng, "lasso"), rows=rows)
    if not curves:
        return (first,)
    return first, fit_curves(Z, first, task=task, rng=stream(rng, "curves"), rows=rows)
