"""The lasso coefficient difference beside another statistic: on the same knockoffs, so that the two can be compared.

It never changes the selection: it has random numbers of its own and is scored after the statistic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grip2._random import stream
from grip2.draws import Beside
from grip2.facts import LassoComparison
from grip2.filter import q_values
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.statistics.lasso_coefficient import LassoCoefficient

# The largest tables of all members for which the lasso takes no more than a few seconds: columns, and entries times models. A
# fit by likelihood costs several times as much as one by least squares.
MOST_COLUMNS = 1_500
MOST_ENTRIES = {"least squares": 10_000_000, "logistic": 2_000_000, "likelihood": 2_000_000}


def lasso_beside(
    statistic: Statistic, response: Response, shape: Sequence[int], copies: int, rng: np.random.Generator
) -> Beside | None:
    """The lasso for a table of this shape; None if the statistic is the lasso itself, or if it would take too long."""
    n_rows, n_columns = shape[0], shape[1] * (1 + copies)
    entries = n_rows * n_columns * response.n_outputs
    if not statistic.compared_with_lasso or n_columns > MOST_COLUMNS or entries > MOST_ENTRIES[response.linear_model]:
        return None
    return Beside(LassoCoefficient(), stream(rng, "lasso beside"))


def lasso_comparison(found: Importance | None, offset: int) -> LassoComparison | None:
    """What the lasso found, as a record; None if it was not fitted."""
    if found is None:
        return None
    W = found.W
    return LassoComparison(tuple(W.tolist()), tuple(q_values(W, offset, found.copies).tolist()))
