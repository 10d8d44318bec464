"""Data files: looked up in a local folder, downloaded if missing, and refused if their checksum is wrong."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from grip2.errors import Grip2Error
from grip2.user_cache import user_cache
from grip2.user_warnings import warn_user

VARIABLE = "GRIP2_DATA"

# Checksums of the published files; a copy with another checksum is damaged, truncated or a different version.
SHA256 = {
    "hiv/PI_DATA.txt": "b89d2ad33300c0e936cb44292e1aee90644a047cb82a6a29fdca14e9d97af8ef",
    "hiv/PI_TSM.txt": "6b4e55a133b01a8d98c170edd6980e1d508093c610a0aea18d7e83c832badccc",
    "har/har.npz": "edddc5054f4430bf6873e949143c3af1eb1b9ef096151fadcfafdce6fa1bcebf",
}


# Raises DataFileError if a file is not what it should be.
Verify = Callable[[Path], object]

# A download that has failed is not tried again at once: a study would try it in every trial.
_TRY_AGAIN_SECONDS = 300.0


class DataFileError(Grip2Error):
    """A data file is missing, damaged or of the wrong kind; the message says which one and what to do."""


class _Failure(NamedTuple):
    when: float  # monotonic clock
    message: str


_failures: dict[Path, _Failure] = {}


def data_folder(data_home: str | Path | None = None) -> Path:
    """The folder of data files: ``data_home``, else the environment variable GRIP2_DATA, else the user's cache."""
    chosen = data_home or os.environ.get(VARIABLE)
    if chosen:
        folder = Path(chosen).expanduser()
        if not folder.is_dir():
            origin = "data_home" if data_home else VARIABLE
            raise DataFileError(
                f"{origin}: there is no folder {folder}. Create it, or leave {origin} unset to download the data."
            )
        return folder
    cache = user_cache()
    if cache is None:
        raise DataFileError(
            f"the data sets need a folder, and this user has no home. Set {VARIABLE} to a folder for them."
        )
    return cache / "data"


def local_file(name: str, data_home: str | Path | None = None) -> Path | None:
    """The path of a file such as ``"hiv/PI_DATA.txt"`` after a check of its checksum, or None if it does not exist."""
    path = data_folder(data_home) / name
    if not path.is_file():
        return None
    check(path, name)
    return path


def fetch(name: str, url: str, data_home: str | Path | None = None, *, verify: Verify | None = None) -> Path:
    """The path of a file after a check of its checksum; downloads it into the data folder first if it does not exist.

    Where no checksum is published, ``verify`` looks at the content of a download and raises `DataFileError` if it is not what
    it should be. The checksum of such a download is kept beside it, so that a later change is noticed.
    """
    found = local_file(name, data_home)
    if found is not None:
        return found
    target = data_folder(data_home) / name
    failed = _failures.get(target)
    if failed is not None and time.monotonic() - failed.when < _TRY_AGAIN_SECONDS:
        raise DataFileError(failed.message)
    try:
        _download(name, url, target, verify)
    except DataFileError as error:
        _failures[target] = _Failure(time.monotonic(), str(error))
        raise
    return target


def _download(name: str, url: str, target: Path, verify: Verify | None) -> None:
    """Download into a folder beside the target, look at the file, and only then move it there."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    known = SHA256.get(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        waiting = tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-")
    except OSError as error:
        raise DataFileError(
            f"{name}: cannot write to {target.parent} ({error.strerror}). Set {VARIABLE} to a folder that holds the file."
        ) from None
    with waiting as folder:
        expected = None if known is None else f"sha256:{known}"
        try:
            path = Path(pooch.retrieve(url, expected, fname=target.name, path=folder, progressbar=False))
            if known is None and verify is not None:
                verify(path)
        except ValueError as error:  # another checksum, or content of another kind
            raise DataFileError(
                f"{name}: the file downloaded from {url} is not the published file ({_first_line(error)}) and was deleted. "
                f"Try again later, or put a good copy at {target}."
            ) from None
        except OSError as error:
            raise DataFileError(
                f"{name}: not found in {target.parent.parent}, and {url} could not be reached ({_first_line(error)}). "
                f"Put the file at {target}, or set {VARIABLE} to a folder that holds it."
            ) from None
        if known is None:
            _sum_file(target).write_text(_sum_of(path) + "\n", encoding="ascii")
        os.replace(path, target)
    if known is None:
        warn_user(
            f"{name}: downloaded from {url}. No checksum of this file is published: its columns and values were checked, "
            "not that it is the original.",
        )


def check(path: Path, name: str) -> None:
    """Raise if the checksum of a file is not the published one, or not that of its download; files without either pass."""
    known = SHA256.get(name)
    if known is None and _sum_file(path).is_file():
        known = _sum_file(path).read_text(encoding="ascii", errors="replace").strip()
    if known is None:
        return
    found = _sum_of(path)
    if found != known:
        raise DataFileError(
            f"{path}: changed or truncated ({path.stat().st_size} bytes, sha256 {found[:12]}..., "
            f"expected {known[:12]}...). Delete it to download it again, or replace it by an intact copy."
        )


def _sum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sum_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
