"""Pages tell what was run: values of axes that do not vary, designs kept apart, names as plain text, no file elsewhere."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from grip2.commands import console
from grip2.commands.experiment_cli import app
from grip2.experiments.parts import completed, parts_of
from grip2.experiments.plan_file import parse_plan
from grip2.experiments.report import markdown, plain_markdown, write_report
from grip2.experiments.store import Store
from grip2.experiments.summary import summary_table, trial_table
from grip2.knockoffs import KnockoffSampler
from tests.experiments.test_report import fill

METHODS = '[[method]]\nname = "lcd"\n[[method]]\nname = "lapa"\n'


def plan_of(block: str, methods: str = METHODS):
    return parse_plan(f'name = "page"\nfdr = [0.05, 0.2]\ntrials = 2\n[[data]]\n{block}\n{methods}')


def report(plan, folder):
    with Store(folder) as store:
        fill(plan, store, trials=2)
        write_report(plan, store, folder)
    return (folder / "report.md").read_text(encoding="utf-8")


def headings(text: str) -> list[str]:
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]


def test_a_correlation_that_does_not_vary_is_told(tmp_path):
    text = report(plan_of('source = "synthetic"\nn = 60\np = 20\nrho = 0.0'), tmp_path)
    assert "rho = 0" in headings(text)[0]
    assert "0.8" not in text, "the default of the source was not run"
    assert "The same in all designs: source = synthetic, n = 60, p = 20, rho = 0, snr = 0.2" in text


def test_knockoffs_that_do_not_vary_are_told(tmp_path):
    text = report(plan_of('source = "har"\ns = "mvr"'), tmp_path)
    assert all("mvr knockoffs" in heading for heading in headings(text))
    assert "equi" not in text


def test_knockoffs_without_s_are_not_called_after_it(tmp_path):
    """Where a sampler has no setting s, the plan's default for it is not what was run."""
    block = 'source = "har"\nknockoffs = "tests.experiments.test_truthful_pages:WithoutS"'
    text = report(plan_of(block), tmp_path)
    assert "equi" not in text.replace("require", "")
    assert "WithoutS knockoffs" in headings(text)[0]


def test_a_single_drug_is_named(tmp_path):
    text = report(plan_of('source = "hiv"\ndrug = "ATV"'), tmp_path)
    assert any(heading.startswith("ATV, q = 0.05") for heading in headings(text))
    assert "one drug" not in text


@pytest.mark.parametrize(
    ("block", "labels"),
    [
        ('source = "synthetic"\nsnr = [2.0, 0.5]', ["snr = 2", "snr = 0.5"]),
        ('source = "synthetic"\ncopies = [1, 5]', ["copies = 1", "copies = 5"]),
        ('source = "synthetic"\ns = ["equi", "mvr"]\nrho = [0.0, 0.5]', ["s = equi", "s = mvr"]),
        ('source = "family"\ns = ["equi", "mvr"]\nn = [50, 80]', ["s = equi", "s = mvr"]),
        ('source = "family"\np = [30, 60]', ["p = 30", "p = 60"]),
        ('source = "hiv"\nrules = ["paper", "vignette"]', ["rules = paper", "rules = vignette"]),
        ('source = "hiv"\ngrouped = [false, true]\nknockoffs = "gaussian"', ["grouped = false", "grouped = true"]),
        ('source = "har"\nweights = ["redrawn", "fixed"]', ["weights = redrawn", "weights = fixed"]),
    ],
)
def test_designs_that_differ_have_sections_of_their_own(tmp_path, block, labels):
    plan = plan_of(block)
    text = report(plan, tmp_path)
    told = headings(text)
    for label in labels:
        assert sum(heading.endswith(f", {label}") for heading in told) == len(told) / len(labels)
    with Store(tmp_path) as store:
        table = summary_table(plan, store)
    for path in (tmp_path / "tables").glob("*.csv"):
        printed = pd.read_csv(path)
        if "Method" in printed and "K" in printed:
            assert not printed.duplicated(["Method", "K"]).any(), f"{path.name} lists two designs under one name"
    # Every number of the tables is one of a single design, not a mean over designs.
    numbers = {f"{value:.3f}" for name in ("power", "fdr", "stability") for value in table[name]}
    rows = re.findall(r"^\| LCD \| 1 \| 2 \| (\S+) ", text, re.MULTILINE)
    assert set(rows) <= numbers


