"""From prepared tables to trained networks: one after the other, or small ones as one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from grip2.engine.target import Target
from grip2.engine.train import Feed, train, train_batch
from grip2.engine.training import TrainingConfig, TrainingRun
from grip2.facts import CalibrationFacts, TrainingFacts
from grip2.progress import Progress, begin, split_progress
from grip2.result import Importance
from grip2.statistics.augmented import distinct
from grip2.statistics.held_out import NetworkProblem
from grip2.symmetry import Members
from grip2.units import Layout


@dataclass(frozen=True)
class Prepared:
    """Everything that a training run needs except random numbers, and a record of how it was chosen."""

    problem: NetworkProblem
    config: TrainingConfig
    calibration: CalibrationFacts

    def without_training(self) -> Importance | None:
        """The final importances, if a network would add nothing to them; None: train it."""
        return None

    def feed(self, rng: np.random.Generator) -> Feed | None:
        """A source of rows, for a table that is read block by block; None: the network is trained on the problem's rows."""
        return None


class Work(NamedTuple):
    """Training steps of one table, for the progress bar."""

    preparing: int
    training: int


Ready = TypeVar("Ready", bound=Prepared)


def score_tables(
    draws: Sequence[Members],
    rngs: Sequence[np.random.Generator],
    *,
    prepare: Callable[[np.ndarray, Layout, np.random.Generator, Progress | None], Ready],
    read: Callable[[TrainingRun, Ready], Importance],
    work: Work,
    together: bool,
    progress: Progress | None,
) -> list[Importance]:
    """``prepare`` the table of every distinct draw, train one network per generator, ``read`` importances off the runs.

    The runs of an ensemble, which share one table, share what is chosen for it. Every other table is prepared by itself,
    because a choice made on one knockoff draw does not treat the members of another draw alike. ``together``: the final
    networks are trained as one batch; their configurations may differ in the range of lambda only. Networks that would add
    nothing are not trained.
    """
    tables = distinct(draws)
    streams = [rng.spawn(2) for rng in rngs]
    stages = split_progress(progress, *[work.preparing] * len(tables), *[work.training] * len(draws))
    ready = [
        prepare(members.standardised(np.float32), members.layout, stream[0], stage)
        for members, stream, stage in zip(tables, streams, stages, strict=False)
    ]
    for_training = [stream[1] for stream in streams]
    of_draw = ready * len(draws) if len(tables) == 1 else ready
    found = [one.without_training() for one in of_draw]
    to_train = [k for k, importance in enumerate(found) if importance is None]
    if to_train:
        begin(progress, "training the network")
    if together and len(to_train) > 1:
        for_batch = split_progress(progress, work.preparing * len(tables), work.training * len(draws))[1]
        problems = ready if len(tables) == 1 else [ready[k] for k in to_train]
        runs = _train_together(problems, [of_draw[k] for k in to_train], [for_training[k] for k in to_train], for_batch)
    else:
        runs = [_train_alone(of_draw[k], for_training[k], stages[len(tables) + k]) for k in to_train]
    for k, run in zip(to_train, runs, strict=True):
        found[k] = read(run, of_draw[k])
    if progress is not None and len(to_train) < len(draws):
        progress(1, 1)  # networks that were not trained have reported nothing
    return [importance for importance in found if importance is not None]


def _train_alone(ready: Prepared, rng: np.random.Generator, progress: Progress | None) -> TrainingRun:
    problem = ready.problem
    return train(
        problem.x,
        problem.target,
        config=ready.config,
        rng=rng,
        groups=problem.groups,
        feed=ready.feed(rng),
        progress=progress,
    )


def _train_together(
    ready: Sequence[Prepared],
    of_draw: Sequence[Prepared],
    rngs: Sequence[np.random.Generator],
    progress: Progress | None,
) -> list[TrainingRun]:
    """``ready``: one for each table, or the one that all draws share; ``of_draw``: one for each draw."""
    shared = len(ready) == 1
    first = ready[0].problem
    return train_batch(
        first.x if shared else np.stack([one.problem.x for one in ready]),
        first.target if shared else Target.stacked([one.problem.target for one in ready]),
        config=ready[0].config,
        groups=first.groups,
        schedules=[one.config.schedule for one in of_draw],
        rngs=rngs,
        progress=progress,
    )


def training_facts(config: TrainingConfig, run: TrainingRun) -> TrainingFacts:
    """The configuration of a run as a record for people."""
    schedule = config.schedule
    return TrainingFacts(
        schedule=schedule.kind,
        lambda_min=schedule.lambda_min,
        lambda_max=schedule.lambda_max,
        approach_from=schedule.approach_from if schedule.draws_lambda else None,
        a_min=schedule.a_min,
        a_max=schedule.a_max,
        block_size=schedule.block_size,
        steps=config.steps,
        warmup=schedule.warmup,
        hidden=config.hidden,
        depth=config.depth,
        batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        deep_l2=config.deep_l2,
        clip_norm=config.clip_norm,
        epsilon=config.epsilon,
        stop_reason=run.stop_reason,
    )
