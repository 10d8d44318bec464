"""Writes the files of an output folder together or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from grip2 import stopping
from grip2.errors import Grip2Error, Grip2Failure


class OutputError(Grip2Error):
    """The output folder cannot be used; the message says why."""


class WriteFailure(Grip2Failure):
    """The files could not be written at the end of the work, and nothing was changed."""


class OutputFolder:
    """The files of a report: the folder is checked before the work begins, and all files are written together at the end.

    Files are written in full into a hidden folder beside their destination and then moved; if the disk fills up while they are
    written, nothing at the destination has changed. While the work goes on, neither files nor new folders exist that a killed
    process could leave behind.
    """

    def __init__(self, folder: Path, names: Sequence[str], *, force: bool) -> None:
        self.folder = Path(folder)
        self.names = tuple(names)
        if self.folder.exists() and not self.folder.is_dir():
            raise OutputError(f"{self.folder}: is a file; give a folder with --out.")
        folders = [name for name in self.names if (self.folder / name).is_dir()]
        if folders:
            raise OutputError(f"{self.folder}: {', '.join(folders)} is a folder there; give another --out.")
        existing = [name for name in self.names if (self.folder / name).exists()]
        if existing and not force:
            if self.folder == Path():  # whose name, ".", says nothing
                exist = "already exists" if len(existing) == 1 else "already exist"
                raise OutputError(f"{', '.join(existing)} {exist} in this folder; give another --out or --force.")
            raise OutputError(
                f"{self.folder}: {', '.join(existing)} already there; give --force to replace, or another --out."
            )

    def __enter__(self) -> Self:
        try:
            with _Staging(self.folder).opened():
                pass
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot write there ({error.strerror}); give another --out.") from None
        return self

    def write(self, contents: Mapping[str, str | bytes]) -> None:
        """Write every file, then move all of them into place; names may lie in subfolders ("figures/power.svg")."""
        if set(contents) - set(self.names):
            raise ValueError(f"unannounced files: {sorted(set(contents) - set(self.names))}")
        name = next(iter(contents), "")
        try:
            with _Staging(self.folder).opened() as staging:
                for name, content in contents.items():
                    _write_in_full(staging.path / name, content)
                staging.move(contents)
        except OSError as error:
            raise WriteFailure(
                f"{self.folder}: could not write {name} ({error.strerror}); nothing was changed. Make room, or give another "
                "--out."
            ) from None
        stopping.say_when_stopped(f"stopped; the results are in {self.folder}.")

    def __exit__(self, *_: object) -> None:
        """Nothing to do: `write` has done everything."""


class _Staging:
    """A hidden folder in which files wait to be moved, and the folders made for it; removed unless files were moved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Folders that do not exist yet, innermost first.
        self.made = [each for each in (folder, *folder.parents) if not each.exists()]
        self.path = folder

    @contextmanager
    def opened(self) -> Iterator[Self]:
        with stopping.undone_on_stop(self.remove):
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                self.path = Path(tempfile.mkdtemp(prefix=".grip2-", dir=self.folder))
                yield self
            finally:
                self.remove()

    def move(self, names: Iterable[str]) -> None:
        with stopping.not_now():
            for name in names:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(self.path / name, self.folder / name)
            self.made = []

    def remove(self) -> None:
        if self.path != self.folder:
            shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):  # another process may have written something there
            for folder in self.made:
                folder.rmdir()


def _write_in_full(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
