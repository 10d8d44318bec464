"""Finds repeated rows: the guarantee needs independent rows, and repeated ones destroy it without any other sign.

Knockoffs are drawn row by row, so a repeated row repeats X and y, noise included, but not the knockoffs: originals of null
features then look more important than their knockoffs. Two searches, neither of which looks at the response:

- **Exact repeats**, compared with those that independent rows of the same table would give. Rows of a few discrete columns
  agree by chance. If column j were independent of the others, with probability c_j that two rows agree in it, then for D_j
  pairs of rows that differ in column j alone there would be ``D_j c_j / (1 - c_j)`` pairs that differ nowhere. The largest of
  these numbers over all columns is what chance allows.
- **Near repeats**: rows that agree up to rounding or noise. Distances d_1 < d_2 < ... from a row to its neighbours obey a law
  that holds for any density: ``(d_1 / d_k)^D`` is the smallest of k - 1 uniform random numbers, with D the dimension of the
  data (Facco et al., 2017). A row whose nearest neighbour is far closer than that may belong to a repeat. It does if the two
  agree in every column: in a continuous one they differ by little beside what neighbours further away differ by, and of a
  column with few values, as designed experiments have them, they hold the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2._random import generator_from, stream
from grip2.errors import Grip2Error
from grip2.standardise import standardise

# Pairs of repeated rows, as a share of all rows, from which on tables are refused. False discoveries at fdr 0.1 and 0.2 (normal
# columns, `benchmarks/repeated_rows.py`, standard errors 0.015 and 0.02): 0.07 and 0.19 without repeats, 0.09 and 0.18 with
# 1 %, 0.11 and 0.20 with 2 %, 0.08 and 0.21 with 5 %, 0.10 and 0.21 with 9 %, 0.11 and 0.25 with 17 %, 0.18 and 0.31 with
# 29 %. Below 17 % these figures show no clear harm; 3 % is a cautious choice that accepts tables with about 2 % (gene expression,
# flights).
HARMFUL_SHARE = 0.03
# Up to this share of the rows, exact repeats are left out with a notice; with more of them the user has to decide.
REMOVABLE_SHARE = 0.2
# Exact repeats are natural up to this multiple of what chance allows, because columns depend on each other. Of 24 public tables
# the one with the most, with 85 ordinal columns, has 3.9 times as many.
_NATURAL = 6.0
_COLUMNS_LEFT_OUT = 100  # of wide tables, drawn at random
# Neighbours are looked for from so many rows, in so many columns and among so many rows at most, all drawn at random.
_NEAR_QUERIES, _NEAR_COLUMNS, _NEAR_ROWS = 1_000, 50, 200_000
_NEIGHBOURS = (2, 4, 8, 16, 32)  # d_1 is compared with each of these: a row may be repeated several times
# A row is near another if its nearest neighbour is closer than all but this share of rows would have it.
_TOO_NEAR = 1e-3
_NEAR_RATIO = 0.25  # and closer than this fraction of the distance compared with,
# and the two differ in no continuous column by more than this fraction of what neighbours further away differ by there (root
# mean square). Copies with noise of 5 % of a standard deviation differ by less in five or more columns of 1,000 rows.
_NEAR_DIFFERENCE = 0.3
# In every other column they hold the same value, or one differs from it by no more standard deviations than this and is no value
# that recurs: days 3 and 7 of an experiment are different days, however close. A value recurs if it is that of this share of
# the rows, at least of the first and at most of the second number below.
_OTHER_DIFFERENCE, _RECURS, _RECURS_ROWS = 0.2, 0.01, (3, 20)
_NEAR_COMPARISONS, _BLOCK_ENTRIES = 50_000_000, 20_000_000
_KEY_ENTRIES = 2_000_000


@dataclass(frozen=True)
class RepeatedRows:
    """What was found. ``pairs`` of rows that are equal (exact) or all but equal, and a few of them as examples."""

    exact: bool
    pairs: int
    natural: float  # pairs that chance allows
    n_rows: int
    examples: tuple[tuple[int, ...], ...]  # numbers of rows, from 0
    difference: float = 0.0  # the largest of a column between the rows of an example, in standard deviations

    @property
    def harmful(self) -> bool:
        """Does the false discovery rate suffer?"""
        surplus = self.pairs - self.natural
        return self.pairs > _NATURAL * self.natural and surplus >= many_pairs(self.n_rows)


def check_rows(X: np.ndarray, who: str) -> RepeatedRows:
    """Raise if rows are repeated so often that the false discovery rate suffers; NaN equals NaN.

    Returns what was found otherwise: a few exact repeats do no harm, and neither do those of tables with few distinct rows.
    """
    found = exact_repeats(X)
    if found.harmful:
        raise Grip2Error(_message(found, who))
    near = near_repeats(X)
    if near.harmful:
        raise Grip2Error(_message(near, who))
    return found


def check_repeats_of_sample(keys: np.ndarray, sample: np.ndarray, who: str) -> None:
    """`check_rows` for a table of which only the `row_keys` of all rows, and a random sample of rows, are known.

    The number of repeats that chance allows is that of the sample, multiplied as the number of pairs of rows is.
    """
    near = near_repeats(sample)
    if near.harmful:
        raise Grip2Error(_message(near, who))
    n_rows = len(keys)
    pairs, order, sizes = _equal_pairs(keys)
    if pairs < many_pairs(n_rows):
        return
    natural = exact_repeats(sample, natural_anyway=True).natural * (n_rows / len(sample)) ** 2
    found = RepeatedRows(True, pairs, natural, n_rows, _examples(order, sizes))
    if found.harmful:
        raise Grip2Error(_message(found, who))


def without_repeats(X: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The numbers of the rows that are left when exact repeats of rows, the response included, are left out.

    None if repeats do no harm, or if there are so many that the user should decide: `check_rows` refuses such tables.
    """
    if not exact_repeats(X).harmful:
        return None
    _, of_y = np.unique(y, return_inverse=True)
    codes, _ = _hashed(np.column_stack([X, of_y]), stream(generator_from(0), "repeats to leave out"))
    _, first = np.unique(codes.sum(axis=1, dtype=np.uint64), return_index=True)
    return np.sort(first) if len(X) - len(first) <= REMOVABLE_SHARE * len(X) else None


