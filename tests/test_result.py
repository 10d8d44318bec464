from __future__ import annotations

import json

import numpy as np
import pytest

from grip2.decision import Decision
from grip2.derandomize import e_benjamini_hochberg
from grip2.errors import Grip2Error
from grip2.explain import reason_for
from grip2.facts import CalibrationFacts, Facts, KnockoffQuality, StageFacts
from grip2.filter import knockoff_threshold, q_values
from grip2.result import SCHEMA_VERSION, Importance, SelectionResult, Surface

FACTS = Facts(
    stages=(
        StageFacts("lasso-curves", "lines", "response", 0.25, (0.1, 0.2)),
        StageFacts("network", "all", "residual", 0.5),
    ),
    calibration=CalibrationFacts("given", "pilot run", target_losses={"residual": 0.5}),
    members=3,
    details={"method": "lars"},
)


def make_result(W, fdr=0.1, copies=1, **changes):
    W = np.asarray(W, float)
    threshold, q = knockoff_threshold(W, fdr, copies=copies), q_values(W, copies=copies)
    values = {
        "feature_names": tuple(f"f{j}" for j in range(len(W))),
        "W": W,
        "q_values": q,
        "selected_mask": W >= threshold,
        "original": np.maximum(W, 0),
        "knockoff": np.maximum(-W, 0),
        "fdr": fdr,
        "offset": 1,
        "threshold": threshold,
        "reason": reason_for(Decision(W, q, W >= threshold, threshold), fdr=fdr, offset=1, n_draws=1, copies=copies),
        "copies": copies,
        "assumptions": ("rows are independent",),
        "facts": FACTS,
        "knockoff_quality": KnockoffQuality("CopulaKnockoffs", 0.3, 0.6, 0),
        "settings": {"nested": {"range": (1e-3, np.float64(0.1)), "off": np.inf}},
        "task": "regression",
        "response": "a measurement",
        "n_rows": 100,
        "seed": 7,
        "versions": {"grip2": "0"},
        "seconds": 1.5,
    }
    return SelectionResult(**(values | changes))


def test_json_round_trip():
    for W in (np.linspace(-0.1, 2, 30), -np.ones(5)):
        result = make_result(W)
        text = result.to_json()
        assert SelectionResult.from_json(text).to_json() == text
        assert SelectionResult.from_json(text) == result
        assert SelectionResult.from_json(text).facts == FACTS
        assert SelectionResult.from_json(text).knockoff_quality == result.knockoff_quality
        assert set(json.loads(text)) >= {
            "selected", "features", "fdr", "threshold", "reason", "assumptions", "settings", "seed", "versions", "seconds",
            "schema_version", "stages", "training", "calibration", "members", "details", "knockoff_quality", "response",
        }  # fmt: skip
    with_e = make_result(np.linspace(-0.1, 2, 30), e_values=np.arange(30.0), frequency=np.linspace(0, 1, 30))
    assert SelectionResult.from_json(with_e.to_json()) == with_e
    with_units = make_result([1.0, -0.1], copies=3, copies_reason="few columns", groups={"f0": ["a", "b"], "f1": ["c"]})
    assert SelectionResult.from_json(with_units.to_json()) == with_units
    assert SelectionResult.from_json(with_units.to_json()).copies == 3


@pytest.mark.parametrize("version", [None, 0, SCHEMA_VERSION + 1, "1"])
def test_another_version_of_the_format_is_refused(version):
    content = make_result(np.linspace(-0.1, 2, 30)).to_dict() | {"schema_version": version}
    with pytest.raises(Grip2Error, match=rf"expected schema_version 1, got {version!r}: .* another version of grip2"):
        SelectionResult.from_json(json.dumps(content))
    del content["schema_version"]
    with pytest.raises(Grip2Error, match="expected schema_version 1, got None"):
        SelectionResult.from_dict(content)


def test_results_that_differ_in_their_facts_only_are_not_equal():
    result = make_result(np.linspace(-0.1, 2, 30))
    assert make_result(np.linspace(-0.1, 2, 30), facts=Facts()) != result
    assert make_result(np.linspace(-0.1, 2, 30)) == result


def test_no_selection_has_a_null_threshold():
    assert json.loads(make_result([-1.0, 0.5]).to_json())["threshold"] is None


def test_frame_and_names():
    result = make_result(np.linspace(-0.1, 2, 30))
    frame = result.to_frame()
    assert list(frame.columns) == ["name", "W", "q_value", "selected", "original", "knockoff", "stands_for"]
    assert frame["stands_for"].tolist() == frame["name"].tolist()
    assert frame["name"][0] == "f29"
    assert result.selected[0] == "f29"
    assert frame["selected"].sum() == len(result.selected)
    assert str(result).startswith(f"{len(result.selected)} of 30 features selected at fdr 0.1: f29")
    assert str(make_result([-1.0, 0.5])).startswith("0 of 2 features selected at fdr 0.1. With one knockoff of each")


