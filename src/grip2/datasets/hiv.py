"""HIV-1 drug resistance (section 4.3, appendix C.2): mutation indicators, log fold change, treatment-selected positions.

Rhee et al. (2006), PNAS 103:17355-17360 (data); Rhee et al. (2005) (lists of treatment-selected mutations, the truth).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from grip2.datasets.files import DataFileError, fetch
from grip2.errors import Grip2Error

DRUGS = {
    "PI": ("APV", "ATV", "IDV", "LPV", "NFV", "RTV", "SQV"),
    "NRTI": ("3TC", "ABC", "AZT", "D4T", "DDI", "TDF"),
    "NNRTI": ("DLV", "EFV", "NVP"),
}
POSITIONS = {"PI": 99, "NRTI": 240, "NNRTI": 240}
MIN_COUNT = 3

_ADDRESS = "https://hivdb.stanford.edu/_wrapper/pages/published_analysis/genophenoPNAS2006"
# A position holds "." (not sequenced), "-" (consensus) or letters: amino acids, i (insertion), d (deletion).
_READABLE = re.compile(r"\.|-|[A-Zid]+")
_COLUMN = re.compile(r"P(\d+)\.[A-Zid]")


@dataclass(frozen=True)
class HIVTable:
    """The isolates tested with one drug: 0/1 mutation indicators, standardised log fold change, and true positions."""

    X: np.ndarray  # (n, p)
    y: np.ndarray  # (n,)
    feature_names: tuple[str, ...]  # "P82.V": valine at position 82
    positions: np.ndarray  # (p,) the position of each column
    true_positions: np.ndarray  # positions on the list of treatment-selected mutations

    @property
    def support(self) -> np.ndarray:
        """Indices of the columns whose position is on the list of treatment-selected mutations."""
        return np.flatnonzero(np.isin(self.positions, self.true_positions))


def load_hiv(
    drug: str, drug_class: str = "PI", data_home: str | Path | None = None, *, rules: str = "paper"
) -> HIVTable:
    """The table of one drug, read from a local folder (``data_home`` or GRIP2_DATA) or downloaded once.

    Rows with an unreadable position (lower case, stop codon) are dropped, a mixture sets several indicators, and mutations
    found in fewer than three isolates are dropped. ``rules`` says what happens to columns that are equal: "paper" keeps
    one of each set (appendix C.2); "vignette" drops all of them, as the R package's vignette and Barber & Candes (2015) do.
    """
    if drug_class not in DRUGS:
        raise Grip2Error(f"load_hiv: drug_class must be one of {', '.join(DRUGS)}, got {drug_class!r}.")
    if drug not in DRUGS[drug_class]:
        raise Grip2Error(f"load_hiv: drug of {drug_class} must be one of {', '.join(DRUGS[drug_class])}, got {drug!r}.")
    if rules not in ("paper", "vignette"):
        raise Grip2Error(f"load_hiv: rules must be 'paper' or 'vignette', got {rules!r}.")
    data, truth = fetch_hiv(drug_class, data_home)
    indicators, fold_changes = _isolates(data, data.stat().st_mtime_ns, drug_class)
    X, y = _cohort(indicators, fold_changes[drug].to_numpy(), rules)
    columns = tuple(str(name) for name in X.columns)
    return HIVTable(
        X=X.to_numpy(dtype=float),
        y=y,
        feature_names=columns,
        positions=np.array([position_of(name) for name in columns]),
        true_positions=_true_positions(truth, POSITIONS[drug_class]),
    )


def fetch_hiv(drug_class: str, data_home: str | Path | None = None) -> tuple[Path, Path]:
    """The files of a drug class, downloaded if they are missing: isolates, and treatment-selected mutations.

    Checksums are known of the files of PI only; downloads of the other classes are checked for their content.
    """
    return (
        fetch(
            f"hiv/{drug_class}_DATA.txt",
            f"{_ADDRESS}/DATA/{drug_class}_DATA.txt",
            data_home,
            verify=lambda path: _read_isolates(path, drug_class),
        ),
        fetch(
            f"hiv/{drug_class}_TSM.txt",
            f"{_ADDRESS}/MUTATIONLISTS/NP_TSM/{drug_class}",
            data_home,
            verify=lambda path: _true_positions(path, POSITIONS[drug_class]),
        ),
    )


def position_of(name: str) -> int:
    """The position of a mutation indicator: 82 for "P82.V"."""
    match = _COLUMN.fullmatch(name)
    if match is None:
        raise Grip2Error(f"position_of: a name such as 'P82.V' is expected, got {name!r}.")
    return int(match[1])


@lru_cache(maxsize=3)
def _isolates(path: Path, _changed: int, drug_class: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mutation indicators and fold changes of all readable isolates of a drug class.

    ``_changed``, the time of the file's last change, is part of the cache key.
    """
    return _read_isolates(path, drug_class)


