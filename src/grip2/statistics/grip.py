"""GRIP2 and its ablations: first-layer group activity, averaged over a moving group penalty (Algorithm 1).

All four are one computation under different schedules of (lambda, a): the paper's method, with the paper's range of lambda or
an automatic one. They are exact knockoff statistics: the random order of members around them makes the sign-flip property hold in
distribution, so control of the false discovery rate is as good as the knockoffs.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from grip2.engine.automatic_sizes import AUTOMATIC
from grip2.engine.schedule import Schedule
from grip2.engine.training import TrainingConfig, TrainingRun
from grip2.errors import Grip2Error
from grip2.facts import CalibrationFacts, Facts
from grip2.progress import Progress, split_progress
from grip2.responses import Response
from grip2.result import Importance, Surface
from grip2.statistics.augmented import distinct
from grip2.statistics.base import BatchedStatistic, check_whole
from grip2.statistics.block_size import BlockSize
from grip2.statistics.held_out import NetworkProblem
from grip2.statistics.lambda_range import LambdaRange, Range, Rehearsal
from grip2.statistics.network_runs import Prepared, Work, score_tables, training_facts
from grip2.statistics.network_size import draws_of_a_network, with_automatic_sizes
from grip2.statistics.paper_settings import ALL
from grip2.symmetry import Members
from grip2.units import Layout

# Names of settings of earlier versions, each with what replaces it.
_GONE = {
    "linear": "Staged(first=EffectPosterior(), network=GRIP2()) puts a model before the network; GRIP2 alone has none",
    "curves": "Staged(first=EffectPosterior(curves=...))",
    "learns": "Staged(target='residual' or 'response')",
}


class GroupPersistence(BatchedStatistic):
    """What GRIP2, GRIP1, GRIP1a and GroupLasso share; use one of those.

    Parameters
    ----------
    omega : "auto", "gradient_ratio" or (lambda_min, lambda_max)
        The range of lambda; ``log lambda`` is uniform on it. ``"auto"`` (not in the paper) anchors it at the strength that
        predicts held-out rows best and walks it upwards instead of at random; ``"gradient_ratio"`` is the paper's
        rule (section 2.4), which gives lambda values too small to have power in our benchmarks; a pair fixes it.
    a_min : float
        Lower end of the range of the geometry ``a``; the upper end is 1. Paper: 0.1.
    block_size : int, "auto" or "pilot"
        M, steps between two redraws of (lambda, a). ``"auto"``: a 120th of the steps. ``"pilot"``: the paper's pilot-run
        rule (section 2.5).
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
        For ``block_size="pilot"``: the paper's delta, relative to the mean group norm.
    """

    schedule_kind: ClassVar[str]
    replaced_settings: ClassVar[Mapping[str, str]] = _GONE
    paper_tunes: ClassVar[tuple[str, ...]] = ALL

    # Numbers once `sized`; "auto" before.
    steps: Any
    hidden: Any
    depth: Any
    batch_size: Any
    deep_l2: Any

    def __init__(
        self,
        omega: str | Range = AUTOMATIC,
        *,
        a_min: float = 0.1,
        block_size: int | str = AUTOMATIC,
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
        **gone: Any,
    ) -> None:
        self._refuse_old_settings(gone)
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

    def _refuse_old_settings(self, given: dict[str, Any]) -> None:
        """Raise: for settings of earlier versions with the new spelling, for unknown ones as Python does."""
        who = type(self).__name__
        for name in given:
            if name in self.replaced_settings:
                new = self.replaced_settings[name]
                raise Grip2Error(f"{who}: {name} is no setting of the network any more. Instead: {new}.")
            raise TypeError(f"{who}.__init__() got an unexpected keyword argument {name!r}")

    def sized(self, n_rows: int) -> Self:
        sized = with_automatic_sizes(self, n_rows)
        sized.config()  # bad settings are refused now, not after an earlier stage
        return sized

    def draws_together(self, n_rows: int, layout: Layout) -> int:
        return draws_of_a_network(self.sized(n_rows), n_rows, layout)

    def _importances(
        self,
        draws: Sequence[Members],
        response: Response,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress | None,
    ) -> list[Importance]:
        def prepare(Z: np.ndarray, layout: Layout, rng: np.random.Generator, stage: Progress | None) -> Prepared:
            problem = NetworkProblem(Z, layout, response)
            for_range, for_block = split_progress(stage, self.range_steps(judged=False), self.blocks.pilot_steps)
            rehearsal = self.rehearse(problem, rng=rng, judged=False, progress=for_range)
            return self.prepared(problem, rehearsal, rng, for_block)

        work = Work(self.range_steps(judged=False) + self.blocks.pilot_steps, self.training_steps)
        together = self.trains_together(draws)
        return score_tables(
            draws, rngs, prepare=prepare, read=self._read, work=work, together=together, progress=progress
        )

    @staticmethod
    def _read(run: TrainingRun, prepared: Prepared) -> Importance:
        layout = prepared.problem.layout
        facts = Facts(training=training_facts(prepared.config, run), calibration=prepared.calibration)
        return Importance(scores_of(run, layout), facts, surface_of(run, layout), run.loss_curve)

    @property
    def lambdas(self) -> LambdaRange:
        return LambdaRange(self.omega, self.gradient_ratio)

    @property
    def blocks(self) -> BlockSize:
        return BlockSize(self.block_size, self.block_tolerance)

    @property
    def training_steps(self) -> int:
        """Of the run itself, for the progress bar."""
        return int(self.steps + self.warmup)

    def range_steps(self, *, judged: bool) -> int:
        """Steps that the choice of the range of lambda takes, for the progress bar."""
        return self.lambdas.steps(self.steps, judged=judged)

    def trains_together(self, draws: Sequence[Members]) -> bool:
        """Are the networks of these draws trained as one batch? Not if a pilot run gives each its own block size."""
        same_blocks = len(distinct(draws)) == 1 or not self.blocks.needs_pilot
        return same_blocks and self.draws_together(draws[0].n_rows, draws[0].layout) > 1

    def rehearse(
        self,
        problem: NetworkProblem,
        *,
        rng: np.random.Generator,
        held_out: np.ndarray | None = None,
        judged: bool,
        progress: Progress | None = None,
    ) -> Rehearsal:
        """The schedule for a problem; ``judged``: also how well a short run under it predicts the rows ``held_out``."""
        return self.lambdas.rehearse(
            problem, config=self.config(), rng=rng, held_out=held_out, judged=judged, progress=progress
        )

    def prepared(
        self, problem: NetworkProblem, rehearsal: Rehearsal, rng: np.random.Generator, progress: Progress | None
    ) -> Prepared:
        """A problem ready for training under the schedule of its rehearsal."""
        config = replace(self.config(), schedule=rehearsal.schedule)
        calibration = CalibrationFacts(
            lambda_rule=rehearsal.rule,
            block_rule=self.blocks.rule,
            best_lambda=rehearsal.best_lambda,
            held_out_loss=rehearsal.loss,
            null_loss=rehearsal.null_loss,
        )
        return Prepared(problem, self.blocks.settle(problem, config, rng, progress), calibration)

    def _check_settings(self) -> None:
        self.config()

    def config(self) -> TrainingConfig:
        """The configuration as far as it is known without data; refuses bad settings."""
        who = type(self).__name__
        check_whole(self, "steps", "hidden", "depth", of_network=True)
        check_whole(self, "batch_size", of_network=True, or_none=True)
        if not isinstance(self.warmup, numbers.Integral):
            raise Grip2Error(f"{who}: warmup must be a whole number, got {self.warmup!r}.")
        if not isinstance(self.deep_l2, numbers.Real):
            raise Grip2Error(f"{who}: deep_l2 must be a number or 'auto', got {self.deep_l2!r}.")
        self.lambdas.check(who)
        self.blocks.check(self.steps, who)
        lambda_min, lambda_max = self.lambdas.given or (1.0, 1.0)
        schedule = Schedule(
            kind=self.schedule_kind,
            lambda_min=lambda_min,
            lambda_max=lambda_max,
            a_min=self.a_min,
            block_size=self.blocks.before_pilot(self.steps),
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


class GRIP2(GroupPersistence):
    """Group regularization importance persistence in two dimensions (the paper's method): lambda and a both move."""

    schedule_kind = "block_2d"


class GRIP1(GroupPersistence):
    """Ablation: lambda moves, a = 1 (group lasso geometry)."""

    schedule_kind = "block_1d"


class GRIP1a(GroupPersistence):
    """Ablation: a moves, lambda fixed at ``sqrt(lambda_min lambda_max)``."""

    schedule_kind = "block_1d_a"


class GroupLasso(GroupPersistence):
    """Single-shot group lasso (GR): lambda = ``sqrt(lambda_min lambda_max)`` and a = 1, snapshots every M steps."""

    schedule_kind = "fixed"


def scores_of(run: TrainingRun, layout: Layout, factors: np.ndarray | None = None) -> np.ndarray:
    """(members, units) group activities of a run, averaged over its snapshots.

    ``factors`` (units,): what the columns of all members of a unit were multiplied by before training. Activities are
    multiplied by them too, which makes them those of a network on the columns as given.
    """
    return _by_unit(run.importance, layout, factors)


def surface_of(run: TrainingRun, layout: Layout, factors: np.ndarray | None = None) -> Surface:
    """The regularization surface of a run; ``factors`` as in `scores_of`."""
    return Surface(run.snapshot_lambda, run.snapshot_a, _by_unit(run.snapshots, layout, factors), run.gradient_ratio)


def _by_unit(of_groups: np.ndarray, layout: Layout, factors: np.ndarray | None) -> np.ndarray:
    """(..., members x units) as (..., members, units): groups are numbered member after member."""
    found = of_groups.reshape(*of_groups.shape[:-1], layout.members, len(layout.units))
    return found if factors is None else found * factors.astype(of_groups.dtype)
