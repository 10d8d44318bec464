"""The picture of a ``KnockoffDiagnostics``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grip2.figure_style import AMBER, BLUE, GREY, ORANGE, new_figure
from grip2.knockoffs.harm import KEPT, LEVELS, Harm
from grip2.knockoffs.verdict import LOW_POWER_CORRELATION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from grip2.knockoffs.diagnostics import KnockoffDiagnostics


def draw(found: KnockoffDiagnostics) -> Figure:
    """Four panels: correlations, covariances, simulated false discovery rates or marginal distributions, tests."""
    with new_figure(10, 7.5) as figure:
        axes = figure.subplots(2, 2)
        _correlations(axes[0, 0], found)
        _moments(axes[0, 1], found)
        _rates(axes[1, 0], found.harm) if found.harm is not None else _marginals(axes[1, 0], found)
        _tests(axes[1, 1], found)
        figure.suptitle(f"Knockoff diagnostics: {found.verdict} (n = {found.n:,}, p = {found.p:,})")
    return figure


def _correlations(axes: Axes, found: KnockoffDiagnostics) -> None:
    axes.hist(
        found.correlation, bins=np.linspace(min(-0.05, float(found.correlation.min())), 1, 41).tolist(), color=BLUE
    )
    axes.axvline(LOW_POWER_CORRELATION, color=ORANGE, linestyle="--", label="little power beyond")
    axes.set(title="Correlation of a feature with its knockoff", xlabel="correlation (1 - s)", ylabel="features")
    axes.legend(frameon=False)


def _moments(axes: Axes, found: KnockoffDiagnostics) -> None:
    axes.axline((0, 0), slope=1, color=GREY, linewidth=1)
    axes.scatter(found.points["original"], found.points["knockoff"], s=4, color=BLUE, label="between knockoffs")
    axes.scatter(
        found.points["original"],
        found.points["cross"],
        s=4,
        color=AMBER,
        label="feature and other's knockoff",
    )
    axes.set(title="Covariances", xlabel="between features", ylabel="must lie on the line")
    axes.legend(frameon=False)


def _rates(axes: Axes, harm: Harm) -> None:
    for place, level in enumerate(LEVELS):
        rates = [rate for rate in harm.rates if rate.level == level]
        at = np.arange(len(rates)) + 0.4 * place - 0.2
        colours = [ORANGE if rate.fdr - 2 * rate.fdr_error > KEPT[level] else BLUE for rate in rates]
        axes.bar(at, [r.fdr for r in rates], 0.35, yerr=[2 * r.fdr_error for r in rates], color=colours, ecolor=GREY)
        axes.hlines([level] * len(rates), at - 0.2, at + 0.2, color="black", linewidth=1)
    names = [rate.family for rate in harm.rates if rate.level == LEVELS[0]]
    axes.set_xticks(np.arange(len(names)), names)
    axes.set(
        title="Simulated responses (line: target rate)", xlabel="effects", ylabel="false discovery rate", ylim=(0, None)
    )


def _marginals(axes: Axes, found: KnockoffDiagnostics) -> None:
    axes.plot(np.sort(found.ks)[::-1], color=BLUE, marker="." if found.p <= 50 else None)
    axes.set(
        title="Marginal distributions",
        xlabel="features, worst first",
        ylabel="Kolmogorov-Smirnov distance",
        ylim=(0, None),
    )


def _tests(axes: Axes, found: KnockoffDiagnostics) -> None:
    names = [test.name for test in found.tests]
    # P-values below 1e-20 are all drawn alike.
    evidence = [-np.log10(max(test.p_value, 1e-20)) for test in found.tests]
    colours = [ORANGE if test.large else AMBER if test.rejected else BLUE for test in found.tests]
    axes.barh(names, evidence, color=colours)
    for place, test in enumerate(found.tests):
        axes.plot([-np.log10(test.level)] * 2, [place - 0.4, place + 0.4], color="black", linewidth=1)
    axes.invert_yaxis()
    axes.set(title="Tests (dark orange: large error, light: small, line: level)", xlabel="-log10 of the p-value")
