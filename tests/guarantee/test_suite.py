"""The suite around the trials: its cells, the exact samplers, stopping and going on, the report."""

from __future__ import annotations

import numpy as np
import pytest
from guarantee.cells import COPIES, EXACT, MODELS, Cell, all_cells
from guarantee.designs import BASE, DESIGNS
from guarantee.origin import claim
from guarantee.report import write_report
from guarantee.run import Progress, Work, all_work, compute, passes, run
from guarantee.signals import SIGNALS, TASKS, respond
from guarantee.store import Part, append, load, totals
from guarantee.trial import Trials, run_trials, without_shuffle
from guarantee.verdicts import judge

from grip2.errors import Grip2Error
from grip2.knockoffs.registry import SAMPLERS
from grip2.statistics.registry import STATISTICS
from grip2.symmetry import Members

CHEAP = [Cell("statistics", "correlation", EXACT, copies, "regression", BASE) for copies in COPIES]


def test_every_statistic_meets_every_copies_and_task_on_exact_knockoffs():
    cells = {(cell.statistic, cell.copies, cell.task) for cell in all_cells() if cell.sampler == EXACT}
    assert {(name, copies, task) for name in STATISTICS.names() for copies in COPIES for task in TASKS} <= cells


def test_the_default_statistic_and_its_parts_meet_every_table():
    cells = {(cell.statistic, cell.design, cell.signal, cell.copies) for cell in all_cells() if cell.sampler == EXACT}
    wanted = {
        (name, design, signal, copies)
        for name in MODELS
        for design in DESIGNS
        for signal in ("none", "product")
        for copies in COPIES
    }
    assert {row for row in wanted if row[1] != "repeated rows"} <= cells


def test_every_sampler_and_design_has_cells():
    cells = all_cells()
    assert {cell.sampler for cell in cells} == {EXACT, *SAMPLERS.names()}
    assert {cell.design for cell in cells} == set(DESIGNS)
    assert len({cell.key for cell in cells}) == len(cells)
    assert all(cell.copies == 1 for cell in cells if cell.sampler == "fixed")


def test_a_new_statistic_is_picked_up(monkeypatch):
    monkeypatch.setattr(STATISTICS, "_own", dict(STATISTICS._own))
    STATISTICS.register("new", "guarantee.probes:Correlation")
    found = [cell for cell in all_cells() if cell.statistic == "new"]
    assert {cell.sampler for cell in found} == {EXACT, *SAMPLERS.names()}  # it is based on Gram matrices


@pytest.mark.parametrize("name", DESIGNS)
def test_exact_knockoffs_have_the_moments_of_their_design(name):
    """3,000 rows, three copies: means and variances of every column agree within 6 standard errors (heavy tails: of ranks)."""
    design = DESIGNS[name]
    if design.missing or name == "repeated rows":
        pytest.skip("its complete rows are those of another design")
    rng = np.random.default_rng(0)
    X = design.draw(3_000, rng).X
    groups = None if design.units.all_single else design.units
    sampler = design.exact().fit(X, groups=groups, categories=design.categories)
    members = np.stack([X, *sampler.sample(X, rng=rng, copies=3)])
    bounded = np.tanh(members)  # heavy tails have no fourth moment
    mean, spread = bounded.mean(axis=1), bounded.std(axis=1)
    assert (np.abs(mean[1:] - mean[0]) < 6 * np.sqrt(2) * spread[0] / np.sqrt(3_000)).all()
    if design.categories:
        assert (members.reshape(4, 3_000, -1, 2).sum(axis=3) <= 1).all()


def test_without_the_shuffle_the_original_stands_first():
    seen = []

    class Looks(type(CHEAP[0].make_statistic())):  # type: ignore[misc]
        def _importance(self, members: Members, response, *, rng, progress):
            seen.append(members.tables[0])
            return super()._importance(members, response, rng=rng, progress=progress)

    X, Xk, y = np.random.default_rng(0).standard_normal((3, 50, 4))
    with without_shuffle():
        Looks().importance(X, Xk, y[:, 0], rng=np.random.default_rng(0))
    np.testing.assert_array_equal(seen[0], X)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("signal", SIGNALS)
