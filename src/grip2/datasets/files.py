"""Data files: looked up in a local folder, downloaded if missing, and refused if their checksum is wrong."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from grip2.errors import Grip2Error

VARIABLE = "GRIP2_DATA"

# Checksums of the published files; a copy with another checksum is damaged, truncated or a different version.
SHA256 = {
    "hiv/PI_DATA.txt": "b89d2ad33300c0e936cb44292e1aee90644a047cb82a6a29fdca14e9d97af8ef",
    "hiv/PI_TSM.txt": "6b4e55a133b01a8d98c170edd6980e1d508093c610a0aea18d7e83c832badccc",
    "har/har.npz": "edddc5054f4430bf6873e949143c3af1eb1b9ef096151fadcfafdce6fa1bcebf",
}


class DataFileError(Grip2Error):
    """A data file is missing, damaged or of the wrong kind; the message says which one and what to do."""


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
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grip2" / "data"


def local_file(name: str, data_home: str | Path | None = None) -> Path | None:
    """The path of a file such as ``"hiv/PI_DATA.txt"`` after a check of its checksum, or None if it does not exist."""
    path = data_folder(data_home) / name
    if not path.is_file():
        return None
    check(path, name)
    return path


def fetch(name: str, url: str, data_home: str | Path | None = None) -> Path:
    """The path of a file after a check of its checksum; downloads it into the data folder first if it does not exist."""
    found = local_file(name, data_home)
    if found is not None:
        return found
    import pooch

    pooch.get_logger().setLevel("WARNING")

    target = data_folder(data_home) / name
    known = SHA256.get(name)
    try:
        pooch.retrieve(
            url, None if known is None else f"sha256:{known}", fname=target.name, path=target.parent, progressbar=False
        )
    except ValueError as error:  # wrong checksum; pooch has already removed the download
        raise DataFileError(
            f"{name}: the file downloaded from {url} is not the published file ({_first_line(error)}) and was deleted. "
            f"Try again later, or put a good copy at {target}."
        ) from None
    except OSError as error:
        raise DataFileError(
            f"{name}: not found in {target.parent.parent}, and {url} could not be reached ({_first_line(error)}). "
            f"Put the file at {target}, or set {VARIABLE} to a folder that holds it."
        ) from None
    return target


def check(path: Path, name: str) -> None:
    """Raise if the checksum of a file is not the published one; files without a published checksum pass."""
    known = SHA256.get(name)
    if known is None:
        return
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != known:
        raise DataFileError(
            f"{path}: changed or truncated ({path.stat().st_size} bytes, sha256 {digest.hexdigest()[:12]}..., "
            f"expected {known[:12]}...). Delete it to download it again, or replace it by an intact copy."
        )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
