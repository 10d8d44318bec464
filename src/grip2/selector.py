"""`KnockoffSelector`: a scikit-learn feature selector that wires table, sampler, statistic and filter together."""

from __future__ import annotations

import copy
import numbers
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import cpu_count
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from grip2._random import RandomState, generator_from
from grip2.callbacks import CallbackSupport, FitTask, with_callbacks
from grip2.copies import AUTOMATIC, CopiesChoice
from grip2.draws import Drawn, OneRowEach, augmented, draw_importances
from grip2.feature_effects import EffectDescription
from grip2.groups import Groups
from grip2.knockoffs import KnockoffSampler
from grip2.knockoffs.registry import SAMPLERS
from grip2.lasso_beside import lasso_beside
from grip2.progress import Progress, begin, joined_progress, split_progress
from grip2.responses import Response
from grip2.result import SelectionResult
from grip2.sampler_fit import AskedFor, fit_sampler
from grip2.selected_columns import SelectedColumns
from grip2.selection_input import Reading, SelectionInput, selection_input
from grip2.selection_record import Fit, selection_record
from grip2.selector_parameters import WARN, check_parameters
from grip2.statistics.base import Statistic
from grip2.statistics.registry import STATISTICS
from grip2.streaming.long_table import LongTable

DEFAULT_KNOCKOFFS = "auto"  # the name of the default sampler
# Time of the parts of a fit, relative to each other: a rough guess, for the progress bar.
KNOCKOFFS_TIME, DESCRIPTION_TIME = 1_000, 300


# What `fit` makes, and is asked for without it.
FITTED = (
    "result_", "W_", "q_values_", "threshold_", "table_", "units_", "sampler_", "response_", "one_row_each_", "n_rows_",
    "statistic_",
)  # fmt: skip


