"""Trials: randomness from (seed, design, trial) alone, fixed groups, and batches that give what single trials give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grip2.datasets.har import HARTable
from grip2.datasets.hiv import HIVTable
from grip2.experiments import designs
from grip2.experiments.designs import trial_tables
from grip2.experiments.method_looks import MethodLooks
from grip2.experiments.methods import statistic_for
from grip2.experiments.parts import completed
from grip2.experiments.plan_file import parse_plan
from grip2.experiments.run import missing_tasks
from grip2.experiments.sources import SOURCES, har, hiv
from grip2.experiments.store import Store
from grip2.experiments.summary import selected_units, summary_table, trial_table
from grip2.experiments.trial import Task, group_size, run_task
from grip2.filter import knockoff_threshold, select
from grip2.statistics import network_attribution
from tests.datasets.test_hiv import CELLS, write_class
from tests.experiments.helpers import SMALL


def tasks(text, folder, **settings):
    with Store(folder) as store:
        return missing_tasks(parse_plan(text), store, **settings)


def test_methods_of_a_trial_see_the_same_data(tmp_path):
    design = parse_plan(SMALL).designs[0]
    first = trial_tables(3, design, (1,), None)
    assert trial_tables(3, design, (1,), None) is first, "the next method finds it ready"
    designs._TABLES.found.clear()
    designs._PREPARED.found.clear()
    again = trial_tables(3, design, (1,), None)
    for one, other in zip(first.tables[0], again.tables[0], strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(trial_tables(3, design, (2,), None).tables[0][0], first.tables[0][0])
    assert not np.array_equal(trial_tables(4, design, (1,), None).tables[0][0], first.tables[0][0])


def test_designs_that_differ_in_knockoffs_share_data():
    plan = parse_plan(SMALL.replace("rho = [0.0, 0.5]", 'rho = 0.5\ns = ["equi", "mvr"]'))
    equi, mvr = (trial_tables(3, design, (0,), None).tables[0] for design in plan.designs)
    assert np.array_equal(equi[0], mvr[0])
    assert np.array_equal(equi[2], mvr[2])
    assert not np.allclose(equi[1], mvr[1])


def test_first_trials_come_first(tmp_path):
    trials = [task.group[0] for task in tasks(SMALL, tmp_path)]
    assert trials == sorted(trials)
    assert len(trials) == 12


def test_methods_that_share_a_fit_train_once(tmp_path, monkeypatch):
    text = SMALL[: SMALL.index("[[method]]")] + "".join(f'[[method]]\nname = "{name}"\n' for name in ("mald", "shap"))
    text += '[[method]]\nname = "mald"\nensemble = 2\n[[method]]\nname = "shap"\nensemble = 2\n'
    monkeypatch.setattr(network_attribution, "_trained_last", {})
    calls = []
    for name in ("train", "train_batch"):
        original = getattr(network_attribution, name)
        monkeypatch.setattr(network_attribution, name, lambda *a, _f=original, **k: (calls.append(1), _f(*a, **k))[1])
    first = [task for task in tasks(text, tmp_path) if task.group == (0,)][:4]
    assert [(task.cell.method.name, task.cell.method.ensemble) for task in first] == [
        ("mald", 1), ("shap", 1), ("mald", 2), ("shap", 2)
    ]  # fmt: skip
    rows = [run_task(task).rows[0] for task in first]
    assert [row.status for row in rows] == ["done"] * 4
    assert len(calls) == 2
    assert rows[0].seed == rows[1].seed
    assert not np.allclose(rows[0].W, rows[1].W)
    network_attribution._trained_last.clear()
    assert np.array_equal(run_task(first[1]).rows[0].W, rows[1].W), "the same when it trains for itself"


def test_rows(tmp_path):
    task = tasks(SMALL, tmp_path)[0]
    (row,) = run_task(task).rows
    assert row.status == "done"
    assert np.array_equal(row.W, row.original - row.knockoff)
    assert set(row.selections) == {"0.1", "0.2"}
    assert row.seed == f"3/{task.cell.configuration}/0"
    assert {"grip2", "jax", "numpy"} <= set(row.versions)
    assert row.settings["statistic"] == "LassoPath"
    assert row.seconds > 0


def test_copies_reach_the_sampler_the_statistic_and_the_filter(tmp_path):
    """Ten strong effects: at 0.05 one copy needs 20 selections, three copies need seven."""
    text = 'name = "c"\nseed = 3\ntrials = 1\nfdr = [0.05]\n[[data]]\nsource = "family"\nfamily = "linear"\nn = 600\np = 20\n'
    text += 'rho = 0.0\nn_signals = 10\nsnr = 20.0\ncopies = [1, 3]\n[[method]]\nname = "lcd"\n'
    plan = parse_plan(text)
    one, three = (trial_tables(3, design, (0,), None).tables[0] for design in plan.designs)
    assert (one.Xk.shape, three.Xk.shape) == ((600, 20), (3, 600, 20))
    assert np.array_equal(one.X, three.X)
    with Store(tmp_path) as store:
        for task in missing_tasks(plan, store):
            result = run_task(task)
            store.write(result.rows, result.design)
            (row,) = result.rows
            expected = select(row.W, knockoff_threshold(row.W, 0.05, copies=task.cell.design.copies))
            assert row.selections["0.05"] == np.flatnonzero(expected).tolist()
        table = summary_table(plan, store)
    selected = table[table["method"] == "lcd"].set_index("copies")["selected"]
    assert selected[1] == 0
    assert selected[3] >= 7


def test_groups_of_a_design_are_selected_as_wholes(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 20))
    positions = np.array([30, 30, 12, 12, 12, *range(50, 65)])  # units are numbered as they first occur
    y = X[:, :8] @ np.ones(8) + 0.1 * rng.standard_normal(150)
    names = tuple(f"P{position}.{j}" for j, position in enumerate(positions))
    table = HIVTable(X, y, names, positions, np.array([12, 30, 50, 51, 52]))
    monkeypatch.setattr(hiv, "load_hiv", lambda **_: table)
    text = (
        'name = "g"\nseed = 7\ntrials = 1\nfdr = [0.2]\n[[data]]\nsource = "hiv"\nknockoffs = "gaussian"\ns = "mvr"\n'
    )
    plan = parse_plan(text + 'grouped = [true, false]\ncopies = 2\n[[method]]\nname = "lcd"\n')
    whole, columns = (trial_tables(7, design, (0,), None) for design in plan.designs)
    assert (len(whole.units), len(columns.units)) == (17, 20)
    assert whole.design.units[:3] == (30, 12, 50)
    assert whole.design.feature_names[:3] == ("30", "12", "50")
    assert whole.design.p == columns.design.p == 20
    with Store(tmp_path) as store:
        for task in missing_tasks(plan, store):
            result = run_task(task)
            store.write(result.rows, result.design)
            if task.cell.design.grouped:
                (row,) = result.rows
                assert len(row.W) == 17
                assert selected_units(row, result.design, 0.2) >= {12, 30, 50, 51, 52}
        found = summary_table(plan, store)
    assert (found["power"] == 1).all()


def test_errors_become_rows(tmp_path):
    task = tasks(SMALL, tmp_path)[0]
    broken = replace(task, cell=replace(task.cell, design=replace(task.cell.design, s="none")))
    (row,) = run_task(broken).rows
    assert row.status == "failed"
    assert "Grip2Error" in row.error
    assert row.W is None


def batched(trials: int) -> str:
    return f"""
