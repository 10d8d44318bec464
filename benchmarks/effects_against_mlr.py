"""Power of `EffectPosterior` against knockpy's masked likelihood ratio (MLR) statistics and the lasso.

    python benchmarks/effects_against_mlr.py                          # 5 data sets of each signal, one core, about half an hour
    python benchmarks/effects_against_mlr.py --data-sets 20 --signals cos,cubic --out somewhere

knockpy is not a dependency of grip2. Give the script an environment of its own, with grip2 installed and

    pip install "setuptools>=77" wheel cython numpy           # knockpy has no wheels: gcc compiles it
    pip install --no-build-isolation --no-deps knockpy==1.3.5
    pip install cvxpy networkx tqdm                            # imported by knockpy; choldate and dsdp are not needed

The data are those of Spector and Fithian (2022, additive models): 200 normal features, AR(1) with successive correlations
from Beta(5, 1), at most 0.99; y = sum_j b_j h(x_j) + N(0, 1) over 60 features, |b_j| uniform on [0.5, 1] with random signs.
All methods of a data set see the same rows and the same knockoffs: exact Gaussian ones with the true covariance, s by MVR,
drawn by grip2. The filter is grip2's, with offset 1.

knockpy's statistics:

- mlr: the linear model, with default settings (5 chains of 2,000 draws).
- mlr-splines: regression splines, 3 chains of 1,000 draws to save time, the lengths in the authors' command
  for this simulation (their script hands them to the linear model only).
- mlr-splines-centred: the same sampler on a centred basis and a centred response, which amounts to an intercept with a flat
  prior. knockpy's model has none, and a response whose mean is not 0 (cos, quadratic) may be hard for it.
- mlr-splines-long: mlr-splines with default settings, three times slower; run only if asked for by --methods.

Every finished (signal, data set, method) is one row of OUT/trials.csv, written at once; a run that was stopped continues where
it stopped. Seconds are CPU time of the statistic alone, which does not depend on what else the machine is doing.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import false_discovery_proportion, power
from grip2.statistics import LassoCoefficient, Statistic
from grip2.statistics.effects import EffectPosterior

ROWS, FEATURES, SIGNAL_FEATURES, FDR = 2000, 200, 60, 0.1
LARGEST_CORRELATION = 0.99

SIGNALS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda x: x,
    "cos": np.cos,
    "quadratic": lambda x: x**2,
    "sin": np.sin,
    "cubic": lambda x: x**3,
}

FIELDS = ("seed", "signal", "data_set", "method", "power", "fdp", "selected", "seconds")
KEY = FIELDS[:4]


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


def ours(statistic: Statistic) -> Method:
    def scored(design: Design, y: np.ndarray, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return np.asarray(statistic.importance(design.X, design.Xk, y, rng=rng, task="regression").W)

    return scored


def knockpys(name: str, **settings: int) -> Method:
    def scored(design: Design, y: np.ndarray, seed: int) -> np.ndarray:
        statistic = getattr(knockpy_mlr(), name)(**settings)
        # knockpy draws from NumPy's global generator and from the C library's.
        np.random.seed(seed)  # noqa: NPY002
        ctypes.CDLL(None).srand(seed)
        return np.asarray(statistic.fit(X=design.X, Xk=design.Xk, y=y, groups=None))

    return scored


def with_intercept(method: Method) -> Method:
    """knockpy's sampler of groups of basis functions, run on a centred basis and a centred response."""

    def scored(design: Design, y: np.ndarray, seed: int) -> np.ndarray:
        module = knockpy_mlr().mlr
        sample = module._sample_mlr_spikeslab_group

        def centred(*, features: np.ndarray, y: np.ndarray, **settings: Any) -> Any:
            return sample(features=features - features.mean(axis=0), y=y - y.mean(), **settings)

        with patch.object(module, "_sample_mlr_spikeslab_group", centred):
            return method(design, y, seed)

    return scored


splines = knockpys("MLR_Spikeslab_Splines", n_iter=1000, chains=3)
METHODS: dict[str, Method] = {
    "effects": ours(EffectPosterior()),
    "lcd": ours(LassoCoefficient()),
    "mlr": knockpys("MLR_Spikeslab"),
    "mlr-splines": splines,
    "mlr-splines-centred": with_intercept(splines),
    "mlr-splines-long": knockpys("MLR_Spikeslab_Splines"),
}
USUAL_METHODS = [name for name in METHODS if name != "mlr-splines-long"]


def knockpy_mlr() -> Any:
    try:
        import knockpy.mlr
    except ImportError as error:
        raise SystemExit(f"knockpy cannot be imported ({error}); how to install it: see {__file__}.") from None
    return knockpy.mlr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=5, help="of each signal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--signals", type=names_of(SIGNALS), default=list(SIGNALS), help="names, comma-separated")
    parser.add_argument("--methods", type=names_of(METHODS), default=USUAL_METHODS, help="names, comma-separated")
    parser.add_argument("--out", type=Path, default=Path("results/effects"))
    arguments = parser.parse_args()

    if any(name.startswith("mlr") for name in arguments.methods):
        knockpy_mlr()
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "trials.csv"
    done = {tuple(row[name] for name in KEY) for row in read_rows(file)}
    compiled = False
    for data_set in range(arguments.data_sets):
        todo = [
            (signal, method)
            for signal in arguments.signals
            for method in arguments.methods
            if (str(arguments.seed), signal, str(data_set), method) not in done
        ]
        if not todo:
            continue
        design = draw_design(arguments.seed, data_set)
        for signal, name in todo:
            y, support = draw_response(design.X, signal, arguments.seed, data_set)
            if name == "effects" and not compiled:  # the first fit of a shape compiles, which is not to be timed
                METHODS[name](design, y, 0)
                compiled = True
            began = time.process_time()
            W = METHODS[name](design, y, data_set)
            seconds = time.process_time() - began
            chosen = np.flatnonzero(knockoff_threshold(W, FDR) <= W)
            row = {
                "seed": arguments.seed,
                "signal": signal,
                "data_set": data_set,
                "method": name,
                "power": f"{power(chosen, support):.4f}",
                "fdp": f"{false_discovery_proportion(chosen, support):.4f}",
                "selected": len(chosen),
                "seconds": f"{seconds:.1f}",
            }
            append_row(file, row)
            print(" ".join(f"{value}" for value in row.values()), flush=True)
    mine = [row for row in read_rows(file) if row["seed"] == str(arguments.seed)]
    print(markdown_table(mine))


def names_of(known: dict[str, Any]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        asked = text.split(",")
        unknown = [name for name in asked if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: unknown; there are {', '.join(known)}.")
        return asked

    return names


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


def markdown_table(rows: list[dict[str, str]]) -> str:
    """Means, with standard errors of power and false discovery proportion over data sets."""
    lines = ["| signal | method | data sets | power | FDP | CPU seconds |", "|---|---|---|---|---|---|"]
    for signal in SIGNALS:
        for method in METHODS:
            mine = [row for row in rows if (row["signal"], row["method"]) == (signal, method)]
            if mine:
                seconds = np.mean([float(row["seconds"]) for row in mine])
                parts = (f"{len(mine)}", mean_and_error(mine, "power"), mean_and_error(mine, "fdp"), f"{seconds:.1f}")
                lines.append(f"| {signal} | {method} | {' | '.join(parts)} |")
    return "\n".join(lines)


def mean_and_error(rows: list[dict[str, str]], name: str) -> str:
    values = np.array([float(row[name]) for row in rows])
    if len(values) < 2:
        return f"{values.mean():.2f}"
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


if __name__ == "__main__":
    main()
