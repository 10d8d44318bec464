"""Groups as units: lasso coefficients, the group lasso and the model of effects, where one column of a group acts or all do.

    python benchmarks/group_statistics.py --data-sets 10 --jobs 2     # about ten minutes; goes on where it was stopped

The data sets of ``group_power.py`` with p = 300, exact Gaussian knockoffs by MVR in five copies, fdr 0.1. Effects are smaller
where more columns act. Writes ``results/groups/statistics.csv`` and ``statistics.md``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import group_power
import resumable

COPIES, S = 5, "mvr"
# Design, columns that act in a true group, size of an effect.
SETTINGS = [
    ("ar1", 1, 0.15),
    ("ar1", 3, 0.1),
    ("ar1", 10, 0.05),
    ("blocks", 1, 0.2),
    ("blocks", 3, 0.12),
    ("blocks", 10, 0.1),
]
STATISTICS = ("lcd", "glcd", "effects")


def one(design: str, active: int, effect: float, statistic: str, number: int) -> dict[str, Any]:
    made = group_power.data_set(design, active, effect, number)
    return group_power.judged(made, statistic=statistic, s=S, copies=COPIES, number=number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    keys = [
        (*setting, name, number) for setting in SETTINGS for name in STATISTICS for number in range(given.data_sets)
    ]
    columns = ("design", "active", "effect", "statistic", "data set")
    trials = resumable.run(group_power.RESULTS / "statistics.csv", columns, keys, one, jobs=given.jobs)
    lines = [
        "# Statistics of groups",
        "",
        f"`python benchmarks/group_statistics.py --data-sets {given.data_sets}`: {group_power.ROWS} rows, {group_power.COLUMNS} "
        f"columns in groups of {group_power.SIZE}, {group_power.TRUE} groups true, fdr {group_power.FDR:g}, exact knockoffs in "
        f"{COPIES} copies (MVR). Power / mean FDP (standard error) / seconds.",
        "",
        f"| design | acting columns | effect | {' | '.join(STATISTICS)} |",
        "|" + "---|" * (3 + len(STATISTICS)),
    ]
    for key, here in trials.groupby(list(columns[:3]), sort=False):
        cells = []
        for name in STATISTICS:
            rows = here[here["statistic"] == name]
            error = rows["fdp"].std(ddof=1) / np.sqrt(len(rows))
            cells.append(
                f"{rows['power'].mean():.2f} / {rows['fdp'].mean():.3f} ({error:.3f}) / {rows['seconds'].mean():.1f}"
            )
        lines.append(f"| {' | '.join(map(str, key))} | {' | '.join(cells)} |")
    text = "\n".join(lines)
    (group_power.RESULTS / "statistics.md").write_text(f"{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
