"""Selections side by side, in Python and on the command line."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import grip2
from grip2.cli import main
from grip2.errors import Grip2Error
from grip2.figure_style import to_svg
from tests.test_notebook import HOSTILE, Document, opened
from tests.test_result import make_result


def named(W, names, **changes):
    return make_result(np.asarray(W, float), **{"fdr": 0.25, "copies": 2, "feature_names": tuple(names), **changes})


A = named([5, 4, 3, 2, -1], "abcde")
B = named([5, -1, 3, 4, -0.5], "abcde", seed=8)
C = named([9, 8, 7], "abz")


def test_one_row_for_every_unit():
    assert A.selected == ["a", "b", "c", "d"]
    assert B.selected == ["a", "d", "c"]
    found = grip2.compare({"first": A, "second": B})
    frame = found.to_frame()
    assert list(frame.columns) == [
        "name", "selected_by", "first: W", "first: q_value", "first: selected", "second: W", "second: q_value",
        "second: selected",
    ]  # fmt: skip
    assert frame["name"].tolist() == ["a", "c", "d", "b", "e"]
    assert frame["selected_by"].tolist() == [2, 2, 2, 1, 0]
    rows = frame.set_index("name")
    for label, result in found.results.items():
        ordered = rows.loc[list(result.feature_names)]
        np.testing.assert_array_equal(ordered[f"{label}: W"], result.W)
        np.testing.assert_array_equal(ordered[f"{label}: q_value"], result.q_values)
        np.testing.assert_array_equal(ordered[f"{label}: selected"].astype(bool), result.selected_mask)


def test_agreement():
    found = grip2.compare({"first": A, "second": B, "third": A})
    assert found.selected_by_all == ["a", "c", "d"]
    assert found.selected_by_any == ["a", "b", "c", "d"]
    assert [(pair.first, pair.second, pair.both, pair.either, pair.jaccard) for pair in found.agreement] == [
        ("first", "second", 3, 4, 0.75),
        ("first", "third", 4, 4, 1.0),
        ("second", "third", 3, 4, 0.75),
    ]
    nothing = grip2.compare([A.at(0.01), B.at(0.01)])
    assert nothing.selected_by_any == []
    assert nothing.agreement[0].jaccard == 1.0
    assert "3 results: 3 features selected by all, 4 by any" in str(found)
    assert repr(found) == f"<Comparison: {found}>"
    assert found.notes == ()


def test_results_of_different_tables():
    found = grip2.compare({"small": C, "large": A})
    assert found.units == ("a", "b", "z", "c", "d", "e")
    assert found.agreement[0].both == 2
    assert found.agreement[0].either == 2, "only a and b are in both"
    assert found.selected_by_all == ["a", "b"]
    frame = found.to_frame().set_index("name")
    assert np.isnan(frame.loc["c", "small: W"])
    assert frame["small: selected"].isna()["c"]
    assert "4 of 6 features are not in every result (z, c, d, e)" in found.notes[0]
    assert "not there" in opened(found._repr_html_()).text
    many = grip2.compare([named(np.arange(1, 21), [f"x{j}" for j in range(20)]), C])
    assert "and 18 more)" in many.notes[0]


def test_what_differs_is_told():
    found = grip2.compare({"x": A, "y": named([1, 2], "ab", fdr=0.5, n_rows=7, response="two classes")})
    assert any("differ in fdr: 0.25 (x), 0.5 (y)." in note for note in found.notes)
    assert any("the number of rows: 100 (x), 7 (y)." in note for note in found.notes)
    assert any("the response: a measurement (x), two classes (y)." in note for note in found.notes)


def test_results_without_names_are_named_by_what_differs():
    assert list(grip2.compare([A, B]).results) == ["seed 7", "seed 8"]
    assert list(grip2.compare([A, A.at(0.5)]).results) == ["fdr 0.25", "fdr 0.5"]
    assert list(grip2.compare([A, A]).results) == ["result (1)", "result (2)"]
    lasso, path = ({"statistic": {"name": name}} for name in ("LassoCoefficient", "LassoPath"))
    several = [named([1, 2], "ab", settings=settings, seed=seed) for settings in (lasso, path) for seed in (1, 2)]
    assert list(grip2.compare(several).results)[1:3] == ["LassoCoefficient, seed 2", "LassoPath, seed 1"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([A], "at least two results are needed, got 1"),
        ({}, "at least two results are needed, got 0"),
        (A, "expected several results, got SelectionResult"),
        (3, "expected several results, got int"),
        ([A, grip2.KnockoffSelector()], r"got KnockoffSelector. Of a fitted selector, give selector.result_"),
        ("ab", "got str"),
    ],
)
def test_what_cannot_be_compared(given, complaint):
    with pytest.raises(Grip2Error, match=complaint):
        grip2.compare(given)


def test_names_are_text_and_never_markup():
    first, second = (named(np.arange(1, 11)[::step], HOSTILE) for step in (1, -1))
    found = grip2.compare({"<script>x</script>": first, "=2+2": second})
    page = opened(found._repr_html_())
    assert "script" not in page.names()
    assert "img" not in page.names()
    for text in ("<script>x</script> and =2+2", "<script>alert(1)</script>", '"></iframe><img src=x onerror=alert(1)>'):
        assert text in page.text
    whole = Document(found.to_html())
    assert "svg" in whole.names()
    assert "script" not in whole.names()
    assert "\x1b" not in found.to_html()


def test_the_figure_has_a_dot_for_every_unit_that_is_selected_somewhere():
    figure = grip2.compare({"first": A, "second": B, "third": C}).plot()
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "c", "d", "b", "z"]
    dots = sum(len(points.get_offsets()) for points in axes.collections)
    assert dots == 4 + 4 + 3, "z is in the third only, which has neither c nor d"
    assert to_svg(figure).startswith("<svg")
    assert grip2.compare([A.at(0.01), B.at(0.01)]).plot().axes, "also where nothing is selected"


def run(capsys, *words):
    code = 0
    try:
        main(["compare", *map(str, words)])
    except SystemExit as ended:
        code = ended.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def folders(tmp_path):
    for name, result in (("one", A), ("two", B)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "selection.json").write_text(result.to_json())
    return tmp_path / "one", tmp_path / "two"


def test_folders_are_compared(capsys, folders):
    code, out, err = run(capsys, *folders)
    assert (code, err) == (0, "")
    assert "one (4)" in out
    assert "one and two" in out
    assert "0.75" in out
    assert "3 selected by all, 4 by at least one." in out
    code, again, _ = run(capsys, folders[0] / "selection.json", folders[1])
    assert (code, again) == (0, out)


def test_the_comparison_is_written(capsys, folders, tmp_path):
    code, out, err = run(capsys, *folders, "--out", tmp_path / "new" / "c.csv")
    assert code == 0, err
    assert "Written:" in out
    frame = pd.read_csv(tmp_path / "new" / "c.csv")
    pd.testing.assert_frame_equal(
        frame, grip2.compare({"one": A, "two": B}).to_frame(), check_dtype=False, check_column_type=False
    )
    assert run(capsys, *folders, "-o", tmp_path / "c.html")[0] == 0
    assert "one and two" in Document((tmp_path / "c.html").read_text()).text
    code, _, err = run(capsys, *folders, "-o", tmp_path / "c.html")
    assert code == 2
    assert "already there; give --force" in err
    assert run(capsys, *folders, "-o", tmp_path / "c.html", "--force")[0] == 0


def test_a_file_in_this_folder_is_not_said_to_be_in_a_point(capsys, folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *folders, "--out", "cmp.csv")[0] == 0
    code, _, err = run(capsys, *folders, "--out", "cmp.csv")
    assert code == 2
    assert "grip2: cmp.csv already exists in this folder; give another --out or --force." in err


def test_formulas_are_text_in_spreadsheets_and_escapes_in_terminals(capsys, tmp_path):
    for k in (1, 2):
        (tmp_path / f"run {k}").mkdir()
        (tmp_path / f"run {k}" / "selection.json").write_text(named(np.arange(1, 11), HOSTILE, seed=k).to_json())
    code, out, err = run(capsys, tmp_path / "run 1", tmp_path / "run 2", "--out", tmp_path / "c.csv")
    assert code == 0, err
    assert "\x1b[31m" not in out
    names = pd.read_csv(StringIO((tmp_path / "c.csv").read_text()))["name"].tolist()
    assert "'=1+1" in names
    assert "=1+1" not in names
    assert "<script>alert(1)</script>" in names


def test_folders_that_cannot_be_compared(capsys, folders, tmp_path):
    one, two = folders
    (tmp_path / "empty").mkdir()
    for name, text in {
        "foreign": '{"selected": []}',
        "list": "[1, 2]",
        "broken": '{"schema_version": 1, ',
        "half": json.dumps({"schema_version": 1, "features": [{"name": "a"}]}),
        "newer": json.dumps(A.to_dict() | {"schema_version": 99}),
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "selection.json").write_text(text)
    for words, complaint in (
        ([one], "expected at least two folders, got 1"),
        ([one, tmp_path / "nowhere"], "there is no such folder; give a folder that grip2 select"),
        ([one, tmp_path / "empty"], "there is no selection.json in this folder"),
        ([one, tmp_path / "foreign"], "is not a selection of grip2"),
        ([one, tmp_path / "list"], "is not a selection of grip2"),
        ([one, tmp_path / "broken"], "cannot be read as JSON"),
        ([one, tmp_path / "half"], "is no complete selection"),
        ([one, tmp_path / "newer"], "expected schema_version 1, got 99"),
        ([one, one], "was given twice"),
        ([one, two, "--out", tmp_path / "c.xlsx"], "expected a file that ends with .csv or .html"),
    ):
        code, out, err = run(capsys, *words)
        assert code == 2, words
        assert out == ""
        assert complaint in err
        assert err.startswith("grip2: ")
        assert err.count("\n") == 1, "one line"


def test_folders_of_one_name_are_told_apart_by_their_paths(capsys, folders, tmp_path):
    (tmp_path / "more" / "one").mkdir(parents=True)
    (tmp_path / "more" / "one" / "selection.json").write_text(B.to_json())
    code, _, _ = run(capsys, folders[0], tmp_path / "more" / "one", "--out", tmp_path / "c.csv")
    assert code == 0
    assert f"{tmp_path / 'more' / 'one'}: W" in (tmp_path / "c.csv").read_text()