def _read_isolates(path: Path, drug_class: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    try:
        frame = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise DataFileError(f"{path}: not a table of {drug_class} isolates ({error}).") from None
    positions = [f"P{k}" for k in range(1, POSITIONS[drug_class] + 1)]
    absent = [name for name in (*DRUGS[drug_class], *positions) if name not in frame.columns]
    if absent:
        raise DataFileError(
            f"{path}: not a table of {drug_class} isolates, column {absent[0]} is missing"
            f"{f' and {len(absent) - 1} more' if len(absent) > 1 else ''}."
        )
    cells = frame[positions]
    readable = cells.map(lambda cell: _READABLE.fullmatch(cell) is not None).all(axis=1)
    frame, cells = frame[readable.to_numpy()], cells[readable.to_numpy()]
    return _indicators(cells), _fold_changes(frame[list(DRUGS[drug_class])], path)


def _indicators(cells: pd.DataFrame) -> pd.DataFrame:
    """One 0/1 column ``Pk.A`` for every amino acid A seen at position k; a mixture such as "DN" sets two."""
    columns: dict[str, np.ndarray] = {}
    for position in cells.columns:
        texts = cells[position].to_numpy()
        for letter in sorted(set("".join(texts)) - {".", "-"}):
            columns[f"{position}.{letter}"] = np.array([letter in text for text in texts], dtype=float)
    return pd.DataFrame(columns, index=cells.index)


def _fold_changes(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    try:
        values = frame.replace("NA", "nan").astype(float)
    except ValueError as error:
        raise DataFileError(f"{path}: fold changes must be numbers or NA ({error}).") from None
    if (values <= 0).any(axis=None):
        raise DataFileError(f"{path}: fold changes must be positive.")
    return values


def _cohort(indicators: pd.DataFrame, fold_change: np.ndarray, rules: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Isolates measured for one drug: rare and equal columns removed, response log-transformed and standardised."""
    measured = np.isfinite(fold_change)
    X = indicators[measured]
    X = X.loc[:, (X.sum(axis=0) >= MIN_COUNT).to_numpy()]
    # The vignette drops columns whose correlation is within 1e-4 of 1; for indicators this means that they are equal.
    equal = X.T.duplicated(keep="first" if rules == "paper" else False).to_numpy()
    y = np.log(fold_change[measured])
    return X.loc[:, ~equal], (y - y.mean()) / (y.std() + 1e-8)


def _true_positions(path: Path, largest: int) -> np.ndarray:
    """Positions on the list, whose lines hold a position, a tab and the amino acids."""
    found = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), start=1):
        first = line.split("\t")[0].strip()
        if not first.isdigit() or not 1 <= int(first) <= largest:
            raise DataFileError(
                f"{path}, line {number}: a line must start with a position from 1 to {largest}, got {line[:30]!r}."
            )
        found.append(int(first))
    if not found:
        raise DataFileError(f"{path}: the list of treatment-selected mutations is empty.")
    return np.unique(found)
