"""`grip2 compare`: shows selections that were written to folders side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grip2._output import OutputFolder
from grip2.commands.console import notice, output
from grip2.comparison import Comparison, compare
from grip2.errors import Grip2Error
from grip2.plain_text import short_name, spreadsheet_csv
from grip2.result import SelectionResult

FILE = "selection.json"
ENDINGS = (".csv", ".html")
MAX_ROWS_SHOWN = 40


def run(folders: Sequence[Path], *, out: Path | None, force: bool) -> Comparison:
    if out is not None and out.suffix.lower() not in ENDINGS:
        raise Grip2Error(f"--out {out}: expected a file that ends with {' or '.join(ENDINGS)}.")
    if len(folders) < 2:
        raise Grip2Error(
            f"compare: expected at least two folders, got {len(folders)}; grip2 select writes one of them."
        )
    comparison = compare(dict(zip(_labels(folders), map(read_result, folders), strict=True)))
    if out is not None:
        content = comparison.to_html() if out.suffix.lower() == ".html" else spreadsheet_csv(comparison.to_frame())
        with OutputFolder(out.parent, (out.name,), force=force) as folder:
            folder.write({out.name: content})
    _show(comparison)
    if out is not None:
        output.print(f"Written: {out}", markup=False)
    return comparison


def read_result(path: Path) -> SelectionResult:
    """The selection in a folder that grip2 select has written, or in its selection.json."""
    file = path / FILE if path.is_dir() else path
    if not file.exists():
        missing = f"there is no {FILE} in this folder" if path.is_dir() else "there is no such folder"
        raise Grip2Error(f"{path}: {missing}; give a folder that grip2 select or grip2 demo has written.")
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Grip2Error(
            f"{file}: cannot be read as JSON ({error}); give a folder that grip2 select has written."
        ) from None
    if not isinstance(content, dict) or "schema_version" not in content or "features" not in content:
        raise Grip2Error(f"{file}: is not a selection of grip2; give a folder that grip2 select has written.")
    try:
        return SelectionResult.from_dict(content)
    except Grip2Error as error:
        raise Grip2Error(f"{file}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Grip2Error(
            f"{file}: is no complete selection ({type(error).__name__}: {error}); run grip2 select again."
        ) from None


def _labels(folders: Sequence[Path]) -> list[str]:
    """The names of the folders; their paths if two have the same name."""
    names = [(folder.parent if folder.is_file() else folder).resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    paths = [str(folder) for folder in folders]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise Grip2Error(f"compare: {twice} was given twice; give each folder once.")
    return paths


def _show(comparison: Comparison) -> None:
    for note in comparison.notes:
        notice(note)
    if comparison.selected_by_any:
        output.print(_table(comparison))
    agreement = Table(title="Agreement", title_justify="left")
    agreement.add_column("two results", overflow="fold")
    for heading in ("selected by both", "by either", "Jaccard"):
        agreement.add_column(heading, justify="right")
    for pair in comparison.agreement:
        names = Text(f"{short_name(pair.first)} and {short_name(pair.second)}")
        agreement.add_row(names, str(pair.both), str(pair.either), f"{pair.jaccard:.2f}")
    output.print(agreement)
    output.print(
        f"{len(comparison.selected_by_all)} selected by all, {len(comparison.selected_by_any)} by at least one.",
        markup=False,
    )


def _table(comparison: Comparison) -> Table:
    count = len(comparison.selected_by_any)
    table = Table(
        title=f"q-values of the {count} features that some result selects; * where it selects them",
        title_justify="left",
    )
    table.add_column("feature", overflow="fold")
    table.add_column("selected by", justify="right")
    for label, result in comparison.results.items():
        table.add_column(Text(f"{short_name(label)} ({len(result.selected)})"), justify="right")
    for row in comparison.cells(MAX_ROWS_SHOWN):
        table.add_row(
            *(
                Text(short_name(cell.replace(" selected", " *")) if k else short_name(cell))
                for k, cell in enumerate(row)
            )
        )
    if count > MAX_ROWS_SHOWN:
        table.caption = f"and {count - MAX_ROWS_SHOWN} more; --out FILE.csv writes all"
    return table
