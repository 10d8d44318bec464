"""Sources of data: found in their folder, checked options, classes as a response, and a run of a new one."""

from __future__ import annotations

import ast
import importlib
import textwrap
from pathlib import Path

import numpy as np
import pytest

import grip2.experiments
from grip2.commands import experiment as command
from grip2.datasets.hiv import HIVTable
from grip2.errors import Grip2Error
from grip2.experiments import sources
from grip2.experiments.designs import trial_tables
from grip2.experiments.plan import PlanError
from grip2.experiments.plan_file import parse_plan
from grip2.experiments.source import Option
from grip2.experiments.sources import SOURCES, hiv
from grip2.experiments.sources.family import cut_into_classes
from grip2.experiments.store import Store
from grip2.experiments.summary import summary_table
from grip2.responses import Measurement, SeveralClasses, TwoClasses


def test_every_file_of_the_folder_is_a_source():
    files = {path.stem for path in Path(sources.__file__).parent.glob("*.py")} - {"__init__"}
    assert set(SOURCES) == files == {"synthetic", "family", "har", "hiv"}


@pytest.mark.parametrize("name", SOURCES)
def test_options_are_valid(name):
    source = SOURCES[name]
    assert source.name == name
    for option in source.options.values():
        assert not option.choices or option.default in option.choices
    source.check({key: option.default for key, option in source.options.items()})


def test_nothing_else_knows_a_source_by_name():
    folder = Path(grip2.experiments.__file__).parent
    for path in folder.glob("*.py"):
        tree = ast.parse(path.read_text())
        allowed = {"PRESETS"}  # plans that come with the package are called like their sources
        skipped = {
            id(node)
            for top in tree.body
            if isinstance(top, ast.Assign) and isinstance(top.targets[0], ast.Name) and top.targets[0].id in allowed
            for node in ast.walk(top)
        }
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in skipped}
        assert not texts & set(SOURCES), path


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ('source = "hiv"\ndrug = "APX"', "drug of PI must be one of APV"),
        ('source = "hiv"\nrules = "papper"', "Did you mean 'paper'?"),
        ('source = "hiv"\nknockoffs = "exact"', "needs a known distribution: source = 'family' or 'synthetic'"),
        ('source = "har"\nweights = "new"', "weights: expected one of redrawn, fixed"),
        ('source = "synthetic"\nrho = 1.5', "rho must be above -1 and below 1, got 1.5"),
        ('source = "family"\nfamily = "linaer"', "Did you mean 'linear'?"),
        ('source = "family"\nfamily = "gates"\nn_signals = 3', "n_signals must be an even number"),
        ('source = "family"\nclasses = 1', "classes: expected one of 0, 2, 3, 4, 5, got 1"),
    ],
)
def test_bad_options(block, message):
    with pytest.raises(PlanError, match=r"mine.toml, line \d: ") as caught:
        parse_plan(f'name = "x"\n[[data]]\n{block}\n[[method]]\nname = "lcd"\n', "mine.toml")
    assert message in str(caught.value)


def test_what_trials_share():
    assert {name: (source.shares_X, source.shares_y) for name, source in SOURCES.items()} == {
        "synthetic": (False, False), "family": (False, False), "har": (True, False), "hiv": (True, True),
    }  # fmt: skip


def test_classes_are_equally_frequent_and_ordered_by_the_response():
    y = np.random.default_rng(0).standard_normal(301)
    for classes in (2, 3):
        found = cut_into_classes(y, classes)
        counts = np.bincount(found)
        assert len(counts) == classes
        assert counts.max() - counts.min() <= 1
        assert all(y[found == k].max() < y[found == k + 1].min() for k in range(classes - 1))


CLASSES = """
name = "in-classes"
seed = 2
trials = 3
fdr = [0.3]
[[data]]
source = "family"
n = 300
p = 20
n_signals = 8
snr = 4.0
classes = [0, 2, 3]
[[method]]
name = "lcd"
[[method]]
name = "mald"
settings = { steps = 30, hidden = 4, depth = 1 }
"""


def test_designs_know_their_response():
    plan = parse_plan(CLASSES)
    assert [design.response for design in plan.designs] == [Measurement, TwoClasses, SeveralClasses]
    two = trial_tables(0, plan.designs[1], (0,), None)
    assert two.task == "classification"
    assert set(two.tables[0].y) == {0, 1}


