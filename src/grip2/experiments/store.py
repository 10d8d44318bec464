"""The trial store: one SQLite file, one row for every finished trial of a method, written the moment it ends.

Write-ahead logging and one transaction per task: a process that is killed at any moment leaves whole rows only, and several runs
may write to one store. A finished row is never overwritten.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from grip2.errors import Grip2Error, Grip2Failure

FILE = "trials.sqlite"
_FORMAT = 1
_WAIT_SECONDS = 60.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # the last: tables that are not ours

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trials (
    experiment TEXT NOT NULL, configuration TEXT NOT NULL, method TEXT NOT NULL, ensemble INTEGER NOT NULL,
    trial INTEGER NOT NULL, design TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    error TEXT NOT NULL, W BLOB, original BLOB, knockoff BLOB, selections TEXT NOT NULL, seconds REAL NOT NULL,
    knockoff_seconds REAL NOT NULL, seed TEXT NOT NULL, versions TEXT NOT NULL, settings TEXT NOT NULL,
    notes TEXT NOT NULL, finished TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (experiment, configuration, method, ensemble, trial)
);
CREATE TABLE IF NOT EXISTS designs (
    design TEXT PRIMARY KEY, parameters TEXT NOT NULL, n INTEGER NOT NULL, p INTEGER NOT NULL,
    feature_names TEXT NOT NULL, units TEXT NOT NULL, truth TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY, experiment TEXT NOT NULL, plan TEXT NOT NULL, options TEXT NOT NULL,
    started TEXT NOT NULL DEFAULT (datetime('now'))
);
"""


# Of every SQLite file; bytes 16 and 17 of its header are the size of its pages.
_HEADER_BYTES, _MAGIC = 100, b"SQLite format 3\0"


class StoreError(Grip2Error):
    """A store that cannot be used; the message says why."""


class StoreFailure(Grip2Failure):
    """A store that could be used and no longer can: a full disk, a folder that was taken away."""


@dataclass(frozen=True)
class TrialRow:
    """One trial of one method: its scores and how they were computed."""

    experiment: str
    configuration: str
    method: str
    ensemble: int
    trial: int
    design: str
    status: str  # "done" or "failed"
    error: str = ""
    W: np.ndarray | None = None
    original: np.ndarray | None = None
    knockoff: np.ndarray | None = None
    selections: Mapping[str, list[int]] = field(default_factory=dict)  # target fdr -> columns
    seconds: float = 0.0
    knockoff_seconds: float = 0.0
    seed: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: str = ""


@dataclass(frozen=True)
class DesignRow:
    """The truth of a design: features are judged by unit (themselves, or the position they belong to)."""

    design: str
    parameters: Mapping[str, Any]
    n: int
    p: int
    feature_names: tuple[str, ...]
    units: tuple[int, ...]  # (p,)
    truth: tuple[int, ...]  # units that matter


