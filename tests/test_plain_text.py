"""Names that try to do harm, where people read them: terminal, CSV, pages."""

from __future__ import annotations

import csv
import io
import warnings

import pandas as pd
import pytest

from grip2.commands import console
from grip2.commands.console import notice, output, show_selection, warnings_as_notices
from grip2.commands.select import result_files
from grip2.plain_text import for_spreadsheet, short_name, spreadsheet_csv, visible, visible_line
from tests.report.examples import ESCAPES, FORMULA, odd_names


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ascii and 血圧 and عمر", "plain, ascii and 血圧 and عمر"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("abc\u202edef", r"abc\u202edef"),
        ("line\nline\tcell", "line\nline\tcell"),
        ("back\rspace\b", r"back\rspace\x08"),
    ],
)
def test_control_characters_are_written_out(text, shown):
    assert visible(text) == shown


def test_names_stay_on_one_line():
    assert visible_line("a\nb\tc") == r"a\nb\tc"
    assert short_name("a\nb") == r"a\nb"
    long = "begin" + "x" * 200 + "end"
    assert len(short_name(long)) == 60
    assert short_name(long).startswith("begin")
    assert short_name(long).endswith("end")
    assert short_name("x" * 60) == "x" * 60


@pytest.mark.parametrize("formula", ["=1+1", "+1+cmd", "-cmd()", "@SUM(A1)", " =1", "\t=1", "\r=1"])
def test_formulas_are_texts_in_spreadsheets(formula):
    safe = for_spreadsheet(formula)
    assert safe[0] == "'"
    assert formula.strip() in safe


@pytest.mark.parametrize("name", ["age", "x=1", "a-b", "-1.5", "+3", "1e-3", "", "'quoted"])
def test_names_and_numbers_stay_as_they_are(name):
    assert for_spreadsheet(name) == name


def test_csv_keeps_numbers_and_neutralises_headings():
    frame = pd.DataFrame({"=a": ["=cmd()", "b"], "W": [-1.5, 2.0], "in": [True, False]})
    rows = list(csv.reader(io.StringIO(spreadsheet_csv(frame))))
    assert rows == [["'=a", "W", "in"], ["'=cmd()", "-1.5", "True"], ["b", "2.0", "False"]]
    assert list(frame.columns) == ["=a", "W", "in"], "the frame itself is not changed"


def test_the_files_of_a_selection():
    result = odd_names()
    files = result_files(result, title="odd")
    names = [row[0] for row in csv.reader(io.StringIO(files["selection.csv"]))][1:]
    assert f"'{FORMULA}" in names
    assert r"\x1b[31mred\x07" in names
    assert len(names) == len(result.feature_names)
    assert all(not name.startswith(("=", "+", "-", "@")) for name in names)
    assert ESCAPES not in files["selection.json"]
    assert FORMULA in [feature["name"] for feature in result.to_dict()["features"]], "JSON has names as they are"


def test_the_terminal_obeys_no_name(capsys):
    show_selection(odd_names())
    output.print(f"Report: {ESCAPES}", markup=False)
    notice(ESCAPES)
    printed = capsys.readouterr()
    assert "pair (2 columns)" in printed.out, "a group is not taken for a column"
    assert ESCAPES in odd_names().selected
    for text in (printed.out, printed.err):
        assert "\x1b" not in text
        assert "\x07" not in text
    assert r"\x1b[31mred\x07" in printed.err
    assert "it is not the size of an effect" in printed.out


def test_warnings_are_shown_when_they_are_raised_and_once(monkeypatch):
    told = []
    monkeypatch.setattr(console, "notice", told.append)
    with warnings_as_notices():
        for _ in range(2):
            warnings.warn("KnockoffSelector: nothing can be selected", stacklevel=1)
            assert told == ["nothing can be selected"]
