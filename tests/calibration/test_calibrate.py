"""Calibrations in one process: what is counted, that runs repeat and go on, and that broken knockoffs are found out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from grip2 import Grip2Error, KnockoffSelector, calibrate
from grip2.calibration.plan import CalibrationPlan
from grip2.calibration.run import Calibration
from grip2.calibration.study import CalibrationStudy, SimulatedSelection, Simulation
from grip2.calibration.trial import Task, run_task
from grip2.experiments.store import Store
from grip2.knockoffs import GaussianKnockoffs
from grip2.statistics import FromEstimator
from tests.calibration.tables import PermutedColumns, correlated, lasso_selector, measurement, mixed_table


@pytest.fixture(scope="module")
def table():
    X = correlated(120, 14, 0.2)
    return X, measurement(X, 4)


def run(table, **more):
    selector = more.pop("selector", lasso_selector())
    return calibrate(*table, selector, **{"runs": 8, "n_true": 4, "strength": 0.5, **more})


def without_seconds(study):
    return study.to_frame().drop(columns="seconds").to_csv(index=False)


@pytest.fixture(scope="module")
def study(table):
    return run(table)


def test_the_record(table, study):
    assert study.runs == study.planned == 8
    assert study.levels == (0.05, 0.1, 0.2)
    frame = study.to_frame()
    assert len(frame) == 8 * 3
    assert frame["signal"].value_counts().to_dict() == dict.fromkeys(("linear", "bends", "products", "mixture"), 6)
    summary = study.summary()
    assert len(summary) == 3 * 5
    own = frame[(frame["signal"] == "linear") & (frame["target_fdr"] == 0.2)]
    row = summary[(summary["signal"] == "linear") & (summary["target_fdr"] == 0.2)].iloc[0]
    assert row["fdr"] == pytest.approx(own["fdp"].mean())
    assert row["fdr_se"] == pytest.approx(own["fdp"].std() / np.sqrt(2))
    assert row["power"] == pytest.approx(((own["selected"] - own["false"]) / 4).mean())
    assert study.rate(0.2, "linear").power > 0.5  # half of the variance in four straight effects, 120 rows
    assert str(study).startswith(
        "On your table, with these settings, the realised false discovery rate at fdr 0.2 was "
    )
    content = json.loads(study.to_json())
    assert content["sentence"] == str(study)
    assert content["simulation"]["strength_reason"] == "given"
    assert "<svg" in study._repr_html_()
    with pytest.raises(Grip2Error, match="there are linear, bends"):
        study.rate(0.3)


def test_the_same_seed_gives_the_same_numbers_and_another_one_others(table, study):
    assert without_seconds(run(table)) == without_seconds(study)
    assert without_seconds(run(table, selector=lasso_selector(random_state=7))) != without_seconds(study)


def test_the_selector_that_is_given_is_left_alone(table):
    selector = lasso_selector()
    run(table, selector=selector, runs=2)
    assert not hasattr(selector, "result_")
    assert selector.describe


def test_two_processes_compute_what_one_does(table, study):
    assert without_seconds(run(table, n_jobs=2)) == without_seconds(study)


class Stop(Exception):
    pass


def test_a_stopped_run_goes_on(table, study, tmp_path):
    def stop_after_three(done, total):
        assert total == 8
        if done == 3:
            raise Stop

    with pytest.raises(Stop):
        run(table, out=tmp_path, progress=stop_after_three)
    with Store(tmp_path, create=False) as store:
        (before,) = store._connection.execute("SELECT count(*) FROM trials").fetchone()
    assert before == 3
    seen = []
    again = run(table, out=tmp_path, progress=lambda done, total: seen.append(done))
    assert seen[0] == 3
    assert seen[-1] == 8
    assert without_seconds(again) == without_seconds(study)


def test_more_runs_only_add(table, study, tmp_path):
    fewer = run(table, out=tmp_path, runs=4)
    more = run(table, out=tmp_path)
    assert more.selections[: len(fewer.selections)] == fewer.selections, "kept, with their seconds"
    assert without_seconds(more) == without_seconds(study)


def test_other_settings_in_the_same_folder_are_refused_by_name(table, tmp_path):
    X, y = table
    run(table, out=tmp_path, runs=2)
    cases = [
        ({"selector": lasso_selector(fdr=0.1)}, r"differs in fdr \(0.2 there, 0.1 now\)\. Repeat"),
        ({"selector": KnockoffSelector(None, "gaussian", fdr=0.2, random_state=0)}, r"statistic \(LassoCoefficient"),
        ({"selector": lasso_selector(n_draws=2)}, r"n_draws \(1 there, 2 now\)"),
        ({"n_true": 5}, r"true \(4 there, 5 now\)"),
        ({"strength": 0.4}, r"strength \(0.5 there, 0.4 now\)"),
        ({"selector": lasso_selector(random_state=1)}, r"seed \(0 there, 1 now\)"),
    ]
    for more, message in cases:
        with pytest.raises(Grip2Error, match=message):
            run(table, out=tmp_path, runs=2, **more)
    with pytest.raises(Grip2Error, match=r"differs in table \(other values\)\."):
        run((X + 0.01 * X**2, y), out=tmp_path, runs=2)
    with pytest.raises(Grip2Error, match=r"differs in response \(other values\)\."):
        run((X, -y), out=tmp_path, runs=2)
    again = run((X, -y), out=tmp_path, runs=2, force=True)
    assert again.runs == 2


def test_a_folder_of_an_experiment_is_refused(table, tmp_path):
    with Store(tmp_path) as store:
        store.begin_run("hiv", "name = 'hiv'", {"trials": 3})
    with pytest.raises(Grip2Error, match="not of a calibration"):
        run(table, out=tmp_path, runs=2)


def test_a_failed_trial_is_kept_as_such_and_tried_again(table, study, tmp_path, monkeypatch):
    from grip2.calibration import run as engine

    monkeypatch.setattr(engine, "run_task", lambda task: run_task(_spoiled(task)))
    broken = run(table, out=tmp_path)
    assert (broken.failed, broken.runs) == (2, 6)
    assert any("2 of 8 trials failed" in text for text in broken.to_dict()["what_it_says"])
    monkeypatch.undo()
    assert without_seconds(run(table, out=tmp_path)) == without_seconds(study)


def _spoiled(task: Task) -> Task:
    return replace(task, n_true=0) if task.signal == "bends" else task


def test_a_seed_that_nobody_gave_is_kept_in_the_folder(table, tmp_path):
    first = run(table, out=tmp_path, runs=2, selector=lasso_selector(random_state=None))
    again = run(table, out=tmp_path, runs=2, selector=lasso_selector(random_state=None))
    assert (again.seed, again.selections) == (first.seed, first.selections)


def test_false_discoveries_are_counted_per_unit():
    """A category of four levels is one unit, selected or not; the rows of the store are checked against the columns."""
    frame = mixed_table()
    y = frame["x0"] + frame["x1"] + (frame["city"] == "a") * 2 + np.random.default_rng(0).standard_normal(len(frame))
    found = calibrate(frame, y, lasso_selector("copula"), runs=4, n_true=5, strength=0.6)
    assert found.n_units == 10
    assert all(one.n_true == 5 and one.selected <= 10 and one.false <= 5 for one in found.selections)
    assert any(one.selected > 0 for one in found.selections)


def test_missing_values_are_completed_for_the_truth_and_hidden_from_the_selection(tmp_path):
    X = correlated(150, 10, 0.5)
    y = measurement(X, 3)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    calibration = Calibration.prepare(
        X, y, lasso_selector("copula"), CalibrationPlan(runs=2, n_true=3, strength=0.6), tmp_path
    )
    procedure = calibration.procedure
    hidden = np.isnan(X)
    assert not np.isnan(procedure.completed).any()
    np.testing.assert_array_equal(procedure.completed[~hidden], X[~hidden])
    np.testing.assert_array_equal(np.isnan(procedure.X), hidden)
    seen = []
    sampler = procedure.sampler
    complete = type(sampler).complete
    sampler.complete = lambda given, *, rng: (seen.append(np.isnan(given).sum()), complete(sampler, given, rng=rng))[1]
    rng = procedure.rng("linear", 0)
    procedure.select(procedure.simulate("linear", 3, 0.6, rng)[1], rng)
    assert seen == [hidden.sum()]
    found = calibrate(X, y, lasso_selector("copula"), runs=2, n_true=3, strength=0.6)
    assert found.simulation.completed == hidden.sum()
    assert any("completed once, by one draw" in text for text in found.to_dict()["what_it_says"])


def test_two_classes(table):
    X, y = table
    found = run((X, np.where(y > np.median(y), "ill", "well")), signals=["linear"], runs=4, strength=0.4)
    assert found.response == "two classes: ill, well"
    assert found.rate(0.2).selected > 0


@pytest.mark.parametrize("extra", [{"n_draws": 2}, {"missing": "median"}])
def test_draws_clusters_and_other_settings_take_part(table, extra):
    X, y = table
    twice = np.arange(len(X)) // 2
    found = calibrate(X, y, lasso_selector(**extra), clusters=twice, runs=2, n_true=4, strength=0.6)
    assert found.runs == 2
    assert found.n_draws == extra.get("n_draws", 1)


def test_fixed_x_knockoffs_with_added_rows():
    X = correlated(40, 25, 0.2)
    found = calibrate(X, measurement(X, 5), lasso_selector("fixed"), runs=2, n_true=5, signals=["linear"])
    assert found.runs == 2


def test_true_units_and_strength_follow_from_the_selection():
    X = correlated(200, 12, 0.0)
    y = measurement(X, 4)
    found = calibrate(X, y, lasso_selector(), runs=2).simulation
    assert 4 <= found.n_true <= 6
    assert found.n_true_reason == "as many as were selected for your response"
    assert found.strength == pytest.approx(0.5, abs=0.15)
    noise = np.random.default_rng(3).standard_normal(200)
    nothing = calibrate(X, noise, lasso_selector(fdr=0.05), runs=2).simulation
    assert (nothing.n_true, nothing.strength) == (2, 0.5)
    assert nothing.n_true_reason.startswith("assumed")
    assert nothing.strength_reason.startswith("assumed")


def test_broken_knockoffs_are_found_out_and_good_ones_are_not():
    """30 columns with correlation 0.5, 15 true; 30 responses; a ridge so strong that it looks at columns one by one; fdr 0.2.

    Null columns are correlated with the response. Their Gaussian knockoffs are so as well, permuted ones are not: nearly all
    columns are then selected, and half of them are false, with a standard error below 0.03. That such a rate is not told
    from 0.2 has a chance below 1e-6. Good knockoffs are two standard errors above by chance in one of forty seeds; this
    one is fixed.
    """
    X = correlated(300, 30, 0.5)
    y = measurement(X, 15)
    settings = {"runs": 30, "signals": ["linear"], "n_true": 15, "strength": 0.5}
    ridge = FromEstimator(Ridge(alpha=1e4))
    broken, good = (
        calibrate(X, y, KnockoffSelector(ridge, sampler, fdr=0.2, random_state=0), **settings)
        for sampler in (PermutedColumns(), GaussianKnockoffs())
    )
    assert broken.rate().above
    assert broken.rate().fdr > 0.35
    assert "above the target by more than two standard errors" in str(broken)
    assert "Try other knockoffs" in str(broken)
    assert not good.rate().above


def a_study(selected, false, runs=20, fdr=0.1):
    """A study of one kind of signal in which all selections are alike."""
    return CalibrationStudy(
        tuple(SimulatedSelection("linear", k, fdr, 5, selected, false, 0.1) for k in range(runs)),
        fdr, (fdr,), ("linear",), Simulation(0.5, "given", 5, "given", 0), runs, 0, 100, 20, 3, "a measurement", 1, 1, {}, 0, {},
    )  # fmt: skip


def test_words():
    assert "Nothing was selected for any of them" in str(a_study(0, 0))
    # No false discovery in 20 runs: rates below 3 / 20 cannot be excluded; in 40 runs 3 / 40.
    assert "rates up to 0.15 are possible" in str(a_study(5, 0, fdr=0.05))
    assert "agrees with the target, and rates above 0.07" in str(a_study(5, 0, runs=41))
    assert "above the target" in str(a_study(5, 2))
    mixed = a_study(5, 0)
    mixed = replace(mixed, selections=(*mixed.selections[1:], replace(mixed.selections[0], selected=0)))
    assert "Nothing was selected for 1 of them" in str(mixed)
    assert "Only 9 of the selections held anything" in str(a_study(5, 0, runs=9))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"runs": 1}, "runs must be a whole number of at least 2, got 1"),
        ({"signals": ["lines"]}, "there is no 'lines'"),
        ({"signals": []}, "signals must name each kind once"),
        ({"n_true": 1}, "at least 2, got 1"),
        ({"n_true": 14}, "of 14 units at most 13 can be true, got 14"),
        ({"strength": 1.0}, "at most 0.95, got 1.0"),
    ],
)
def test_what_cannot_be_is_refused(table, more, message):
    with pytest.raises(Grip2Error, match=message):
        run(table, **more)
