"""Parsers of numbers on the command line, whose errors are one sentence that names the option."""

from __future__ import annotations

from collections.abc import Callable

import typer


def whole(option: str, *, least: int, most: int | None = None) -> Callable[[object], int]:
    """A parser of whole numbers from ``least`` to ``most``."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def parse(word: object) -> int:
        text = str(word).strip()
        value = int(text) if text.removeprefix("-").isdecimal() else None
        if value is None or value < least or (most is not None and value > most):
            raise typer.BadParameter(f"{option} must be a whole number {limits}, got {text}.")
        return value

    return parse


def processes(word: object) -> int:
    """A number of processes; -1 means one for each core."""
    text = str(word).strip()
    if not text.removeprefix("-").isdecimal() or int(text) == 0 or int(text) < -1:
        raise typer.BadParameter(f"--jobs must be a number of processes such as 4, or -1 for all cores, got {text}.")
    return int(text)


def correlation(word: object) -> float:
    """A correlation above which columns form a group."""
    text, value = str(word).strip(), _number(word)
    if not 0 < value <= 1:
        raise typer.BadParameter(f"--group-threshold must be above 0 and at most 1, such as 0.9, got {text}.")
    return value


def rate(option: str) -> Callable[[object], float]:
    """A parser of numbers above 0 and below 1."""

    def parse(word: object) -> float:
        from grip2.filter import percent_hint

        text, value = str(word).strip(), _number(word)
        if not 0 < value < 1:
            raise typer.BadParameter(f"{option} must be a number above 0 and below 1, got {text}.{percent_hint(text)}")
        return value

    return parse


def _number(word: object) -> float:
    """The number that a word spells; NaN, which is in no range, if it spells none."""
    try:
        return float(str(word))
    except ValueError:
        return float("nan")