def test_an_experiment_with_classes(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(CLASSES)
    command.run(str(path), jobs=1, out=tmp_path / "out")
    command.report(tmp_path / "out")
    plan = parse_plan(CLASSES)
    with Store(tmp_path / "out", create=False) as store:
        table = summary_table(plan, store)
        (row, *_) = store.rows(next(plan.cells()).configuration, "lcd", 1)
    assert row.status == "done"
    lcd = table[table["method"] == "lcd"].set_index("classes")["power"]
    assert lcd.loc[0] > 0.5
    assert lcd.loc[2] > 0.3, "a linear signal is found in classes too"
    assert lcd.loc[3] > 0.3
    page = (tmp_path / "out" / "report.html").read_text()
    for family in ("linear", "linear, 2 classes", "linear, 3 classes"):
        assert f"<td>{family}</td>" in page


def test_rows_are_added_for_fixed_knockoffs_once_for_all_trials(monkeypatch):
    rng = np.random.default_rng(5)
    names = tuple(f"P{k}.A" for k in range(1, 31))
    table = HIVTable(rng.standard_normal((40, 30)), rng.standard_normal(40), names, np.arange(1, 31), np.array([3, 5]))
    monkeypatch.setattr(hiv, "load_hiv", lambda **_: table)
    plan = parse_plan('name = "a"\nseed = 6\n[[data]]\nsource = "hiv"\ncenter = false\n[[method]]\nname = "lapa"\n')
    found = trial_tables(6, plan.designs[0], (0, 1), None)
    first, second = found.tables
    assert found.design.n == len(first.X) == 60
    assert np.array_equal(first.X, second.X)
    assert np.array_equal(first.y, second.y)
    assert not np.allclose(first.Xk, second.Xk)
    for one in (first, second):
        assert np.allclose(one.Xk.T @ one.Xk, one.X.T @ one.X)


def test_rows_are_not_added_to_classes():
    text = 'name = "a"\n[[data]]\nsource = "family"\nn = 40\np = 30\nclasses = 2\nknockoffs = "fixed"\n'
    design = parse_plan(text + '[[method]]\nname = "lapa"\n').designs[0]
    with pytest.raises(Grip2Error, match="at least 61 rows are needed for 30 columns"):
        trial_tables(6, design, (0,), None)


NEW_SOURCE = """
from typing import ClassVar
import numpy as np
from grip2.experiments.sections import Section
from grip2.experiments.source import Option, Population, Source

class Noise(Source):
    name = "noise"
    options: ClassVar = {"n": Option(50), "p": Option(6)}
    default_knockoffs = "gaussian"

    def population(self, options, data_home):
        def draw(rng):
            return rng.standard_normal((options["n"], options["p"])), rng.standard_normal(options["n"])
        return Population(draw, tuple("abcdef"), np.array([0]))

    def sections(self, table, trials, looks):
        return [Section("all", "Everything", "Means.", table=table[["method", "power"]].astype(str))]

SOURCE = Noise()
"""


def test_a_new_source_is_one_file(tmp_path, monkeypatch):
    """Dropped into the folder, it can be planned, run and reported; here the folder is lengthened by another one."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "noise.py").write_text(textwrap.dedent(NEW_SOURCE))
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(tmp_path / "more")])
    importlib.invalidate_caches()
    monkeypatch.setitem(SOURCES, "noise", sources.find_sources()["noise"])
    assert SOURCES["noise"].options["n"] == Option(50)
    text = 'name = "n"\ntrials = 2\n[[data]]\nsource = "noise"\n[[method]]\nname = "lcd"\n'
    plan = parse_plan(text)
    from grip2.experiments.report import write_report
    from grip2.experiments.run import missing_tasks
    from grip2.experiments.trial import run_task

    with Store(tmp_path / "out") as store:
        for task in missing_tasks(plan, store):
            result = run_task(task)
            assert result.rows[0].status == "done", result.rows[0].error
            store.write(result.rows, result.design)
        page = write_report(plan, store, tmp_path / "out").read_text()
    assert "Everything" in page
