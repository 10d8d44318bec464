"""GRIP2 and its ablations: first-layer group activity, averaged over a moving group penalty (Algorithm 1).

All four are one computation under different schedules of (lambda, a). They are exact knockoff statistics: the swap of
random pairs around them makes the sign-flip property hold in distribution, so control of the false discovery rate is as
good as the knockoffs.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from grip2._random import stream
from grip2.engine.automatic_sizes import AUTOMATIC, automatic_block_size
from grip2.engine.calibrate import (
    HELD_OUT_STEPS,
    PILOT_STEPS,
    RATIO_STEPS,
    calibrate_block_size,
    calibrate_gradient_ratio,
    calibrate_held_out,
    held_out_loss,
    split_rows,
)
from grip2.engine.schedule import Schedule
from grip2.engine.train import TrainingConfig, TrainingRun, train, train_batch
from grip2.errors import Grip2Error
from grip2.result import Importance, Surface
from grip2.statistics.augmented import distinct, paired_inputs, response
from grip2.statistics.base import Progress, Statistic, check_whole, split_progress
from grip2.statistics.before_network import fit_parts
from grip2.statistics.network_problem import LEARNS, Problem, after_parts, stacked
from grip2.statistics.network_size import draws_of_a_network, with_automatic_sizes
from grip2.statistics.paper_settings import ALL
from grip2.statistics.parts import combined, describe, held_out_share

Range = tuple[float, float]

# Parts that explain less than this share of held-out rows leave nothing to choose: the network learns the whole response.
LEAST_SHARE = 0.01


class _Rehearsal(NamedTuple):
    """A short run with rows held out: the schedule it leads to, and how well its network predicts them."""

    schedule: Schedule
    loss: float  # squared error in units of the network's target, or deviance; of a constant where that does better
    explained: float  # share of the target's variance or deviance
    info: dict[str, Any]


class _Ready(NamedTuple):
    """All that a run needs but its random numbers."""

    problem: Problem
    config: TrainingConfig
    chosen: dict[str, Any]  # how every "auto" was replaced


class GroupRegularizationPersistence(Statistic):
    """What GRIP2, GRIP1, GRIP1a and GroupLasso share; use one of those.

    Parameters
    ----------
    omega : "auto", "gradient_ratio" or (lambda_min, lambda_max)
        The range of lambda; ``log lambda`` is uniform on it. ``"auto"`` (not in the paper) anchors it at the strength that
        predicts held-out rows best and walks it upwards instead of at random; ``"gradient_ratio"`` is the paper's
        rule (section 2.4), which asks for strengths too low to be powerful on the data we know; a pair fixes it.
    a_min : float
        Lower end of the range of the geometry ``a``; the upper end is 1. Paper: 0.1.
    block_size : int, "auto" or None
        M, steps between two redraws of (lambda, a). ``"auto"`` is the paper's pilot-run rule (section 2.5); None: a
        120th of the steps.
    steps, hidden, depth, batch_size, deep_l2 : number or "auto"
        Of the network and its training; ``deep_l2`` is the paper's gamma, ``batch_size=None`` trains on all rows.
        ``"auto"`` (not in the paper) chooses by the number of rows, see `grip2.engine.automatic_sizes`.
    learning_rate : float
        Of Adam.
    clip_norm : float or None
        Bound on the global gradient norm; the paper clips at 1.0 "in the more challenging regimes".
    epsilon : float
        Smoothing of the group norm, ``(||w||^2 + epsilon)^(a/2)``. Smaller values make dead groups jitter more.
    warmup : int
        Unpenalised steps before the first block, which give no snapshot.
    gradient_ratio : (r_min, r_max)
        For ``omega="gradient_ratio"``. Paper: (0.01, 0.20), or (0.01, 1) where knockoffs are approximate.
    block_tolerance : float
        For ``block_size="auto"``: the paper's delta, relative to the mean group norm.
    linear : "posterior", "lasso" or None
        What takes the effects of single features before the network is trained (not in the paper); importances are added, each
        weighted by the share of the response it explains on held-out rows. "posterior": a Bayesian additive model (see
        `grip2.statistics.effects`); for classes, logits are those of lassos. "lasso": cross-validated lassos.
        None: the network alone, as in the paper.
    curves : bool
        Before the network, bent shapes of every column too (see `grip2.statistics.basis`), for which a network needs many
        more rows. False: straight lines only.
    learns : "auto", "rest" or "response"
        What the network is trained on if something comes before it. "rest": what that leaves. "response": all of it, with the
        columns of the pairs found magnified, so that their groups cost less. "auto": whichever predicts held-out rows better.
    """

    batches_draws: ClassVar[bool] = True
    schedule_kind: ClassVar[str]
    paper_tunes: ClassVar[tuple[str, ...]] = ALL

    @classmethod
    def paper(cls, setting: str) -> Self:
        return super().paper(setting).set_params(linear=None)

    # Numbers once `sized`; "auto" before.
    steps: Any
    hidden: Any
    depth: Any
    batch_size: Any
    deep_l2: Any
    block_size: Any

    def __init__(
        self,
        omega: str | Range = "auto",
        *,
        a_min: float = 0.1,
        block_size: int | str | None = None,
        steps: int | str = AUTOMATIC,
        hidden: int | str = AUTOMATIC,
        depth: int | str = AUTOMATIC,
        batch_size: int | str | None = AUTOMATIC,
        learning_rate: float = 1e-3,
        deep_l2: float | str = AUTOMATIC,
        clip_norm: float | None = None,
        epsilon: float = 1e-6,
        warmup: int = 0,
        gradient_ratio: Range = (0.01, 0.20),
        block_tolerance: float = 0.01,
        linear: str | None = "posterior",
        curves: bool = True,
        learns: str = "auto",
    ) -> None:
        self.omega = omega
        self.a_min = a_min
        self.block_size = block_size
        self.steps = steps
        self.hidden = hidden
        self.depth = depth
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.deep_l2 = deep_l2
        self.clip_norm = clip_norm
        self.epsilon = epsilon
        self.warmup = warmup
        self.gradient_ratio = gradient_ratio
        self.block_tolerance = block_tolerance
        self.linear = linear
        self.curves = curves
        self.learns = learns

    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        y: np.ndarray,
        *,
        rng: np.random.Generator,
        task: str,
        progress: Progress | None,
    ) -> Importance:
        return self._members((X, Xk), y, task, [rng.spawn(2)], progress)[0]

    def _importances(
        self,
        pairs: Sequence[tuple[np.ndarray, np.ndarray]],
        y: np.ndarray,
        *,
        rngs: Sequence[np.random.Generator],
        task: str,
        progress: Progress | None,
    ) -> list[Importance]:
        own = distinct(pairs)
        shared = len(own) == 1
        alone = self.draws_together(*pairs[0][0].shape) == 1
        if len(pairs) == 1 or (not shared and (alone or self.block_size == "auto")):
            return super()._importances(pairs, y, rngs=rngs, task=task, progress=progress)
        streams = [rng.spawn(2) for rng in rngs]
        if shared and alone:
            return self._members(own[0], y, task, streams, progress)
        # Each table is calibrated by itself: a choice made on one knockoff copy is not symmetric in the pairs of another.
        stages = split_progress(progress, *[sum(self._calibration_steps())] * len(own), self.steps * len(pairs))
        ready = [
            self._ready(paired_inputs(*pair, np.float32), y, task, stream[0], stage)
            for pair, stream, stage in zip(own, streams, stages, strict=False)
        ]
        first = ready[0].problem
        runs = train_batch(
            first.Z if shared else np.stack([one.problem.Z for one in ready]),
            first.y if shared else np.stack([one.problem.y for one in ready]),
            task=task,
            config=ready[0].config,
            schedules=[one.config.schedule for one in ready] * (len(pairs) if shared else 1),
            rngs=[for_training for _, for_training in streams],
            offset=first.offset if shared else stacked([one.problem.offset for one in ready]),
            progress=stages[-1],
        )
        return [_to_importance(run, one) for run, one in zip(runs, ready * (len(pairs) if shared else 1), strict=True)]

    def _members(
        self,
        pair: tuple[np.ndarray, np.ndarray],
        y: np.ndarray,
        task: str,
        streams: Sequence[Sequence[np.random.Generator]],
        progress: Progress | None,
    ) -> list[Importance]:
        """Several networks on one table, one after the other; what comes before the network is done once."""
        stages = split_progress(progress, sum(self._calibration_steps()), *[self.steps + self.warmup] * len(streams))
        ready = self._ready(paired_inputs(*pair, np.float32), y, task, streams[0][0], stages[0])
        found = []
        for (_, for_training), stage in zip(streams, stages[1:], strict=True):
            run = train(**ready.problem.data(), config=ready.config, rng=for_training, progress=stage)
            found.append(_to_importance(run, ready))
        return found

    def sized(self, n_rows: int) -> Self:
        sized = with_automatic_sizes(self, n_rows)
        sized._config()  # bad settings end here, not after the first part
        return sized

    def draws_together(self, n_rows: int, n_features: int) -> int:
        return draws_of_a_network(self.sized(n_rows), n_rows, n_features)

    def _calibration_steps(self) -> tuple[int, int, int]:
        """Steps spent before the run itself on held-out loss, gradient ratio and block size, for the progress bar."""
        rehearsals = 2 if self.linear is not None and self.learns == "auto" else 1
        return (
            rehearsals * min(HELD_OUT_STEPS, self.steps) if self.omega == "auto" or self.linear is not None else 0,
            rehearsals * min(RATIO_STEPS, self.steps) if self.omega == "gradient_ratio" else 0,
            PILOT_STEPS if self.block_size == "auto" else 0,
        )

    def _ready(
        self, Z: np.ndarray, y: np.ndarray, task: str, rng: np.random.Generator, progress: Progress | None
    ) -> _Ready:
        """What the network is trained on, its configuration with every "auto" replaced, and a record of how.

        Nothing here looks at which member of a pair a column is: all columns enter alike.
        """
        held_out, ratio, pilot = self._calibration_steps()
        for_schedule, for_block = split_progress(progress, held_out + ratio, pilot)
        target = response(y, task)
        choose = self._choose_network if self.linear is None else self._choose_network_after_parts
        problem, config, chosen = choose(Z, target, task, rng, for_schedule)
        if self.block_size == "auto":
            size, chosen["block_size"] = calibrate_block_size(
                **problem.data(), config=config, rng=rng, tolerance=self.block_tolerance, progress=for_block
            )
            config = replace(config, schedule=replace(config.schedule, block_size=size))
        return _Ready(problem, config, chosen)

    def _choose_network(
        self, Z: np.ndarray, y: np.ndarray, task: str, rng: np.random.Generator, progress: Progress | None
    ) -> _Ready:
        """The network alone, as in the paper."""
        problem, config = Problem(Z, y, task), self._config()
        if not isinstance(self.omega, str):
            return _Ready(problem, config, {})
        schedule, _, _, info = self._rehearsed(problem, config, rng, None, progress)
        return _Ready(problem, replace(config, schedule=schedule), {"omega": info})

    def _choose_network_after_parts(
        self, Z: np.ndarray, y: np.ndarray, task: str, rng: np.random.Generator, progress: Progress | None
    ) -> _Ready:
        """Parts on all rows; what the network learns after them is decided by a rehearsal of both with rows held out."""
        config = self._config()
        for_rehearsals = stream(rng, "rehearsals")
        kept, held_out = split_rows(len(Z), stream(rng, "held-out rows"))
        settings: dict[str, Any] = {"linear": self.linear, "curves": bool(self.curves), "task": task, "rng": rng}
        before = fit_parts(Z, y, rows=np.sort(kept), **settings)
        parts = fit_parts(Z, y, **settings)
        if parts[0].probability and task == "regression":
            parts = (replace(parts[0], explained=held_out_share(before[0], y, held_out)),)
        candidates = [self.learns]
        if self.learns == "auto":
            # Where parts predict nothing, to subtract what they fitted would add noise.
            predicting = all(sum(part.explained for part in some) > LEAST_SHARE for some in (parts, before))
            candidates = ["rest", "response"] if predicting else ["response"]
        stages = split_progress(progress, *[sum(self._calibration_steps()[:2])] * len(candidates))
        rehearsed, losses = {}, {}
        for learns, stage in zip(candidates, stages, strict=True):
            problem = after_parts(Z, y, task, before, learns)
            alike = copy.deepcopy(for_rehearsals)  # the same start and batches: less chance in the comparison
            rehearsed[learns] = self._rehearsed(problem, config, alike, held_out, stage)
            losses[learns] = rehearsed[learns].loss * problem.scale**2
            del problem  # a magnified copy of the table
        learns = min(losses, key=lambda name: losses[name])
        schedule, _, explained, info = rehearsed[learns]
        if learns == "rest":  # its share is one of what the parts leave
            explained *= 1.0 - sum(part.explained for part in parts)
        chosen = {"omega": info} if isinstance(self.omega, str) else {}
        chosen["linear"] = describe(parts, explained, LEARNS[learns]) | {
            "network_learns": learns,
            "held_out_loss": losses,
        }
        return _Ready(after_parts(Z, y, task, parts, learns), replace(config, schedule=schedule), chosen)

    def _rehearsed(
        self,
        problem: Problem,
        config: TrainingConfig,
        rng: np.random.Generator,
        held_out: np.ndarray | None,
        progress: Progress | None,
    ) -> _Rehearsal:
        """The schedule for a problem, and how well its network does under it on rows that took no part."""
        of_held_out, of_ratio, _ = self._calibration_steps()
        for_ratio, for_held_out = split_progress(progress, of_ratio, of_held_out)
        if self.omega == "auto":
            schedule, info = calibrate_held_out(
                **problem.data(), config=config, rng=rng, held_out=held_out, progress=for_held_out
            )
            return _Rehearsal(schedule, min(info["held_out_loss"], info["null_loss"]), info["explained"], info)
        schedule, info = config.schedule, {}
        if self.omega == "gradient_ratio":
            (lo, hi), info = calibrate_gradient_ratio(
                **problem.data(), config=config, rng=rng, ratio=self.gradient_ratio, progress=for_ratio
            )
            schedule = replace(schedule, lambda_min=lo, lambda_max=hi)
        if self.linear is None:
            return _Rehearsal(schedule, 0.0, 0.0, info)
        # Under the schedule that is used: one that kills every group must weigh nothing.
        followed = held_out_loss(
            **problem.data(),
            config=replace(config, schedule=schedule),
            rng=rng,
            held_out=held_out,
            progress=for_held_out,
        )
        return _Rehearsal(schedule, min(float(followed.loss.min()), followed.null_loss), followed.explained, info)

    def _config(self) -> TrainingConfig:
        who = type(self).__name__
        check_whole(self, "steps", "hidden", "depth", of_network=True)
        check_whole(self, "batch_size", of_network=True, or_none=True)
        if not isinstance(self.warmup, numbers.Integral):
            raise Grip2Error(f"{who}: warmup must be a whole number, got {self.warmup!r}.")
        if not isinstance(self.deep_l2, numbers.Real):
            raise Grip2Error(f"{who}: deep_l2 must be a number or 'auto', got {self.deep_l2!r}.")
        known = self.omega in ("auto", "gradient_ratio") if isinstance(self.omega, str) else _is_range(self.omega)
        if not known:
            raise Grip2Error(
                f"{who}: omega must be 'auto', 'gradient_ratio' or a pair (lambda_min, lambda_max), got {self.omega!r}."
            )
        lo, hi = (1.0, 1.0) if isinstance(self.omega, str) else self.omega
        if self.block_size not in ("auto", None):
            check_whole(self, "block_size", of_network=True, or_none=True)
            if self.block_size > self.steps:
                raise Grip2Error(
                    f"{who}: {self.steps} steps hold no whole block of {self.block_size}; give more steps."
                )
        if self.linear not in ("posterior", "lasso", None):
            raise Grip2Error(f"{who}: linear must be 'posterior', 'lasso' or None, got {self.linear!r}.")
        if not isinstance(self.curves, bool | np.bool_):
            raise Grip2Error(f"{who}: curves must be True or False, got {self.curves!r}.")
        if self.learns not in ("auto", *LEARNS):
            raise Grip2Error(f"{who}: learns must be one of {', '.join(('auto', *LEARNS))}, got {self.learns!r}.")
        schedule = Schedule(
            kind=self.schedule_kind,
            lambda_min=float(lo),
            lambda_max=float(hi),
            a_min=self.a_min,
            block_size=automatic_block_size(self.steps) if self.block_size in ("auto", None) else self.block_size,
            warmup=self.warmup,
        )
        return TrainingConfig(
            schedule=schedule,
            hidden=self.hidden,
            depth=self.depth,
            steps=self.steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            deep_l2=self.deep_l2,
            clip_norm=self.clip_norm,
            epsilon=self.epsilon,
        )


class GRIP2(GroupRegularizationPersistence):
    """Group regularization importance persistence in two dimensions (the paper's method): lambda and a both move."""

    schedule_kind = "block_2d"


class GRIP1(GroupRegularizationPersistence):
    """Ablation: lambda moves, a = 1 (group lasso geometry)."""

    schedule_kind = "block_1d"


class GRIP1a(GroupRegularizationPersistence):
    """Ablation: a moves, lambda fixed at ``sqrt(lambda_min lambda_max)``."""

    schedule_kind = "block_1d_a"


class GroupLasso(GroupRegularizationPersistence):
    """Single-shot group lasso (GR): lambda = ``sqrt(lambda_min lambda_max)`` and a = 1, snapshots every M steps."""

    schedule_kind = "fixed"


def _is_range(omega: Any) -> bool:
    return np.shape(omega) == (2,) and all(isinstance(end, numbers.Real) for end in omega)


def _to_importance(run: TrainingRun, ready: _Ready) -> Importance:
    # Weights of magnified columns, back in units of the columns.
    factors = np.ones(1) if ready.problem.magnified is None else ready.problem.magnified
    snapshots = run.snapshots * factors.astype(run.snapshots.dtype)
    importance, p = run.importance * factors, len(run.importance) // 2
    if ready.problem.parts:
        of_network = (importance, ready.chosen["linear"]["explained_by_network"])
        importance = combined([*((part.strength, part.explained) for part in ready.problem.parts), of_network])
    info = {
        "training": asdict(ready.config),
        "chosen": ready.chosen,
        "loss_curve": run.loss_curve,
        "gradient_ratio": run.gradient_ratio,
        "stop_reason": run.stop_reason,
    }
    surface = Surface(run.snapshot_lambda, run.snapshot_a, snapshots[:, :p], snapshots[:, p:])
    return Importance(importance[:p], importance[p:], info, surface)
