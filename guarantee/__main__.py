"""``python -m guarantee run | defects | report``; see ``--help``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

# One thread for each process, set before the numerical libraries load.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"), "1"))

FOLDER = Path("results/guarantee")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m guarantee", description="Check the guarantee of grip2.")
    commands = parser.add_subparsers(dest="command", required=True)
    suite = commands.add_parser("run", help="run the suite, or go on with it, and write the report")
    suite.add_argument(
        "--budget", type=float, default=85.0, metavar="MINUTES", help="of all runs together (default 85)"
    )
    suite.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    which = suite.add_mutually_exclusive_group()
    which.add_argument("--fresh", action="store_true", help="forget earlier runs")
    which.add_argument("--mixed", action="store_true", help="add to trials of other code")
    commands.add_parser(
        "defects", help="plant every defect and see which check catches it; fails if two or more escape"
    )
    commands.add_parser("report", help="write the report of what is there")
    for each in commands.choices.values():
        each.add_argument("--out", type=Path, default=FOLDER, help=f"folder of the results (default {FOLDER})")
    given = parser.parse_args()
    from grip2.errors import Grip2Error

    try:
        return _perform(given)
    except Grip2Error as error:
        parser.exit(2, f"{error}\n")


def _perform(given: argparse.Namespace) -> int:
    from guarantee.origin import claim
    from guarantee.planting import plant_all
    from guarantee.report import failures, write_report
    from guarantee.run import run

    trials = given.out / "trials.csv"
    if given.command == "run":
        if given.fresh:
            trials.unlink(missing_ok=True)
        claim(given.out, mixed=given.mixed)
        run(trials, minutes=given.budget, jobs=given.jobs)
    escaped = plant_all(given.out / "defects.csv") if given.command == "defects" else 0
    write_report(given.out)
    if given.command == "defects":
        return int(escaped > 1)
    failed = failures(given.out)
    for line in failed:
        print("FAILED", line)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
