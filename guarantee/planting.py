"""Every defect planted once, with what caught it, in a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

from guarantee.battery import Caught, examine
from guarantee.defects import DEFECTS

COLUMNS = ("defect", "caught_by", "trials", "log10_e", "seconds")
NONE = "none"  # the battery without a defect, which must not catch anything
_LOG_10 = 2.302585092994046


def plant_all(file: Path) -> int:
    """Examine the library without a defect and with each; returns how many escaped. A false alarm counts as an escape."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        escaped = 0
        for name in ("", *DEFECTS):
            caught = examine(name)
            escaped += bool(caught.by) if not name else not caught.by
            writer.writerow(_row(caught))
            out.flush()
            print(f"{caught.seconds:6.1f} s  {name or NONE}: {caught.by or 'nothing found'}", flush=True)
    return escaped


def _row(caught: Caught) -> list[object]:
    return [caught.defect or NONE, caught.by, caught.trials, f"{caught.log_e / _LOG_10:.1f}", f"{caught.seconds:.1f}"]
