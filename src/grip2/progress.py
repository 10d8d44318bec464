"""Progress of a whole from the progress of its parts."""

from __future__ import annotations

from collections.abc import Callable

# Called with (work done, work in all); statistics that finish at once need not call it. Returning False ends training early.
Progress = Callable[[int, int], bool | None]


def share_progress(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """The progress of one of several equal parts of a work, as progress of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(part * total + done, parts * total)


def split_progress(progress: Progress | None, *sizes: int) -> list[Progress | None]:
    """One callback for each of several parts of the given sizes; together they report the progress of the whole."""
    if progress is None:
        return [None] * len(sizes)
    whole = sum(sizes)

    def of_part(before: int, size: int) -> Progress:
        return lambda done, total: progress(before + size * done // max(1, total), whole)

    return [of_part(sum(sizes[:k]), size) for k, size in enumerate(sizes)]