class KnockoffSelector(CallbackSupport, SelectedColumns, BaseEstimator):
    """Select the features that matter, with the false discovery rate controlled.

    Parameters
    ----------
    statistic : Statistic, str or None
        How importance is measured, or the name of a statistic on the command line ("lcd"); None means ``Staged()``: a model
        of single effects, then a network.
    knockoffs : KnockoffSampler, str or None
        How knockoffs are made, or a name of the command line; None means "auto": copula knockoffs, or sequential ones where
        responses simulated on the table show that these keep the level better.
    fdr : float
        Target false discovery rate: at most this share of the selected units is false, on average.
    copies : int or "auto"
        Knockoffs of every unit, drawn together. With m copies a selection can be as small as ``1 / (m fdr)``: one copy at
        fdr 0.1 must select ten features or none. "auto" follows from the size of the table and from ``fdr``: two features
        can be selected, or one where there are at most 20; several draws have more.
    groups : mapping, labels, path or None
        Columns that are selected together, as one unit: ``{"name": ["column", ...], ...}``, one label for every column,
        or a CSV file with the columns ``column`` and ``group``. None: every column is a unit by itself.
    columns : mapping or None
        Roles of columns, where the rules of `grip2.tables.roles` are not to decide: ``{"zip": "category", "id": "drop"}``. Roles
        are number, ordered, category, 0/1, date, identifier, drop, or an order such as ``"small<medium<large"``.
    missing : {"draw", "indicator", "median", "refuse"}
        Missing values are drawn from the sampler's model, anew in every draw; or filled with the median or the most frequent
        level, with a column in the same unit that tells where ("indicator") or without it; or refused.
    n_draws : int
        Repetitions of the whole procedure with fresh knockoffs. More than one makes the selection steadier: the draws are
        combined by e-values and e-BH, which controls the same rate.
    offset : {1, 0}
        1 controls the false discovery rate (knockoff+); 0 selects more and controls only a modified rate.
    task : {"auto", "regression", "classification", "counts", "ordered", "survival"}
        "auto": text, booleans and two distinct values are classes, ordered categories of pandas are ordered classes, a time
        with an event is survival, whole numbers from 0 that are most often 0 are counts, everything else is a measurement.
    random_state : int, Generator, RandomState or None
        The same int gives the same result, in any process and with any ``n_jobs``.
    n_jobs : int or None
        Processes for several draws; as in scikit-learn. Small networks train up to eight draws at once in one process.
    describe : bool
        Describe how the selected features act (``result_.effects``): shares of variance, curves, interactions; and what the
        lasso finds on the knockoffs of the first draw (``result_.lasso``), unless the table is very large. It is done after
        the selection, which it does not change, in about two seconds, and has no error guarantee.
    empty : {"warn", "error", "keep_all"}
        What ``transform`` does where nothing is selected, which is an answer but leaves the next step of a pipeline without
        columns. "warn", as scikit-learn's own selectors: a table without columns, and a warning. "error": raises
        `grip2.NothingSelected`, whose message says why and what would help. "keep_all": passes on all columns that took part,
        with a warning; ``get_support`` marks them, ``result_.selected`` stays empty, and there is no guarantee about them.

    Attributes
    ----------
    result_ : SelectionResult
        Everything: names, W, q-values, reason, assumptions, settings. One entry for every unit.
    W_, q_values_, threshold_ : arrays and float
        The knockoff statistics, the smallest fdr that selects each unit (with several draws, in steps of 0.005),
        and the threshold on W (with several draws, on the e-values).
    table_ : PreparedTable
        The numbers that the table became, the role of every column, and every change made.
    units_ : NamedUnits
        The units, their names and their columns. ``get_support`` marks all columns of the selected units.
    sampler_, response_, one_row_each_ : KnockoffSampler, Response, OneRowEach or None
        The fitted sampler, the encoded response, and the clusters of rows, if any. Of a table that is read block by block,
        ``table_`` and ``response_`` hold a random sample of its rows.

    Notes
    -----
    A grid over ``fdr`` needs one fit: ``result_.at(fdr)`` is the result at another rate, and ``set_fdr(fdr)`` makes the
    selector transform accordingly. `GridSearchCV` knows nothing of this and fits every value again.

    With scikit-learn 1.9 or later, callbacks may be set: ``selector.set_callbacks(sklearn.callback.ProgressBar())``.

    Examples
    --------
    Two levels from one fit:

    >>> import numpy as np
    >>> from grip2 import KnockoffSelector
    >>> from grip2.knockoffs import GaussianKnockoffs
    >>> from grip2.statistics import LassoCoefficient
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 12))
    >>> y = X[:, :4] @ [2.0, 2.0, 2.0, 0.3] + rng.standard_normal(200)
    >>> selector = KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), copies=5, random_state=0, describe=False)
    >>> selector = selector.fit(X, y)
    >>> for fdr in (0.05, 0.1):
    ...     print(fdr, selector.set_fdr(fdr).transform(X).shape)
    0.05 (200, 4)
    0.1 (200, 4)

    In a pipeline, an empty selection is an error that can be caught:

    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from grip2 import NothingSelected
    >>> strict = KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), random_state=0, describe=False, empty="error")
    >>> try:
    ...     make_pipeline(strict, LinearRegression()).fit(X, rng.standard_normal(200))
    ... except NothingSelected as error:
    ...     print(error)
    KnockoffSelector: no column to pass on. Nothing was selected at fdr 0.1. ...
    """

    def __init__(
        self,
        statistic: Statistic | str | None = None,
        knockoffs: KnockoffSampler | str | None = None,
        *,
        fdr: float = 0.1,
        copies: int | str = AUTOMATIC,
        groups: Groups | None = None,
        columns: Mapping[str, str] | None = None,
        missing: str = "draw",
        n_draws: int = 1,
        offset: int = 1,
        task: str = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        describe: bool = True,
        empty: str = WARN,
    ) -> None:
        self.statistic = statistic
        self.knockoffs = knockoffs
        self.fdr = fdr
        self.copies = copies
        self.groups = groups
        self.columns = columns
        self.missing = missing
        self.n_draws = n_draws
        self.offset = offset
        self.task = task
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.describe = describe
        self.empty = empty

    if not TYPE_CHECKING:  # which would take any attribute for one that exists

        def __getattr__(self, name: str) -> Any:
            """Called for what is not there: a result is there after ``fit``. `NotFittedError` is an `AttributeError`."""
            if name in FITTED and "result_" not in vars(self):
                who = type(self).__name__
                raise NotFittedError(
                    f"{who}: {name} is there after fit, and this selector is not fitted; call fit(X, y) first."
                )
            return super().__getattribute__(name)

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        clusters: Any = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> Self:
        """Select features of the table ``X`` (n, p) for the response ``y`` (n,).

        ``X`` is a data frame (pandas, polars, pyarrow) with columns of any kind, an array, a `grip2.tables.PreparedTable`, or,
        without ``y``, a table beyond memory: ``grip2.streaming.read_stream("rows.parquet", target="y")``. Tables of 200,000 rows
        or more are read block by block wherever they lie, if the statistic can be computed so (docs/long-tables.md).
        ``clusters`` (n,) labels rows that are not independent, such as several samples of one patient: every draw uses one
        row of each cluster, chosen at random.
        ``progress`` is called with (work done, work in all), never by two threads at once; a `grip2.progress.PhasedProgress` is
        also told what is being done. ``executor`` runs several draws, on a Dask cluster for example, instead of the ``n_jobs``
        processes of this machine.
        """
        began, who = time.perf_counter(), type(self).__name__
        check_parameters(self.get_params(deep=False), who)
        self.statistic_ = statistic = self._statistic()
        task = FitTask(self, X, y)
        progress = joined_progress(progress, task.progress())
        of_knockoffs, of_draws, of_description = split_progress(progress, *self._times(statistic))
        begin(progress, "checking the table")
        self.sampler_ = sampler = self._sampler()
        data = self._input(X, y, clusters)
        table, response, rows, long = data.table, data.response, data.one_row_each, data.long
        self.table_, self.units_ = table, table.units
        self.response_, self.one_row_each_ = data.response_of_table, rows
        rng = generator_from(self.random_state)
        self.n_rows_ = len(response)
        X = table.X
        if long is None:
            X, response = augmented(sampler, X, response, rng, who)
        begin(progress, "fitting knockoffs")
        copies = fit_sampler(
            sampler,
            X,
            table,
            long,
            AskedFor(self.copies, self.fdr, self.offset, int(self.n_draws), who),
            n_rows=self.n_rows_ if long is not None else len(X),
            one_row_each=rows,
            progress=of_knockoffs,
            executor=executor,
        )
        _finish(of_knockoffs)
        begin(progress, "measuring importance", paced=True)
        drawn = self._importances(X, response, rows, long, copies.copies, rng, executor, of_draws)
        _finish(of_draws)
        self.result_ = self._result(drawn, statistic, sampler, response, rows, copies, began)
        if long is not None:
            read = long.facts()
            assumptions = (*self.result_.assumptions, read.sentence())
            self.result_ = replace(self.result_, streamed=read, assumptions=assumptions)
        if self.describe:
            begin(progress, "describing the selected features")
            effects = self._effects(response if long is None else self.response_, rows, rng, of_description)
            self.result_ = replace(self.result_, effects=effects, seconds=time.perf_counter() - began)
        self.W_ = self.result_.W
        self.q_values_ = self.result_.q_values
        self.threshold_ = self.result_.threshold
        _finish(of_description)
        task.end()
        return self

    def _input(self, X: Any, y: Any, clusters: Any) -> SelectionInput:
        reading = Reading(self.columns, self.groups, self.missing, self.task)
        return selection_input(self, X, y, clusters, reading, statistic=self.statistic_, sampler=self.sampler_)

    def _importances(
        self,
        X: np.ndarray,
        response: Response,
        rows: OneRowEach | None,
        long: LongTable | None,
        copies: int,
        rng: np.random.Generator,
        executor: Executor | None,
        progress: Progress | None,
    ) -> Drawn:
        """Importances of all members in every draw; of a long table, block by block."""
        apart = copy.deepcopy(
            rng
        )  # scoring the lasso beside the statistic must not change the random numbers of the draws
        shared: dict[str, Any] = {
            "units": self.units_.units,
            "copies": copies,
            "rngs": rng.spawn(self.n_draws),
            "executor": executor,
            "progress": progress,
        }
        if long is not None:
            from grip2.streaming.draws import stream_importances  # imports Numba

            return stream_importances(self.statistic_, self.sampler_, long, **shared)
        beside = lasso_beside(self.statistic_, response, X.shape, copies, apart) if self.describe else None
        return draw_importances(
            self.statistic_,
            self.sampler_,
            X,
            response,
            one_row_each=rows,
            n_jobs=self.n_jobs,
            beside=beside,
            **shared,
        )

    def _effects(
        self, response: Response, rows: OneRowEach | None, rng: np.random.Generator, progress: Progress | None
    ) -> EffectDescription:
        """How the selected features act."""
        from grip2.describe import describe_effects  # here, because importing Numba and JAX takes seconds

        return describe_effects(
            self.table_,
            response,
            self.result_.selected_mask,
            self.result_.W,
            sampler=self.sampler_,
            one_row_each=rows,
            rng=rng,
            progress=progress,
        )

    def _times(self, statistic: Statistic) -> tuple[int, int, int]:
        """How long knockoffs, draws and the description take, relative to each other."""
        workers = 1 if self.n_jobs is None else self.n_jobs if self.n_jobs > 0 else cpu_count()
        rounds = -(-int(self.n_draws) // min(int(self.n_draws), int(workers)))
        of_draws = KNOCKOFFS_TIME * statistic.relative_time * rounds
        return KNOCKOFFS_TIME, of_draws, DESCRIPTION_TIME if self.describe else 1

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.missing in ("indicator", "median") or (
            self.missing == "draw" and getattr(self._sampler_class(), "completes", False)
        )
        return tags

    def _sampler_class(self) -> type[KnockoffSampler]:
        """The class of the sampler; before ``fit`` has checked it, of whatever was given."""
        if self.knockoffs is None or isinstance(self.knockoffs, str):
            named: type[KnockoffSampler] = SAMPLERS.load(self.knockoffs or DEFAULT_KNOCKOFFS)
            return named
        return type(self.knockoffs)

    def _sampler(self) -> KnockoffSampler:
        """An unfitted sampler: a copy of the given one, or a new one of the given name."""
        if self.knockoffs is None or isinstance(self.knockoffs, str):
            return self._sampler_class()()
        copied: KnockoffSampler = clone(self.knockoffs)
        return copied

    def _statistic(self) -> Statistic:
        """The given statistic, or a new one of the given name."""
        if isinstance(self.statistic, str):
            named: Statistic = STATISTICS.create(self.statistic)
            return named
        if self.statistic is not None:
            return self.statistic
        from grip2.statistics.staged import Staged  # here, because importing Numba and JAX takes seconds

        return Staged()

    def _result(
        self,
        drawn: Drawn,
        statistic: Statistic,
        sampler: KnockoffSampler,
        response: Response,
        rows: OneRowEach | None,
        choice: CopiesChoice,
        began: float,
    ) -> SelectionResult:
        seed = self.random_state
        fit = Fit(
            drawn=drawn,
            table=self.table_,
            response=response,
            response_of_table=self.response_,
            statistic=statistic,
            sampler=sampler,
            copies=choice,
            n_rows=int(self.n_rows_),
            one_row_each=rows,
        )
        return selection_record(
            fit,
            fdr=float(self.fdr),
            offset=self.offset,
            n_draws=int(self.n_draws),
            settings=self._settings(statistic, sampler),
            seed=int(seed) if isinstance(seed, numbers.Integral) else None,
            seconds=time.perf_counter() - began,
        )

    def _settings(self, statistic: Statistic, sampler: KnockoffSampler) -> dict[str, Any]:
        return {
            "statistic": {"name": type(statistic).__name__, **_short(statistic.get_params())},
            "knockoffs": {"name": type(sampler).__name__, **_short(sampler.get_params(deep=False))},
            "copies": self.copies if self.copies == AUTOMATIC else int(self.copies),
            "n_draws": int(self.n_draws),
            "call": self._call(),
        }

    def _call(self) -> str:
        """The selector as Python code, with parameters that differ from the defaults and may change numbers."""
        seed = self.random_state if isinstance(self.random_state, numbers.Integral) else None
        plain = clone(self).set_params(n_jobs=None, describe=True, random_state=seed)
        return " ".join(repr(plain).split())


def select(
    X: Any, y: Any, *, progress: Progress | None = None, executor: Executor | None = None, **parameters: Any
) -> SelectionResult:
    """Select features in one call: ``KnockoffSelector(**parameters).fit(X, y).result_``."""
    return KnockoffSelector(**parameters).fit(X, y, progress=progress, executor=executor).result_


def _finish(part: Progress | None) -> None:
    """Report a part of the work as done, even if it has reported nothing itself."""
    if part is not None:
        part(1, 1)


def _short(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without long arrays, which are data and not choices."""
    return {name: value for name, value in settings.items() if np.ndim(value) == 0 or np.size(value) <= 20}
