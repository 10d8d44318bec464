"""`grip2 bench`: speed as ratios measured in one run, against bare matrix products and against scikit-learn."""

from __future__ import annotations

import itertools
import resource
import time
import warnings

import numpy as np
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV

from grip2.commands.console import output
from grip2.datasets import make_ar1
from grip2.engine.schedule import Schedule
from grip2.engine.train import train, train_batch
from grip2.engine.training import TrainingConfig
from grip2.knockoffs import GaussianKnockoffs
from grip2.responses import Measurement
from grip2.statistics.augmented import augmented_columns
from grip2.statistics.lasso_cv import draw_folds, lasso_cv


def products(n_inputs: int, hidden: int, depth: int, batch: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The matrix products of one step: forward, weight gradients, and gradients passed down."""
    rng = np.random.default_rng(0)

    def matrix(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    sizes = [n_inputs, *([hidden] * depth), 1]
    pairs = []
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
        x, weight, delta = matrix(batch, fan_in), matrix(fan_in, fan_out), matrix(batch, fan_out)
        pairs += [(x, weight), (x.T, delta)]
        if layer > 0:
            pairs.append((delta, weight.T))
    return pairs


def seconds_of_products(pairs: list[tuple[np.ndarray, np.ndarray]], steps: int) -> float:
    for left, right in pairs:
        left @ right
    began = time.perf_counter()
    for _ in range(steps):
        for left, right in pairs:
            left @ right
    return (time.perf_counter() - began) / steps


def synthetic(steps: int) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal((20_000, 1000), dtype=np.float32), Measurement(rng.standard_normal(20_000)).target()
    config = TrainingConfig(schedule=Schedule(), hidden=512, depth=3, batch_size=256, steps=steps)
    train(x, target, config=config, rng=np.random.default_rng(0))  # compiles
    pairs = products(1000, 512, 3, 256)
    # The machine may be shared: products are timed before and after, and the mean taken.
    before = seconds_of_products(pairs, 100)
    began = time.perf_counter()
    train(x, target, config=config, rng=np.random.default_rng(0))
    engine = (time.perf_counter() - began) / steps
    return engine, (before + seconds_of_products(pairs, 100)) / 2


def hiv(members: int) -> float:
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal((800, 400)), Measurement(rng.standard_normal(800)).target()
    config = TrainingConfig(
        schedule=Schedule(block_size=50), hidden=1, depth=1, batch_size=None, steps=5000, deep_l2=1e-2
    )

    def run() -> None:
        if members == 1:
            train(x, target, config=config, rng=np.random.default_rng(0))
        else:
            rngs = np.random.default_rng(0).spawn(members)
            train_batch(x, target, config=config, rngs=rngs)

    run()
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) / 5000 / members


def lasso() -> tuple[float, float, bool]:
    """Seconds of our cross-validated lasso and of scikit-learn's on the same folds and grid, and whether they agree."""
    made = make_ar1(random_state=0)
    Xk = (
        GaussianKnockoffs(np.zeros(500), made.covariance, s="equi")
        .fit(made.X)
        .sample(made.X, rng=np.random.default_rng(0))
    )
    Z, y = augmented_columns(made.X, Xk), Measurement.encode(made.y, "bench").y
    folds = draw_folds(len(y), 5, np.random.default_rng(0))
    splits = [(np.setdiff1d(np.arange(len(y)), rows), rows) for rows in folds]
    began = time.perf_counter()
    ours = lasso_cv(Z, y, folds=folds)
    middle = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # theirs, far below the penalty that is chosen
        theirs = LassoCV(cv=splits).fit(Z, y)
    return middle - began, time.perf_counter() - middle, bool(np.isclose(ours.lambda_, theirs.alpha_, rtol=1e-9))


def run(*, full: bool) -> None:
    table = Table(title="milliseconds per step, and bare matrix products of the same shapes", title_justify="left")
    table.add_column("network")
    for heading in ("engine", "products", "ratio"):
        table.add_column(heading, justify="right")

    def add(label: str, engine: float, bare: float) -> None:
        table.add_row(label, f"{engine * 1e3:.3f}", f"{bare * 1e3:.3f}", f"{engine / bare:.2f}")

    add("synthetic 1000-512-512-512-1, batch 256", *synthetic(5000 if full else 500))
    bare = seconds_of_products(products(400, 1, 1, 800), 500)
    for members in (1, 50):
        add(f"HIV 400-1-1, all 800 rows, {members} run{'s' * (members > 1)} at once", hiv(members), bare)
    output.print(table)
    ours, theirs, same = lasso()
    output.print(
        f"cross-validated lasso, n = 20,000, 1,000 columns: {ours:.1f} s, scikit-learn's LassoCV {theirs:.1f} s, "
        f"ratio {ours / theirs:.2f}, {'the same' if same else 'ANOTHER'} lambda",
        markup=False,
    )
    output.print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB", markup=False)
