"""Training speed against the plain matrix products it consists of, measured in one run.

    python benchmarks/bench_training.py [--full]

Prints, for the paper's synthetic and HIV networks, milliseconds per step of the engine and of bare NumPy matrix products of
the same shapes, and their ratio. ``--full`` times all 5,000 steps of the synthetic run as `GRIP2.paper` makes them.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time

import numpy as np

from grip2.network.schedule import Schedule
from grip2.network.train import TrainingConfig, train, train_batch


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
    x, y = rng.standard_normal((20_000, 1000), dtype=np.float32), rng.standard_normal(20_000)
    config = TrainingConfig(schedule=Schedule(), hidden=512, depth=3, batch_size=256, steps=steps)
    train(x, y, task="regression", config=config, rng=np.random.default_rng(0))  # compiles
    pairs = products(1000, 512, 3, 256)
    # The machine may be shared: products are timed before and after, and the mean taken.
    before = seconds_of_products(pairs, 100)
    began = time.perf_counter()
    train(x, y, task="regression", config=config, rng=np.random.default_rng(0))
    engine = (time.perf_counter() - began) / steps
    return engine, (before + seconds_of_products(pairs, 100)) / 2


def hiv(members: int) -> float:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((800, 400)), rng.standard_normal(800)
    config = TrainingConfig(
        schedule=Schedule(block_size=50), hidden=1, depth=1, batch_size=None, steps=5000, deep_l2=1e-2
    )

    def run() -> None:
        if members == 1:
            train(x, y, task="regression", config=config, rng=np.random.default_rng(0))
        else:
            rngs = np.random.default_rng(0).spawn(members)
            train_batch(x, y, task="regression", config=config, rngs=rngs)

    run()
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) / 5000 / members


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all 5,000 steps of the synthetic run")
    arguments = parser.parse_args()
    engine, bare = synthetic(5000 if arguments.full else 500)
    print("network                          engine ms/step   products ms/step   ratio")
    print(f"synthetic 1000-512-512-512-1     {engine * 1e3:14.2f}   {bare * 1e3:16.2f}   {engine / bare:5.2f}")
    bare = seconds_of_products(products(400, 1, 1, 800), 500)
    for members in (1, 50):
        each = hiv(members)
        print(
            f"HIV 400-1-1, batch of {members:2d} runs      {each * 1e3:14.3f}   {bare * 1e3:16.3f}   {each / bare:5.2f}"
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
