"""Power and time of our statistics against knockpy's masked likelihood ratio (MLR) statistics and its lasso.

    python benchmarks/effects_against_mlr.py --methods effects,staged,lcd                   # in the environment of grip2
    python benchmarks/effects_against_mlr.py --methods knockpy-lcd,mlr,mlr-splines          # in that of knockpy, below
    python benchmarks/effects_against_mlr.py --methods mlr-splines-centred --signals cos
    python benchmarks/effects_against_mlr.py --report                                       # only writes OUT/README.md

20 data sets of each signal; the second command takes about an hour on one core. knockpy is not a dependency of grip2. Give it an
environment of its own, with grip2 installed (or its ``src`` on PYTHONPATH, and jax, pandas and scikit-learn) and

    pip install knockpy==1.3.5          # no wheels: gcc and Cython compile it

Rows and knockoffs are drawn anew in each environment from the same seeds, by the same code.

The data are those of Spector and Fithian (2022, additive models): 2,000 rows, 200 normal features, AR(1) with successive
correlations from Beta(5, 1), at most 0.99; y = sum_j b_j h(x_j) + N(0, 1) over 60 features, |b_j| uniform on [0.5, 1] with random
signs. All methods of a data set see the same rows and the same knockoffs: exact Gaussian ones with the true covariance, s
by MVR, drawn by grip2. The filter is grip2's, with offset 1, at fdr 0.1.

Statistics of knockpy:

- knockpy-lcd: LassoStatistic with default settings, the lasso coefficient difference.
- mlr: the linear model, with default settings (5 chains of 2,000 draws).
- mlr-splines: regression splines, 3 chains of 1,000 draws to save time, the lengths in the authors' command
  for this simulation (their script hands them to the linear model only).
- mlr-splines-centred: the same sampler on a centred basis and a centred response, which amounts to an intercept with a flat
  prior. knockpy's model has none, and a response whose mean is not 0 (cos, quadratic) may be hard for it.
- mlr-splines-long: mlr-splines with default settings, three times slower.

Any other name of a method is one of our statistics, with default settings. ``--label`` names the version of our code in a run:
rows with another label stay in the file and are shown beside.

Every finished (signal, data set, method, label) is one row of OUT/trials.csv, written at once; a run that was stopped
continues where it stopped. Seconds are CPU time of the statistic alone, which hardly depends on what else the machine is
doing; compilation is not counted. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import false_discovery_proportion, power
from simulated import mean_and_error

RESULTS = Path(__file__).parents[1] / "results" / "mlr"
ROWS, FEATURES, SIGNAL_FEATURES, FDR = 2000, 200, 60, 0.1
LARGEST_CORRELATION = 0.99

SIGNALS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda x: x,
    "cos": np.cos,
    "quadratic": lambda x: x**2,
    "sin": np.sin,
    "cubic": lambda x: x**3,
}

BARS = {"cos": 0.90, "quadratic": 0.90, "sin": 0.92, "cubic": 0.97}  # power that `effects` and `staged` should reach
FIELDS = ("seed", "signal", "data_set", "method", "label", "power", "fdp", "selected", "seconds")
KEY = FIELDS[:5]


class Design(NamedTuple):
    """Rows and knockoffs of one data set; its signals share them."""

    X: np.ndarray
    Xk: np.ndarray


def draw_design(seed: int, data_set: int) -> Design:
    rng = np.random.default_rng([seed, data_set, 0])
    steps = np.log(np.minimum(rng.beta(5, 1, FEATURES), LARGEST_CORRELATION))
    place = np.cumsum(steps)
    Sigma = np.exp(-np.abs(place[:, None] - place))
    X = rng.standard_normal((ROWS, FEATURES)) @ np.linalg.cholesky(Sigma).T
    sampler = GaussianKnockoffs(np.zeros(FEATURES), Sigma, s="mvr").fit(X)
    return Design(X, sampler.sample(X, rng=np.random.default_rng([seed, data_set, 1])))


def draw_response(X: np.ndarray, signal: str, seed: int, data_set: int) -> tuple[np.ndarray, np.ndarray]:
    """The response, and the numbers of the features that it depends on."""
    rng = np.random.default_rng([seed, data_set, 2, list(SIGNALS).index(signal)])
    support = np.sort(rng.choice(FEATURES, SIGNAL_FEATURES, replace=False))
    coefficients = rng.uniform(0.5, 1.0, SIGNAL_FEATURES) * rng.choice([-1.0, 1.0], SIGNAL_FEATURES)
    return SIGNALS[signal](X[:, support]) @ coefficients + rng.standard_normal(len(X)), support


# A method: W of a design and a response, given a seed.
Method = Callable[[Design, np.ndarray, int], np.ndarray]


def ours(name: str) -> Method:
    def scored(design: Design, y: np.ndarray, seed: int) -> np.ndarray:
        from grip2.statistics.registry import STATISTICS  # not needed in knockpy's environment

        rng = np.random.default_rng(seed)
        return np.asarray(STATISTICS.create(name).importance(design.X, design.Xk, y, rng=rng, task="regression").W)

    return scored


def knockpys(module: str, name: str, **settings: int) -> Method:
    def scored(design: Design, y: np.ndarray, seed: int) -> np.ndarray:
        statistic = getattr(knockpy_module(module), name)(**settings)
        # knockpy draws from NumPy's global generator and from the C library's.
        np.random.seed(seed)  # noqa: NPY002
        ctypes.CDLL(None).srand(seed)
        return np.asarray(statistic.fit(X=design.X, Xk=design.Xk, y=y, groups=None))

    return scored


def with_intercept(method: Method) -> Method:
    """knockpy's sampler of groups of basis functions, run on a centred basis and a centred response."""

    def scored(design: Design, y: np.ndarray, seed: int) -> np.ndarray:
        module = knockpy_module("mlr.mlr")
        sample = module._sample_mlr_spikeslab_group

        def centred(*, features: np.ndarray, y: np.ndarray, **settings: Any) -> Any:
            return sample(features=features - features.mean(axis=0), y=y - y.mean(), **settings)

        with patch.object(module, "_sample_mlr_spikeslab_group", centred):
            return method(design, y, seed)

    return scored


