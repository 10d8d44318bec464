"""The rules by which every column of a table gets a role.

A role that the user gives (``columns={"zip": "category"}``, ``--as zip=category``) comes before all rules. Otherwise:

1. **constant**: one value only, or none. Left out.
2. **number**: numbers, and texts that are all numbers written in one way (plain, thousands separators, decimal comma, a sign such
   as %, one unit such as kg), and times such as 8:30, in hours. Texts with leading zeros are codes, not numbers. Where at least
   90 % of the cells are numbers, cells such as <0.1 and 65+ count as the limit that they name; others are damaged cells, and the
   table is refused until they are mended or declared. A column of 3 to 12 different numbers, with five rows for each value or
   more, has levels instead, the others among them (cylinders: 4, 6, 8 and rotary).
3. **0/1**: two values, numbers or texts, and booleans. Of two texts the rarer one is 1, but of yes and no (y and n, true and
   false) always yes. A text column with one value and empty cells too: the value, or none.
4. **identifier**: whole numbers that count the rows from 0 or 1, or whose column is named like one (id, customer_id, rownames,
   index) and that are all different or have more than 50 values; texts with more values than half of the rows, with no value in
   at least 5 rows, or with more than 50 values of which the 49 most frequent cover less than half of the rows. Left out.
5. **date**: columns of dates, and texts of which at least 95 % are dates in one format (ISO first; day and month in an order that
   the column itself decides). Days since the earliest date; season (two columns) if dates span two years or more, and time of
   day (two columns) if it varies, in the same unit.
6. **ordered**: ordered categories of pandas, and texts whose order the user gives (``small<medium<large``): 0, 1, 2, ...
7. **category**: all other texts and categories: one unit of 0/1 columns, one for each level but the most frequent. Levels with
   fewer than 5 rows or 0.5 % of the rows are pooled into "other" (a single one together with the next rarest), and of more than
   50 levels the 49 most frequent are kept. A notice tells where levels seem to have an order (1_Good, 2_Fair; Low, Medium, High).
8. **copy**: equal to an earlier column in every row, or the same levels under other names. One unit with that column.
   A copy of the target stops the preparation, and so does a number that is a monotone function of it (its logarithm): at least
   10 different values of both correspond one to one, or 50 where one of the two is rounded. A column whose 2 to 10 levels
   have separate ranges of the target, or a number with separate ranges in its two classes (5 rows each), is told by a notice.

Empty cells and marks such as "N/A", "?" and "." are missing. So is "NA", except in a text column that has empty cells too, or
that is declared a category: there it is a level. A text column that is empty in at least half of the rows has the level
"(missing)". Spaces around texts do not count; words of two letters or more that differ by capitals only are one level, unless the
column is declared a category. In an array, whose columns have no names, numbers are never identifiers, and a copy of the target
leads to a warning only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from grip2.errors import did_you_mean
from grip2.spelling import nearest_name
from grip2.tables.records import Problem, Role

NUMBER_SHARE = 0.9  # with this share of plain numbers or more, other cells are damaged
FEW_NUMBERS = (3, 12)  # different numbers that are levels if there are other texts beside them
DATE_SHARE = 0.95
MAX_LEVELS = 50
IDENTIFIER_SHARE = 0.5  # of the rows: with more distinct texts than this a column is no category
COVERED_SHARE = 0.5  # of the rows that the most frequent levels must cover for the others to be pooled
RARE_ROWS, RARE_SHARE = 5, 0.005  # a level with fewer rows than these is rare
FEWEST_VALUES = 5  # that a column with missing values must have
ABSENT_SHARE = 0.5  # with this share of empty cells or more, they are a level of a text column
SEASON_DAYS = 730  # from this span of dates on, the season can be distinguished from the trend
LISTED_NAMES = 20  # of columns in a message, if none is similar to the one asked for
MISSING_LEVEL = "(missing)"

_NAMED_LIKE_IDENTIFIER = re.compile(
    r"(?i:(^|[_\s.\-])(id|ids|uuid|guid|identifier|row_?names?|index|unnamed: 0)$)|[a-z](ID|Id)$"
)


class Missing(StrEnum):
    """What happens to missing values."""

    DRAW = "draw"  # they stay missing; the sampler draws them from its model
    INDICATOR = "indicator"  # filled, with a 0/1 column "is missing" in the same unit, or as a level of their own
    MEDIAN = "median"  # filled with the median or the most frequent level
    REFUSE = "refuse"


@dataclass(frozen=True)
class Asked:
    """A role that the user gives a column."""

    role: Role
    order: tuple[str, ...] = ()  # of levels


GIVEN = "given"
# Other words for the roles: suggested in messages, but not accepted.
_ALSO_CALLED = {
    "numeric": "number", "numerical": "number", "continuous": "number", "float": "number", "int": "number",
    "integer": "number", "text": "category", "string": "category", "nominal": "category", "factor": "category",
    "ordinal": "ordered", "binary": "0/1", "bool": "0/1", "boolean": "0/1", "datetime": "date", "time": "date",
    "id": "identifier", "key": "identifier", "ignore": "drop", "exclude": "drop", "skip": "drop",
}  # fmt: skip
_ROLES_TO_GIVE = {
    "number": Role.NUMBER,
    "ordered": Role.ORDERED,
    "category": Role.CATEGORY,
    "0/1": Role.BINARY,
    "date": Role.DATE,
    "identifier": Role.IDENTIFIER,
    "drop": Role.DROPPED,
}


def asked_roles(
    given: Mapping[str, str] | None, names: Sequence[str], target: str | None = None
) -> tuple[dict[str, Asked], list[Problem]]:
    """The roles that the user gives, and what is wrong with them; ``target`` is among the names, if known."""
    asked: dict[str, Asked] = {}
    problems: list[Problem] = []
    for name, word in (given or {}).items():
        name, word = str(name), str(word)
        if name not in names:
            problems.append(Problem(f"there is no column {name!r}", nearest(name, names, target)))
        elif "<" in word:
            order = tuple(level.strip() for level in word.split("<"))
            if len(set(order)) < len(order) or not all(order):
                problems.append(Problem(f"column {name!r}: the order {word!r} names a level twice or none", "mend it"))
            asked[name] = Asked(Role.ORDERED, order)
        elif word not in _ROLES_TO_GIVE:
            meant = _ALSO_CALLED.get(word.lower())
            hint = did_you_mean(meant or word, _ROLES_TO_GIVE).strip()
            roles = ", ".join(_ROLES_TO_GIVE)
            problems.append(
                Problem(
                    f"column {name!r} cannot be taken for {word!r}",
                    f"roles are {roles}, or an order such as small<medium<large"
                    + (f". {hint.rstrip('?')}?" if hint else ""),
                )
            )
        else:
            asked[name] = Asked(_ROLES_TO_GIVE[word])
    return asked, problems


def nearest(name: str, names: Sequence[str], target: str | None = None) -> str:
    """What to do about a name that does not exist."""
    several = [part.strip() for part in name.split(",")]
    if len(several) > 1 and all(part in names for part in several):
        return f"name one column at a time: {', then '.join(several)}"
    near = nearest_name(name, names)
    if near is not None:
        return f"did you mean {near!r}, the target?" if near == target else f"did you mean {near!r}?"
    listed = ", ".join(names[:LISTED_NAMES])
    return f"columns are {listed}" + (f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else "")


def named_like_identifier(name: str) -> bool:
    return _NAMED_LIKE_IDENTIFIER.search(name) is not None


def rare_below(n_rows: int) -> int:
    """A level with fewer rows is rare."""
    return max(RARE_ROWS, round(RARE_SHARE * n_rows))


def say(name: str, role: str) -> str:
    """How to give a column a role, in Python and on the command line."""
    return f"columns={{{name!r}: {role!r}}} (--as {quoted(name + '=' + role)})"


def quoted(word: str) -> str:
    """A word as a shell takes it."""
    return word if re.fullmatch(r"[\w.=/\-:]+", word) else f"'{word}'"