name = "batched"
setting = "hiv"
trials = {trials}
batch = 3
fdr = [0.2]
[settings]
steps = 60
block_size = 20
[[data]]
source = "hiv"
drug_class = "NRTI"
drug = "3TC"
knockoffs = "gaussian"
[[method]]
name = "grip2"
[[method]]
name = "lapa"
"""


FOLD = [str(2.0 ** (k % 7)) for k in range(24)]
WIDE = {name: column * 3 for name, column in CELLS.items()}


def test_groups_are_fixed(tmp_path):
    """What a trial gives must not depend on which of its neighbours are missing."""
    home = write_class(tmp_path, WIDE, FOLD)
    found = tasks(batched(5), tmp_path, data_home=home)
    groups = {task.cell.method.name: [] for task in found}
    for task in found:
        groups[task.cell.method.name].append((task.group, task.wanted))
    assert groups["grip2"] == [((0, 1, 2), (0, 1, 2)), ((3, 4, 5), (3, 4))]
    assert groups["lapa"] == [((k,), (k,)) for k in range(5)]
    whole = run_task(found[0])
    one = run_task(replace(found[0], wanted=(1,)))
    assert [row.trial for row in one.rows] == [1]
    assert np.array_equal(one.rows[0].W, whole.rows[1].W)
    alone = run_task(Task(found[0].plan, found[0].cell, (1,), (1,), home))
    assert np.allclose(alone.rows[0].W, whole.rows[1].W, atol=1e-4)


def test_only_shared_data_is_batched():
    plan = parse_plan(SMALL.replace("trials = 3", "trials = 3\nbatch = 3") + '\n[[method]]\nname = "grip2"\n')
    assert {group_size(plan, cell) for cell in plan.cells()} == {1}


def test_har_support_is_fixed(monkeypatch):
    X = np.random.default_rng(0).standard_normal((200, 15)).astype(np.float32)
    names = tuple(f"f{j}" for j in range(15))
    monkeypatch.setattr(har, "load_har", lambda *_, **__: HARTable(X, names, 15, 0))
    plan = parse_plan('name = "h"\n[[data]]\nsource = "har"\n[[method]]\nname = "lcd"\n')
    first, second = (trial_tables(0, plan.designs[0], (trial,), None) for trial in (0, 1))
    assert first.design.truth == second.design.truth
    assert len(first.design.truth) == 3
    assert np.array_equal(first.tables[0][0], second.tables[0][0])
    assert not np.allclose(first.tables[0][2], second.tables[0][2])


def test_a_family_of_signals_and_a_statistic_by_its_place(tmp_path):
    text = """
