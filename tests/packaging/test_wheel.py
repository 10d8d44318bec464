"""The wheel holds what it must and nothing else, and works without the source tree."""

from __future__ import annotations

import json
import zipfile

import pytest

import grip2
from grip2.commands.names import DEFAULT_STATISTIC
from grip2.statistics.registry import STATISTICS

from .conftest import ROOT

SOURCE = ROOT / "src" / "grip2"


@pytest.fixture(scope="session")
def content(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_package_and_its_metadata_alone(content):
    package = {f"grip2/{path.relative_to(SOURCE)}" for path in SOURCE.rglob("*") if path.is_file()}
    package = {name for name in package if "__pycache__" not in name}
    information = f"grip2-{grip2.__version__}.dist-info"
    metadata = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    assert set(content) == package | {f"{information}/{name}" for name in metadata}
    assert {name.rpartition(".")[2] for name in package} == {"py", "toml", "html", "css", "js", "csv", "typed"}


@pytest.mark.parametrize(
    "needed",
    [
        "py.typed",
        "templates/base.html",
        "templates/selection.html",
        "templates/experiment.html",
        "experiments/sources/hiv_paper.csv",
        "__main__.py",
    ],
)
def test_files_that_a_glob_could_forget(content, needed):
    assert f"grip2/{needed}" in content


def test_presets_and_the_papers_numbers_are_there(content):
    presets = {name for name in content if name.startswith("grip2/experiments/presets/") and name.endswith(".toml")}
    assert len(presets) >= 8
    assert any(name.endswith(".csv") for name in content)


def test_version_and_module(installed):
    assert installed.run("grip2", "--version").stdout == f"grip2 {grip2.__version__}\n"
    assert "Usage: grip2" in installed.run("python", "-m", "grip2", "--help").stdout
    where = installed.run("python", "-c", "import grip2; print(grip2.__file__)").stdout
    assert str(installed.binaries.parent) in where, "imported from the environment, not from the source tree"


def test_the_version_is_written_in_one_place_and_cited_alike(wheel):
    assert wheel.name.startswith(f"grip2-{grip2.__version__}-")
    assert f"\nversion: {grip2.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_demo_from_the_wheel_beats_the_lasso_where_the_lasso_is_blind(installed):
    shown = installed.run("grip2", "demo", "--out", "demo").stdout
    assert "Against the truth" in shown
    written = {path.name for path in (installed.work / "demo").iterdir()}
    assert written == {"data.csv", "report.html", "selection.csv", "selection.json"}
    assert len(json.loads((installed.work / "demo" / "selection.json").read_text())["selected"]) >= 15
    names = ("lasso", STATISTICS.entry(DEFAULT_STATISTIC).title)
    lasso, ours = (next(line for line in shown.splitlines() if line.startswith(f"│ {name} ")) for name in names)
    assert lasso.split("│")[2].strip() == "0"
    assert float(ours.split("│")[4]) >= 0.75
    assert float(ours.split("│")[3]) <= 0.25
    lines = (installed.work / "demo" / "data.csv").read_text().splitlines()
    assert (len(lines), len(lines[0].split(","))) == (4001, 101)
