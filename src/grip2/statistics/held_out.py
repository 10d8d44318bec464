"""Held-out prediction of a network along a schedule: the criterion of every choice that is made from the data.

Held-out loss treats all columns alike, and so all members of every unit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from grip2.engine.input_groups import InputGroups
from grip2.engine.step import halves
from grip2.engine.target import Target
from grip2.engine.train import HeldOut, train
from grip2.engine.training import TrainingConfig
from grip2.progress import Progress
from grip2.responses import Response, share_explained
from grip2.units import Layout

HELD_OUT_SHARE = 0.2
REHEARSAL_STEPS = 1500  # at most, of a rehearsal
WINDOW = 3  # neighbouring blocks whose losses are averaged, against noise
# A network uses none of its inputs if all group norms of weights, which begin near a third, are below this.
NOTHING_ACTS = 0.0025


class NetworkProblem(NamedTuple):
    """One table and what a network is to learn from it."""

    x: np.ndarray  # (rows, members p)
    layout: Layout
    response: Response  # y, or the residual of an earlier stage
    logits: np.ndarray | None = None  # (rows, outputs) of an earlier stage, to which the network adds

    @property
    def target(self) -> Target:
        return self.response.target(self.logits)

    @property
    def groups(self) -> InputGroups | None:
        """Columns that are penalised together: those of one member of one unit."""
        return InputGroups.numbered(self.layout.groups)


class HeldOutPath(NamedTuple):
    """Loss on rows that took no part in training, along a run."""

    lambda_: np.ndarray  # (blocks,)
    loss: np.ndarray  # (blocks,) over all held-out rows
    judged_loss: float  # each half of the held-out rows judged at the block that the other half chose
    null_loss: float  # of the given logits alone, or of the best constant

    @property
    def best_lambda(self) -> float:
        """The strength that predicts best."""
        return float(self.lambda_[int(np.argmin(self.loss))])

    @property
    def share(self) -> float:
        """Share of the variance or deviance that the network explains on rows that did not choose its lambda."""
        return share_explained(self.judged_loss, self.null_loss)


def split_rows(
    n_rows: int, rng: np.random.Generator, held_out: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to train on and of those held out: the given ones, or a random fifth."""
    if held_out is not None:
        return np.setdiff1d(np.arange(n_rows), held_out), held_out
    order = rng.permutation(n_rows)
    n_held_out = max(1, round(HELD_OUT_SHARE * n_rows))
    return order[n_held_out:], order[:n_held_out]


def held_out_path(
    problem: NetworkProblem,
    *,
    config: TrainingConfig,
    rng: np.random.Generator,
    held_out: np.ndarray | None = None,
    progress: Progress | None = None,
) -> HeldOutPath:
    """Follow a schedule, at most 1,500 steps of it, with some rows set aside: those numbered, or a random fifth."""
    kept, held_out = split_rows(len(problem.x), rng, held_out)
    steps = min(REHEARSAL_STEPS, max(config.steps, 3 * config.schedule.block_size))
    target = problem.target
    ascends = config.schedule.draws_lambda and config.schedule.approach_from is not None
    run = train(
        problem.x[kept],
        target.take(kept),
        config=replace(config, steps=max(steps, config.schedule.block_size)),
        rng=rng,
        groups=problem.groups,
        held_out=HeldOut(problem.x[held_out], target.take(held_out)),
        until=_forgotten if ascends else None,
        progress=progress,
    )
    assert run.held_out_loss is not None
    sizes = np.array([part.stop - part.start for part in halves(len(held_out))], dtype=float)
    window = min(WINDOW, len(run.held_out_loss))
    smooth = np.stack([np.convolve(half, np.ones(window) / window, mode="valid") for half in run.held_out_loss.T])
    chosen = np.argmin(smooth, axis=1)
    judged = np.array([smooth[0, chosen[1]], smooth[1, chosen[0]]])
    return HeldOutPath(
        lambda_=run.snapshot_lambda[window // 2 : window // 2 + smooth.shape[1]],
        loss=sizes @ smooth / sizes.sum(),
        judged_loss=float(sizes @ judged / sizes.sum()),
        null_loss=_null_loss(problem, kept, held_out),
    )


def _forgotten(snapshots: np.ndarray) -> bool:
    """Has the network forgotten every input? Under an ascending lambda it will not learn again, and its loss stays."""
    return len(snapshots) >= WINDOW and bool(snapshots[-WINDOW:].max() < NOTHING_ACTS)


def _null_loss(problem: NetworkProblem, kept: np.ndarray, held_out: np.ndarray) -> float:
    """Held-out loss of the given logits alone or, without any, of the best constant of the other rows.

    That constant has a prior of one row for each class, so that a class that the other rows lack has a finite loss.
    """
    judged = problem.response.take(held_out)
    if problem.logits is not None:
        return judged.mean_loss(problem.logits[held_out])
    return judged.mean_loss(problem.response.take(kept).constant_outputs(prior_rows=1.0))