def _message(found: RepeatedRows, who: str) -> str:
    shown = "; ".join(" = ".join(str(row + 1) for row in group) for group in found.examples)
    what = (
        f"{found.pairs:,} pairs of equal rows where chance allows {found.natural:,.0f}"
        if found.exact
        else f"about {found.pairs:,} pairs of rows that are equal up to rounding or small noise"
    )
    if not found.exact:
        shown += f"; these differ by at most {found.difference:.2g} standard deviations in every column"
    return (
        f"{who}: rows must be independent of each other, got {what}, among {found.n_rows:,} rows (counted from 1: {shown}). "
        "Repeated rows look like discoveries, and the false discovery rate is lost. Remove the repeats, or, if rows belong "
        "together (several samples of one patient), name the column that says which: --cluster COLUMN, in Python clusters=."
    )


def exact_repeats(X: np.ndarray, *, natural_anyway: bool = False) -> RepeatedRows:
    """Pairs of equal rows, and how many of them chance allows, if they are many or ``natural_anyway``."""
    n, p = X.shape
    pairs, order, sizes = _equal_pairs(row_keys(X))
    natural = 0.0
    if natural_anyway or pairs >= many_pairs(n):
        rng = stream(generator_from(0), "repeated rows")
        codes, agreement = _hashed(X, rng)
        whole = codes.sum(axis=1, dtype=np.uint64)
        for j in range(p) if p <= _COLUMNS_LEFT_OUT else rng.choice(p, _COLUMNS_LEFT_OUT, replace=False):
            differ = _equal_pairs(whole - codes[:, j])[0] - pairs
            natural = max(natural, differ * agreement[j] / max(1 - agreement[j], 1 / n))
    return RepeatedRows(True, pairs, natural, n, _examples(order, sizes))


