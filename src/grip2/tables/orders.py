"""Levels that seem to have an order: numbered texts, and words that people use for degrees."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grip2.tables.text import order_by_numbers

FEWEST_LEVELS, MOST_LEVELS = 3, 12
LARGEST_NUMBER = 120  # of a numbered level; larger ones are codes
_NUMBERED = re.compile(r"(\d{1,3})([.:)_+\s-].*)?$")
_DEGREES = (
    (("very low",), ("low",), ("medium", "moderate", "middle", "mid", "average"), ("high",), ("very high",)),
    (("very small",), ("small",), ("medium", "middle"), ("large", "big"), ("very large", "very big")),
    (("very bad",), ("bad", "poor"), ("medium", "fair", "average"), ("good",), ("very good",), ("excellent",)),
    (("never",), ("rarely", "seldom"), ("sometimes",), ("often",), ("always",)),
    (("none", "no"), ("mild", "slight"), ("moderate",), ("severe",)),
    (("strongly disagree",), ("disagree",), ("neutral",), ("agree",), ("strongly agree",)),
)  # fmt: skip


def likely_order(labels: Sequence[str]) -> str | None:
    """The role that gives levels the order that they seem to have: "ordered" where numbers tell it; None: no order is seen."""
    if not FEWEST_LEVELS <= len(labels) <= MOST_LEVELS:
        return None
    numbered = [_NUMBERED.match(label) for label in labels]
    if all(match is not None and int(match.group(1)) <= LARGEST_NUMBER for match in numbered):
        return "ordered" if order_by_numbers(labels) else None
    plain = [re.sub(r"[_\-\s]+", " ", label).strip().casefold() for label in labels]
    for degrees in _DEGREES:
        rank = {word: k for k, words in enumerate(degrees) for word in words}
        ranks = [rank.get(word, -1) for word in plain]
        if min(ranks) >= 0 and len(set(ranks)) == len(ranks):
            return "<".join(label for _, label in sorted(zip(ranks, labels, strict=True)))
    return None
