"""The draws of a selection: knockoffs and importances, some draws at a time, in this process or on several workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from grip2.knockoffs import KnockoffSampler
from grip2.progress import Progress, share_progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.units import Layout, Units

# Knockoffs held in memory at once are bounded by this many bytes.
MAX_GROUP_BYTES = 2**28


def draw_importances(
    statistic: Statistic,
    sampler: KnockoffSampler,
    X: np.ndarray,
    response: Response,
    *,
    units: Units,
    copies: int,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Importance]:
    """One draw for each generator; neither workers nor their number change the numbers."""
    # How many draws are scored together never depends on the number of workers.
    together = statistic.draws_together(len(X), Layout(1 + copies, units))
    size = max(1, min(together, MAX_GROUP_BYTES // (X.nbytes * copies)))
    parts = [rngs[start : start + size] for start in range(0, len(rngs), size)]
    sampler.s_for(copies)  # solved and factorised once, not in every worker
    work = partial(_importances, statistic, sampler, X, response, units, copies)
    if len(parts) == 1 or (executor is None and n_jobs in (None, 1)):
        found = [work(part, share_progress(progress, k, len(parts))) for k, part in enumerate(parts)]
    elif executor is not None:
        futures = [executor.submit(work, part, None) for part in parts]
        try:
            found = _reported((future.result() for future in futures), len(parts), progress)
        finally:
            for future in futures:
                future.cancel()  # those that have not begun, where one has failed
    else:
        found = _reported(
            Parallel(n_jobs=n_jobs, return_as="generator")(delayed(work)(part, None) for part in parts),
            len(parts),
            progress,
        )
    return [importance for part in found for importance in part]


def _reported(parts: Iterable[list[Importance]], n_parts: int, progress: Progress | None) -> list[list[Importance]]:
    """What workers found, with progress told as parts come in."""
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
    rngs: Sequence[np.random.Generator],
    progress: Progress | None,
) -> list[Importance]:
    """Some draws: sample knockoffs for each, then score them together.

    On one thread of the linear algebra library, as worker processes have it: sums then round alike in all of them.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        draws = [sampler.sample(X, rng=rng, copies=copies) for rng in rngs]
        return statistic.importances(X, draws, response, rngs=rngs, units=units, progress=progress)
