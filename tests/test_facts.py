"""Facts of real selections: typed records, and JSON that follows the published schema."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from grip2 import KnockoffSelector
from grip2.facts import CalibrationFacts, Facts, KnockoffQuality, LimitingUnit, StageFacts, TrainingFacts, record_from
from grip2.knockoffs import GaussianKnockoffs
from grip2.result import SCHEMA_VERSION, SelectionResult
from grip2.statistics import GRIP2, EffectPosterior, Ensemble, LassoCoefficient, LassoCurves, Staged

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "selection.schema.json").read_text())
NETWORK = GRIP2(hidden=4, depth=1, steps=60, block_size=20, batch_size=32)

# Name of a result: statistic, kind of response, draws.
CASES = {
    "regression": (Staged(EffectPosterior(sweeps=50), NETWORK), "measurement", 1),
    "classes": (Staged(LassoCurves(), NETWORK), "classes", 1),
    "several draws": (LassoCoefficient(), "measurement", 3),
    "without stages or network": (LassoCoefficient(), "measurement", 1),
    "networks alone": (Ensemble(NETWORK, 2, budget="each"), "measurement", 1),
    "nothing found": (LassoCoefficient(), "noise", 1),
}


@pytest.fixture(scope="module")
def results() -> dict[str, SelectionResult]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(100)
    responses = {"measurement": y, "classes": np.where(y > 0, "sick", "well"), "noise": rng.standard_normal(100)}
    with pytest.MonkeyPatch.context() as patched:  # networks are trained also where their rehearsal explains nothing
        patched.setattr("grip2.statistics.staged._PreparedStages.without_training", lambda self: None)
        return {
            name: KnockoffSelector(statistic, GaussianKnockoffs(), fdr=0.4, n_draws=draws, random_state=0)
            .fit(X, responses[kind])
            .result_
            for name, (statistic, kind, draws) in CASES.items()
        }


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one_and_describes_every_field():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def undescribed(part: object, path: str) -> list[str]:
        if not isinstance(part, dict):
            return []
        missing = [] if "description" in part else [path]
        for name, inner in part.get("properties", {}).items():
            missing += undescribed(inner, f"{path}.{name}")
        return missing + undescribed(part.get("items"), f"{path}[]")

    assert undescribed(SCHEMA, "selection") == []
    assert SCHEMA["properties"]["schema_version"]["const"] == SCHEMA_VERSION


@pytest.mark.parametrize("name", CASES)
def test_real_results_follow_the_schema(results, name):
    assert list(validator().iter_errors(json.loads(results[name].to_json()))) == []


@pytest.mark.parametrize("name", CASES)
def test_json_brings_everything_back(results, name):
    result = results[name]
    again = SelectionResult.from_json(result.to_json())
    assert again == result
    assert again.facts == result.facts
    assert again.knockoff_quality == result.knockoff_quality


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"schema_version": 2}, "1 was expected"),
        ({"surprise": 1}, "'surprise' was unexpected"),
        ({"fdr": 1.5}, "1.5"),
        ({"stages": [{"name": "network"}]}, "'explains' is a required property"),
    ],
)
def test_the_schema_can_fail(results, change, complaint):
    content = json.loads(results["regression"].to_json()) | change
    with pytest.raises(jsonschema.ValidationError, match=complaint):
        validator().validate(content)


@pytest.mark.parametrize(
    ("record", "place"),
    [
        (StageFacts, ("stages", "items")),
        (TrainingFacts, ("training", "anyOf", 1)),
        (CalibrationFacts, ("calibration", "anyOf", 1)),
        (KnockoffQuality, ("knockoff_quality",)),
    ],
)
def test_records_and_schema_have_the_same_fields(record, place):
    described = SCHEMA["properties"]
    for step in place:
        described = described[step]
    assert list(described["properties"]) == [field.name for field in fields(record)]
    assert described["additionalProperties"] is False


def test_what_the_facts_say(results):
    staged = results["regression"].facts
    assert [stage.name for stage in staged.stages] == ["effects", "network"]
    assert 0.5 < staged.stages[0].held_out_share <= 1
    assert staged.training.block_size == 20
    assert staged.calibration.block_rule == "given"
    assert set(staged.calibration.target_losses) == {"residual", "response"}
    assert len(results["classes"].facts.stages[0].penalties) >= 1
    alone = results["networks alone"].facts
    assert (alone.stages, alone.members, alone.training.steps) == ((), 2, 60)
    assert alone.calibration.lambda_rule == "held-out prediction"
    lasso = results["without stages or network"].facts
    assert (lasso.stages, lasso.training, lasso.calibration) == ((), None, None)
    assert lasso.details["lambda"] > 0
    assert lasso.members == 1


def test_records_inside_records_come_back():
    content = {
        "stages": [{"name": "a", "explains": "b", "target": "response", "held_out_share": 0.1, "penalties": [0.5]}],
        "training": None,
        "calibration": None,
        "members": 1,
        "details": {},
    }
    assert record_from(Facts, content) == Facts((StageFacts("a", "b", "response", 0.1, (0.5,)),))


def test_quality_is_printed_in_a_few_lines():
    unit = LimitingUnit("weight", 0.97, "height", 0.99)
    judged = ("usable", ("A rate is above its bound.",), (0.3,) * 500, (unit,) * 7)
    quality = KnockoffQuality("CopulaKnockoffs", 0.31, 0.97, 1, *judged)
    assert str(quality).splitlines() == [
        "Knockoffs (CopulaKnockoffs): usable.",
        "  A rate is above its bound.",
        "Correlation of a column with its own knockoff: 0.31 on average, 0.97 at most; near 1 there is no power. 1 column is at "
        "0.95 or above.",
        f"Hardest to find: {', '.join(['weight (0.97, resembles height)'] * 5)} and 2 more.",
    ]
    unknown = KnockoffQuality("GaussianKnockoffs", 0.3, 0.6, 0)
    assert str(unknown).startswith("Knockoffs (GaussianKnockoffs): no verdict on this table.\nCorrelation")
    assert "0 columns are at 0.95" in str(unknown)