splines = knockpys("mlr", "MLR_Spikeslab_Splines", n_iter=1000, chains=3)
KNOCKPYS: dict[str, Method] = {
    "knockpy-lcd": knockpys("knockoff_stats", "LassoStatistic"),
    "mlr": knockpys("mlr", "MLR_Spikeslab"),
    "mlr-splines": splines,
    "mlr-splines-centred": with_intercept(splines),
    "mlr-splines-long": knockpys("mlr", "MLR_Spikeslab_Splines"),
}
NO_LABEL = "-"  # of knockpy's methods, which do not depend on our version


def knockpy_module(name: str) -> Any:
    try:
        return importlib.import_module(f"knockpy.{name}")
    except ImportError as error:
        raise SystemExit(f"knockpy cannot be imported ({error}); how to install it: see {__file__}.") from None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=20, help="of each signal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--signals", type=signal_names, default=list(BARS), help="names, comma-separated")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=["effects", "staged", "lcd"])
    parser.add_argument("--label", default="now", help="of our version in this run")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true", help="fit nothing, only write the README")
    arguments = parser.parse_args()
    file = arguments.out / "trials.csv"
    if not arguments.report:
        arguments.out.mkdir(parents=True, exist_ok=True)
        fit_missing(file, arguments)
    text = report([row for row in read_rows(file) if row["seed"] == str(arguments.seed)])
    (arguments.out / "README.md").write_text(text, encoding="utf-8")
    print(text)


