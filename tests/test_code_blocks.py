"""Every block of code of README and docs is executed, page by page, in the order of the page and in an empty folder.

Python blocks of a page share one namespace. Commands of shell blocks are run in the same folder, in which `tables` prepares
small files under the names that pages use for "your table". Commands that take long are not run: ``LONG`` names them with the
reason, and a test of their own checks that every option, file and target in them exists.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.datasets import load_diabetes

from grip2 import cli
from grip2.responses import recognition
from grip2.statistics.registry import STATISTICS
from tests.documents import ALL, ROOT, Block, blocks, commands

# Commands that are checked but not run, by how they begin, and why.
LONG = {
    "grip2 bench": "minutes to hours",
    "grip2 experiment run": "minutes to hours",
    "grip2 experiment status": "needs the trials of a run",
    "grip2 experiment report": "needs the trials of a run",
    "make": "tests, builds and installations",
    "pip install": "installs",
    "python benchmarks/": "minutes to hours",
    "python -m pytest": "a test of its own",
}

# Commands that name no statistic are run with a fast one, except on pages about the default; see `quickened`.
ABOUT_THE_DEFAULT = {"README", "start", "worked-example"}
FAST = ("--statistic", "lcd")

LANGUAGES = {"python", "bash", "toml", "text"}


def pages_with_code() -> list[Path]:
    return [page for page in ALL if any(block.language in LANGUAGES for block in blocks(page))]


def code_blocks() -> list[Block]:
    return [block for page in ALL for block in blocks(page) if not block.language.startswith("{")]


def reason_not_to_run(command: str) -> str | None:
    return next((reason for start, reason in LONG.items() if command.startswith(start)), None)


def long_commands():
    found = {
        str(command): command for block in code_blocks() if block.language == "bash" for command in commands(block)
    }
    return [command for text, command in found.items() if reason_not_to_run(text)]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The files that pages call "your table", small, in the folder in which a page is run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    numbers = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    linear = X[:, 0] + X[:, 1] - X[:, 2] + X[:, 3]
    numbers.assign(y=linear + rng.standard_normal(150)).to_csv("data.csv", index=False)
    pd.DataFrame({"column": ["x0", "x1", "x6"], "group": ["a", "a", "b"]}).to_csv("groups.csv", index=False)
    sex = rng.choice(["f", "m"], 150)
    town = rng.choice(["Bern", "Oslo", "Rome"], 150)
    response = linear + (sex == "f") + rng.standard_normal(150)
    patients = numbers.assign(sex=sex, town=town, response=response)
    patients.mask(np.eye(150, patients.shape[1], dtype=bool) & (patients.columns == "x7")).to_csv(
        "patients.csv", index=False
    )
    times = numbers.assign(time=rng.exponential(np.exp(-linear)), status=rng.integers(0, 2, 150))
    times.to_csv("survival.csv", index=False)
    load_diabetes(as_frame=True).frame.to_csv("diabetes.csv", index=False)
    numbers.assign(visits=rng.poisson(np.exp(linear / 2))).to_csv("counts.csv", index=False)
    return tmp_path


@pytest.fixture
def registries(monkeypatch):
    """What pages register lasts as long as their test."""
    monkeypatch.setattr(recognition, "KINDS", recognition.KINDS)
    monkeypatch.setattr(STATISTICS, "_own", dict(STATISTICS._own))
    monkeypatch.syspath_prepend(ROOT / "examples")


@pytest.mark.parametrize("page", pages_with_code(), ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tables, registries, monkeypatch, capsys):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    module = ModuleType("page")  # of which classes find themselves to be
    monkeypatch.setitem(sys.modules, "page", module)
    more = () if page.stem in ABOUT_THE_DEFAULT else FAST
    for block in blocks(page):
        if block.language == "python":
            # Empty lines before the code, so that a traceback has the line of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), vars(module))
        elif block.language == "toml":
            assert tomllib.loads(block.text)
        elif block.language == "bash":
            for command in commands(block):
                if reason_not_to_run(str(command)) is None:
                    run(command, more)


def run(command, more) -> None:
    """A command of this package, in this process; it must end without an error."""
    program, *words = command.words
    assert program == "grip2", f"{command.place}: no test knows how to run {command}"
    if words[0] == "calibrate":
        words = [*quickened(words, FAST), "--runs", "2", "--jobs", "1"]  # the last of an option's values counts
    elif words[0] == "select":
        words = quickened(words, more)
    assert exit_code(words) == 0, f"{command.place}: {command}"


def quickened(words, more) -> list[str]:
    """Options of `grip2 select` or `grip2 calibrate` with a fast statistic where none is chosen, and two draws instead of ten."""
    if "--draws" in words:
        place, more = words.index("--draws") + 1, FAST
        words = [*words[:place], str(min(2, int(words[place]))), *words[place + 1 :]]
    chosen = any(word in ("--statistic", "--paper") or word.startswith("network.") for word in words)
    return [*words, *(() if chosen else more)]


def exit_code(words) -> int:
    try:
        cli.main(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.mark.parametrize("command", long_commands(), ids=str)
def test_a_long_command_could_be_run(command):
    """Not run, see LONG: its command, options, files and targets exist."""
    program, *words = command.words
    {"grip2": check_grip2, "make": check_make, "pip": check_pip, "python": check_python}[program](words)


def check_grip2(words):
    """Parsed by the command line itself, which refuses unknown options, but not carried out."""
    command, name = typer.main.get_command(cli.app), "grip2"
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    command.make_context(name, list(words))
    for word in words:
        assert not word.endswith(".toml") or (ROOT / word).is_file(), word


def check_make(targets):
    known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert targets
    assert set(targets) <= set(known)


def check_pip(words):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert words[0] == "install"
    for word in words[1:]:
        named = re.fullmatch(r"(?:\.|grip2)(?:\[(\w+)\])?", word)
        assert named, word
        assert named[1] is None or named[1] in extras


def check_python(words):
    """The file exists and knows the options; of pytest also the test that -k names."""
    file = next(word for word in words if word.endswith(".py"))
    text = (ROOT / file).read_text(encoding="utf-8")
    if words[:2] == ["-m", "pytest"]:
        assert "-k" not in words or words[words.index("-k") + 1] in text
        return
    shared = (ROOT / "benchmarks" / "simulated.py").read_text(encoding="utf-8")
    for option in (word for word in words if word.startswith("--")):
        assert f'"{option}"' in text + shared, f"{file} has no {option}"


def test_every_reason_is_used():
    """No entry of LONG outlives the commands that it excuses."""
    given = [str(command) for block in code_blocks() if block.language == "bash" for command in commands(block)]
    assert not [start for start in LONG if not any(command.startswith(start) for command in given)]


def test_no_code_hides_from_being_run():
    """Blocks have a language that is run or checked, plain text is no code, and no code is merely indented."""
    for block in code_blocks():
        assert block.language in LANGUAGES, f"{block.place}: {block.language!r}"
        if block.language == "text":
            assert not re.match(
                r"(grip2 (select|demo|diagnose|columns)|make |pip |python |from |import )", block.text
            ), block.place
    for page in ALL:
        lines = page.read_text(encoding="utf-8").splitlines()
        inside = False
        for number, (before, line) in enumerate(zip(["", *lines], lines, strict=False), start=1):
            inside ^= line.startswith("```")
            indented = not inside and before == "" and re.match(r"    (grip2|python|make|pip|from|import) ", line)
            assert not indented, f"{page.name}:{number}: use a fenced block, which is run"
