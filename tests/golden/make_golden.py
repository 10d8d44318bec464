"""Golden numbers: W of the default selector, of the paper's presets and of every registered statistic on small tables.

    python tests/golden/make_golden.py            rewrites tests/golden/W.json and prints what moved
    python tests/golden/make_golden.py --check    prints what would move, and fails if anything does

A change of the code that moves a number belongs under "Changed numbers" in CHANGELOG.md, with its reason.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grip2 import KnockoffSelector
from grip2.statistics import GRIP2, LassoCurves, Staged
from grip2.statistics.registry import STATISTICS
from grip2.units import Units

FILE = Path(__file__).with_name("W.json")

# Small and short, so that all of it takes a minute. Applied to whichever of these settings a statistic or its network has.
SHORT = {"steps": 200, "epochs": 2, "hidden": 16, "depth": 1, "batch_size": 64, "n_trees": 20, "sweeps": 200}


def continuous(seed: int = 0, n: int = 300, p: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Correlated normal columns; a line, a V and a product."""
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((n, p))
    X[:, 1:] = 0.5 * X[:, :-1] + X[:, 1:]
    y = X[:, 0] + 1.5 * np.abs(X[:, 3]) + X[:, 6] * X[:, 9] + rng.standard_normal(n)
    return X, y


def two_classes(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = continuous(seed)
    return X, np.where(y > np.median(y), "high", "low")


def zero_one(seed: int = 0, n: int = 300, p: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """0/1 columns, as in the HIV data."""
    rng = np.random.default_rng([seed, 2])
    X = (rng.random((n, p)) < rng.uniform(0.1, 0.5, p)).astype(float)
    return X, X[:, :4] @ [2.0, -1.5, 1.0, 1.0] + rng.standard_normal(n)


TABLES = {"continuous": continuous, "two classes": two_classes, "zero-one": zero_one}
PAPER = ("synthetic", "semireal", "hiv")


def short(statistic, **settings):
    """The statistic with the short settings it has, then others."""
    for holder in (statistic, getattr(statistic, "network", None)):
        if holder is not None:
            known = holder.get_params(deep=False)
            holder.set_params(**{k: v for k, v in {**SHORT, **settings}.items() if k in known})
    return statistic


def _selected(table: str) -> np.ndarray:
    return KnockoffSelector(copies=1, random_state=4).fit(*TABLES[table]()).W_


def _selected_by_default() -> np.ndarray:
    return KnockoffSelector(random_state=4).fit(*continuous()).W_


def _scored_units(statistic) -> np.ndarray:
    """Three copies, units of one, two and three columns."""
    X, y = continuous(5)
    copies = np.stack([continuous(seed)[0] for seed in (6, 7, 8)])
    units = Units.from_labels([0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 5])
    return statistic.importance(X, copies, y, rng=np.random.default_rng(4), units=units).W


def _scored(statistic, task: str = "regression") -> np.ndarray:
    X, y = continuous(5)
    Xk = continuous(6)[0]
    labels = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])) if task == "classification" else y
    return statistic.importance(X, Xk, labels, rng=np.random.default_rng(4), task=task).W


def cases() -> dict[str, Callable[[], np.ndarray]]:
    """Every golden vector by name."""
    found: dict[str, Callable[[], np.ndarray]] = {}
    for table in TABLES:
        found[f"KnockoffSelector(copies=1), {table}"] = lambda table=table: _selected(table)
    found["KnockoffSelector(), continuous"] = _selected_by_default
    for name in ("lcd", "glcd", "effects", "grip2", "staged"):
        found[f"{name}, 3 copies of units"] = lambda name=name: _scored_units(short(STATISTICS.create(name)))
    for setting in PAPER:
        few = {"steps": 100, "hidden": 16 if setting != "hiv" else 1}
        found[f"GRIP2.paper({setting!r})"] = lambda s=setting, f=few: _scored(GRIP2.paper(s).set_params(**f))
    for name in STATISTICS.names():
        if name == "random":
            continue
        for task in ("regression", "classification"):
            found[f"{name}, {task}"] = lambda name=name, task=task: _scored(short(STATISTICS.create(name)), task)
    variants = {
        "grip2, pilot blocks": GRIP2(block_size="pilot"),
        "grip2, gradient ratio": GRIP2(omega="gradient_ratio"),
        "staged, a range given": Staged(network=GRIP2(omega=(1e-2, 1e-1))),
        "staged, lassos first": Staged(LassoCurves()),
        "staged, residual": Staged(target="residual"),
        "staged, response": Staged(target="response"),
    }
    for name, statistic in variants.items():
        found[name] = lambda statistic=statistic: _scored(short(statistic))
    return found


def largest_change(old: list[float], new: np.ndarray) -> float:
    """Largest change of any W, as a share of the largest |W|; infinite where the length differs."""
    if len(old) != len(new):
        return float("inf")
    scale = max(float(np.abs(old).max()), float(np.abs(new).max()), 1e-300)
    return float(np.abs(np.asarray(old) - new).max()) / scale


def main(check: bool) -> int:
    before = json.loads(FILE.read_text()) if FILE.exists() else {}
    after = {name: [float(value) for value in make()] for name, make in cases().items()}
    moved = 0
    for name in sorted({*before, *after}):
        change = "new" if name not in before else "gone" if name not in after else None
        if change is None:
            size = largest_change(before[name], np.array(after[name]))
            change = f"{size:.1e} of the largest |W|" if size > 1e-9 else None
        if change is not None:
            moved += 1
            print(f"{name}: {change}")
    if not check:
        FILE.write_text(json.dumps(after, indent=1) + "\n")
    print(f"{moved} of {len(after)} moved")
    return int(check and moved > 0)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