def fit_missing(file: Path, arguments: argparse.Namespace) -> None:
    done = {tuple(row[name] for name in KEY) for row in read_rows(file)}
    labels = {name: NO_LABEL if name in KNOCKPYS else arguments.label for name in arguments.methods}
    methods = {name: KNOCKPYS.get(name) or ours(name) for name in arguments.methods}
    compiled: set[str] = set()
    for data_set in range(arguments.data_sets):
        todo = [
            (signal, method)
            for signal in arguments.signals
            for method in arguments.methods
            if (str(arguments.seed), signal, str(data_set), method, labels[method]) not in done
        ]
        if not todo:
            continue
        design = draw_design(arguments.seed, data_set)
        for signal, name in todo:
            y, support = draw_response(design.X, signal, arguments.seed, data_set)
            if name not in KNOCKPYS and name not in compiled:  # the first fit compiles, which is not to be timed
                methods[name](design, y, 0)
                compiled.add(name)
            began = time.process_time()
            W = methods[name](design, y, data_set)
            seconds = time.process_time() - began
            chosen = np.flatnonzero(knockoff_threshold(W, FDR) <= W)
            row = {
                "seed": arguments.seed,
                "signal": signal,
                "data_set": data_set,
                "method": name,
                "label": labels[name],
                "power": f"{power(chosen, support):.4f}",
                "fdp": f"{false_discovery_proportion(chosen, support):.4f}",
                "selected": len(chosen),
                "seconds": f"{seconds:.1f}",
            }
            append_row(file, row)
            print(" ".join(f"{value}" for value in row.values()), flush=True)


def signal_names(text: str) -> list[str]:
    asked = text.split(",")
    unknown = [name for name in asked if name not in SIGNALS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: unknown; there are {', '.join(SIGNALS)}.")
    return asked


def read_rows(file: Path) -> list[dict[str, str]]:
    """Complete rows only: the last line of a killed run may be cut short."""
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8")
    return list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))


def append_row(file: Path, row: dict[str, Any]) -> None:
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if not text.endswith("\n"):  # a new file, or a line cut short by a kill
        text = text[: text.rfind("\n") + 1]
        file.write_text(text, encoding="utf-8")
    with file.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if not text:
            writer.writeheader()
        writer.writerow(row)


def report(rows: list[dict[str, str]]) -> str:
    return f"""# Our statistics against knockpy's masked likelihood ratio statistics

`python benchmarks/effects_against_mlr.py`; data, methods and how to install knockpy: see the script. Mean ± standard error over
data sets; CPU seconds a fit on one thread. The bar is the power that `effects` and `staged` are meant to reach. knockpy 1.3.5.
The MLR rows of data sets 0 to 4 are from an earlier run; the two of them that were repeated gave the same selections.

{markdown_table(rows)}

Difference in power to `mlr-splines` on the same data sets:

{differences(rows)}
"""


def methods_of(rows: list[dict[str, str]]) -> list[tuple[str, str]]:
    """Methods and labels, ours first."""
    found = dict.fromkeys((row["method"], row["label"]) for row in rows)
    return sorted(found, key=lambda one: one[0] in KNOCKPYS)


def shown(method: str, label: str) -> str:
    return method if label == NO_LABEL else f"{method} ({label})"


def markdown_table(rows: list[dict[str, str]]) -> str:
    """Means, with standard errors of power and false discovery proportion over data sets."""
    lines = ["| signal | method | data sets | power | bar | FDP | CPU seconds |", "|---|---|---|---|---|---|---|"]
    for signal in SIGNALS:
        for method, label in methods_of(rows):
            mine = [row for row in rows if (row["signal"], row["method"], row["label"]) == (signal, method, label)]
            if mine:
                seconds = np.mean([float(row["seconds"]) for row in mine])
                bar = f"{BARS[signal]:.2f}" if signal in BARS and method in ("effects", "staged") else ""
                powers, fdps = (mean_and_error([float(row[name]) for row in mine]) for name in ("power", "fdp"))
                parts = (shown(method, label), f"{len(mine)}", powers, bar, fdps, f"{seconds:.1f}")
                lines.append(f"| {signal} | {' | '.join(parts)} |")
    return "\n".join(lines)


def differences(rows: list[dict[str, str]]) -> str:
    powers = {(row["signal"], row["method"], row["label"], row["data_set"]): float(row["power"]) for row in rows}
    lines = ["| signal | method | data sets | difference |", "|---|---|---|---|"]
    for signal in SIGNALS:
        for method, label in methods_of(rows):
            pairs = [
                value - powers[signal, "mlr-splines", NO_LABEL, key[3]]
                for key, value in powers.items()
                if key[:3] == (signal, method, label) and (signal, "mlr-splines", NO_LABEL, key[3]) in powers
            ]
            if pairs and method not in KNOCKPYS:
                lines.append(f"| {signal} | {shown(method, label)} | {len(pairs)} | {mean_and_error(pairs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
