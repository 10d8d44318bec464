"""Methods of a result for people: show it, draw it, write its report, select at another fdr.

The only file whose imports go up: these methods belong to the result, but need the layers above it, which are imported when a
method is called (`tests/test_imports.py` allows it for this file).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from grip2.result import SelectionResult


class ResultViews:
    """Methods of `SelectionResult`."""

    def at(self, fdr: float) -> SelectionResult:
        """The selection of the same fit at another ``fdr``; nothing is fitted again, so a grid over fdr costs one fit.

        It is exactly the selection that a fit at ``fdr`` with the same seed and the same ``copies`` gives. With
        ``copies="auto"`` such a fit might draw another number of copies; ``reason`` then says so. Effects and level contrasts
        are those of the fit: features that are no longer selected lose theirs, features that are new have none, and ``reason``
        names them. The rate is controlled at each fdr by itself, not at one that is chosen because of what it selects.

        Examples
        --------
        >>> import numpy as np, grip2
        >>> from grip2.knockoffs import GaussianKnockoffs
        >>> from grip2.statistics import LassoCoefficient
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((200, 12))
        >>> y = X[:, :4] @ [2.0, 2.0, 2.0, 0.3] + rng.standard_normal(200)
        >>> result = grip2.select(
        ...     X, y, statistic=LassoCoefficient(), knockoffs=GaussianKnockoffs(), copies=5, random_state=0, describe=False
        ... )
        >>> for fdr in (0.04, 0.1):
        ...     print(fdr, result.at(fdr).selected)
        0.04 []
        0.1 ['x0', 'x2', 'x1', 'x3']
        """
        from grip2.rethreshold import at_fdr

        return at_fdr(self._result, fdr)

    def plot(self) -> Figure:
        """The W of every feature as bars, the largest first, with the threshold (a matplotlib figure)."""
        from grip2.report.figures import statistics_figure

        return statistics_figure(self._result)

    def plot_effects(self, features: Sequence[str] | None = None) -> Figure:
        """Curves of the selected features and surfaces of their interactions (a matplotlib figure).

        Without ``features`` the strongest ones are drawn. A description without an error guarantee.
        """
        from grip2.report.effect_figure import effects_figure

        return effects_figure(self._result, features)

    def report(self, path: str | Path, *, title: str = "Feature selection") -> Path:
        """Write the self-contained HTML report to a file, which is replaced if it exists; returns its path."""
        from grip2.report.files import write_report

        return write_report(self._result, Path(path), title=title)

    def _repr_html_(self) -> str:
        """The answer and a short table for a notebook, in a frame that its styles do not affect."""
        from grip2.report.notebook import result_html

        return result_html(self._result)

    @property
    def _result(self) -> SelectionResult:
        return cast("SelectionResult", self)
