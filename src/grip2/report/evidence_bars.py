"""W of the leading features as rows of bars: right where the feature won, left where a knockoff did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.result import SelectionResult

MOST_BARS = 40


@dataclass(frozen=True)
class Bar:
    """One feature."""

    name: str
    W: float
    start: float  # where its bar begins, in percent of the width
    length: float  # of the bar, in percent of the width
    kind: str  # "won": selected; "near": not selected; "lost": a knockoff won


@dataclass(frozen=True)
class Bars:
    """The features with the largest \\|W\\|, and the places of zero and threshold, in percent of the width."""

    bars: tuple[Bar, ...]
    zero: float
    threshold: float | None  # None: there is none on W
    n_positive: int  # of all features
    n_negative: int


def evidence_bars(result: SelectionResult) -> Bars:
    order = np.argsort(-np.abs(result.W), kind="stable")[:MOST_BARS]
    order = order[result.W[order] != 0]
    W = result.W[order]
    right, left = max(float(W.max(initial=0)), 1e-300), max(float(-W.min(initial=0)), 0.0)
    zero = 100 * left / (left + right)
    scale = 100 / (left + right)
    with_threshold = result.e_values is None and np.isfinite(result.threshold)
    return Bars(
        bars=tuple(_bar(result, int(j), zero, scale) for j in order),
        zero=round(zero, 2),
        threshold=round(zero + scale * result.threshold, 2) if with_threshold else None,
        n_positive=int(np.sum(result.W > 0)),
        n_negative=int(np.sum(result.W < 0)),
    )


def _bar(result: SelectionResult, j: int, zero: float, scale: float) -> Bar:
    W = float(result.W[j])
    kind = "won" if result.selected_mask[j] else "near" if W > 0 else "lost"
    start, length = (zero, scale * W) if W > 0 else (zero + scale * W, -scale * W)
    return Bar(result.feature_names[j], W, round(start, 2), round(length, 2), kind)
