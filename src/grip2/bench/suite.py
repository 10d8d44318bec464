"""What is measured, part by part: tasks with their contestants, and tasks at growing sizes.

The first contestant of a task is ours. A quick run has the same tasks at sizes that take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from grip2.bench.case import EMPTY, FILLED, Case
from grip2.errors import Grip2Error, did_you_mean

OURS = "grip2"
T = TypeVar("T")


@dataclass(frozen=True)
class Extent:
    """How large everything is, and how often it is repeated."""

    quick: bool
    comparisons: int  # rounds
    growth: int  # rounds

    def pick(self, quick: T, full: T) -> T:
        return quick if self.quick else full


QUICK, FULL = Extent(True, 2, 1), Extent(False, 5, 3)


def start(extent: Extent) -> Iterator[Case]:
    subject = "import in a new process"
    yield Case("start", subject, "from grip2 import KnockoffSelector", "starting:import_selector", once=True)
    yield Case("start", subject, "import sklearn.feature_selection", "starting:import_scikit_learn", once=True)
    table = extent.pick({"n": 300, "p": 20, "true": 10}, {"n": 500, "p": 30, "true": 10})
    subject = f"first fit with default settings, {_table(table)}"
    fit = "selection:correlated_columns"
    yield Case("start", subject, "second fit of the process", fit, table)
    if not extent.quick:  # it has to fill the cache by a fit of its own
        yield Case("start", subject, "first fit, compiled before", fit, table, once=True, cache=FILLED)
    yield Case("start", subject, "first fit, nothing compiled", fit, table, once=True, cache=EMPTY)


def engine(extent: Extent) -> Iterator[Case]:
    synthetic = {"rows": 20_000, "inputs": 1000, "hidden": 512, "depth": 3, "batch": 256, "steps": extent.pick(50, 500)}
    hiv = {"rows": 800, "inputs": 400, "hidden": 1, "depth": 1, "batch": 0, "steps": extent.pick(500, 5000)}
    for name, shape, decay in (("synthetic", synthetic, 0.0), ("HIV", hiv, 1e-2)):
        rows = f"batches of {shape['batch']}" if shape["batch"] else f"all {shape['rows']} rows"
        widths = "-".join(str(width) for width in (shape["inputs"], *[shape["hidden"]] * shape["depth"], 1))
        subject = f"one step of the paper's {name} network {widths}, {rows}"
        words = {**shape, "deep_l2": decay}
        yield Case("engine", subject, OURS, "engine:steps", words)
        if not shape["batch"]:
            yield Case("engine", subject, f"{OURS}, 50 networks at once", "engine:steps", {**words, "members": 50})
        yield Case("engine", subject, "its matrix products (NumPy)", "products:steps", words)
        peers = {"PyTorch, eager": False, "PyTorch, torch.compile": True}
        for label in list(peers)[: extent.pick(1, 2)]:  # the compiler of PyTorch takes a minute
            torch = {**words, "compiled": peers[label]}
            yield Case("engine", subject, label, "torch_training:steps", torch, package="torch")


def first(extent: Extent) -> Iterator[Case]:
    table = extent.pick({"n": 500, "p": 50, "true": 15}, {"n": 2000, "p": 200, "true": 60})
    subject = f"first stage, squares of {table['true']} features, {_table(table)}"
    yield Case("first", subject, f"{OURS}, EffectPosterior", "first_stage:curved_effects", table)
    yield Case("first", subject, "knockpy, MLR with splines", "knockpy_library:mlr_splines", table, package="knockpy")


def solvers(extent: Extent) -> Iterator[Case]:
    p = extent.pick(200, 500)
    for method in extent.pick(("mvr",), ("mvr", "maxent", "sdp", "equi")):
        subject, words = f"S by {method}, AR(1) 0.5, p = {p}", {"method": method, "p": p}
        yield Case("solvers", subject, OURS, "solvers:solver", words)
        yield Case("solvers", subject, "knockpy", "knockpy_library:solver", words, package="knockpy")
    few = extent.pick(50, 100)  # knockpy takes minutes for more
    grouped = {"method": "mvr", "p": few, "group_size": 5}
    subject = f"S by mvr for groups of 5, AR(1) 0.5, p = {few}"
    yield Case("solvers", subject, OURS, "solvers:solver", grouped)
    yield Case("solvers", subject, "knockpy", "knockpy_library:solver", grouped, package="knockpy")
    subject = f"S by mvr with copies, AR(1) 0.5, p = {p}"
    for copies in extent.pick((1, 3), (1, 3, 5)):
        words = {"method": "mvr", "p": p, "copies": copies}
        yield Case("solvers", subject, f"{OURS}, copies = {copies}", "solvers:solver", words)


def lasso(extent: Extent) -> Iterator[Case]:
    table = extent.pick({"n": 2000, "p": 100}, {"n": 20_000, "p": 500})
    for function, name, peer in (
        ("cross_validated", "cross-validated lasso", "LassoCV"),
        ("path", "lasso path of 100 penalties", "lasso_path"),
    ):
        subject = f"{name}, n = {table['n']:,}, {2 * table['p']:,} columns"
        yield Case("lasso", subject, OURS, f"lasso:{function}", {**table, "ours": True})
        yield Case("lasso", subject, f"scikit-learn, {peer}", f"lasso:{function}", {**table, "ours": False})


def select(extent: Extent) -> Iterator[Case]:
    table = extent.pick({"n": 500, "p": 50, "true": 15}, {"n": 2000, "p": 200, "true": 60})
    subject = f"table to selection, {table['true']} linear effects, {_table(table)}"
    ours, peer = "selection:correlated_columns", "knockpy_library:knockoff_filter"
    yield Case("select", subject, f"{OURS}, default", ours, table)
    like = {**table, "statistic": "lcd", "knockoffs": "gaussian", "copies": 1, "describe": False}
    yield Case("select", subject, f"{OURS}, lasso on Gaussian knockoffs", ours, like)
    for label, name in (("lasso", "lasso"), ("MLR with splines", "mlr_spline")):
        words = {**table, "statistic": name}
        yield Case("select", subject, f"knockpy, {label} on Gaussian knockoffs", peer, words, package="knockpy")


ROWS = (1000, 10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS = (30, 100, 300, 1000, 3000, 5000, 20_000)
_FIRST_STAGE, _SELECTION = "first_stage:independent_columns", "selection:independent_columns"


def growth(extent: Extent) -> Iterator[Case]:
    """Sizes of a series grow, and the first that is over a limit is the last that is tried."""
    yield from _series("first stage by rows, p = 20", _FIRST_STAGE, "n", extent.pick(ROWS[:3], ROWS), p=20)
    knockoffs = "Gaussian knockoffs by rows, p = 50"
    yield from _series(knockoffs, "samplers:draw", "n", extent.pick(ROWS[:3], ROWS), p=50, kind="gaussian")
    yield from _series(
        "S by mvr by columns", "solvers:solver", "p", extent.pick(COLUMNS[:3], COLUMNS[:-1]), method="mvr"
    )
    table = extent.pick({"n": 300, "p": 20}, {"n": 2000, "p": 100})
    copies = extent.pick((1, 3), (1, 3, 5))
    yield from _series(f"default selection by copies, {_table(table)}", _SELECTION, "copies", copies, **table)
    if extent.quick:
        return
    draws = f"default selection by draws, {_table(table)}"
    yield from _series(draws, _SELECTION, "n_draws", (1, 10), copies=1, **table)
    yield from _series("copula knockoffs by rows, p = 50", "samplers:draw", "n", ROWS, p=50, kind="copula")
    yield from _series("default selection by rows, p = 30", _SELECTION, "n", ROWS, p=30)
    yield from _series("first stage by columns, n = 1,000", _FIRST_STAGE, "p", COLUMNS, n=1000)
    yield from _series("default selection by columns, n = 1,000", _SELECTION, "p", COLUMNS, n=1000)


def _series(subject: str, code: str, axis: str, sizes: Sequence[int], **words: Any) -> Iterator[Case]:
    for size in sizes:
        yield Case("growth", subject, OURS, code, {**words, axis: size}, size=size)


def _table(table: dict[str, int]) -> str:
    return f"n = {table['n']:,}, p = {table['p']:,}"


PARTS: dict[str, Callable[[Extent], Iterator[Case]]] = {
    "start": start,
    "engine": engine,
    "first": first,
    "solvers": solvers,
    "lasso": lasso,
    "select": select,
    "growth": growth,
}
TITLES = {
    "start": "A new process",
    "engine": "Training, in time for one step of one network",
    "first": "First stage",
    "solvers": "S matrices",
    "lasso": "Lasso",
    "select": "From table to selection",
    "growth": "Growth of time and memory",
}


def parts_named(text: str | None) -> list[str]:
    """The parts of a comma-separated list; all where none is given."""
    if text is None:
        return list(PARTS)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [text]:
        if name not in PARTS:
            hint = did_you_mean(name, PARTS)
            raise Grip2Error(f"grip2 bench: --only must name parts of {', '.join(PARTS)}, got {name!r}.{hint}")
    return [name for name in PARTS if name in names]


def cases(parts: Sequence[str], extent: Extent) -> list[Case]:
    return [case for part in parts for case in PARTS[part](extent)]
