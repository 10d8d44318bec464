"""What clumsy newcomers do: each misuse is answered by one short message that says what to do, and nothing is written."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso

from grip2 import KnockoffSelector, cli
from grip2.errors import Grip2Error
from grip2.knockoffs import CopulaKnockoffs, GaussianKnockoffs
from grip2.statistics import FromEstimator, LassoCoefficient

ROWS = 60
# Words of the library that nobody on the command line needs to know.
JARGON = re.compile(
    r"KnockoffSelector|LassoCoefficient|\w+Knockoffs\b|dtype|ndarray|X\.shape|n_samples|n_draws|n_jobs|np\.|columns=\{|"
    r"task=|missing=|Errno|Traceback|module:Class"
)
MOST_CHARACTERS = 420


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    names = ["age", "height", "weight", "Blood Pressure"]
    made = pd.DataFrame(rng.standard_normal((ROWS, 4)), columns=names)
    made["city"] = rng.choice(["Rome", "Oslo", "Bern"], ROWS)
    made["wage"] = made["age"] + 0.3 * rng.standard_normal(ROWS)
    made["months"] = rng.exponential(10, ROWS).round(2) + 0.1
    made["died"] = rng.integers(0, 2, ROWS)
    made["patient"] = [f"p{i // 2}" for i in range(ROWS)]
    return made


def zipped() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("table.csv", "a,b\n1,2\n")
    return content.getvalue()


Content = str | bytes | Callable[[pd.DataFrame], pd.DataFrame]


@dataclass(frozen=True)
class Misuse:
    """Words after `grip2 select table.csv --target wage --statistic lcd --drop patient --out out`, and the answer to them."""

    name: str
    answer: str  # a regular expression
    words: tuple[str, ...] = ()
    table: Content = ""  # of table.csv; empty: a good one
    target: str | None = "wage"
    groups: str = ""  # of groups.csv


def misuse(
    name: str, answer: str, *words: str, table: Content = "", target: str | None = "wage", groups: str = ""
) -> Misuse:
    return Misuse(name, answer, words, table, target, groups)


COMMAND_LINE = [
    # Names.
    misuse("plural and capital target", r"no column 'Wages'; did you mean 'wage'\?", target="Wages"),
    misuse("target in capitals", r"did you mean 'wage'\?", target="WAGE"),
    misuse("target by its beginning", r"did you mean 'Blood Pressure'\?", target="blood"),
    misuse("underscore for a space", r"did you mean 'Blood Pressure'\?", target="blood_pressure"),
    misuse("no such column at all", "no column 'salary'; columns are age, height", target="salary"),
    misuse("no target", "--target is missing .the column to explain", target=None),
    misuse("two targets", "one column at a time, got wage and age. Run the command once for each", "--target", "age"),
    misuse("target is dropped", "'wage' is left out and is the column of --target", "--drop", "wage"),
    misuse("target is the cluster", "--target and --cluster both name 'wage'", "--cluster", "wage"),
    misuse("role of no column", r"no column 'Citys'; did you mean 'city'\?", "--as", "Citys=category"),
    misuse("role that there is not", r"Did you mean 'category'\?", "--as", "city=text"),
    misuse("role in other letters", r"Did you mean 'category'\?", "--as", "city=Categorical"),
    misuse("role forgotten", "expected COLUMN=ROLE such as zip=category", "--as", "city"),
    misuse("dropped column misspelt", r"did you mean 'height'\?", "--drop", "hieght"),
    misuse("dropped columns in one word", "name one column at a time: age, then height", "--drop", "age,height"),
    misuse("event misspelt", r"--event: there is no column 'Dies'; did you mean 'died'\?", "--event", "Dies", target="months"),
    misuse("cluster misspelt", r"--cluster: there is no column 'Patients'; did you mean 'patient'\?", "--cluster", "Patients"),
    misuse("setting misspelt", r"lcd has no setting 'Fold'; .*Did you mean 'folds'\?", "--set", "Fold=3"),
    misuse("setting without a value", "expected name=value, for example", "--set", "folds"),
    misuse("setting of a wrong type", "folds must be a whole number", "--set", "folds=many"),
    misuse("setting out of range", "folds must be a whole number between 2 and", "--set", "folds=1"),
    misuse("statistic in capitals", r"--statistic must be one of .*Did you mean 'lcd'\?", "--statistic", "LCD"),
    misuse("statistic by its title", r"Did you mean 'rf'\?", "--statistic", "random forest"),
    misuse("knockoffs in capitals", r"--knockoffs must be one of .*Did you mean 'gaussian'\?", "--knockoffs", "Gausian"),
    misuse("paper in capitals", r"--paper must be one of .*Did you mean 'hiv'\?", "--paper", "HIV"),
    misuse("task abbreviated", r"--task must be one of .*Did you mean 'classification'\?", "--task", "classify"),
    misuse("missing in capitals", r"--missing must be one of .*Did you mean 'median'\?", "--missing", "Median"),
    misuse("option misspelt", "No such option: --frd .*--fdr", "--frd", "0.1"),
    misuse("name with a space, no quotes", "Put quotes around words with spaces", "--drop", "Blood", "Pressure"),
    # Files.
    misuse("empty file", "the file is empty; check that it was saved", table="\n\n"),
    misuse("header only", "0 rows and 3 columns; put rows of values below", table="a,b,wage\n"),
    misuse("one column", "holds a single column, 'wage'; expected names separated by", table="wage\n1\n2\n"),
    misuse("one row", "at least 10 rows are needed, got one", table=lambda f: f.head(1)),
    misuse("five rows", "at least 10 rows are needed, got 5", table=lambda f: f.head(5)),
    misuse("one feature", "at least 2 features are needed", table=lambda f: f[["age", "wage", "patient"]]),
    misuse("PDF", "is a PDF document, .*export its table as .csv", table=b"%PDF-1.4\n1 0 obj\n"),
    misuse("web page", "is a web page, .*download the table itself", table="<!DOCTYPE html>\n<html>a,b,wage</html>\n"),
    misuse("archive", "is a zip archive or an Excel workbook, .*unpack it, or give it the ending .xlsx", table=zipped()),
    misuse("image", "is an image, not a .csv table", table=b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
    misuse("JSON", "is JSON, .*give it the ending .json", table='[{"a": 1, "wage": 2}]'),
    misuse("title above the names", "'My study'; .*Remove titles above the names", table="My study\n\na,b,wage\n1,2,3\n"),
    misuse("unknown separator", "expected names separated by commas, semicolons", table="a b wage\n1 2 3\n2 3 4\n"),
    misuse("no header", "put a line with the names of the columns", table="1,2,3\n2,3,4\n"),
    misuse("repeated names", "more than once: a; give every column a name of its own", table="a,a,wage\n1,2,3\n"),
    misuse("ragged rows", "every row must have 3 values, but row 2 has 4", table="a,b,wage\n1,2,3\n1,2,3,4\n"),
    # Contents.
    misuse("constant target", "target is a constant .3.0 in every row.*Choose another", table=lambda f: f.assign(wage=3.0)),
    misuse("empty target", "'wage' is empty in all 60 rows; choose another", table=lambda f: f.assign(wage=np.nan)),
    misuse("one class", "target is one class .'Rome'", table=lambda f: f.assign(wage="Rome")),
    misuse(
        "a thousand levels",
        "text with 1000 distinct values .*choose another target",
        table=lambda f: pd.concat([f] * 17).head(1000).assign(wage=[f"name {i}" for i in range(1000)]),
    ),
    misuse("infinite cell", "column age holds infinity in row 5; .*--as age=drop", table=lambda f: f.assign(
        age=np.where(f.index == 4, np.inf, f["age"]))),
    misuse("copy of the target", "leak is a copy of the target 'wage'; leave it out: --as leak=drop", table=lambda f: f.assign(
        leak=2 * f["wage"])),
    misuse("repeated rows", "Remove the repeats, or.*--cluster COLUMN", table=lambda f: pd.concat([f, f])),
    misuse("negative counts", "counts must not be negative.*--task regression", "--task", "counts"),
    misuse("counts with fractions", "counts must be whole numbers.*--task regression", "--task", "counts", target="months"),
    misuse("measurements as classes", "60 classes in 60 rows.*--task regression", "--task", "classification"),
    misuse("classes as measurements", "regression needs a target of numbers", "--task", "regression", target="city"),
    misuse("survival without event", "name both: --target time --event status", "--task", "survival", target="months"),
    misuse("measurement as event", "60 different values .*whether the event has happened", "--event", "age", target="months"),
    misuse("event of three words", "say which one is the event: --event died=VALUE", "--event", "died", target="months",
           table=lambda f: f.assign(died=np.resize(["a", "b", "c"], len(f)))),
    misuse("event that never happens", "happens in no row; say which value", "--event", "died=7", target="months"),
    misuse("negative times", "'months': times must be positive.*rows 1 .* more; drop these", "--event", "died", target="months",
           table=lambda f: f.assign(months=f["months"] - 20)),
    # Numbers.
    misuse("rate in per cent", "For 10 % write 0.1", "--fdr", "10"),
    misuse("rate with a sign", "For 10 % write 0.1", "--fdr", "10%"),
    misuse("rate of nothing", "--fdr must be a number above 0 and below 1, got 0", "--fdr", "0"),
    misuse("rate of all", "--fdr must be a number above 0 and below 1, got 1", "--fdr", "1"),
    misuse("rate that is none", "Write 0.1, for example", "--fdr", "nan"),
    misuse("no copies", "--copies must be a whole number of at least 1 or 'auto', got 0", "--copies", "0"),
    misuse("negative copies", "--copies must be a whole number", "--copies", "-1"),
    misuse("a thousand copies", "--copies must be at most .*Use 'auto'", "--copies", "1000"),
    misuse("copies in words", "--copies must be a whole number", "--copies", "abc"),
    misuse("no draws", "--draws must be a whole number of at least 1, got 0", "--draws", "0"),
    misuse("negative seed", "--seed must be a whole number of at least 0, got -1", "--seed", "-1"),
    misuse("seed in words", "--seed must be a whole number of at least 0, got abc", "--seed", "abc"),
    misuse("too few jobs", "--jobs must be a number of processes such as 4, or -1", "--jobs", "-3"),
    misuse("no jobs", "--jobs must be a number of processes such as 4, or -1", "--jobs", "0"),
    misuse("correlation in per cent", "--group-threshold must be above 0 and at most 1", "--group-threshold", "90"),
    misuse("two draws without offset", "several draws .* need --offset 1", "--draws", "2", "--offset", "0"),
    misuse("copies of fixed knockoffs", "one copy only.*Use --copies 1", "--knockoffs", "fixed", "--copies", "3"),
    # Groups.
    misuse("groups of no column", r"no column. Did you mean 'height'\?", groups="column,group\nage,a\nHeigth,a\n"),
    misuse("column in two groups", "a column belongs to one group", groups="column,group\nage,a\nage,b\n"),
    misuse("column twice in a group", "named twice in 'a'; name it once", groups="column,group\nage,a\nage,a\n"),
    misuse("groups without header", "expected a header with column,group, got age,a", groups="age,a\nheight,a\n"),
    misuse("no groups in the file", "holds no groups", groups="column,group\n"),
    misuse("no file of groups", "no such file. Give a CSV file with", "--groups", "nowhere.csv"),
]  # fmt: skip


def answer_of(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The one message with which `grip2 words...` ends, which must be a refusal."""
    with pytest.raises(SystemExit) as stop:
        cli.main([str(word) for word in words])
    captured = capsys.readouterr()
    assert stop.value.code == 2, captured.err
    assert captured.out == ""
    lines = captured.err.splitlines()
    first = [number for number, line in enumerate(lines) if line.startswith("grip2: ")]
    assert len(first) == 1, captured.err
    message = "\n".join(lines[first[0] :]).removeprefix("grip2: ")
    assert not JARGON.search(captured.err), captured.err
    assert len(message) <= MOST_CHARACTERS, f"{len(message)} characters: {message}"
    return message


