"""Summaries against a naive count, the paper's numbers, and reports of made-up trials for all three experiments."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from grip2.commands.experiment_cli import app
from grip2.experiments.method_looks import MethodLooks
from grip2.experiments.plan import Method, load_plan
from grip2.experiments.plan_file import parse_plan
from grip2.experiments.report import markdown, write_report
from grip2.experiments.sources.hiv import paper_tables
from grip2.experiments.store import DesignRow, Store, TrialRow
from grip2.experiments.summary import average_over, summary_table, trial_table
from grip2.statistics.registry import STATISTICS
from tests.experiments.helpers import SMALL

UNITS = (10, 10, 20, 30, 40)
TRUTH = (10, 30)


def fill(plan, store, *, units=UNITS, truth=TRUTH, trials=3):
    """Random W for every cell of a plan."""
    rng = np.random.default_rng(1)
    for cell in plan.cells():
        n, p = (cell.design.options.get(name, size) for name, size in (("n", 50), ("p", len(units))))
        design = DesignRow(cell.design.key, cell.design.parameters, n, p, tuple("abcde"), units, truth)
        rows = [
            TrialRow(
                plan.name, cell.configuration, cell.method.name, cell.method.ensemble, trial, cell.design.key, "done",
                W=rng.standard_normal(len(units)) + 0.8, seconds=1.0, versions={"grip2": "0"},
            )
            for trial in range(trials)
        ]  # fmt: skip
        store.write(rows, design)
    store.begin_run(plan.name, plan.text, {"trials": trials, "methods": None})


def test_summary_against_a_naive_count(tmp_path):
    plan = parse_plan(SMALL.replace("fdr = [0.1, 0.2]", "fdr = [0.34]"))
    with Store(tmp_path) as store:
        fill(plan, store)
        table = summary_table(plan, store)
        assert len(trial_table(plan, store)) == 12
        for cell, (_, got) in zip(plan.cells(), table.iterrows(), strict=True):
            sets = []
            for row in store.rows(cell.configuration, cell.method.name, 1):
                passing = [t for t in sorted(abs(row.W)) if (1 + sum(row.W <= -t)) / max(1, sum(row.W >= t)) <= 0.34]
                sets.append({UNITS[j] for j in range(5) if passing and row.W[j] >= passing[0]})
            powers = [len(chosen & set(TRUTH)) / 2 for chosen in sets]
            assert got["power"] == pytest.approx(np.mean(powers))
            assert got["power_se"] == pytest.approx(np.std(powers, ddof=1) / np.sqrt(3))
            assert got["fdr"] == pytest.approx(np.mean([len(c - set(TRUTH)) / max(1, len(c)) for c in sets]))
            jaccard = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in combinations(sets, 2)]
            assert got["stability"] == pytest.approx(np.mean(jaccard))


def test_failed_trials_do_not_count(tmp_path):
    plan = parse_plan(SMALL)
    with Store(tmp_path) as store:
        fill(plan, store, trials=2)
        cell = next(plan.cells())
        store.write([TrialRow("small", cell.configuration, "lapa", 1, 2, cell.design.key, "failed", error="x")])
        assert set(summary_table(plan, store)["trials"]) == {2}


def test_average_over_drugs():
    table = pd.DataFrame(
        {
            "drug": ["A", "B"], "method": "lcd", "ensemble": 1, "target_fdr": 0.05, "trials": [50, 40],
            "power": [0.2, 0.4], "power_se": [0.03, 0.04], "fdr": [0.0, 0.1], "fdr_se": [0.0, 0.02],
            "stability": [0.5, 0.7], "selected": [5.0, 7.0], "seconds": [1.0, 3.0],
        }
    )  # fmt: skip
    (row,) = average_over(table, "drug").to_dict("records")
    assert row["power"] == pytest.approx(0.3)
    assert row["power_se"] == pytest.approx(0.035)
    assert row["power_se_of_mean"] == pytest.approx(0.025)
    assert row["trials"] == 40


def test_paper_numbers():
    table = paper_tables()
    assert len(table) == 8 * 5
    assert not table["method"].isna().any()
    row = table[(table["drug"] == "average") & (table["method"] == "grip2")].iloc[0]
    assert (row["power"], row["fdr"], row["stability"]) == (0.222, 0.043, 0.533)
    for method in ("grip2", "lapa"):  # the paper's average is the mean of its seven tables
        rows = table[table["method"] == method]
        drugs, average = rows[rows["drug"] != "average"], rows[rows["drug"] == "average"].iloc[0]
        assert drugs["power"].mean() == pytest.approx(average["power"], abs=1e-3)


EXPECTED = {
    "synthetic": {"levels", "correlation", "ensembles", "fdr"},
    "har": {"levels-equi", "levels-mvr", "ensembles-mvr"},
    "hiv": {"average-figure"},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_reports(tmp_path, name):
    plan = load_plan(name)
    plan = replace(plan, designs=tuple(replace(design, trials=3) for design in plan.designs))
    with Store(tmp_path) as store:
        fill(plan, store)
        page = write_report(plan, store, tmp_path).read_text()
        first = page
        assert write_report(plan, store, tmp_path).read_text() == first, "the same trials give the same page"
    for kind in ("svg", "png"):
        assert {path.stem for path in (tmp_path / "figures").glob(f"*.{kind}")} == EXPECTED[name]
    assert page.count("<svg") == len(EXPECTED[name])
    assert "http-equiv" not in page
    assert 'src="' not in page, "self-contained"
    assert "GRIP2" in (tmp_path / "report.md").read_text()
    assert (tmp_path / "tables" / "summary.csv").exists()
    assert not list(tmp_path.rglob(".grip2-*")), "nothing half written is left"
    if name == "hiv":
        assert len(list((tmp_path / "tables").glob("drug-*.md"))) == 7
        assert "0.222 (0.028)" in (tmp_path / "tables" / "average.md").read_text()


def test_labels_and_looks():
    plan = parse_plan(
        SMALL
        + '[[method]]\nname = "low"\nlabel = "GRIP2, low"\nstatistic = "grip2"\n'
        + '[[method]]\nname = "grip2"\n[[method]]\nname = "other"\nstatistic = "grip2"\n'
        + '[[method]]\nname = "mine"\nstatistic = "some.module:Mine"\n'
    )
    looks = MethodLooks(plan.methods)
    assert looks.names == ("lapa", "lcd", "low", "grip2", "other", "mine")
    assert [looks.label(name) for name in looks.names] == ["LAPA", "LCD", "GRIP2, low", "GRIP2", "other", "mine"]
    assert looks.label("lcd, K = 3") == "LCD, K = 3"
    assert (looks["grip2"].colour, looks["grip2"].dash) == ("#D55E00", "-")
    assert looks["grip2"].width > looks["lcd"].width
    assert looks["low"].colour == looks["other"].colour == looks["grip2"].colour, (
        "variants have their statistic's colour"
    )
    assert len({looks[name].dash for name in ("grip2", "low", "other")}) == 3
    everyone = MethodLooks([Method(name, name) for name in STATISTICS.names()])
    drawn = [(everyone[name].colour, everyone[name].marker, everyone[name].dash) for name in everyone.names]
    assert len(set(drawn)) == len(drawn)


def test_report_of_nothing(tmp_path):
    plan = parse_plan(SMALL)
    with Store(tmp_path) as store, pytest.raises(ValueError, match="no trial of small has finished"):
        write_report(plan, store, tmp_path)


def test_report_with_one_trial(tmp_path):
    plan = load_plan("synthetic", quick=True)
    with Store(tmp_path) as store:
        fill(plan, store, trials=1)
        write_report(plan, store, tmp_path)
    assert "| GRIP2 | 1 | 1 |" in (tmp_path / "report.md").read_text()


def test_markdown():
    assert markdown(pd.DataFrame({"a": ["x"], "b": [1]})) == "| a | b |\n| --- | ---: |\n| x | 1 |\n"


def test_command_line(tmp_path):
    plan = parse_plan(SMALL)
    with Store(tmp_path) as store:
        fill(plan, store, trials=2)
    runner = CliRunner()
    shown = runner.invoke(app, ["status", str(tmp_path)])
    assert shown.exit_code == 0
    assert "8 of 8 done, 0 failed" in shown.output
    assert runner.invoke(app, ["report", str(tmp_path)]).exit_code == 0
    assert (tmp_path / "report.html").exists()
    assert "no experiment there" in str(runner.invoke(app, ["status", str(tmp_path / "none")]).exception)
    assert runner.invoke(app, ["run", "hiv", "--jobs", "0"]).exit_code == 2


def test_status_estimates_what_is_left(tmp_path):
    plan = parse_plan(SMALL)
    with Store(tmp_path) as store:
        fill(plan, store, trials=2)
        store.begin_run(plan.name, plan.text, {"trials": None, "methods": ["lcd"], "workers": 2})
    shown = CliRunner().invoke(app, ["status", str(tmp_path)]).output
    assert "4 of 6 done, 0 failed" in shown
    assert "About 1 s left with 2 workers" in shown


def test_numbers_of_copies_are_not_averaged_over():
    table = pd.DataFrame(
        {
            "drug": ["APV", "ATV"] * 2, "copies": [1, 1, 5, 5], "method": "lcd", "ensemble": 1, "target_fdr": 0.05,
            "power": [0.0, 0.2, 0.6, 0.8], "power_se": 0.1, "fdr": 0.0, "fdr_se": 0.1, "stability": 1.0, "selected": 3.0,
            "seconds": 1.0, "trials": 5,
        }
    )  # fmt: skip
    average = average_over(table, "drug").set_index("copies")
    assert average["power"].round(9).to_dict() == {1: 0.1, 5: 0.7}
    assert set(average["n_drug"]) == {2}
