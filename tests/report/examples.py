"""Results to make pages of: odd names and categories, several draws, nothing selected, a thousand features."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from grip2 import KnockoffSelector
from grip2.facts import LassoComparison
from grip2.filter import knockoff_threshold, q_values
from grip2.result import SelectionResult, Surface
from grip2.statistics import EffectPosterior, LassoCoefficient

SCRIPT, FORMULA, ESCAPES = "<script>alert('x')</script>", "=cmd|' /C calc'!A0", "\x1b[31mred\x07"
TURNED, LONG, KANJI = "abc\u202edef", "a very long name of a column " * 20, "収縮期血圧"


@cache
def odd_names(n_draws: int = 1) -> SelectionResult:
    """Numbers, a category, a group and an interaction, under names that try to do harm."""
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            SCRIPT: rng.uniform(18, 90, n).round(),
            "region": rng.choice(["north", "<b>south</b>", "east"], n),
            FORMULA: rng.standard_normal(n),
            LONG: rng.standard_normal(n),
            ESCAPES: rng.standard_normal(n),
            **{f"noise_{j}": rng.standard_normal(n) for j in range(7)},
            TURNED: rng.standard_normal(n),
            KANJI: rng.standard_normal(n),
        }
    )
    y = (
        frame[SCRIPT] / 15
        + 2 * (frame["region"] == "east")
        + frame[FORMULA] * frame[LONG]
        + frame[ESCAPES]
        + frame["noise_0"]
        + 0.5 * rng.standard_normal(n)
    )
    statistic = EffectPosterior(sweeps=200)
    groups = {"pair": ["noise_0", "noise_1"]}
    selector = KnockoffSelector(statistic, "copula", groups=groups, n_draws=n_draws, fdr=0.2, random_state=0)
    return selector.fit(frame, y).result_


@cache
def nothing() -> SelectionResult:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 12))
    return KnockoffSelector(LassoCoefficient(), "gaussian", random_state=0).fit(X, rng.standard_normal(150)).result_


def thousand() -> SelectionResult:
    """As if a table of a thousand columns had been selected from, with long names and a network's surface."""
    rng = np.random.default_rng(2)
    p, blocks = 1000, 60
    W = np.concatenate([rng.exponential(2.0, 80) + 1, rng.normal(0, 0.5, p - 80)])
    of_lasso = rng.normal(0.2, 1.0, p)
    few = nothing()
    quality = replace(few.knockoff_quality, unit_correlations=tuple(rng.uniform(0, 0.9, p)))
    return replace(
        few,
        feature_names=tuple(f"gene_{j:04d} of chromosome {j % 23} with a long description beside it" for j in range(p)),
        W=W,
        q_values=q_values(W),
        selected_mask=knockoff_threshold(W, 0.1) <= W,
        original=np.abs(W),
        knockoff=np.abs(W) / 2,
        threshold=knockoff_threshold(W, 0.1),
        copies=1,
        knockoff_quality=quality,
        lasso=LassoComparison(tuple(of_lasso.tolist()), tuple(q_values(of_lasso).tolist())),
        columns=tuple(replace(few.columns[0], name=f"gene_{j:04d}", done="scaled " * 10) for j in range(p)),
        surface=Surface(
            np.geomspace(1e-3, 1e-1, blocks),
            rng.uniform(0.1, 1, blocks),
            rng.uniform(0, 1, (blocks, 2, p)) + np.array([1.0, 0.0])[:, None],
            np.ones(blocks),
        ),
    )
