"""Which code the trials in a folder come from: those of other code are not added to."""

from __future__ import annotations

import hashlib
from pathlib import Path

import grip2
from grip2.errors import Grip2Error

# What decides the numbers: the library, and the modules that make trials. Reports may change.
_LIBRARY = Path(grip2.__file__).parent
_SUITE = ("cells", "designs", "evidence", "exact", "probes", "signals", "trial")


def fingerprint() -> str:
    """Of the source files, whatever the line ends of a checkout are."""
    own = [Path(__file__).parent / f"{name}.py" for name in _SUITE]
    found = hashlib.sha256()
    for file in (*sorted(_LIBRARY.rglob("*.py")), *own):
        found.update(file.read_text(encoding="utf-8").encode())
    return found.hexdigest()


def claim(folder: Path, *, mixed: bool = False) -> None:
    """Make the folder one of this code; refuse where its trials come from other code, unless these may be ``mixed``."""
    note = folder / "code.txt"
    known = note.read_text().strip() if note.exists() else ""
    if (folder / "trials.csv").exists() and not mixed and known != fingerprint():
        raise Grip2Error(
            f"guarantee: the trials in {folder} must come from the code that adds to them, got those of other code. "
            "Begin anew with --fresh, add to them all the same with --mixed, or choose another folder with --out."
        )
    folder.mkdir(parents=True, exist_ok=True)
    note.write_text(fingerprint() + "\n")
