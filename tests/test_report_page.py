"""The page of a selection: what it says about the stages of a statistic."""

from __future__ import annotations

import re

import numpy as np
import pytest

from grip2 import KnockoffSelector
from grip2.report.html import selection_page
from grip2.statistics import GRIP2, Ensemble, LassoCoefficient, LassoCurves, Staged

SMALL = {"steps": 50, "hidden": 4}


def page(statistic):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.standard_normal(300)
    return selection_page(KnockoffSelector(statistic, fdr=0.5, copies=1, random_state=0).fit(X, y).result_)


def shares_told(text):
    return {words: float(share) for words, share in re.findall(r"<td>([^<]*)</td><td>([\d.]+) %</td>", text)}


def test_the_share_of_every_stage_is_told():
    text = page(Staged(network=GRIP2(**SMALL)))
    assert "Where the signal lies" in text
    shares = shares_told(text)
    assert shares["effects: effects of single features and of pairs, straight or curved (Bayesian model)"] > 70
    assert len(shares) == 2
    assert "Of the first of several runs" not in text
    text = page(Staged(LassoCurves(), GRIP2(**SMALL)))
    shares = shares_told(text)
    assert shares["lasso-curves: effects of single features, straight or curved (two lassos)"] > 60
    assert len(shares) == 2
    text = page(Ensemble(Staged(LassoCurves(curves=False), GRIP2(**SMALL)), 2))
    assert "Of the first of several runs" in text


def test_statistics_of_one_model_have_no_shares():
    for statistic in (LassoCoefficient(), GRIP2(**SMALL)):
        assert "Where the signal lies" not in page(statistic)


@pytest.fixture
def always_trained(monkeypatch):
    """Networks are trained also where their rehearsal explains next to nothing."""
    monkeypatch.setattr("grip2.statistics.staged._PreparedStages.without_training", lambda self: None)


def test_settings_and_what_was_chosen_are_listed(always_trained):
    text = page(Staged(network=GRIP2(**SMALL)))
    for row in (
        "training.block_size",
        "calibration.lambda_rule",
        "knockoff_quality.mean_correlation",
        "statistic.target",
    ):
        assert f"<td>{row}</td>" in text


def test_what_the_network_learned_is_told(always_trained):
    residual, whole = (page(Staged(network=GRIP2(**SMALL), target=target)) for target in ("residual", "response"))
    for sentence, where in (
        ("any signal in what is left", residual),
        ("was taken out before", residual),
        ("any signal in the whole response", whole),
        ("holds what the others explain too", whole),
    ):
        assert [sentence in text for text in (residual, whole)] == [where is residual, where is whole]
