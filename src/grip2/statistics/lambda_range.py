"""The range of lambda, Omega: given, by the paper's gradient ratio, or anchored at held-out prediction.

Every rule treats all columns alike, and so all members of every unit.
"""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from grip2.engine.automatic_sizes import AUTOMATIC
from grip2.engine.gradient_norms import loss_gradient_norm, penalty_gradient_norms
from grip2.engine.schedule import Schedule
from grip2.engine.train import train
from grip2.engine.training import TrainingConfig
from grip2.errors import Grip2Error
from grip2.progress import Progress, split_progress
from grip2.statistics.held_out import REHEARSAL_STEPS, NetworkProblem, held_out_path

Range = tuple[float, float]

GRADIENT_RATIO = "gradient_ratio"

# Omega and its approach in units of lambda*, the strength that predicts best; chosen on linear, absolute-value, product,
# sign and sine signals with n from 1,000 to 10,000.
OMEGA_AROUND_BEST = (1.0, 5.0)
APPROACH_FROM_BEST = 0.1
WARMUP_STEPS = 300
# The ascending path along which lambda* is looked for.
SEARCH: Range = (1e-3, 2.0)
SEARCH_GEOMETRY, SEARCH_BLOCK = 0.5, 25

RATIO_STEPS = 500
RATIO_ROWS_MAX = 10_000
RATIO_GEOMETRIES = 10


class Rehearsal(NamedTuple):
    """The schedule that a rule leads to and, where rows were held out, how well the network predicts them."""

    schedule: Schedule
    rule: str
    best_lambda: float | None = None
    loss: float | None = None  # per row: squared error in units of the target, or deviance
    null_loss: float | None = None  # of the best prediction without features
    share: float = 0.0  # of the variance or deviance

    @property
    def judged_loss(self) -> float:
        """The loss of a rehearsal that was judged."""
        assert self.loss is not None
        return self.loss

    @property
    def judged_null_loss(self) -> float:
        assert self.null_loss is not None
        return self.null_loss

    @property
    def useful_loss(self) -> float:
        """The loss, or that without the network where that is better."""
        return min(self.judged_loss, self.judged_null_loss)


class LambdaRange(NamedTuple):
    """How Omega is chosen: ``omega`` and ``gradient_ratio`` as `GRIP2` takes them."""

    omega: str | Range
    gradient_ratio: Range

    def check(self, who: str) -> None:
        if isinstance(self.omega, str):
            known = self.omega in (AUTOMATIC, GRADIENT_RATIO)
        else:
            known = np.shape(self.omega) == (2,) and all(isinstance(end, numbers.Real) for end in self.omega)
        if not known:
            raise Grip2Error(
                f"{who}: omega must be 'auto', 'gradient_ratio' or a pair (lambda_min, lambda_max), got {self.omega!r}."
            )
        if np.shape(self.gradient_ratio) != (2,) or not 0 < self.gradient_ratio[0] < self.gradient_ratio[1]:
            raise Grip2Error(f"{who}: gradient_ratio must satisfy 0 < r_min < r_max, got {self.gradient_ratio}.")

    @property
    def given(self) -> Range | None:
        """The range that the user fixed, if any."""
        return None if isinstance(self.omega, str) else (float(self.omega[0]), float(self.omega[1]))

    def steps(self, steps: int, *, judged: bool) -> int:
        """Training steps that `rehearse` takes for a run of so many, for the progress bar."""
        of_ratio = min(RATIO_STEPS, steps) if self.omega == GRADIENT_RATIO else 0
        return of_ratio + (min(REHEARSAL_STEPS, steps) if judged or self.omega == AUTOMATIC else 0)

    def rehearse(
        self,
        problem: NetworkProblem,
        *,
        config: TrainingConfig,
        rng: np.random.Generator,
        held_out: np.ndarray | None = None,
        judged: bool,
        progress: Progress | None = None,
    ) -> Rehearsal:
        """The schedule for a problem; ``judged``: also how well a network under it predicts the rows ``held_out``."""
        if self.omega == AUTOMATIC:
            return anchored_at_prediction(problem, config=config, rng=rng, held_out=held_out, progress=progress)
        of_ratio = self.steps(config.steps, judged=False)
        for_ratio, for_judging = split_progress(progress, of_ratio, self.steps(config.steps, judged=judged) - of_ratio)
        found = Rehearsal(config.schedule, "given")
        if self.omega == GRADIENT_RATIO:
            lo, hi = by_gradient_ratio(problem, config=config, rng=rng, ratio=self.gradient_ratio, progress=for_ratio)
            schedule = replace(config.schedule, lambda_min=lo, lambda_max=hi)
            found = Rehearsal(schedule, "gradient ratio")
        if not judged:
            return found
        # Judged under the schedule that the run will use: a network in which it kills every group must count for nothing.
        followed = replace(config, schedule=found.schedule)
        path = held_out_path(problem, config=followed, rng=rng, held_out=held_out, progress=for_judging)
        return found._replace(loss=path.judged_loss, null_loss=path.null_loss, share=path.share)


