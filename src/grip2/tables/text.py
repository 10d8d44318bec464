"""Interprets texts: marks of missing values, numbers in several notations, dates."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

# Always missing, in a column of any kind.
MISSING_MARKS = frozenset(
    {"", "NaN", "nan", "NAN", "<NA>", "N/A", "n/a", "#N/A", "#NA", "null", "NULL", "Null", "?", "."}
)
# Missing in a column of numbers or dates. In a column of texts they are levels; "NA" only if there are empty cells too.
DOUBTFUL_MARKS = frozenset({"NA", "na", "None", "none", "-", "--", "missing", "Missing"})
NUMBER_MARKS = MISSING_MARKS | DOUBTFUL_MARKS

# Levels with fewer letters, such as M and m, may mean different things if their capitals differ.
LEAST_LETTERS = 2
SHOWN_ALIKE = 3

_PLAIN = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$")
_CODE = re.compile(r"0\d+$")
_SPACES = re.compile(r"(?<=\d)[ \u00a0\u202f'](?=\d{3}(\D|$))")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?$")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?$")
_SIGNS = "%$€£"
_WITH_UNIT = re.compile(r"(?P<number>[+-]?[\d.,]*\d)\s*(?P<unit>[^\W\d_]{1,12}(/[^\W\d_]{1,12})?[²³]?\.?)$")
_BEYOND = re.compile(r"[<>≤≥]=?\s*(\S+)$|(\d\S*?)\s*\+$")
_CLOCK = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?$")

# Tried in this order; the first that fits is used.
DATE_FORMATS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y-%m", "%b-%Y", "%b %Y", "%B %Y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y",
    "%B %d, %Y", "%d.%m.%Y",
)  # fmt: skip
# Day or month first: only if the column fits one of the two and not the other.
AMBIGUOUS_FORMATS = (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"), ("%d/%m/%y", "%m/%d/%y"))
_LOOKS_LIKE_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([T ].*)?$|[A-Za-z]{3,9}[- ].*\d{4}$|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{4}$"
)


def is_plain_number(text: str) -> bool:
    """Is it a number as programming languages write it?"""
    return _PLAIN.match(text) is not None


def beyond_limit(text: str) -> str | None:
    """The number in ``<0.1``, ``> 200`` or ``65+``, the limit of an instrument or a form; None: something else."""
    found = _BEYOND.match(text)
    number = None if found is None else found.group(1) or found.group(2)
    return number if number is not None and is_plain_number(number) else None


def looks_like_code(texts: Sequence[str]) -> bool:
    """Digits with leading zeros, such as postal codes, are names and not numbers."""
    return any(_CODE.match(text) for text in texts)


def exact_numbers(texts: Sequence[str]) -> list[Fraction]:
    """Numbers without any rounding."""
    return [Fraction(text) for text in texts]


def uniform_numbers(texts: Sequence[str]) -> tuple[list[str], str] | None:
    """Texts as plain numbers, and their notation in words, if all have one of the known notations; None if not."""
    for name, clean in _WAYS:
        cleaned = [clean(text) for text in texts]
        if all(text is not None and is_plain_number(text) for text in cleaned):
            return [text for text in cleaned if text is not None], name
    return _in_one_unit(texts) or _by_the_clock(texts)


def _in_one_unit(texts: Sequence[str]) -> tuple[list[str], str] | None:
    """``63.1 kg``, with the same unit in every cell."""
    found = [_WITH_UNIT.match(text) for text in texts]
    numbers = [match.group("number") for match in found if match]
    if len(numbers) < len(texts) or looks_like_code(numbers):
        return None
    units = {match.group("unit") for match in found if match}
    if len({unit.casefold().rstrip(".") for unit in units}) > 1:
        return None
    plain = uniform_numbers(numbers)
    return None if plain is None else (plain[0], f"numbers with the unit {min(units)!r}")


def _by_the_clock(texts: Sequence[str]) -> tuple[list[str], str] | None:
    """``8:30`` or ``08:30:15``, as hours."""
    found = [_CLOCK.match(text) for text in texts]
    parts = [match.groups() for match in found if match]
    if len(parts) < len(texts):
        return None
    hours = [int(first) + int(second) / 60 + float(third or 0) / 3600 for first, second, third in parts]
    return [f"{hour:.12g}" for hour in hours], "times such as 8:30, in hours"


def _grouped(text: str) -> str | None:
    return text.replace(",", "") if _THOUSANDS.match(text) or is_plain_number(text) else None


def _spaced(text: str) -> str | None:
    return _SPACES.sub("", text)


def _comma(text: str) -> str | None:
    """A decimal comma; three digits after it in every cell would mean thousands, which are tried before."""
    if _DECIMAL_COMMA.match(text):
        return text.replace(".", "").replace(",", ".")
    return text if re.match(r"[+-]?\d+([eE][+-]?\d+)?$", text) else None


def _signed(text: str) -> str | None:
    bare = text.strip(_SIGNS + " ")
    return (_grouped(bare) if bare != text else None) or (text if is_plain_number(text) else None)


_WAYS = (
    ("plain numbers", lambda text: text),
    ("numbers with thousands separated by commas", _grouped),
    ("numbers with thousands separated by spaces", _spaced),
    ("numbers with a decimal comma", _comma),
    ("numbers with a sign such as % or $", _signed),
)


def has_decimal_comma(texts: Sequence[str]) -> bool:
    """Does any text have a comma that cannot separate thousands?"""
    return any(_DECIMAL_COMMA.match(text) and not _THOUSANDS.match(text) for text in texts)


def decimal_comma_numbers(texts: Sequence[str]) -> list[str] | None:
    """Texts as plain numbers if all are whole or have a decimal comma, and some have one; None if not."""
    cleaned = [_comma(text) for text in texts]
    if all(text is not None for text in cleaned) and any("," in text for text in texts):
        return [text for text in cleaned if text is not None]
    return None


def parse_dates(texts: Sequence[str], counts: np.ndarray, *, share: float) -> tuple[np.ndarray, str] | None:
    """Texts as datetime64[ns] (NaT: no date) and their format; None if fewer than ``share`` of the rows fit any.

    ISO first, then other formats that have one meaning. Formats in which day or month may come first count only if the column
    decides between them: some cell does not fit the other order.
    """
    total = counts.sum()
    looks = np.array([_LOOKS_LIKE_DATE.match(text) is not None for text in texts], dtype=bool)
    if not total or counts[looks].sum() < share * total:
        return None

    def fits(how: str) -> tuple[np.ndarray, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = pd.to_datetime(pd.Series(list(texts), dtype=object), format=how, errors="coerce", utc=True)
        values = found.dt.tz_localize(None).to_numpy().astype("datetime64[ns]")
        return values, float(counts[~np.isnat(values)].sum() / total)

    for how in ("ISO8601", *DATE_FORMATS):
        values, fitting = fits(how)
        if fitting >= share:
            return values, "ISO" if how == "ISO8601" else _readable(how)
    for pair in AMBIGUOUS_FORMATS:
        (first, first_share), (second, second_share) = (fits(how) for how in pair)
        if max(first_share, second_share) >= share:
            if first_share == second_share and not np.array_equal(first, second):
                return np.empty(0, dtype="datetime64[ns]"), f"{_readable(pair[0])} or {_readable(pair[1])}"
            best = first_share >= second_share
            return (first if best else second), _readable(pair[0] if best else pair[1])
    return None


def _readable(how: str) -> str:
    words = {"%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month"}
    return re.sub(r"%[A-Za-z]", lambda found: words[found.group()], how)


def alike(counts: Mapping[str, int]) -> tuple[dict[str, str], str]:
    """For words that differ by capitals and spaces only, the most frequent one of them; and a list of them for a message.

    ``counts``: rows that have each text.
    """
    groups: dict[str, list[str]] = {}
    for text, rows in counts.items():
        if rows and sum(map(str.isalpha, text)) >= LEAST_LETTERS:
            groups.setdefault(" ".join(text.casefold().split()), []).append(text)
    becomes: dict[str, str] = {}
    listed = []
    for group in groups.values():
        if len(group) > 1:
            becomes |= dict.fromkeys(group, max(group, key=lambda text: counts[text]))
            listed.append(" and ".join(map(repr, group)))
    more = f" and {len(listed) - SHOWN_ALIKE} more" if len(listed) > SHOWN_ALIKE else ""
    return becomes, "; ".join(listed[:SHOWN_ALIKE]) + more


_LEADING_NUMBER = re.compile(r"\D*?(-?\d+(\.\d+)?)")


def order_by_numbers(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Levels in the order of the first number in each ("1-5", "6-10"); None if one has none or two have the same."""
    found = [_LEADING_NUMBER.match(text) for text in texts]
    keys = [float(match.group(1)) for match in found if match]
    if len(keys) < len(texts) or len(set(keys)) < len(keys):
        return None
    return tuple(text for _, text in sorted(zip(keys, texts, strict=True)))