name = "families"
seed = 2
trials = 2
[[data]]
source = "family"
family = ["linear", "products"]
n = 200
p = 20
n_signals = 4
snr = 3.0
[[method]]
name = "lcd"
[[method]]
name = "guess"
statistic = "grip2.statistics.random_scores:RandomScores"
[[method]]
name = "alone"
statistic = "grip2"
settings = { omega = [1e-2, 1e-1], steps = 50, hidden = 4, depth = 1 }
"""
    plan = parse_plan(text)
    with Store(tmp_path) as store:
        store.begin_run(plan.name, text, {})
        for task in missing_tasks(plan, store):
            result = run_task(task)
            assert [row.status for row in result.rows] == ["done"], result.rows[0].error
            store.write(result.rows, result.design)
        table, trials = summary_table(plan, store), trial_table(plan, store)
    alone = statistic_for(plan, plan.methods[2])
    assert alone.omega == (1e-2, 1e-1)
    names = [
        section.name
        for section in SOURCES["family"].sections(
            completed(plan, table), completed(plan, trials), MethodLooks(plan.methods)
        )
    ]
    assert names == ["cells", "best", "fdr"], "no figure: one number of rows"
    linear = table[(table["family"] == "linear") & (table["target_fdr"] == 0.3)].set_index("method")
    assert linear.loc["lcd", "power"] > linear.loc["guess", "power"]


def test_copies_lower_the_threshold_of_a_trial(tmp_path):
    text = """
name = "few"
seed = 2
trials = 3
fdr = [0.1]
[[data]]
source = "family"
n = 400
p = 20
n_signals = 4
snr = 2.0
copies = [1, 5]
[[method]]
name = "lcd"
"""
    plan = parse_plan(text)
    one, five = plan.designs
    assert one.key == replace(one, copies=1).key != five.key
    assert one.data_key == five.data_key
    tables = trial_tables(plan.seed, five, (0,), None)
    assert tables.tables[0].Xk.shape == (5, 400, 20)
    assert np.array_equal(tables.tables[0].X, trial_tables(plan.seed, one, (0,), None).tables[0].X)
    with Store(tmp_path) as store:
        store.begin_run(plan.name, text, {})
        for task in missing_tasks(plan, store):
            result = run_task(task)
            assert result.rows[0].status == "done", result.rows[0].error
            store.write(result.rows, result.design)
        table = summary_table(plan, store).set_index("copies")
    assert table.loc[1, "power"] == 0.0, "four features are fewer than the ten that one copy needs"
    assert table.loc[5, "power"] > 0.9


def test_units_of_a_source_are_selected_as_wholes(tmp_path):
    home = write_class(tmp_path, WIDE, FOLD)
    columns = """
name = "units"
trials = 1
[[data]]
source = "hiv"
drug_class = "NRTI"
drug = "3TC"
knockoffs = "gaussian"
grouped = GROUPED
copies = 2
[[method]]
name = "lcd"
"""
    plain, grouped = (parse_plan(columns.replace("GROUPED", word)).designs[0] for word in ("false", "true"))
    assert plain.key != grouped.key
    single, whole = (trial_tables(0, design, (0,), home) for design in (plain, grouped))
    assert single.units.all_single
    assert len(whole.units) == len(set(single.design.units)) < len(single.design.units)
    assert list(whole.design.units) == list(dict.fromkeys(single.design.units))
    assert whole.design.p == single.design.p == whole.units.n_columns
    for design in (plain, grouped):
        task = Task(parse_plan(columns.replace("GROUPED", str(design.grouped).lower())), None, (0,), (0,), home)
        (cell,) = task.plan.cells()
        (row,) = run_task(replace(task, cell=cell)).rows
        assert row.status == "done", row.error
        assert len(row.W) == (len(whole.units) if design.grouped else single.design.p)
