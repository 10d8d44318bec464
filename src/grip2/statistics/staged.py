"""Staged: a model of single effects first, then the network (not in the paper); the default statistic.

An additive model needs few rows for main effects; a network can fit anything but needs many more. The network learns what the
first stage leaves or, where features with effects of their own also act together, the whole response: a network on the
residual would pay the penalty of every group anew for a small gain. In that case columns of the units that the first stage
found are scaled up, so that their groups cost less. Which of the two it is, and how much each stage counts, is decided by
prediction of held-out rows, which treats the members of a unit alike.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from grip2._random import stream
from grip2.engine.target import Target
from grip2.engine.train import Feed
from grip2.engine.training import TrainingRun
from grip2.errors import Grip2Error
from grip2.facts import Facts, StageFacts
from grip2.progress import Progress, begin, parallel_progress, split_progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.augmented import ONE_THREAD_BELOW, computed_beside
from grip2.statistics.base import BatchedStatistic
from grip2.statistics.effect_sums import WholeTable
from grip2.statistics.effects import EffectPosterior
from grip2.statistics.fed_rows import FedRows
from grip2.statistics.grip import GRIP2, GroupPersistence, scores_of, surface_of
from grip2.statistics.held_out import NetworkProblem, split_rows
from grip2.statistics.lambda_range import Rehearsal
from grip2.statistics.network_runs import Prepared, Work, score_tables, training_facts
from grip2.statistics.stage import Stage, StageFit, combined_importance, rehearse_stage
from grip2.symmetry import Members
from grip2.units import Layout

RESIDUAL, RESPONSE = "residual", "response"
TARGETS = (RESIDUAL, RESPONSE)

# If the first stage's held-out share is below this, the network is trained on the response: subtracting what the
# stage fitted would only add noise.
LEAST_SHARE = 0.01
# A network is not trained if it adds less than this part of the first stage's held-out share: importances would hardly change.
NEGLIGIBLE = 0.02
# Nor is it trained if it adds less than two standard errors. A share r on k held-out rows has a standard error of about
# 2 sqrt(r / k), so it must be above 16 / k. Networks that look useful by chance, on few rows, cost more power than they give
# (docs/calibration-study.md).
LEAST_ROWS_WORTH = 16.0
# A first stage that predicts nothing on k held-out rows counts as if it explained 1 / k: it may still rank features.
FIRST_ROWS_WORTH = 1.0

# Steps of the network that take about as long as the first stage, for the progress bar.
FIRST_STAGE_STEPS = 8_000
_KEPT_STEPS = 3_000  # those of its fit to the rows kept for a rehearsal

NETWORK_EXPLAINS = {
    RESIDUAL: "any signal in what is left, for example features that act together",
    RESPONSE: "any signal in the whole response, with the features found by the first stage favoured",
}


class Staged(BatchedStatistic):
    """A first stage for effects of single features and of pairs, then a network for everything else; importances are added.

    A network that adds nothing to the first stage's prediction of held-out rows, beyond chance, is not trained.

    Parameters
    ----------
    first : EffectPosterior or LassoCurves
        The model before the network; None means ``EffectPosterior()``.
    network : GRIP2, GRIP1, GRIP1a or GroupLasso
        None means ``GRIP2()``, with its automatic range of lambda.
    target : "auto", "residual" or "response"
        What the network is trained on. "residual": what the first stage leaves. "response": all of it, with the columns of
        the units found scaled up. "auto": whichever predicts held-out rows better.
    """

    _whole: WholeTable | None = None  # the table that is read block by block, if it is

    def __init__(
        self, first: Stage | None = None, network: GroupPersistence | None = None, *, target: str = "auto"
    ) -> None:
        # Stored as stages, so that settings inside them can be changed by name.
        self.first = EffectPosterior() if first is None else first
        self.network = GRIP2() if network is None else network
        self.target = target

    @property
    def streams(self) -> bool:
        """If its first stage does."""
        return self.first.streams

    def streamed(self, whole: WholeTable) -> Staged:
        """The first stage sees all rows; the network is rehearsed on those that are given, and trained on rows as they come."""
        self._check_settings()
        changed = copy.copy(self)
        changed.first = self.first.streamed(whole)
        changed._whole = whole
        return changed

    def sized(self, n_rows: int) -> Self:
        self._check_settings()
        sized = copy.copy(self)
        sized.network = self.network.sized(n_rows)
        return sized

    def draws_together(self, n_rows: int, layout: Layout) -> int:
        self._check_settings()
        return self.network.draws_together(n_rows, layout)

    @property
    def _choosing_steps(self) -> int:
        """Steps of the network that its rehearsals take, for the progress bar."""
        return self.network.range_steps(judged=True) * (2 if self.target == "auto" else 1)

    def _check_settings(self) -> None:
        if not isinstance(self.first, Stage):
            raise Grip2Error(
                f"Staged: first must be a stage such as EffectPosterior() or LassoCurves(), got {self.first!r}."
            )
        if not isinstance(self.network, GroupPersistence):
            raise Grip2Error(f"Staged: network must be GRIP2() or one of its ablations, got {self.network!r}.")
        if self.target not in ("auto", *TARGETS):
            raise Grip2Error(f"Staged: target must be one of auto, {', '.join(TARGETS)}, got {self.target!r}.")

    def _importances(
        self,
        draws: Sequence[Members],
        response: Response,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress | None,
    ) -> list[Importance]:
        network, choosing = self.network, self._choosing_steps

        def prepare(Z: np.ndarray, layout: Layout, rng: np.random.Generator, part: Progress | None) -> _PreparedStages:
            for_choice, for_block = split_progress(part, FIRST_STAGE_STEPS + choosing, network.blocks.pilot_steps)
            choice = _choose(self, Z, layout, response, rng, for_choice)
            ready = network.prepared(choice.learned.problem, choice.rehearsal, rng, for_block)
            in_units_of_y = choice.learned.scale**2
            calibration = replace(
                ready.calibration,
                held_out_loss=choice.rehearsal.judged_loss * in_units_of_y,
                null_loss=choice.rehearsal.judged_null_loss * in_units_of_y,
                target_losses=choice.losses,
            )
            return _PreparedStages(ready.problem, ready.config, calibration, self.first, choice, self._whole)

        def read(run: TrainingRun, prepared: _PreparedStages) -> Importance:
            return _staged_importance(run, prepared)

        work = Work(FIRST_STAGE_STEPS + choosing + network.blocks.pilot_steps, network.training_steps)
        together = network.trains_together(draws)
        return score_tables(draws, rngs, prepare=prepare, read=read, work=work, together=together, progress=progress)


class _Learned(NamedTuple):
    """What a network is to learn after a first stage."""

    problem: NetworkProblem
    scale: float  # deviation of its target, where that of y is 1
    factors: np.ndarray | None  # (units,) what their columns were multiplied by


@dataclass(frozen=True)
class _Choice:
    """What the network learns from one table, and what the stages explain."""

    stage: StageFit
    target: str  # one of TARGETS
    learned: _Learned
    rehearsal: Rehearsal
    losses: Mapping[str, float]  # held-out loss of each target that was considered
    n_held_out: int  # rows

    @property
    def first_share(self) -> float:
        """Share of the response that the first stage explains on held-out rows, with its lower bound."""
        return max(self.stage.held_out_share, FIRST_ROWS_WORTH / self.n_held_out)

    @property
    def network_share(self) -> float:
        """Share of the response that the network explains; that of the residual is less by what the first stage explains."""
        left = 1.0 - self.stage.held_out_share if self.target == RESIDUAL else 1.0
        return self.rehearsal.share * left

    @property
    def network_adds(self) -> bool:
        """Does the network explain more beyond the first stage than chance would, and more than next to nothing?

        If the first stage predicts nothing, any positive share is enough.
        """
        before = self.stage.held_out_share
        added = self.network_share if self.target == RESIDUAL else self.network_share - before
        least = max(NEGLIGIBLE * before, LEAST_ROWS_WORTH / self.n_held_out) if before > 0 else 0.0
        return added > least


@dataclass(frozen=True)
class _PreparedStages(Prepared):
    first: Stage
    choice: _Choice
    whole: WholeTable | None  # the table of which the rows of the problem are a sample, if they are

    def feed(self, rng: np.random.Generator) -> Feed | None:
        at_rows = self.choice.stage.at_rows
        if self.whole is None or at_rows is None:
            return None
        target, layout = self.choice.target, self.problem.layout

        def learned(Z: np.ndarray, response: Response) -> tuple[np.ndarray, Target]:
            problem = _learned(Z, layout, response, at_rows(Z, response), target).problem
            return problem.x, problem.target

        return FedRows(self.whole.shuffled_rows(stream(rng, "rows to train on")), learned)

    def without_training(self) -> Importance | None:
        """The importances of the first stage, where a rehearsed network adds nothing to it."""
        if self.choice.network_adds:
            return None
        total = combined_importance([(self.choice.stage.importance, self.choice.first_share)])
        return Importance(total, Facts(self.stage_facts(), None, self.calibration))

    def stage_facts(self) -> tuple[StageFacts, ...]:
        network = StageFacts(
            "network", NETWORK_EXPLAINS[self.choice.target], self.choice.target, self.choice.network_share
        )
        return (self.first.facts(self.choice.stage), network)


def _learned(Z: np.ndarray, layout: Layout, response: Response, stage: StageFit, target: str) -> _Learned:
    """What is left of the response, or all of it with the columns of the units found scaled up."""
    if target == RESIDUAL:
        return _Learned(NetworkProblem(Z, layout, stage.response, stage.logits), stage.scale, None)
    # From 1 to 2, the same for all members of a unit: a scaled-up column needs smaller weights for the same effect.
    factors = 1.0 + stage.unit_weights
    of_columns = layout.to_columns(factors).astype(Z.dtype)
    logits = None
    if stage.logits is not None:
        # The shares of classes are given as known logits, as they are for the residual: the network gets no credit for them.
        logits = np.tile(response.constant_outputs(), (len(response), 1))
    return _Learned(NetworkProblem(Z * of_columns, layout, response, logits), 1.0, factors)


def _choose(
    statistic: Staged,
    Z: np.ndarray,
    layout: Layout,
    response: Response,
    rng: np.random.Generator,
    progress: Progress | None,
) -> _Choice:
    """Fit the first stage to all rows; rehearsals of both stages with rows held out decide what the network learns.

    The fit and the rehearsals do not depend on each other. In small tables they are computed at the same time: each alone would
    leave a core idle for most of it.
    """
    network = statistic.network
    for_rehearsals = stream(rng, "rehearsals")
    kept, held_out = split_rows(len(Z), stream(rng, "held-out rows"))
    for_kept, for_all = stream(rng, "first stage, rows kept"), stream(rng, "first stage")
    at_once = statistic._whole is None and Z.size < ONE_THREAD_BELOW
    sizes = (_KEPT_STEPS, statistic._choosing_steps)
    if at_once:
        of_fit, of_rehearsals = parallel_progress(progress, 2)
        of_kept, of_network = split_progress(of_rehearsals, *sizes)
    else:
        of_kept, of_network, of_fit = split_progress(progress, *sizes, FIRST_STAGE_STEPS - _KEPT_STEPS)

    def fit_to_all() -> StageFit:
        fit = statistic.first.fit_stage(Z, layout, response, rng=for_all, progress=of_fit)
        if of_fit is not None:
            of_fit(1, 1)  # a stage need not call it
        return fit

    begin(progress, "fitting the first stage")
    with computed_beside(fit_to_all, at_once=at_once) as fitted:
        before = rehearse_stage(
            statistic.first, Z, layout, response, kept=np.sort(kept), held_out=held_out, rng=for_kept, progress=of_kept
        )
        begin(of_network, "rehearsing the network")
        candidates = [statistic.target]
        if statistic.target == "auto":
            candidates = [RESIDUAL, RESPONSE] if before.held_out_share > LEAST_SHARE else [RESPONSE]

        def rehearsed(candidate: str, part: Progress | None) -> tuple[Rehearsal, float]:
            learned = _learned(Z, layout, response, before, candidate)
            same = copy.deepcopy(for_rehearsals)  # the same starting weights and batches: less chance in the comparison
            found = network.rehearse(learned.problem, rng=same, held_out=held_out, judged=True, progress=part)
            return found, found.useful_loss * learned.scale**2

        # Each may hold a copy of the table: large ones run one after the other.
        with ThreadPoolExecutor(len(candidates) if Z.size < ONE_THREAD_BELOW else 1) as pool:
            results = pool.map(rehearsed, candidates, parallel_progress(of_network, len(candidates)))
            found = dict(zip(candidates, results, strict=True))
        stage = replace(fitted(), held_out_share=before.held_out_share)
    losses = {candidate: loss for candidate, (_, loss) in found.items()}
    best = min(losses, key=lambda name: losses[name])
    return _Choice(stage, best, _learned(Z, layout, response, stage, best), found[best][0], losses, len(held_out))


def _staged_importance(run: TrainingRun, prepared: _PreparedStages) -> Importance:
    choice, layout = prepared.choice, prepared.problem.layout
    factors = choice.learned.factors
    of_network = scores_of(run, layout, factors)
    parts = [(choice.stage.importance, choice.first_share), (of_network, choice.network_share)]
    total = combined_importance(parts)
    facts = Facts(prepared.stage_facts(), training_facts(prepared.config, run), prepared.calibration)
    return Importance(total, facts, surface_of(run, layout, factors), run.loss_curve)
