"""The page of a selection: what it says about the parts of the signal."""

from __future__ import annotations

import re

import numpy as np

from grip2 import KnockoffSelector
from grip2.report.html import selection_page
from grip2.statistics import GRIP2, Ensemble, LassoCoefficient


def page(statistic):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.standard_normal(300)
    return selection_page(KnockoffSelector(statistic, fdr=0.5, random_state=0).fit(X, y).result_)


def test_the_share_of_every_part_is_told():
    text = page(GRIP2(steps=50, hidden=4))
    assert "Where the signal lies" in text
    shares = {words: float(share) for words, share in re.findall(r"<td>([^<]*)</td><td>([\d.]+) %</td>", text)}
    assert shares["an additive model (straight lines and curves of single features)"] > 70
    assert len(shares) == 2
    assert "Of the first of several runs" not in text
    text = page(GRIP2(steps=50, hidden=4, linear="lasso"))
    shares = {words: float(share) for words, share in re.findall(r"<td>([^<]*)</td><td>([\d.]+) %</td>", text)}
    assert shares["a lasso on the features (straight lines)"] > 50
    assert shares["a lasso on bent features (curves of single features)"] > 10
    assert len(shares) == 3
    text = page(Ensemble(GRIP2(steps=50, hidden=4, linear="lasso", curves=False), 2))
    assert "Of the first of several runs" in text
    assert "curves of single features" not in text


def test_statistics_of_one_part_have_no_shares():
    for statistic in (LassoCoefficient(), GRIP2(steps=50, hidden=4, linear=None)):
        assert "Where the signal lies" not in page(statistic)


def test_what_the_network_learned_is_told():
    rest, whole = (page(GRIP2(steps=50, hidden=4, learns=learns)) for learns in ("rest", "response"))
    for sentence, where in (
        ("the network on what is left", rest),
        ("was taken out before", rest),
        ("the network on the whole response, led by what was found", whole),
        ("holds what the others explain too", whole),
    ):
        assert [sentence in text for text in (rest, whole)] == [where is rest, where is whole]
