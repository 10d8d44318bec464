"""Reports that fill in from the tables of an earlier report what the store lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from grip2.commands.experiment_cli import app
from grip2.errors import Grip2Error
from grip2.experiments.earlier import with_earlier_tables
from grip2.experiments.plan import load_plan
from grip2.experiments.plan_file import parse_plan
from grip2.experiments.report import write_report
from grip2.experiments.store import Store
from grip2.experiments.summary import summary_table, trial_table
from tests.experiments.helpers import SMALL
from tests.experiments.test_report import fill


@pytest.fixture
def whole(tmp_path):
    """A report of the whole plan, in ``tmp_path / "earlier"``."""
    plan = parse_plan(SMALL)
    with Store(tmp_path / "earlier") as store:
        fill(plan, store)
        write_report(plan, store, tmp_path / "earlier")
    return plan, tmp_path / "earlier"


def read(folder, name):
    return pd.read_csv(folder / "tables" / f"{name}.csv")


def test_a_store_with_one_method_is_completed(tmp_path, whole):
    plan, earlier = whole
    with Store(tmp_path / "new") as store:
        # Without lapa, the random numbers of lcd are others than before.
        fill(replace(plan, methods=plan.methods[1:]), store)
        write_report(plan, store, tmp_path / "new", earlier=earlier)
        own = summary_table(plan, store)
    for name in ("summary", "trials"):
        before, after = read(earlier, name), read(tmp_path / "new", name)
        assert list(after.columns) == list(before.columns)
        assert after[["rho", "method"]].equals(before[["rho", "method"]]), "in the plan's order"
        lapa = before["method"] == "lapa"
        pd.testing.assert_frame_equal(after[lapa], before[lapa])
    after = read(tmp_path / "new", "summary")
    lcd = after[after["method"] == "lcd"].reset_index(drop=True)
    pd.testing.assert_frame_equal(lcd, own, check_dtype=False)
    page = (tmp_path / "new" / "report.html").read_text()
    assert (
        "2 of the 4 combinations of data, method and ensemble size are taken from the earlier report earlier, 2 from the "
        "trials of this run." in page
    )


def test_single_trials_need_not_be_there(tmp_path, whole):
    plan, earlier = whole
    (earlier / "tables" / "trials.csv").unlink()
    with Store(tmp_path / "new") as store:
        fill(replace(plan, methods=plan.methods[1:]), store)
        found = with_earlier_tables(plan, summary_table(plan, store), trial_table(plan, store), earlier)
    assert set(found.trials["method"]) == {"lcd"}
    assert set(found.summary["method"]) == {"lcd", "lapa"}
    assert "Single trials are missing there" in found.note


def test_an_empty_store_is_completed(tmp_path, whole):
    plan, earlier = whole
    with Store(tmp_path / "new") as store:
        store.begin_run(plan.name, plan.text, {"trials": None, "methods": None})
    done = CliRunner().invoke(app, ["report", str(tmp_path / "new"), "--earlier", str(earlier)])
    assert done.exit_code == 0, done.exception
    assert read(tmp_path / "new", "summary").equals(read(earlier, "summary"))


def test_rows_of_other_plans_are_left_out(tmp_path, whole):
    """The earlier plan had more values of rho, more levels and another method."""
    _, earlier = whole
    plan = parse_plan(
        SMALL.replace("rho = [0.0, 0.5]", "rho = 0.5").replace("[0.1, 0.2]", "[0.2]").replace('"lapa"', '"rf"')
    )
    empty = pd.DataFrame()
    found = with_earlier_tables(plan, empty, empty, earlier)
    before = read(earlier, "summary")
    kept = before[(before["rho"] == 0.5) & (before["target_fdr"] == 0.2) & (before["method"] == "lcd")]
    pd.testing.assert_frame_equal(found.summary, kept.drop(columns="rho").reset_index(drop=True))
    assert "In neither, for some or all data: rf." in found.note
    other_size = replace(plan, designs=tuple(replace(d, options={**d.options, "n": 99}) for d in plan.designs))
    assert with_earlier_tables(other_size, empty, empty, earlier).summary.empty


def test_bad_folders(tmp_path, whole):
    plan, earlier = whole
    with pytest.raises(Grip2Error, match=r"--earlier: .*summary.csv is missing; give the folder of a report of small"):
        with_earlier_tables(plan, pd.DataFrame(), pd.DataFrame(), tmp_path)
    table = read(earlier, "summary").drop(columns="rho")
    table.to_csv(earlier / "tables" / "summary.csv", index=False)
    with pytest.raises(Grip2Error, match=r"no column 'rho', .*it is the report of another plan"):
        with_earlier_tables(plan, pd.DataFrame(), pd.DataFrame(), earlier)


@pytest.mark.parametrize("name", ["calibration", "synthetic", "har", "hiv"])
def test_committed_tables_fit_their_plans(name):
    """Every row of the committed tables belongs to a method of the preset, so that --earlier finds all of them."""
    folder = Path(__file__).parents[2] / "results" / name
    plan = load_plan(name)
    found = with_earlier_tables(plan, pd.DataFrame(), pd.DataFrame(), folder)
    committed = read(folder, "summary")
    assert len(found.summary) == len(committed)
    assert set(committed["method"]) <= {method.name for method in plan.methods}