class Store:
    """The store of one folder; use as a context manager."""

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.path = Path(folder) / FILE
        if not create and not self.path.is_file():
            raise StoreError(f"{folder}: no experiment there ({FILE} is missing). Run one with --out {folder} first.")
        self._check_whole()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Transactions are opened by hand: "BEGIN IMMEDIATE" waits for the other writer instead of failing late.
            self._connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
            self._write_ahead()
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._prepare()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.path}: not a usable trial store ({error}).") from None

    def _check_whole(self) -> None:
        """SQLite fills up a last page that was cut off with zeros, and takes a cut first page for an empty file.

        A journal of pages that have yet to be written repairs both, so with one the file is left to SQLite.
        """
        journal = self.path.with_name(f"{FILE}-wal")
        try:
            with self.path.open("rb") as file:
                header = file.read(_HEADER_BYTES)
                size = file.seek(0, os.SEEK_END)
            if journal.exists() and journal.stat().st_size:
                return
        except OSError:
            return  # there is none, or it cannot be read, which SQLite says
        page = int.from_bytes(header[16:18], "big")
        if size and (_MAGIC.startswith(header[:16]) and (len(header) < _HEADER_BYTES or (page > 1 and size % page))):
            raise StoreError(
                f"{self.path}: not a usable trial store (cut off after {size:,} bytes). Restore it from a copy, or remove it to "
                "begin anew."
            )

    def _write_ahead(self) -> None:
        """Switch the journal; if another process is doing the same, SQLite refuses at once, so this waits."""
        end = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                # Waiting helps only against another writer, not against a read-only or full disk.
                if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def _prepare(self) -> None:
        if self._version() == 0:
            with self._transaction():
                if self._version() == 0:  # no other run has created it meanwhile
                    self._create()
        version = self._version()
        if version != _FORMAT:
            raise StoreError(f"{self.path}: written by another version of grip2 (format {version}, not {_FORMAT}).")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _create(self) -> None:
        other = self._connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchone()
        if other:
            raise StoreError(f"{self.path}: a database of another program (it holds {other[0]!r}). Give another --out.")
        for statement in filter(str.strip, _SCHEMA.split(";")):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version={_FORMAT}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # if the disk is full, SQLite has rolled back by itself
                self._connection.execute("ROLLBACK")
            raise

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        with self._errors():
            return self._connection.execute(statement, values)

    def _fetched(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._errors():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of SQLite into a damaged store or a failure of the disk, in words."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise StoreError(
                    f"{self.path}: damaged ({error}). Move it away, and run again to compute the trials anew."
                ) from None
            raise StoreFailure(
                f"{self.path}: {error}. Trials written before are kept; run again to go on once this is mended."
            ) from None

    def write(self, rows: Iterable[TrialRow], design: DesignRow | None = None) -> None:
        """Add rows in one transaction; they replace failed rows, but not finished ones."""
        names = list(TrialRow.__dataclass_fields__)
        updates = ", ".join(f"{name}=excluded.{name}" for name in [*names[5:], "finished"])
        statement = (
            f"INSERT INTO trials ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
            f"ON CONFLICT DO UPDATE SET {updates} WHERE trials.status = 'failed'"
        )
        with self._transaction():
            if design is not None:
                self._execute(
                    "INSERT OR IGNORE INTO designs VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [_packed(getattr(design, name)) for name in DesignRow.__dataclass_fields__],
                )
            for row in rows:
                self._execute(statement, [_packed(getattr(row, name)) for name in names])

    def begin_run(self, experiment: str, plan: str, options: Mapping[str, Any]) -> None:
        """Record which plan is run with which options; a folder holds one experiment only."""
        with self._transaction():
            for (other,) in self._fetched("SELECT experiment FROM runs WHERE experiment != ? LIMIT 1", [experiment]):
                raise StoreError(f"{self.path.parent}: holds the experiment {other!r}. Give another --out.")
            self._execute(
                "INSERT INTO runs (experiment, plan, options) VALUES (?, ?, ?)",
                [experiment, plan, json.dumps(options)],
            )

    def last_run(self) -> tuple[str, dict[str, Any]]:
        """Text of the plan and options of the last run."""
        for text, options in self._fetched("SELECT plan, options FROM runs ORDER BY number DESC LIMIT 1"):
            return text, json.loads(options)
        raise StoreError(f"{self.path.parent}: nothing has been run there yet.")

    def settled(self, configuration: str, method: str, ensemble: int) -> dict[int, str]:
        """Status of every trial that is in the store, by trial number."""
        found = self._fetched(
            "SELECT trial, status FROM trials WHERE configuration = ? AND method = ? AND ensemble = ?",
            [configuration, method, ensemble],
        )
        return dict(found)

    def seconds(self, configuration: str, method: str, ensemble: int) -> list[float]:
        """The seconds that each finished trial took, knockoffs included."""
        found = self._fetched(
            "SELECT seconds + knockoff_seconds FROM trials "
            "WHERE configuration = ? AND method = ? AND ensemble = ? AND status = 'done'",
            [configuration, method, ensemble],
        )
        return [value for (value,) in found]

    def rows(self, configuration: str, method: str, ensemble: int) -> list[TrialRow]:
        """All rows of a cell, by trial number."""
        names = list(TrialRow.__dataclass_fields__)
        found = self._fetched(
            f"SELECT {', '.join(names)} FROM trials "
            "WHERE configuration = ? AND method = ? AND ensemble = ? ORDER BY trial",
            [configuration, method, ensemble],
        )
        return [TrialRow(**_unpacked(dict(zip(names, values, strict=True)))) for values in found]

    def failures(self, limit: int = 20) -> list[tuple[str, int, int, str, str]]:
        """Method, ensemble, trial, design parameters and error of failed trials."""
        return self._fetched(
            "SELECT method, ensemble, trial, COALESCE(parameters, '{}'), error FROM trials "
            "LEFT JOIN designs USING (design) WHERE status = 'failed' ORDER BY finished DESC LIMIT ?",
            [limit],
        )

    def design(self, key: str) -> DesignRow | None:
        for design, parameters, n, p, *lists in self._fetched("SELECT * FROM designs WHERE design = ?", [key]):
            names, units, truth = (tuple(json.loads(text)) for text in lists)
            return DesignRow(design, json.loads(parameters), n, p, names, units, truth)
        return None


def remove_store(folder: Path) -> None:
    """Remove the store of a folder, if it has one."""
    for ending in ("", "-wal", "-shm"):
        (Path(folder) / f"{FILE}{ending}").unlink(missing_ok=True)


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value, dtype="<f8").tobytes()
    return json.dumps(value) if isinstance(value, dict | list | tuple) else value


def _unpacked(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("W", "original", "knockoff"):
        if values[name] is not None:
            values[name] = np.frombuffer(values[name], dtype="<f8")
    for name in ("selections", "versions", "settings"):
        values[name] = json.loads(values[name])
    return values
