"""The command that makes the same selection again, for the report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def same_again(words: Sequence[str], out: Path, seed: int) -> str:
    """The words that were typed, with the seed, without which they would not say all, and with another folder.

    The results of the run that the report is about are in its own folder, which may not be written to twice.
    """
    seeded = any(word == "--seed" or word.startswith("--seed=") for word in words)
    with_seed = [*_without_folder(words), *([] if seeded else ["--seed", str(seed)])]
    other = out.with_name(f"{out.name}-again") if out.name not in ("", "..") else Path("grip2-again")
    return shlex.join(["grip2", *with_seed, "--out", str(other)])


def _without_folder(words: Sequence[str]) -> list[str]:
    """The words without --out and its value, however they were spelt, and without --force."""
    kept, value_follows = [], False
    for word in words:
        if value_follows:
            value_follows = False
        elif word in ("--out", "-o"):
            value_follows = True
        elif word != "--force" and not word.startswith(("--out=", "-o")):
            kept.append(word)
    return kept
