"""Finds the name that was meant: the choice that is most similar to what was typed, if any is similar enough."""

from __future__ import annotations

from collections.abc import Iterable


def nearest_name(typed: str, choices: Iterable[str]) -> str | None:
    """The choice that ``typed`` most likely stands for; None if none is similar.

    Capitals, spaces and signs between letters do not count. Names are similar if few letters have to be inserted, left out,
    replaced or swapped with their neighbour: one, or up to a third of the longer word. They are also similar, but less so, if
    one is the beginning of the other, or if they share a beginning of half of the longer word. Of equally similar choices the
    first is taken.
    """
    wanted = _plain(typed)
    best: tuple[float, str] | None = None
    for choice in choices:
        distance = _distance(wanted, _plain(choice))
        if distance is not None and (best is None or distance < best[0]):
            best = distance, choice
    return None if best is None else best[1]


def _plain(name: str) -> str:
    """Letters and digits alone; the name itself if it has none."""
    folded = name.casefold()
    return "".join(sign for sign in folded if sign.isalnum()) or folded


def _distance(wanted: str, name: str) -> float | None:
    """The distance of two plain names; None if they are not similar."""
    longer, shorter = max(len(wanted), len(name)), min(len(wanted), len(name))
    edits = edit_distance(wanted, name) if longer - shorter <= max(1, longer // 3) else longer
    if edits <= max(1, longer // 3) and edits < longer:
        return float(edits)
    shared = next((k for k, (a, b) in enumerate(zip(wanted, name, strict=False)) if a != b), shorter)
    if shared >= 3 and (shared == shorter or shared >= 0.5 * longer):
        return longer - 0.5 * shared  # farther than any misspelling of so many letters
    return None


def edit_distance(one: str, other: str) -> int:
    """Letters to insert, leave out, replace or swap with their neighbour, at least, to turn one word into the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
