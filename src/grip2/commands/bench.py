"""`grip2 bench`: speed as ratios measured in one run, against bare matrix products and against scikit-learn."""

from __future__ import annotations

import itertools
import resource
import time
import warnings
from dataclasses import dataclass

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
from grip2.statistics.lasso_cv import draw_folds, lasso_cv
from grip2.symmetry import Members
from grip2.units import Units


@dataclass(frozen=True)
class Sizes:
    """What is measured: networks of the paper's synthetic and HIV experiments, and the lasso on the synthetic table."""

    rows: int = 20_000  # of the synthetic table
    features: int = 500  # the network sees twice as many columns: features and their knockoffs
    hidden: int = 512
    batch: int = 256
    steps: int = 500  # the paper's run has 5,000
    hiv_rows: int = 800
    hiv_columns: int = 400
    hiv_steps: int = 5000
    repetitions: int = 500  # of the bare matrix products


def products(n_inputs: int, hidden: int, depth: int, batch: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The matrix products of one step: forward, weight gradients, and gradients passed to the layer below."""
    rng = np.random.default_rng(0)

    def matrix(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    widths = [n_inputs, *([hidden] * depth), 1]
    pairs = []
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        x, weight, delta = matrix(batch, fan_in), matrix(fan_in, fan_out), matrix(batch, fan_out)
        pairs += [(x, weight), (x.T, delta)]
        if layer > 0:
            pairs.append((delta, weight.T))
    return pairs


def seconds_of_products(pairs: list[tuple[np.ndarray, np.ndarray]], repetitions: int) -> float:
    """Seconds that all products of one step take, on average."""
    for left, right in pairs:
        left @ right
    began = time.perf_counter()
    for _ in range(repetitions):
        for left, right in pairs:
            left @ right
    return (time.perf_counter() - began) / repetitions


def synthetic(sizes: Sizes) -> tuple[float, float]:
    """Seconds of one training step of the paper's synthetic network, and of its matrix products."""
    rng = np.random.default_rng(0)
    n_inputs = 2 * sizes.features
    x = rng.standard_normal((sizes.rows, n_inputs), dtype=np.float32)
    target = Measurement(rng.standard_normal(sizes.rows)).target()
    config = TrainingConfig(
        schedule=Schedule(), hidden=sizes.hidden, depth=3, batch_size=sizes.batch, steps=sizes.steps
    )
    train(x, target, config=config, rng=np.random.default_rng(0))  # compiles
    pairs = products(n_inputs, sizes.hidden, 3, sizes.batch)
    repetitions = max(1, sizes.repetitions // 5)
    # The machine may be shared: products are timed before and after, and the mean taken.
    before = seconds_of_products(pairs, repetitions)
    began = time.perf_counter()
    train(x, target, config=config, rng=np.random.default_rng(0))
    engine = (time.perf_counter() - began) / sizes.steps
    return engine, (before + seconds_of_products(pairs, repetitions)) / 2


def hiv(sizes: Sizes, members: int) -> float:
    """Seconds of one training step of the paper's HIV network, for each of ``members`` networks trained at once."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((sizes.hiv_rows, sizes.hiv_columns))
    target = Measurement(rng.standard_normal(sizes.hiv_rows)).target()
    config = TrainingConfig(
        schedule=Schedule(block_size=50),
        hidden=1,
        depth=1,
        batch_size=None,
        steps=sizes.hiv_steps,
        deep_l2=1e-2,
    )

    def train_once() -> None:
        if members == 1:
            train(x, target, config=config, rng=np.random.default_rng(0))
        else:
            rngs = np.random.default_rng(0).spawn(members)
            train_batch(x, target, config=config, rngs=rngs)

    train_once()  # compiles
    began = time.perf_counter()
    train_once()
    return (time.perf_counter() - began) / sizes.hiv_steps / members


@dataclass(frozen=True)
class LassoTimes:
    """Our cross-validated lasso and scikit-learn's, on the same folds and the same grid."""

    ours: float  # seconds
    theirs: float  # seconds
    same_lambda: bool


def lasso(sizes: Sizes) -> LassoTimes:
    made = make_ar1(sizes.rows, sizes.features, random_state=0)
    sampler = GaussianKnockoffs(np.zeros(sizes.features), made.covariance, s="equi").fit(made.X)
    Xk = sampler.sample(made.X, rng=np.random.default_rng(0))
    Z = Members((made.X, Xk), Units.single(sizes.features)).standardised()
    y = Measurement.encode(made.y, "bench").y
    folds = draw_folds(len(y), 5, np.random.default_rng(0))
    splits = [(np.setdiff1d(np.arange(len(y)), held_out), held_out) for held_out in folds]
    began = time.perf_counter()
    ours = lasso_cv(Z, y, folds=folds)
    middle = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # theirs, far below the penalty that is chosen
        theirs = LassoCV(cv=splits).fit(Z, y)
    return LassoTimes(
        middle - began, time.perf_counter() - middle, bool(np.isclose(ours.lambda_, theirs.alpha_, rtol=1e-9))
    )


def run(sizes: Sizes) -> None:
    table = Table(title="milliseconds per step, and bare matrix products of the same shapes", title_justify="left")
    table.add_column("network")
    for heading in ("engine", "products", "ratio"):
        table.add_column(heading, justify="right")

    def add(label: str, engine: float, bare: float) -> None:
        table.add_row(label, f"{engine * 1e3:.3f}", f"{bare * 1e3:.3f}", f"{engine / bare:.2f}")

    widths = "-".join(str(width) for width in (2 * sizes.features, *[sizes.hidden] * 3, 1))
    add(f"synthetic {widths}, batch {sizes.batch}", *synthetic(sizes))
    bare = seconds_of_products(products(sizes.hiv_columns, 1, 1, sizes.hiv_rows), sizes.repetitions)
    for members in (1, 50):
        label = f"HIV {sizes.hiv_columns}-1-1, all {sizes.hiv_rows} rows, {members} run{'s' * (members > 1)} at once"
        add(label, hiv(sizes, members), bare)
    output.print(table)
    times = lasso(sizes)
    output.print(
        f"cross-validated lasso, n = {sizes.rows:,}, {2 * sizes.features:,} columns: {times.ours:.1f} s, scikit-learn's "
        f"LassoCV {times.theirs:.1f} s, ratio {times.ours / times.theirs:.2f}, "
        f"{'the same' if times.same_lambda else 'ANOTHER'} lambda",
        markup=False,
    )
    output.print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB", markup=False)
