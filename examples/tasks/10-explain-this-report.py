"""Explain this report to a colleague, section by section. (docs/report.md)

usage: 10-explain-this-report.py FOLDER        that `grip2 select` has written
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from grip2 import SelectionResult


def told(result: SelectionResult) -> Iterator[tuple[str, str]]:
    """Section of the report, and what it says here."""
    names = ", ".join(result.selected) or "nothing"
    false = f"On average at most {100 * result.fdr:g} % of such a list is false."
    yield "Answer", f"Of {len(result.W)} candidates: {names}. {false}"
    for effect in result.effects or ():
        how = f"{effect.direction}, {100 * effect.share:.1f} % of the variance"
        yield f"Selected: {effect.name}", f"{how} (a description without guarantee)"
    frame = result.to_frame()
    near = frame[~frame["selected"] & (frame["q_value"] < 1)]
    yield "Near misses", ", ".join(near["name"]) or "no other did better than its knockoffs; it may matter all the same"
    yield "Every feature against its knockoff", result.reason
    for fdr in (0.05, 0.1, 0.2):
        yield f"Selected at {fdr:g}", ", ".join(result.at(fdr).selected) or "nothing"
    quality = result.knockoff_quality
    yield "Can the knockoffs be trusted?", f"{quality.verdict}. {' '.join(quality.verdict_reasons)}"
    for stage in result.facts.stages:
        yield f"Where the signal lies: {stage.name}", f"{100 * stage.held_out_share:.0f} % on rows held out"
    yield "What the guarantee rests on", " ".join(result.assumptions)
    yield "How it was made", f"seed {result.seed}; " + ", ".join(map(" ".join, result.versions.items()))


def main(folder: str) -> None:
    result = SelectionResult.from_json((Path(folder) / "selection.json").read_text(encoding="utf-8"))
    for section, text in told(result):
        print(f"{section}\n    {text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
