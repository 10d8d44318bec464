"""The report of a selection as a file."""

from __future__ import annotations

from pathlib import Path

from grip2._output import OutputError, OutputFolder
from grip2.report.html import selection_page
from grip2.result import SelectionResult


def write_report(result: SelectionResult, path: Path, *, title: str) -> Path:
    """Write the page to ``path``, which is replaced as a whole if it exists; folders are made."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; give a file in it, such as {path / 'report.html'}.")
    with OutputFolder(path.parent, (path.name,), force=True) as folder:
        folder.write({path.name: selection_page(result, title=title)})
    return path