def test_responses_are_of_their_task(task, signal):
    rng = np.random.default_rng(0)
    y = respond(SIGNALS[signal](rng.standard_normal((100, 4))), task, rng)
    assert len(y) == 100
    assert (y.dtype.names is not None) == (task == "survival")


def test_a_refused_selection_counts_as_empty():
    found = Trials(Cell("selector", "correlation", EXACT, 1, "regression", "repeated rows", whole=True)).selection(0)
    assert (found.refused, found.fdp.sum()) == (1, 0.0)


def test_parts_are_the_same_trials_as_one_run():
    whole = run_trials(CHEAP[0], "signs", 0, 12, 60.0)
    halves = run_trials(CHEAP[0], "signs", 0, 6, 60.0) + run_trials(CHEAP[0], "signs", 6, 6, 60.0)
    np.testing.assert_array_equal(whole.wins, halves.wins)


def test_a_killed_run_goes_on_after_its_last_whole_line(tmp_path):
    file = tmp_path / "trials.csv"
    parts = [compute(Work(CHEAP[0], kind), 0, 5, 60.0) for kind in ("signs", "selection")]
    for part in parts:
        append(file, part)
    with file.open("a", encoding="utf-8") as out:
        out.write(f"{CHEAP[0].key},signs,5,99")
    assert len(load(file)) == 2
    assert file.read_text(encoding="utf-8").endswith("\n")
    known = totals(load(file))
    np.testing.assert_allclose(known[CHEAP[0].key, "selection"].wealth, parts[1].tally.wealth, rtol=1e-6)
    progress = Progress(file)
    assert progress.tally(Work(CHEAP[0], "signs")).trials == 5
    work = all_work(CHEAP)
    assert next(passes(work, progress, 100.0))[0].cell == CHEAP[1]  # the first has been looked at


def test_run_stops_in_time_goes_on_and_reports(tmp_path):
    file = tmp_path / "trials.csv"
    run(file, minutes=0.02, jobs=1, cells=CHEAP, say=False)
    before = totals(load(file))
    run(file, minutes=0.05, jobs=1, cells=CHEAP, say=False)
    after = totals(load(file))
    assert sum(tally.trials for tally in after.values()) > sum(tally.trials for tally in before.values())
    firsts = [part.first for part in load(file) if part.kind == "signs" and part.cell == CHEAP[0].key]
    assert len(set(firsts)) == len(firsts)
    write_report(tmp_path)
    assert "No cell that must pass has failed." in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "guarantee.svg").read_text(encoding="utf-8").startswith("<svg")


def test_trials_of_other_code_are_not_added_to(tmp_path):
    claim(tmp_path)
    append(tmp_path / "trials.csv", compute(Work(CHEAP[0], "signs"), 0, 1, 1.0))
    claim(tmp_path)  # the same code goes on
    (tmp_path / "code.txt").write_text("other code\n")
    with pytest.raises(Grip2Error, match="--fresh"):
        claim(tmp_path)
    claim(tmp_path, mixed=True)
    claim(tmp_path)


def test_an_error_and_unfair_signs_fail_their_cells(tmp_path):
    broken = compute(Work(Cell("statistics", "no such statistic", EXACT, 1, "regression", BASE), "signs"), 0, 1, 1.0)
    assert "no such statistic" in broken.error
    fair = run_trials(CHEAP[0], "signs", 0, 20, 60.0)
    unfair = Part(
        CHEAP[1].key, "signs", 0, type(fair)(1, wins=np.array([900, 10, 10, 10]), top_wins=np.array([9, 0, 0, 0]))
    )
    rows = judge(CHEAP, [Part(CHEAP[0].key, "signs", 0, fair), unfair])
    assert [row.failed for row in rows] == [False, True]