def anchored_at_prediction(
    problem: NetworkProblem,
    *,
    config: TrainingConfig,
    rng: np.random.Generator,
    held_out: np.ndarray | None = None,
    progress: Progress | None = None,
) -> Rehearsal:
    """Anchor Omega at lambda*, the strength that predicts held-out rows best along an ascending path (not in the paper).

    Below lambda* the network learns noise; far above it, it forgets signal. The schedule returned trains 300 steps
    without penalty, then walks up from lambda* / 10 and records over Omega = [lambda*, 5 lambda*]. The path is walked at
    a = 0.5 with a fifth of the rows set aside, those numbered ``held_out`` or, by default, random ones.
    """
    lo, hi = SEARCH
    path = Schedule(
        lambda_min=lo,
        lambda_max=hi,
        approach_from=lo,
        a_min=SEARCH_GEOMETRY,
        a_max=SEARCH_GEOMETRY,
        block_size=SEARCH_BLOCK,
    )
    followed = held_out_path(
        problem, config=replace(config, schedule=path), rng=rng, held_out=held_out, progress=progress
    )
    best = followed.best_lambda
    schedule = replace(
        config.schedule,
        lambda_min=best * OMEGA_AROUND_BEST[0],
        lambda_max=best * OMEGA_AROUND_BEST[1],
        approach_from=best * APPROACH_FROM_BEST,
        warmup=max(config.schedule.warmup, WARMUP_STEPS),
    )
    return Rehearsal(schedule, "held-out prediction", best, followed.judged_loss, followed.null_loss, followed.share)


def by_gradient_ratio(
    problem: NetworkProblem,
    *,
    config: TrainingConfig,
    rng: np.random.Generator,
    ratio: Range,
    progress: Progress | None = None,
) -> Range:
    """The paper's rule (section 2.4): lambda such that ||grad_W R|| / ||grad_W L|| lies in [r_min, r_max].

    "We perform a short calibration run": 500 steps without penalty, then both gradients at that network. The
    gradient of R depends on a; the geometric mean over a uniform grid of [a_min, 1] is used, on which the paper is silent.
    """
    steps = min(RATIO_STEPS, config.steps)
    unpenalised = Schedule(kind="fixed", lambda_min=0.0, lambda_max=0.0, block_size=steps)
    pilot: Any = replace(config, schedule=unpenalised, steps=steps)
    run = train(problem.x, problem.target, config=pilot, rng=rng, progress=progress)
    some_rows = rng.permutation(len(problem.x))[:RATIO_ROWS_MAX]
    of_loss = loss_gradient_norm(run.parameters, problem.x[some_rows], problem.target.take(some_rows))
    geometries = np.linspace(config.schedule.a_min, 1.0, RATIO_GEOMETRIES)
    of_penalty = penalty_gradient_norms(run.parameters, [float(a) for a in geometries], config.epsilon, problem.groups)
    unit = of_loss / float(np.exp(np.mean(np.log(of_penalty))))
    return ratio[0] * unit, ratio[1] * unit
