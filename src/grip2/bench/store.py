"""Measurements in one file, a line of JSON each, written at once: what a stopped run goes on from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import grip2
from grip2.bench.case import Measured
from grip2.bench.machine import Machine
from grip2.errors import Grip2Error

FILE = "measurements.jsonl"


# What is not measured: the suite's own pages, and what only people see.
_NOT_MEASURED = ("bench/", "calibration/", "commands/", "experiments/", "report/", "cli.py")
_MEASURED = ("bench/contestants/", "bench/child.py")


def code_fingerprint() -> str:
    """Of the source files that decide the times, whatever the line ends of a checkout are."""
    found = hashlib.sha256()
    library = Path(grip2.__file__).parent
    for file in sorted(library.rglob("*.py")):
        name = file.relative_to(library).as_posix()
        if name.startswith(_MEASURED) or not name.startswith(_NOT_MEASURED):
            found.update(file.read_text(encoding="utf-8").encode())
    return found.hexdigest()[:16]


class Store:
    """The file of one folder. Ratios are meant within one run: measurements of other code or another machine are not added to."""

    def __init__(self, folder: Path, machine: Machine, *, fresh: bool = False) -> None:
        self.file = Path(folder) / FILE
        self.origin = {"code": code_fingerprint(), "machine": machine.identity}
        if fresh:
            self.file.unlink(missing_ok=True)
        lines = self._lines()
        if lines and lines[0] != {"origin": self.origin}:
            raise Grip2Error(
                f"grip2 bench: the measurements in {folder} must come from this code on this machine, got those of other code "
                "or of another machine or number of threads. Begin anew with --fresh, or give another folder with --out."
            )
        self._begun = bool(lines)
        self.measured = {(each.key, each.round): each for each in _records(lines)}

    def has(self, key: str, round_: int) -> bool:
        return (key, round_) in self.measured

    def of(self, key: str) -> list[Measured]:
        """All measurements of a case, in the order of rounds."""
        return [each for (of, _), each in sorted(self.measured.items(), key=lambda item: item[0][1]) if of == key]

    def add(self, measured: Measured) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            if not self._begun:
                file.write(json.dumps({"origin": self.origin}) + "\n")
                self._begun = True
            file.write(json.dumps(asdict(measured)) + "\n")
        self.measured[measured.key, measured.round] = measured

    def _lines(self) -> list[dict[str, object]]:
        """All complete lines. A last one that a killed run left incomplete is removed from the file."""
        if not self.file.exists():
            return []
        text = self.file.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.file.write_text(whole, encoding="utf-8")
        try:
            return [json.loads(line) for line in whole.splitlines()]
        except json.JSONDecodeError:
            raise Grip2Error(
                f"grip2 bench: {self.file} must be a file of measurements, one JSON object a line, got something else. "
                "Remove it, or begin anew with --fresh."
            ) from None


def _records(lines: Iterable[dict[str, object]]) -> Iterable[Measured]:
    return (Measured(**line) for line in lines if "origin" not in line)  # type: ignore[arg-type]
