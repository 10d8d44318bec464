"""LassoCurves: a cross-validated lasso on the columns, then one on their curves (not in the paper).

A lasso on the columns misses an absolute value, a threshold or a wave of a single feature, and a network needs thousands of rows
to learn twenty of them. The second lasso has the bent basis functions of `grip2.statistics.basis`, which are orthogonal to the
columns and so do not compete with the first lasso. For classes both are l1-penalised logistic models, one class against the
rest, joined as logits.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.statistics.curve_lasso import fit_curve_lasso
from grip2.statistics.linear_lasso import LassoPart, fit_linear_lasso
from grip2.statistics.stage import Stage, StageFit, combined_importance
from grip2.symmetry import Members
from grip2.units import Layout

CHANCE_ROWS = 20  # unit weights are shrunk by R2 / (R2 + CHANCE_ROWS / n)


class LassoCurves(Statistic, Stage):
    """``|coefficient|`` of two cross-validated lassos, on the columns and on their curves, weighted by what each explains.

    Parameters
    ----------
    curves : bool
        False: the first lasso only.
    """

    stage_name: ClassVar[str] = "lasso-curves"
    stage_explains: ClassVar[str] = "effects of single features, straight or curved (two lassos)"

    def __init__(self, *, curves: bool = True) -> None:
        self.curves = curves

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        fit = self.fit_stage(members.standardised(np.float32), members.layout, response, rng=rng)
        return Importance(fit.importance)

    def fit_stage(
        self,
        Z: np.ndarray,
        layout: Layout,
        response: Response,
        *,
        rng: np.random.Generator,
        fit_rows: np.ndarray | None = None,
        progress: Progress | None = None,
    ) -> StageFit:
        if not isinstance(self.curves, bool | np.bool_):
            raise Grip2Error(f"LassoCurves: curves must be True or False, got {self.curves!r}.")
        parts = [fit_linear_lasso(Z, response, rng=stream(rng, "lasso"), fit_rows=fit_rows)]
        if self.curves:
            parts.append(fit_curve_lasso(Z, layout, parts[0], rng=stream(rng, "curves"), fit_rows=fit_rows))
        last, importance = parts[-1], combined_importance([(layout.norms(part.strength), part.share) for part in parts])
        return StageFit(
            importance,
            last.response,
            last.logits,
            last.scale,
            _unit_weights(importance, parts, len(Z) if fit_rows is None else len(fit_rows)),
            tuple(penalty for part in parts for penalty in part.penalties),
        )


def _unit_weights(importance: np.ndarray, parts: list[LassoPart], n_rows: int) -> np.ndarray:
    """(units,) importances of units, summed over members, divided by the largest one and shrunk by R2 / (R2 + 20 / n).

    R2 is the share that both lassos explain.
    """
    of_unit, share = sum(importance[1:], start=importance[0]), sum(part.share for part in parts)
    if share <= 0 or of_unit.max() <= 0:
        return np.zeros(len(of_unit))
    weights: np.ndarray = share / (share + CHANCE_ROWS / n_rows) * of_unit / of_unit.max()
    return weights
