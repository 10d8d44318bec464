"""What MALD and DeepSHAP share: a network trained without any penalty, and a score read off it afterwards.

The networks trained last are kept: the same table, response, settings and generator give the same network, so that two
statistics computed one after the other train once.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from grip2.engine.schedule import Schedule
from grip2.engine.target import Target
from grip2.engine.train import train, train_batch
from grip2.engine.training import TrainingConfig, TrainingRun
from grip2.errors import Grip2Error
from grip2.facts import Facts
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.augmented import distinct
from grip2.statistics.base import BatchedStatistic, check_whole
from grip2.statistics.network_runs import training_facts
from grip2.statistics.network_size import draws_of_a_network, with_automatic_sizes
from grip2.statistics.paper_settings import SHARED_BUDGET
from grip2.symmetry import Members
from grip2.units import Layout


class NetworkAttribution(BatchedStatistic):
    """Base of post-hoc attribution statistics; a subclass implements ``_score`` and has these parameters."""

    paper_tunes: ClassVar[tuple[str, ...]] = SHARED_BUDGET

    steps: Any
    hidden: Any
    depth: Any
    batch_size: Any
    learning_rate: float
    clip_norm: float | None
    rows: int | None

    @abstractmethod
    def _score(self, run: TrainingRun, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Importance of every column of ``Z`` in the trained network."""

    def _check_settings(self) -> None:
        """Refuse bad settings; called before anything is trained."""
        check_whole(self, "steps", "hidden", "depth", of_network=True)
        check_whole(self, "batch_size", of_network=True, or_none=True)
        check_whole(self, "rows", or_none=True)
        self._config()

    def _importances(
        self,
        draws: Sequence[Members],
        response: Response,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress | None,
    ) -> list[Importance]:
        self._check_settings()
        if len(draws) > 1 and self.draws_together(draws[0].n_rows, draws[0].layout) == 1:
            return super()._importances(draws, response, rngs=rngs, progress=progress)
        target = response.target()
        streams = [rng.spawn(2) for rng in rngs]
        for_training, for_score = [pair[0] for pair in streams], [pair[1] for pair in streams]
        tables = [members.standardised(np.float32) for members in distinct(draws)]
        runs = _trained(tables, target, self._config(), for_training, progress)
        return [
            self._to_importance(run, tables[k % len(tables)], draws[k].layout, rng)
            for k, (run, rng) in enumerate(zip(runs, for_score, strict=True))
        ]

    def _to_importance(self, run: TrainingRun, Z: np.ndarray, layout: Layout, rng: np.random.Generator) -> Importance:
        score = self._score(run, Z, rng)
        facts = Facts(training=training_facts(self._config(), run))
        return Importance(layout.sums(score), facts, loss_curve=run.loss_curve.copy())

    def _config(self) -> TrainingConfig:
        # lambda = gamma = 0 (appendix D.4).
        schedule = Schedule(kind="fixed", lambda_min=0.0, lambda_max=0.0, block_size=self.steps)
        return TrainingConfig(
            schedule=schedule,
            hidden=self.hidden,
            depth=self.depth,
            steps=self.steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            deep_l2=0.0,
            clip_norm=self.clip_norm,
        )

    def fit_identity(self) -> str | None:
        names = ("steps", "hidden", "depth", "batch_size", "learning_rate", "clip_norm")
        return "unpenalised network, " + ", ".join(f"{name} {getattr(self, name)}" for name in names)

    def sized(self, n_rows: int) -> Self:
        return with_automatic_sizes(self, n_rows)

    def draws_together(self, n_rows: int, layout: Layout) -> int:
        sized = self.sized(n_rows)
        sized._check_settings()
        return draws_of_a_network(sized, n_rows, layout)


_KEPT = 8  # calls whose networks are kept
_KEPT_BYTES = 32e6  # of weights in one call; larger ones are not kept
_trained_last: dict[str, list[TrainingRun]] = {}  # by `_key`, oldest first


def _trained(
    tables: Sequence[np.ndarray],
    target: Target,
    config: TrainingConfig,
    rngs: Sequence[np.random.Generator],
    progress: Progress | None,
) -> list[TrainingRun]:
    """One network per generator, on its own table or on the one they share."""
    key = _key(tables, target, config, rngs)
    if key in _trained_last:
        if progress is not None:
            progress(config.steps, config.steps)
        return _trained_last[key]
    if len(rngs) == 1:
        runs = [train(tables[0], target, config=config, rng=rngs[0], progress=progress)]
    else:
        shared = len(tables) == 1
        runs = train_batch(
            tables[0] if shared else np.stack(tables),
            target if shared else Target.stacked([target] * len(tables)),
            config=config,
            rngs=rngs,
            progress=progress,
        )
    small = sum(layer.weight.nbytes for run in runs for layer in run.parameters) <= _KEPT_BYTES
    if small and all(len(run.loss_curve) == config.steps for run in runs):  # not stopped by the caller
        while len(_trained_last) >= _KEPT:
            del _trained_last[next(iter(_trained_last))]
        _trained_last[key] = runs
    return runs


def _key(
    tables: Sequence[np.ndarray],
    target: Target,
    config: TrainingConfig,
    rngs: Sequence[np.random.Generator],
) -> str:
    """A digest of everything that determines the networks; of generators also the seed sequence, from which streams spawn."""
    digest = hashlib.blake2b(repr((target.loss.__qualname__, config)).encode())
    for array in (*tables, target.y):
        digest.update(repr((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array).data)
    for rng in rngs:
        digest.update(repr((rng.bit_generator.state, rng.bit_generator.seed_seq)).encode())
    return digest.hexdigest()


def some_rows(Z: np.ndarray, count: int | None, rng: np.random.Generator) -> np.ndarray:
    """``count`` rows drawn without replacement, or all of them."""
    if count is not None and count < 1:
        raise Grip2Error(f"the number of rows to look at must be at least 1 or None, got {count}.")
    return Z if count is None or count >= len(Z) else Z[np.sort(rng.permutation(len(Z))[:count])]