def test_parts_hold_every_row_once(tmp_path):
    plan = plan_of('source = "synthetic"\nsnr = [2.0, 0.5]\ncopies = [1, 2]\nrho = [0.0, 0.3]')
    with Store(tmp_path) as store:
        fill(plan, store, trials=2)
        table, trials = summary_table(plan, store), trial_table(plan, store)
    found = list(parts_of(plan, table, trials, ("rho",)))
    assert [part.label for part in found] == [
        "snr = 2, copies = 1", "snr = 2, copies = 2", "snr = 0.5, copies = 1", "snr = 0.5, copies = 2"
    ]  # fmt: skip
    assert len({part.suffix for part in found}) == 4
    assert sum(len(part.table) for part in found) == len(table)
    assert sum(len(part.trials) for part in found) == len(trials)
    for part in found:
        assert not part.table.duplicated(["rho", "method", "ensemble", "target_fdr"]).any()
        assert (part.table["spacing"] == 5).all()


def test_two_drug_classes_are_not_averaged(tmp_path):
    text = (
        'name = "page"\nfdr = [0.05]\ntrials = 2\n[[data]]\nsource = "hiv"\ndrug = ["APV", "ATV"]\n'
        '[[data]]\nsource = "hiv"\ndrug_class = "NRTI"\ndrug = ["ABC", "AZT"]\n' + METHODS
    )
    told = headings(report(parse_plan(text), tmp_path))
    averages = [heading for heading in told if heading.startswith("Averages over 2 drugs")]
    assert len(averages) == 4, "a figure and a table for each class"
    assert {heading.rpartition(" = ")[2] for heading in averages} == {"PI", "NRTI"}


def test_rows_asked_for_are_the_rows_told(tmp_path):
    """Fixed knockoffs add rows to small tables; designs of different sizes stay different."""
    plan = plan_of('source = "synthetic"\nn = [30, 35]\np = 20\nknockoffs = "fixed"')
    with Store(tmp_path) as store:
        fill(plan, store, trials=2)
        for cell in plan.cells():
            assert store.design(cell.design.key) is not None
        assert set(completed(plan, summary_table(plan, store))["n"]) == {30, 35}


ODD = "[bold]a|b_c*d*<b>$x_1$ & `e`"


def test_names_of_methods_are_plain_text(tmp_path, monkeypatch):
    monkeypatch.setattr(console.output, "_width", 160)
    methods = f'[[method]]\nname = \'{ODD}\'\nstatistic = "lcd"\n[[method]]\nname = "_hidden"\nstatistic = "lapa"\n'
    plan = plan_of('source = "synthetic"\nrho = 0.1', methods)
    text = report(plan, tmp_path)
    assert f"| {plain_markdown(ODD)} |" in text
    row = next(line for line in text.splitlines() if "bold" in line and line.startswith("|"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 9, "the bar in the name makes no column"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<b>$x_1$" not in page
    assert "[bold]a|b_c*d*&lt;b&gt;$x_1$ &amp; `e`" in page
    drawing = (tmp_path / "figures" / "levels.svg").read_text(encoding="utf-8")
    assert "$x_1$" in drawing, "drawn as it is, not as a formula"
    assert "_hidden" in drawing, "a leading underscore hides nothing"
    shown = CliRunner().invoke(app, ["status", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert ODD in shown.output


def test_markdown_shows_texts_as_they_are():
    table = pd.DataFrame({"a|b": ["x|y", "<i>"], "n": [1, 2]})
    assert markdown(table).splitlines()[0] == r"| a\|b | n |"
    assert r"| x\|y | 1 |" in markdown(table)
    assert r"\<i\>" in markdown(table)


@pytest.mark.parametrize("name", ["../../x", "..", "/etc/x", "a/b", "a\\\\b", ".hidden", ""])
def test_a_name_that_is_a_path_writes_nothing(tmp_path, monkeypatch, name):
    folder = tmp_path / "deep" / "deeper"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    path = folder / "plan.toml"
    path.write_text(f'name = "{name}"\n[[data]]\nsource = "synthetic"\n{METHODS}', encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    found = CliRunner().invoke(app, ["run", str(path)])
    assert found.exit_code != 0
    assert re.search("line 1: name (is also the name of a folder|must be)", str(found.exception))
    assert sorted(tmp_path.rglob("*")) == before


class WithoutS(KnockoffSampler):
    """A sampler without a setting s."""

    def fit(self, X, y=None, *, groups=None, categories=()):
        return self

    def _sample(self, X, *, rng, copies):
        return np.zeros((copies, *np.shape(X)))

    def assumptions(self):
        return []