@pytest.mark.parametrize("case", COMMAND_LINE, ids=lambda case: case.name)
def test_the_command_line_says_what_to_do(case, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = Path("table.csv")
    if isinstance(case.table, bytes):
        table.write_bytes(case.table)
    elif isinstance(case.table, str) and case.table:
        table.write_text(case.table, encoding="utf-8")
    else:
        (frame() if not case.table else case.table(frame())).to_csv(table, index=False)
    if case.groups:
        Path("groups.csv").write_text(case.groups, encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    words = ["select", table, *(["--target", case.target] if case.target else []), "--statistic", "lcd", "--out", "out"]
    words += [] if "--cluster" in case.words else ["--drop", "patient"]
    words += ["--groups", "groups.csv"] if case.groups else []
    message = answer_of(capsys, *words, *case.words)
    assert re.search(case.answer, message, re.DOTALL), message
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["select", "folder", "--target", "y"], "is a folder; name the file in it"),
        (["select", "tabel.csv", "--target", "y"], r"no such file. Did you mean table.csv\?"),
        (["select", "table", "--target", "y"], r"no such file. Did you mean table.csv\?"),
        (["select", "note.docx", "--target", "y"], "unknown ending '.docx'; save the table as .csv"),
        (["select", "sheet.xlsx", "--target", "y"], "not a .xlsx table.* if it is text, give it the ending .csv"),
        (["select", "table.csv", "--target", "wage", "--out", "note.docx"], "is a file; give a folder with --out"),
        (
            ["select", "table.csv", "--target", "wage", "--out", "note.docx/deep"],
            "cannot write there .*give another --out",
        ),
        (["select", "table.csv", "--target", "wage", "--out", "folder"], "already there; give --force to replace"),
        (["select"], "the table is missing"),
        (["table.csv"], "is a file, not a command. Write: grip2 select table.csv --target COLUMN"),
        (["selct", "table.csv"], r"Did you mean 'select'\?"),
        (["columns", "table.csv", "--target", "Wages"], r"did you mean 'wage'\?"),
        (["diagnose", "table.csv", "--target", "Wages"], r"did you mean 'wage'\?"),
        (["demo", "--seed", "x"], "--seed must be a whole number"),
        (["experiment", "run", "hvi"], r"Did you mean 'hiv'\?"),
        (["experiment", "run", "nowhere.toml"], "nowhere.toml: cannot be read .No such file"),
        (["experiment", "run", "hiv", "--trials", "0"], "--trials must be a whole number of at least 1"),
        (["experiment", "report", "folder"], "no experiment there .*Run one with --out folder first"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_places_are_told(words, answer, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame().drop(columns="patient").to_csv("table.csv", index=False)
    Path("note.docx").write_text("wage", encoding="utf-8")
    Path("sheet.xlsx").write_text("a,b\n1,2\n", encoding="utf-8")
    Path("folder").mkdir()
    Path("folder/selection.json").write_text("{}", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    message = answer_of(capsys, *words)
    assert re.search(answer, message), message
    assert sorted(tmp_path.rglob("*")) == before


def numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((ROWS, 4))
    return X, X[:, 0] + rng.standard_normal(ROWS)


def fit(X=None, y=None, *, clusters=None, **parameters):
    given = numbers()
    parameters = {"statistic": LassoCoefficient(), "knockoffs": "gaussian", "describe": False, **parameters}
    return KnockoffSelector(random_state=parameters.pop("random_state", 0), **parameters).fit(
        given[0] if X is None else X, given[1] if y is None else y, clusters=clusters
    )


def named() -> pd.DataFrame:
    return pd.DataFrame(numbers()[0], columns=list("abcd"))


def twisted(low: float) -> np.ndarray:
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = low
    return covariance


X0, Y0 = numbers()
PYTHON = {
    "y shorter than X": (lambda: fit(y=Y0[:-1]), "X has 60 rows, y has 59 values. Take both from the same rows"),
    "y with NaN": (lambda: fit(y=np.where(Y0 > 1, np.nan, Y0)), "y contains NaN in .* Leave these rows out"),
    "y with infinity": (lambda: fit(y=np.where(Y0 > 1, np.inf, Y0)), "y contains infinity in .* Correct these rows"),
    "X with infinity": (lambda: fit(np.where(X0 == X0.max(), np.inf, X0)), "holds infinity in row"),
    "complex X": (lambda: fit(X0 + 1j), "Pass real and imaginary parts as separate columns"),
    "complex y": (lambda: fit(y=Y0 + 1j), "y holds complex numbers"),
    "lists in cells": (lambda: fit(named().assign(a=[[1]] * ROWS)), "got list in rows 1, .*convert the column or leave it out"),
    "sparse X": (lambda: fit(scipy.sparse.csr_array(X0)), r"Pass X.toarray\(\)"),
    "three dimensions": (lambda: fit(X0[:, :, None]), "one row for each sample, one column for each feature"),
    "y for X": (lambda: fit(Y0, Y0), "X must be a table with rows and columns, got one column of 60 values"),
    "X and y swapped": (lambda: fit(Y0, X0), r"Are X and y swapped\? It is fit\(X, y\)"),
    "a file name for X": (lambda: fit("data.csv"), "Read the file first"),
    "a dict for X": (lambda: fit({"a": Y0}), r"Pass pandas.DataFrame\(X\)"),
    "a name for y": (lambda: fit(named(), "d"), r"pass y=X\['d'\] and leave the column out of X"),
    "several columns for y": (lambda: fit(y=X0), "y must be one column, .* Fit a selector for each column"),
    "no y": (lambda: KnockoffSelector().fit(X0), r"requires y .* Write fit\(X, y\)"),
    "constant y": (lambda: fit(y=np.ones(ROWS)), r"y is a constant \(1.0 in every row\)"),
    "one class": (lambda: fit(y=["a"] * ROWS), r"y is one class \('a' in every row\)"),
    "negative counts": (lambda: fit(task="counts"), "counts must not be negative.* task='regression'"),
    "events that are no events": (lambda: fit(y=np.c_[np.abs(Y0) + 1, np.arange(ROWS)]), "events must be 1 .seen. or 0"),
    "negative times": (lambda: fit(y=np.c_[Y0, np.arange(ROWS) % 2]), "times must be positive"),
    "statistic misspelt": (lambda: fit(statistic="lcdd"), r"statistic must be one of .*Did you mean 'lcd'\?"),
    "statistic without brackets": (lambda: fit(statistic=LassoCoefficient), r"Write LassoCoefficient\(\)"),
    "a model for a statistic": (lambda: fit(statistic=Lasso()), r"FromEstimator\(model\)"),
    "a name for a model": (lambda: fit(statistic=FromEstimator("lasso")), "must be a model of scikit-learn such as"),
    "a text for folds": (lambda: fit(statistic=LassoCoefficient(folds="a")), "folds must be a whole number"),
    "knockoffs misspelt": (lambda: fit(knockoffs="Gausian"), r"knockoffs must be one of .*Did you mean 'gaussian'\?"),
    "knockoffs without brackets": (lambda: fit(knockoffs=GaussianKnockoffs), r"Write GaussianKnockoffs\(\)"),
    "knockoffs for other columns": (
        lambda: fit(knockoffs=GaussianKnockoffs(np.zeros(3), np.eye(3))), "covariance must be 4 x 4 for 4 columns"
    ),
    "no covariance": (lambda: fit(knockoffs=GaussianKnockoffs(np.zeros(4), twisted(2.0))), "positive semidefinite"),
    "a vector for a covariance": (lambda: fit(knockoffs=GaussianKnockoffs(np.zeros(4), np.ones(4))), "must be 4 x 4"),
    "a word for a covariance": (lambda: fit(knockoffs=GaussianKnockoffs(None, "lw")), "covariance must be an array of numbers"),
    "s misspelt": (lambda: fit(knockoffs=CopulaKnockoffs(s="SDPP")), r"s must be one of .*Did you mean 'sdp'\?"),
    "fdr as text": (lambda: fit(fdr="0.1"), r"fdr must be in \(0, 1\), got '0.1'. Write the number 0.1"),
    "fdr in per cent": (lambda: fit(fdr=10), "For 10 % write 0.1"),
    "several fdr": (lambda: fit(fdr=[0.1, 0.2]), r"fdr must be in \(0, 1\)"),
    "random_state as text": (lambda: fit(random_state="a"), "random_state must be None, an integer"),
    "no draws": (lambda: fit(n_draws=0), "n_draws must be a whole number of at least 1"),
    "a thousand copies": (lambda: fit(copies=1000), "copies must be at most"),
    "task misspelt": (lambda: fit(task="Regresion"), r"Did you mean 'regression'\?"),
    "overlapping groups": (lambda: fit(named(), groups={"g": ["a", "b"], "h": ["b"]}), "a column belongs to one group"),
    "group of no column": (lambda: fit(named(), groups={"g": ["a", "B"]}), r"no column. Did you mean 'b'\?"),
    "labels of some columns": (lambda: fit(groups=[1, 2]), "a label for each of the 4 columns, got 2"),
    "role that there is not": (lambda: fit(named(), columns={"a": "numeric"}), r"Did you mean 'number'\?"),
    "roles as a list": (lambda: fit(named(), columns=["a"]), "columns must map names to roles, such as"),
    "clusters too short": (lambda: fit(clusters=[1, 2]), "one label for each of the 60 rows, got 2"),
    "one cluster": (lambda: fit(clusters=[1] * ROWS), "clusters must be at least 10 different ones, got 1"),
    "sample before fit": (lambda: GaussianKnockoffs().sample(X0, rng=np.random.default_rng(0)), "call fit before sample"),
    "other columns at transform": (
        lambda: fit(named(), fdr=0.5).transform(named().rename(columns={"a": "z"})), "Pass the table that fit has seen"
    ),
    "fewer columns at transform": (lambda: fit(fdr=0.5).transform(X0[:, :2]), "Pass the table that fit has seen"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:KnockoffSelector. y has")
@pytest.mark.parametrize("name", PYTHON)
def test_python_says_what_to_do(name):
    call, answer = PYTHON[name]
    with pytest.raises(Grip2Error) as error:
        call()
    message = str(error.value)
    assert re.search(answer, message, re.DOTALL), message
    assert len(message) <= MOST_CHARACTERS, message
    assert re.match(r"\w+: |random_state", message), "says who complains"


def test_transform_before_fit_says_so():
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        KnockoffSelector().transform(X0)


def test_a_statistic_may_be_named():
    by_name = KnockoffSelector("lcd", "gaussian", random_state=0, describe=False).fit(X0, Y0)
    np.testing.assert_array_equal(by_name.W_, fit().W_)
    assert by_name.get_params()["statistic"] == "lcd"


def test_many_problems_fit_on_a_screen(capsys, tmp_path):
    broken = pd.DataFrame(np.full((ROWS, 300), np.inf)).add_prefix("x")
    broken.assign(wage=Y0).to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(SystemExit):
        cli.main(["select", str(tmp_path / "table.csv"), "--target", "wage", "--out", str(tmp_path / "out")])
    # A slow machine also has a line of progress.
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("progress:")]
    assert "300 problems" in lines[0]
    assert lines[-1].strip() == "and 288 more."
    assert len(lines) < 20


def test_help_is_still_shown_without_words(capsys):
    with pytest.raises(SystemExit):
        cli.main([])
    captured = capsys.readouterr()
    assert "select" in captured.out + captured.err
    assert "grip2: " not in captured.err
