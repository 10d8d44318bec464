"""Makes the draws of a selection: knockoffs and importances, several draws at a time, in this process or on workers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError, Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from grip2 import stopping
from grip2._random import stream
from grip2.blas_threads import one_blas_thread
from grip2.errors import Grip2Error, Grip2Failure
from grip2.knockoffs import KnockoffSampler
from grip2.orphans import leave_with_parent
from grip2.progress import Progress, share_progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.units import Layout, Units

# Knockoffs held in memory at once are bounded by this many bytes.
MAX_GROUP_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class OneRowEach:
    """Rows that come in clusters, such as several samples of one patient; a draw takes one row of each cluster.

    Rows of different clusters are independent, rows of one cluster are not. A table with one row of every cluster has
    independent rows, so knockoffs keep their guarantee, and e-values of several draws may be averaged even if they depend on
    each other.
    """

    of_row: np.ndarray  # (rows,) 0 .. clusters - 1

    @classmethod
    def of(cls, clusters: Any, n_rows: int, who: str) -> OneRowEach:
        """From one label for every row."""
        labels = np.asarray(clusters)
        if labels.shape != (n_rows,):
            raise Grip2Error(f"{who}: clusters must hold one label for each of the {n_rows} rows, got {labels.size}.")
        if pd.isna(labels).any():
            raise Grip2Error(
                f"{who}: clusters must not be missing, got {int(pd.isna(labels).sum())} rows without one. Give a row that "
                "belongs to no cluster a label of its own."
            )
        return cls(pd.factorize(labels)[0].astype(np.intp))

    def __len__(self) -> int:
        return int(self.of_row.max()) + 1

    def choose(self, rng: np.random.Generator) -> np.ndarray:
        """The number of one row of every cluster, ascending; within a cluster all rows are equally likely."""
        order = rng.permutation(len(self.of_row))
        _, first = np.unique(self.of_row[order], return_index=True)
        return np.sort(order[first])

    def expected(self, values: np.ndarray) -> float:
        """The mean over draws of the sum of values of the chosen rows."""
        return float((np.bincount(self.of_row, weights=values) / np.bincount(self.of_row)).sum())


def augmented(
    sampler: KnockoffSampler, X: np.ndarray, response: Response, rng: np.random.Generator, who: str
) -> tuple[np.ndarray, Response]:
    """The data with rows added if the sampler needs more than there are; added rows have Gaussian noise for y."""
    needed = sampler.rows_needed(X.shape[1])
    if len(X) >= needed:
        return X, response
    if not (sampler.augments_rows and response.gaussian_noise):
        raise Grip2Error(
            f"{who}: {type(sampler).__name__} of {X.shape[1]} features needs at least {needed} rows for "
            f"{response.noun}, got {len(X)}. Use CopulaKnockoffs."
        )
    X, y = sampler.augment_rows(X, response.y, rng=rng)
    return X, response.encode(y, who)


@dataclass(frozen=True)
class Beside:
    """Another statistic that is scored on the knockoffs of the first draw, with random numbers of its own."""

    statistic: Statistic
    rng: np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """The importances of draws, and of the statistic beside them on the first draw."""

    importances: list[Importance]
    beside: Importance | None = None


def draw_importances(
    statistic: Statistic,
    sampler: KnockoffSampler,
    X: np.ndarray,
    response: Response,
    *,
    units: Units,
    copies: int,
    one_row_each: OneRowEach | None = None,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    beside: Beside | None = None,
) -> Drawn:
    """One draw for each generator; results depend neither on workers nor their number, nor on ``beside``.

    Missing values of X are completed anew in every draw, and with ``one_row_each`` every draw has its own rows.
    """
    # How many draws are scored together must not depend on the number of workers. Draws with their own tables share nothing.
    shares_table = one_row_each is None and not np.isnan(X).any()
    together = statistic.draws_together(len(X), Layout(1 + copies, units)) if shares_table else 1
    size = max(1, min(together, MAX_GROUP_BYTES // (X.nbytes * copies)))
    parts = [_Part(rngs[start : start + size], beside if start == 0 else None) for start in range(0, len(rngs), size)]
    sampler.s_for(copies)  # solved and factorised once, not in every worker
    work = partial(_importances, statistic, sampler, X, response, units, copies, one_row_each)
    if len(parts) == 1 or (executor is None and n_jobs in (None, 1)):
        found = [work(part, share_progress(progress, k, len(parts))) for k, part in enumerate(parts)]
    elif executor is not None:
        futures = [executor.submit(work, part, None) for part in parts]
        try:
            with stopping.at_once():
                found = _reported((future.result() for future in futures), len(parts), progress)
        except CancelledError:
            raise Grip2Failure("the workers that computed the draws are gone (a Dask scheduler that ended?).") from None
        finally:
            for future in futures:
                future.cancel()  # if one has failed, those that have not begun
    else:
        with stopping.at_once():
            found = _reported(_local_workers(n_jobs)(delayed(work)(part, None) for part in parts), len(parts), progress)
    return Drawn([importance for part in found for importance in part.importances], found[0].beside)


def _local_workers(n_jobs: int | None) -> Parallel:
    """Processes of joblib, unless the caller has chosen another of its backends."""
    backend, _ = get_active_backend()
    local = type(backend).__name__ == "LokyBackend"
    how = {"initializer": leave_with_parent, "initargs": (os.getpid(),)} if local else {}
    return Parallel(n_jobs=n_jobs, return_as="generator", **how)


@dataclass(frozen=True)
class _Part:
    """Draws that are scored together."""

    rngs: Sequence[np.random.Generator]
    beside: Beside | None  # of the part with the first draw


def _reported(parts: Iterable[Drawn], n_parts: int, progress: Progress | None) -> list[Drawn]:
    """The results of workers; progress is reported as they come in."""
    found = []
    for part in parts:
        found.append(part)
        if progress is not None:
            progress(len(found), n_parts)
    return found


def _importances(
    statistic: Statistic,
    sampler: KnockoffSampler,
    X: np.ndarray,
    response: Response,
    units: Units,
    copies: int,
    one_row_each: OneRowEach | None,
    part: _Part,
    progress: Progress | None,
) -> Drawn:
    """Sample knockoffs for several draws, then score them together.

    With one thread of the linear algebra library, as in worker processes: sums then round alike everywhere.
    """
    rngs, beside = part.rngs, part.beside
    with one_blas_thread():
        if one_row_each is not None:
            chosen = one_row_each.choose(stream(rngs[0], "rows of clusters"))
            X, response = X[chosen], response.take(chosen)
        X = sampler.complete(X, rng=rngs[0])
        draws = [sampler.sample(X, rng=rng, copies=copies) for rng in rngs]
        importances = statistic.importances(X, draws, response, rngs=rngs, units=units, progress=progress)
        return Drawn(importances, None if beside is None else _scored_beside(beside, X, draws[0], response, units))


def _scored_beside(
    beside: Beside, X: np.ndarray, Xk: np.ndarray, response: Response, units: Units
) -> Importance | None:
    """The other statistic's importance; None if it cannot be fitted, as with classes of one row: the selection goes on."""
    try:
        return beside.statistic.importance(X, Xk, response, rng=beside.rng, units=units)
    except Grip2Error:
        return None
