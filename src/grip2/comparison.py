"""Compares several selections: with other statistics, seeds, draws or rates on the same features.

>>> import numpy as np, grip2
>>> from grip2.knockoffs import GaussianKnockoffs
>>> from grip2.statistics import LassoCoefficient, LassoPath
>>> rng = np.random.default_rng(0)
>>> X = rng.standard_normal((200, 12))
>>> y = X[:, :4] @ [2.0, 2.0, 2.0, 0.3] + rng.standard_normal(200)
>>> settings = {"knockoffs": GaussianKnockoffs(), "copies": 5, "random_state": 0, "describe": False}
>>> comparison = grip2.compare(
...     {
...         "coefficient": grip2.select(X, y, statistic=LassoCoefficient(), **settings),
...         "path": grip2.select(X, y, statistic=LassoPath(), **settings),
...     }
... )
>>> comparison.selected_by_all
['x0', 'x1', 'x2', 'x3']
>>> comparison.agreement[0].jaccard
0.8
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error
from grip2.figure_style import BLUE, GREY, new_figure, to_svg
from grip2.pages import framed, render_page
from grip2.plain_text import short_name
from grip2.result import SelectionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DRAWN, MOST_SHOWN, MOST_NAMED = 40, 25, 5  # units in the figure, in a notebook, in a note
# Heights in pixels of a frame in a notebook: without its table, of a row of the table, and at most.
FRAME, ROW, HIGHEST = 190, 27, 620


@dataclass(frozen=True)
class PairAgreement:
    """How far two selections agree, over the units that both results have."""

    first: str
    second: str
    both: int  # units that both select
    either: int  # units that at least one selects
    jaccard: float  # both / either; 1 if neither selects anything


@dataclass(frozen=True)
class Comparison:
    """Results by name, and what they have in common; made by `compare`."""

    results: Mapping[str, SelectionResult]
    notes: tuple[str, ...]  # other differences between the results than their selections

    @property
    def units(self) -> tuple[str, ...]:
        """Units of any result, in the order in which they first occur."""
        return tuple(dict.fromkeys(name for result in self.results.values() for name in result.feature_names))

    @property
    def selected_by_all(self) -> list[str]:
        """Units that every result selects, in the order of the units."""
        return [name for name, count in self._counts().items() if count == len(self.results)]

    @property
    def selected_by_any(self) -> list[str]:
        """Units that at least one result selects, in the order of the units."""
        return [name for name, count in self._counts().items() if count]

    @property
    def agreement(self) -> tuple[PairAgreement, ...]:
        """The agreement of every pair of results."""
        return tuple(
            _agreement(first, self.results[first], second, self.results[second])
            for first, second in combinations(self.results, 2)
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per unit: how many results select it, then W, q-value and selection of each; the most often selected first.

        Values of units that a result does not have are missing.
        """
        by_result = [_columns_of(label, result) for label, result in self.results.items()]
        frame = pd.concat(by_result, axis=1).reindex(list(self.units))
        counts = self._counts()
        frame.insert(0, "name", list(self.units))
        frame.insert(1, "selected_by", [counts[name] for name in self.units])
        q = frame[[f"{label}: q_value" for label in self.results]].mean(axis=1)
        order = np.lexsort((q.to_numpy(), -frame["selected_by"].to_numpy()))
        return frame.iloc[order].reset_index(drop=True)

    def plot(self) -> Figure:
        """Units against results: a filled dot where a result selects a unit, the larger the smaller its q-value."""
        frame = self.to_frame()
        chosen = frame[frame["selected_by"] > 0] if self.selected_by_any else frame
        shown = chosen.head(MOST_DRAWN)
        labels = list(self.results)
        with new_figure(2.6 + 0.9 * len(labels), 1.3 + 0.24 * len(shown)) as figure:
            axes = figure.subplots()
            rows = np.arange(len(shown))
            for place, label in enumerate(labels):
                q = shown[f"{label}: q_value"].to_numpy(float)
                there = ~np.isnan(q)
                selected = shown[f"{label}: selected"].fillna(False).to_numpy(bool)
                for mask, colour, face in ((selected, BLUE, BLUE), (there & ~selected, GREY, "none")):
                    axes.scatter(
                        np.full(int(mask.sum()), place),
                        rows[mask],
                        s=12 + 90 * (1 - q[mask]),
                        facecolors=face,
                        edgecolors=colour,
                    )
            axes.set_xticks(
                range(len(labels)),
                [short_name(label, 24) for label in labels],
                rotation=30,
                ha="right",
                parse_math=False,
            )
            axes.set_yticks(rows, [short_name(name, 32) for name in shown["name"]], parse_math=False)
            axes.set_xlim(-0.5, len(labels) - 0.5)
            axes.set_ylim(len(shown) - 0.4, -0.6)
            axes.set_title(
                "filled: selected; larger: smaller q-value"
                + (f" ({len(shown)} of {len(chosen)})" if len(shown) < len(chosen) else ""),
                fontsize=8,
                loc="left",
            )
        return figure

    def to_html(self) -> str:
        """One self-contained page: agreement, the figure, and the table of all units that any result selects."""
        return self._page(most=len(self.units), with_figure=True)

    def _repr_html_(self) -> str:
        shown = min(MOST_SHOWN, len(self.selected_by_any))
        height = FRAME + ROW * (shown + len(self.agreement))
        return framed(
            self._page(most=MOST_SHOWN, with_figure=False),
            height=min(HIGHEST, height),
            title="Comparison of selections",
        )

    def __str__(self) -> str:
        pairs = "; ".join(
            f"{pair.first} and {pair.second} {pair.both} of {pair.either} (Jaccard {pair.jaccard:.2f})"
            for pair in self.agreement
        )
        return (
            f"{len(self.results)} results: {len(self.selected_by_all)} features selected by all, "
            f"{len(self.selected_by_any)} by any. In common: {pairs}."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def cells(self, most: int) -> list[list[str]]:
        """Rows of a table for people: units that any result selects, with their q-value in each, marked if it selects them."""
        frame = self.to_frame()
        rows = frame[frame["selected_by"] > 0].head(most).to_dict("records")
        return [
            [str(row["name"]), f"{row['selected_by']} of {len(self.results)}"]
            + [_cell(row[f"{label}: q_value"], row[f"{label}: selected"]) for label in self.results]
            for row in rows
        ]

    def _counts(self) -> Counter[str]:
        """For every unit, the number of results that select it."""
        counts = Counter(dict.fromkeys(self.units, 0))
        counts.update(name for result in self.results.values() for name in result.selected)
        return counts

    def _page(self, *, most: int, with_figure: bool) -> str:
        any_selected = self.selected_by_any
        return render_page(
            "comparison.html",
            labels=[short_name(label) for label in self.results],
            sizes=[len(result.selected) for result in self.results.values()],
            n_all=len(self.selected_by_all),
            n_any=len(any_selected),
            rows=[[short_name(cell) for cell in row] for row in self.cells(most)],
            n_hidden=max(0, len(any_selected) - most),
            agreement=[(short_name(pair.first), short_name(pair.second), pair) for pair in self.agreement],
            notes=self.notes,
            figure=to_svg(self.plot()) if with_figure else None,
        )


def compare(results: Mapping[str, SelectionResult] | Sequence[SelectionResult]) -> Comparison:
    """Results side by side: a mapping from names to results, or a sequence, whose results are named by what differs.

    Units are matched by name. Results of different tables can be compared; ``notes`` of the comparison say in what they differ.
    """
    if isinstance(results, SelectionResult) or not isinstance(results, Mapping | Sequence):
        raise Grip2Error(
            f"compare: expected several results, got {type(results).__name__}. Give a dict or a list of them."
        )
    given = list(results.values() if isinstance(results, Mapping) else results)
    for result in given:
        if not isinstance(result, SelectionResult):
            raise Grip2Error(
                f"compare: expected results (SelectionResult), got {type(result).__name__}. Of a fitted selector, give "
                "selector.result_."
            )
    if len(given) < 2:
        raise Grip2Error(f"compare: at least two results are needed, got {len(given)}.")
    named = {str(name): result for name, result in results.items()} if isinstance(results, Mapping) else _named(given)
    return Comparison(named, tuple(_notes(named)))


def _columns_of(label: str, result: SelectionResult) -> pd.DataFrame:
    return pd.DataFrame(
        {
            f"{label}: W": result.W,
            f"{label}: q_value": result.q_values,
            f"{label}: selected": pd.array(result.selected_mask, dtype="boolean"),
        },
        index=list(result.feature_names),
    )


def _cell(q_value: float, selected: object) -> str:
    if np.isnan(q_value):
        return "not there"
    return f"{q_value:.3g}{' selected' if selected is True or selected == np.True_ else ''}"


def _agreement(first: str, a: SelectionResult, second: str, b: SelectionResult) -> PairAgreement:
    shared = set(a.feature_names) & set(b.feature_names)
    of_a, of_b = set(a.selected) & shared, set(b.selected) & shared
    both, either = len(of_a & of_b), len(of_a | of_b)
    return PairAgreement(first, second, both, either, both / either if either else 1.0)


def _features_of(result: SelectionResult) -> dict[str, str]:
    """The features by which results may be named, in words."""
    settings = result.settings
    return {
        "statistic": str(settings.get("statistic", {}).get("name", "?")),
        "knockoffs": str(settings.get("knockoffs", {}).get("name", "?")),
        "fdr": f"fdr {result.fdr:g}",
        "offset": f"offset {result.offset}",
        "copies": f"{result.copies} {'copy' if result.copies == 1 else 'copies'}",
        "draws": f"{result.n_draws} {'draw' if result.n_draws == 1 else 'draws'}",
        "seed": f"seed {result.seed}",
    }


def _named(results: Sequence[SelectionResult]) -> dict[str, SelectionResult]:
    """Results by names that say how they differ, with numbers if that does not make names unique."""
    features = [_features_of(result) for result in results]
    differing = [key for key in features[0] if len({each[key] for each in features}) > 1]
    names = [", ".join(each[key] for key in differing) or "result" for each in features]
    twice = {name for name, count in Counter(names).items() if count > 1}
    return {
        f"{name} ({k + 1})" if name in twice else name: result
        for k, (name, result) in enumerate(zip(names, results, strict=True))
    }


def _notes(results: Mapping[str, SelectionResult]) -> list[str]:
    """What a reader should know before comparing."""
    notes = []
    units = Counter(name for result in results.values() for name in result.feature_names)
    partly = [name for name, count in units.items() if count < len(results)]
    if partly:
        shown = ", ".join(short_name(name) for name in partly[:MOST_NAMED])
        more = f" and {len(partly) - MOST_NAMED} more" if len(partly) > MOST_NAMED else ""
        notes.append(
            f"{len(partly)} of {len(units)} features are not in every result ({shown}{more}): the results come from different "
            "tables or groups. Agreement of two results counts features that both have."
        )
    for what, values in (
        ("fdr", [f"{result.fdr:g}" for result in results.values()]),
        ("the number of rows", [f"{result.n_rows}" for result in results.values()]),
        ("the response", [result.response for result in results.values()]),
    ):
        if len(set(values)) > 1:
            listed = ", ".join(f"{value} ({short_name(label)})" for label, value in zip(results, values, strict=True))
            notes.append(f"The results differ in {what}: {listed}.")
    return notes
