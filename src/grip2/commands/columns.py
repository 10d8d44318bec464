"""`grip2 columns`: shows how the columns of a table are read, what will be done to them, and all problems of the table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.table import Table
from rich.text import Text

from grip2._output import OutputFolder
from grip2.commands.console import notice, output
from grip2.commands.table import LoadedTable, TableOptions, TargetOptions, look, shortened
from grip2.plain_text import spreadsheet_csv, visible_line
from grip2.tables.records import Variable, error_of

HEADINGS = ("column", "role", "why", "missing", "values", "what is done")
MAX_ROWS = 200


def run(options: TableOptions, target: TargetOptions, *, out: Path | None, force: bool) -> LoadedTable:
    """Print the table of roles; raises after that if the table has problems."""
    loaded, problems = look(options, target)
    rows = [_row(variable) for variable in loaded.examined.variables]
    output.print(_table(rows, loaded))
    if len(rows) > MAX_ROWS:
        output.print(f"and {len(rows) - MAX_ROWS} more columns; --out FILE.csv writes all", markup=False)
    for line in shortened(loaded.notices):
        notice(line)
    if out is not None:
        with OutputFolder(out.parent, (out.name,), force=force) as folder:
            folder.write({out.name: spreadsheet_csv(pd.DataFrame(rows, columns=list(HEADINGS)))})
    if problems:
        raise error_of(problems, str(options.path))
    return loaded


def _row(variable: Variable) -> tuple[str, str, str, str, str, str]:
    missing = str(variable.n_missing) if variable.n_missing else ""
    return variable.name, str(variable.role), variable.why, missing, variable.values, variable.done


def _table(rows: list[tuple[str, str, str, str, str, str]], loaded: LoadedTable) -> Table:
    n_rows = loaded.examined.source.n_rows
    table = Table(title=f"{len(rows)} columns, {n_rows} rows", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold", justify="right" if heading == "missing" else "left")
    for row in rows[:MAX_ROWS]:
        table.add_row(*(Text(visible_line(cell)) for cell in row))
    return table