def _examples(order: np.ndarray, sizes: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Numbers of the rows of the first groups of equal ones, at most three of each."""
    starts = np.cumsum(sizes) - sizes
    repeated = np.flatnonzero(sizes > 1)
    repeated = repeated[np.argsort(order[starts[repeated]])][:3]  # the sort is stable: the first of a group comes first
    return tuple(tuple(order[starts[group] : starts[group] + min(3, sizes[group])].tolist()) for group in repeated)


def many_pairs(n_rows: int) -> float:
    """The number of pairs of equal rows from which on they may do harm."""
    return max(2.0, HARMFUL_SHARE * n_rows)


def row_keys(X: np.ndarray) -> np.ndarray:
    """(n,) 64-bit numbers that are equal for equal rows, and for other rows with a negligible probability only.

    NaN equals NaN, and 0 equals -0.
    """
    rng = stream(generator_from(0), "keys of rows")
    factors = rng.integers(2**64, size=(2, X.shape[1]), dtype=np.uint64) | np.uint64(1)
    keys = np.empty(len(X), dtype=np.uint64)
    step = max(1, _KEY_ENTRIES // X.shape[1])
    for start in range(0, len(X), step):
        values = X[start : start + step].astype(np.float64) + 0.0
        values[np.isnan(values)] = np.nan
        bits = values.view(np.uint64)
        # Multiplied, mixed and multiplied again: sums of multiples alone would be equal for some rows that differ.
        bits = bits * factors[0]
        bits ^= bits >> np.uint64(32)
        bits *= factors[1]
        bits ^= bits >> np.uint64(29)
        keys[start : start + step] = bits.sum(axis=1, dtype=np.uint64)
    return keys


def _hashed(X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(n, p) random 64-bit numbers, one for every value of every column, and (p,) chances that two rows agree in a column.

    The sum of a row's numbers identifies the row, and less one of them the row without that column.
    """
    n, p = X.shape
    codes = np.empty((n, p), dtype=np.uint64)
    agreement = np.empty(p)
    for j in range(p):
        _, place, counts = np.unique(X[:, j], return_inverse=True, return_counts=True, equal_nan=True)
        codes[:, j] = rng.integers(2**64, size=len(counts), dtype=np.uint64)[place]
        agreement[j] = float(counts @ (counts - 1)) / (n * (n - 1)) if n > 1 else 0.0
    return codes, agreement


def _equal_pairs(keys: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """The number of pairs of equal keys, the order that sorts the keys, and the sizes of the groups of equal ones."""
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0]))
    sizes = np.diff(np.concatenate([first, [len(keys)]]))
    return int((sizes * (sizes - 1) // 2).sum()), order, sizes


def near_repeats(X: np.ndarray) -> RepeatedRows:
    """Rows that are nearly equal in the continuous columns; exact repeats do not count."""
    rng = stream(generator_from(0), "near repeats")
    n_rows, row_indices = len(X), np.arange(len(X))
    if n_rows > _NEAR_ROWS:
        row_indices = np.sort(rng.choice(n_rows, _NEAR_ROWS, replace=False))
        X = X[row_indices]
    none = RepeatedRows(False, 0, 0.0, n_rows, ())
    columns = np.array([j for j in range(X.shape[1]) if _continuous(X[:, j])], dtype=np.intp)
    if len(columns) < 2 or len(X) < 2 * _NEIGHBOURS[-1]:
        return none
    if len(columns) > _NEAR_COLUMNS:
        columns = np.sort(rng.choice(columns, _NEAR_COLUMNS, replace=False))
    Z = standardise(X[:, columns].astype(float))
    queries = np.sort(rng.permutation(len(Z))[: min(_NEAR_QUERIES, _NEAR_COMPARISONS // len(Z))])
    distances, neighbours = _neighbours(Z, queries, _NEIGHBOURS[-1])
    agreement = _Agreement.of(X)
    found = [
        (int(queries[i]), int(neighbours[i, 0]))
        for i in np.flatnonzero(_too_near(distances))
        if agreement.holds(queries[i], neighbours[i])
    ]
    examples = tuple(dict.fromkeys((min(pair), max(pair)) for pair in found[:6]))[:3]
    return RepeatedRows(
        False,
        round(len(found) / len(queries) * n_rows / 2),
        0.0,
        n_rows,
        tuple((int(row_indices[one]), int(row_indices[other])) for one, other in examples),
        max((agreement.difference(one, other) for one, other in examples), default=0.0),
    )


@dataclass(frozen=True, eq=False)
class _Agreement:
    """When two rows agree in every column; missing values agree with each other only."""

    X: np.ndarray
    scale: np.ndarray  # (p,) standard deviations
    continuous: np.ndarray  # (p,) which columns are
    recurring: tuple[np.ndarray, ...]  # of every column that is not, the values that recur

    @classmethod
    def of(cls, X: np.ndarray) -> _Agreement:
        fewest, most = _RECURS_ROWS
        often = min(max(fewest, _RECURS * len(X)), most)
        continuous, recurring = np.empty(X.shape[1], dtype=bool), []
        for j, column in enumerate(X.T):
            continuous[j] = _continuous(column)
            if not continuous[j]:
                values, counts = np.unique(column, return_counts=True)
                recurring.append(values[counts >= often])
        return cls(X, np.nanstd(X, axis=0, dtype=float), continuous, tuple(recurring))

    def holds(self, one: int, neighbours: np.ndarray) -> bool:
        """Does a row agree with the nearest of its neighbours, judged by the further half of them?"""
        a, b, further = (
            self.X[rows].astype(float) for rows in (one, neighbours[0], neighbours[len(neighbours) // 2 :])
        )
        differ = np.abs(a - b)[self.continuous]
        usual = np.sqrt(np.mean((further[:, self.continuous] - a[self.continuous]) ** 2, axis=0))
        return bool(np.all(differ <= _NEAR_DIFFERENCE * usual)) and self._others_agree(a, b)

    def _others_agree(self, a: np.ndarray, b: np.ndarray) -> bool:
        a, b, scale = a[~self.continuous], b[~self.continuous], self.scale[~self.continuous]
        differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        if not np.all(np.abs(a - b)[differ] <= _OTHER_DIFFERENCE * scale[differ]):  # NaN is not
            return False
        return not any(np.isin([a[j], b[j]], self.recurring[j]).all() for j in np.flatnonzero(differ))

    def difference(self, one: int, other: int) -> float:
        """The largest of all columns, in standard deviations."""
        differ = np.abs(self.X[one].astype(float) - self.X[other].astype(float))
        return float(np.nanmax(differ / np.where(self.scale > 0, self.scale, np.inf)))


def _continuous(column: np.ndarray) -> bool:
    """Is a column continuous: no value missing, at least 50 different ones, none of them in more than one row in twenty?"""
    if np.isnan(column).any():
        return False
    counts = np.unique(column, return_counts=True)[1]
    return bool(len(counts) >= min(50, len(column) // 2) and counts.max() <= max(2, 0.05 * len(column)))


def _neighbours(Z: np.ndarray, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(queries, count) distances to the nearest other rows, ascending and without those at distance 0, and these rows."""
    rounded = Z.astype(np.float32)
    squares = (rounded**2).sum(axis=1)
    distances = np.empty((len(queries), count))
    nearest = np.empty((len(queries), count), dtype=np.intp)
    step = max(1, _BLOCK_ENTRIES // len(Z))
    wanted = min(len(Z) - 1, 2 * count)
    for start in range(0, len(queries), step):
        some = queries[start : start + step]
        rough = squares - 2 * (rounded[some] @ rounded.T)
        rough[np.arange(len(some)), some] = np.inf
        close = np.argpartition(rough, wanted - 1, axis=1)[:, :wanted]
        # Computed again from differences: the rough distances of rows that nearly agree are rounding error.
        exact = np.sqrt(((Z[some][:, None] - Z[close]) ** 2).sum(axis=2))
        exact[exact == 0] = np.inf
        order = np.argsort(exact, axis=1)[:, :count]
        distances[start : start + step] = np.take_along_axis(exact, order, axis=1)
        nearest[start : start + step] = np.take_along_axis(close, order, axis=1)
    return distances, nearest


def _too_near(distances: np.ndarray) -> np.ndarray:
    """Which rows have a neighbour that is closer than the law of distances allows, for some number of neighbours.

    The dimension is estimated from neighbours that are not repeats, as long as no row occurs more than 16 times: the ratio of
    d_16 to d_32, to the power of the dimension, has a beta distribution with median 1/2. Rows that equal many others in all
    continuous columns have too few neighbours at other distances, and are not judged.
    """
    last = _NEIGHBOURS[-1]
    near = np.zeros(len(distances), dtype=bool)
    judged = np.flatnonzero(np.isfinite(distances[:, last - 1]))
    if not len(judged):
        return near
    known = distances[judged]
    ratio = float(np.median(known[:, last // 2 - 1] / known[:, last - 1]))
    dimension = np.log(0.5) / np.log(min(ratio, 1 - 1e-9)) if ratio > 0 else 0.0
    for k in _NEIGHBOURS:
        limit = (_TOO_NEAR / (k - 1)) ** (1 / max(dimension, 1e-9))
        near[judged] |= known[:, 0] < min(limit, _NEAR_RATIO) * known[:, k - 1]
    return near
