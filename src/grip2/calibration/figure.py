"""Figures of a calibration: realised false discovery rate and power at every target rate, by kind of signal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from grip2.calibration.signals import BENDS, LINEAR, MIXTURE, PRODUCTS
from grip2.calibration.study import ALL, CalibrationStudy
from grip2.figure_style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS = {ALL: (BLACK, "D"), LINEAR: (BLUE, "o"), BENDS: (ORANGE, "s"), PRODUCTS: (GREEN, "^"), MIXTURE: (PINK, "v")}
_SPREAD = 0.7  # of the kinds around their target rate, where neighbouring ones are 1 apart


def rates_figure(study: CalibrationStudy) -> Figure:
    """Both panels side by side."""
    with new_figure(9.0, 3.6) as figure:
        left, right = figure.subplots(1, 2)
        _fdr_panel(left, study)
        _power_panel(right, study)
        _legend(figure, left, columns=6)
    return figure


def fdr_figure(study: CalibrationStudy) -> Figure:
    """The realised false discovery rate alone."""
    return _alone(_fdr_panel, study)


def power_figure(study: CalibrationStudy) -> Figure:
    """The power alone."""
    return _alone(_power_panel, study)


def _alone(panel: Callable[[Axes, CalibrationStudy], None], study: CalibrationStudy) -> Figure:
    with new_figure(4.6, 3.6) as figure:
        axes = figure.subplots()
        panel(axes, study)
        _legend(figure, axes)
    return figure


def _fdr_panel(axes: Axes, study: CalibrationStudy) -> None:
    for place, level in enumerate(study.levels):
        axes.plot(
            [place - 0.5, place + 0.5],
            [level, level],
            color=GREY,
            linestyle="--",
            linewidth=1.2,
            label="target" if place == 0 else None,
        )
    top = _points(axes, study, "fdr")
    axes.set_ylim(0.0, min(1.05, max(1.15 * top, 1.3 * study.levels[-1])))
    axes.set_ylabel("realised false discovery rate")


def _legend(figure: Figure, axes: Axes, columns: int = 3) -> None:
    """Above the panels, where it covers no point."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=columns, frameon=False)


def _power_panel(axes: Axes, study: CalibrationStudy) -> None:
    _points(axes, study, "power")
    axes.set_ylim(0.0, 1.05)
    axes.set_ylabel("power (share of true units found)")


def _points(axes: Axes, study: CalibrationStudy, quantity: str) -> float:
    """Means with two standard errors up and down; returns the largest value shown."""
    rates = study.rates()
    kinds = list(dict.fromkeys(rate.signal for rate in rates))
    if len(kinds) == 2:  # one kind of signal: all is the same
        kinds = kinds[:1]
    offsets = (np.arange(len(kinds)) - (len(kinds) - 1) / 2) * _SPREAD / len(kinds)
    top = 0.0
    for kind, offset in zip(kinds, offsets, strict=True):
        own = [rate for rate in rates if rate.signal == kind]
        values = np.array([getattr(rate, quantity) for rate in own])
        errors = np.nan_to_num([2.0 * getattr(rate, f"{quantity}_error") for rate in own])
        colour, marker = _LOOKS[kind]
        axes.errorbar(
            np.arange(len(own)) + offset,
            values,
            yerr=[np.minimum(errors, values), errors],
            color=colour,
            marker=marker,
            markersize=6 if kind == ALL else 4.5,
            linestyle="none",
            capsize=2,
            linewidth=1.0,
            clip_on=False,  # points at 0 are whole
            label="all signals" if kind == ALL else kind,
        )
        top = max(top, float(np.max(values + errors)))
    axes.set_xticks(range(len(study.levels)), [f"{level:g}" for level in study.levels])
    axes.set_xlim(-0.5, len(study.levels) - 0.5)
    axes.set_xlabel("target fdr")
    return top
