"""Output folders whose files appear together or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from grip2.errors import Grip2Error


class OutputError(Grip2Error):
    """The output folder cannot be used; the message says why."""


class OutputFolder:
    """The files of a report: the place is checked before the work begins, and all files are written at the end, together.

    Files are written in full into a hidden folder beside their destination and then moved; if the disk fills up while they
    are written, nothing at the destination has changed.
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
            raise OutputError(
                f"{self.folder}: {', '.join(existing)} already there; give --force to replace, or another --out."
            )

    def __enter__(self) -> Self:
        # Folders that this call makes, innermost first: they go again if nothing is written.
        self._made = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=".grip2-", dir=self.folder))
        except OSError as error:
            self._remove_made()
            raise OutputError(f"{self.folder}: cannot write there ({error.strerror}); give another --out.") from None
        self._done = False
        return self

    def write(self, contents: Mapping[str, str | bytes]) -> None:
        """Write every file, then move all of them into place; names may lie in subfolders ("figures/power.svg")."""
        if set(contents) - set(self.names):
            raise ValueError(f"unannounced files: {sorted(set(contents) - set(self.names))}")
        try:
            for name, content in contents.items():
                (self._staging / name).parent.mkdir(parents=True, exist_ok=True)
                with (self._staging / name).open("wb") as file:
                    file.write(content.encode() if isinstance(content, str) else content)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(
                f"{self.folder}: could not write {name} ({error.strerror}); nothing was changed."
            ) from None
        for name in contents:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(self._staging / name, self.folder / name)
        self._done = True

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        if not self._done:
            self._remove_made()

    def _remove_made(self) -> None:
        with contextlib.suppress(OSError):  # somebody else may have put something there meanwhile
            for folder in self._made:
                folder.rmdir()