def test_names_of_the_columns_of_a_unit_can_be_told_apart():
    columns = ["date", "date (season, sine)", "date (season, cosine)"]
    frame = make_result([1.0, -0.1, -0.2], groups={"f0": columns, "f1": ["f1"]}).to_frame()
    assert frame["stands_for"].tolist() == ["date; date (season, sine); date (season, cosine)", "f1", "f2"]
    assert frame["stands_for"][0].split("; ") == columns


def test_reason_for_an_empty_selection_says_what_would_help():
    W = np.concatenate([np.full(12, 1.0), np.full(8, -0.5)])
    reason = make_result(W, fdr=0.05).reason
    assert "at least 20 features must be selected together" in reason
    assert "12 of 20 features had W > 0" in reason
    assert "smallest fdr that would select something is 0.084 (12 features)" in reason
    named = 0.084
    assert np.sum(W >= knockoff_threshold(W, named)) == 12
    assert "No fdr below 1 would select" in make_result(-np.ones(4)).reason


def test_reason_for_a_selection_of_several_draws_states_what_e_bh_demands():
    e = np.array([30.0, 30.0, 24.0, 0, 0, 0, 0, 0, 0, 0])
    decision = Decision(e, e, e_benjamini_hochberg(e, 0.2), 24.0, e)
    told = reason_for(decision, fdr=0.2, offset=1, n_draws=5, copies=3)
    assert told.startswith("3 features have an e-value, averaged over 5 draws, of at least 10 / (0.2 x 3) = 16.7,")


def test_reason_for_a_selection_states_the_estimate():
    W = np.concatenate([np.full(20, 1.0), [-1.0], np.full(5, -0.01)])
    assert "(1 + 1) / 20 = 0.1, at most 0.1" in make_result(W).reason


def test_the_estimate_of_several_copies_is_divided_by_their_number():
    W = np.concatenate([np.full(4, 1.0), [-1.0], np.full(5, -0.01)])
    result = make_result(W, copies=5)
    assert result.selected_mask.sum() == 4
    assert "(1 + 1) / (5 x 4) = 0.1, at most 0.1" in result.reason
    assert not make_result(W).selected_mask.any()


def test_importance_puts_members_back_everywhere():
    """Two units, the members of the first in reverse order."""
    activity = np.array([[[1.0, 2], [5, 6]], [[3, 4], [7, 8]]])
    surface = Surface(np.ones(2), np.ones(2), activity, np.zeros(2))
    importance = Importance(np.array([[1.0, 2], [3, 4]]), FACTS, surface, np.arange(3.0))
    found = importance.unshuffled(np.array([[1, 0], [0, 1]]))
    np.testing.assert_array_equal(found.scores, [[3, 2], [1, 4]])
    np.testing.assert_array_equal(found.W, [2, -2])
    np.testing.assert_array_equal(found.surface.original, [[5, 2], [7, 4]])
    np.testing.assert_array_equal(found.surface.knockoff, [[1, 6], [3, 8]])
    assert found.facts is FACTS
    assert found.loss_curve is importance.loss_curve
    np.testing.assert_array_equal(importance.W, [-2, -2])


def test_importance_of_several_copies():
    importance = Importance(np.array([[5.0, 1, 2], [1, 4, 2], [2, 3, 0], [4, 2, 1]]))
    assert importance.copies == 3
    np.testing.assert_array_equal(importance.original, [5, 1, 2])
    np.testing.assert_array_equal(importance.knockoff, [4, 4, 2])
    np.testing.assert_array_equal(importance.W, [5 - 2, -(4 - 2), 0])  # the last: a draw between two members


def test_the_mean_over_copies_of_a_surface():
    surface = Surface(np.ones(1), np.ones(1), np.array([[[9.0, 8], [1, 2], [3, 6]]]), np.zeros(1))
    np.testing.assert_array_equal(surface.original, [[9, 8]])
    np.testing.assert_array_equal(surface.knockoff, [[2, 4]])


def test_tied_units_have_no_winner_and_the_others_keep_their_scores():
    scores = np.random.default_rng(0).random((4, 5))
    tied = Importance(scores, FACTS).tied(np.array([True, False, False, True, False]))
    np.testing.assert_array_equal(tied.W[[0, 3]], 0)
    np.testing.assert_allclose(tied.scores[:, 0], scores[:, 0].mean())
    np.testing.assert_array_equal(tied.scores[:, [1, 2, 4]], scores[:, [1, 2, 4]])
    assert tied.facts is FACTS


def test_importance_refuses_nonsense():
    with pytest.raises(Grip2Error, match="finite"):
        Importance(np.array([[np.nan], [1.0]]))
    for scores in (np.ones(3), np.ones((1, 3)), np.ones((2, 2, 2))):
        with pytest.raises(Grip2Error, match="at least two members of every unit, got shape"):
            Importance(scores)
