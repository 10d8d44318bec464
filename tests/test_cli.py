"""The command line as a person meets it: in processes of its own where that matters."""

from __future__ import annotations

import errno
import importlib.metadata
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from grip2 import KnockoffSelector, _output, cli
from grip2.commands.console import show_selection
from grip2.knockoffs.registry import SAMPLERS
from grip2.result import SelectionResult
from grip2.statistics.registry import STATISTICS


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(20)])
    frame["city"] = rng.choice(["Rome", "Oslo", "Bern"], 300)
    frame["y"] = X[:, :10].sum(axis=1) + 0.3 * rng.standard_normal(300)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def run(capsys, *words):
    """Exit code, standard output and standard error of `grip2 words...`, in this process."""
    try:
        cli.main([str(word) for word in words])
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def select(capsys, table, out, *more):
    return run(capsys, "select", table, "--target", "y", "--statistic", "lcd", "--fdr", "0.2", "--out", out, *more)


def test_select_writes_three_files_that_round_trip(capsys, table, tmp_path):
    code, out, err = select(capsys, table, tmp_path / "result")
    assert code == 0, err
    assert sorted(path.name for path in (tmp_path / "result").iterdir()) == [
        "report.html", "selection.csv", "selection.json"
    ]  # fmt: skip
    text = (tmp_path / "result" / "selection.json").read_text()
    content = json.loads(text)
    assert set(content["selected"]) >= {f"gene{j}" for j in range(10)}
    assert set(content["features"][0]) == {
        "name", "W", "q_value", "selected", "original", "knockoff", "stands_for"
    }  # fmt: skip
    assert SelectionResult.from_json(text).to_json() == text
    frame = pd.read_csv(tmp_path / "result" / "selection.csv")
    assert frame["name"].tolist() == SelectionResult.from_json(text).to_frame()["name"].tolist()
    np.testing.assert_allclose(frame["W"], SelectionResult.from_json(text).to_frame()["W"])
    assert "gene0" in out
    assert "21 columns: 20 number, 1 category" in err
    (city,) = [column for column in content["columns"] if column["name"] == "city"]
    assert (city["role"], city["why"], city["missing"]) == ("category", "text", 0)
    assert "the reference is" in city["done"]
    page = (tmp_path / "result" / "report.html").read_text()
    assert "<svg" in page
    assert "What the guarantee rests on" in page
    assert "21 columns: 20 number, 1 category" in page
    assert f"<pre>grip2 select {table} --target y" in page
    assert f"--seed 0 --out {tmp_path / 'result-again'}</pre>" in page
    assert "src=" not in page, "the page must stand alone"
    assert "href=" not in page.replace('xlink:href="#', "").replace('href="#', "")


def test_same_seed_same_files(capsys, table, tmp_path):
    contents = []
    for name in ("a", "b"):
        assert select(capsys, table, tmp_path / name, "--seed", "5")[0] == 0
        content = json.loads((tmp_path / name / "selection.json").read_text())
        content.pop("seconds")
        contents.append(content)
    assert contents[0] == contents[1]


def test_select_reads_parquet_and_classes(capsys, table, tmp_path):
    frame = pd.read_csv(table)
    frame["y"] = np.where(frame["y"] > 0, "sick", "well")
    frame.to_parquet(tmp_path / "table.parquet")
    code, _, err = select(capsys, tmp_path / "table.parquet", tmp_path / "result")
    assert code == 0, err
    assert json.loads((tmp_path / "result" / "selection.json").read_text())["task"] == "classification"


def test_results_are_not_overwritten_without_force(capsys, table, tmp_path):
    assert select(capsys, table, tmp_path / "result")[0] == 0
    before = (tmp_path / "result" / "selection.json").read_text()
    code, _, err = select(capsys, table, tmp_path / "result", "--seed", "1")
    assert code == 2
    assert "already there; give --force" in err
    assert (tmp_path / "result" / "selection.json").read_text() == before
    assert select(capsys, table, tmp_path / "result", "--seed", "1", "--force")[0] == 0
    assert (tmp_path / "result" / "selection.json").read_text() != before


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (
            lambda f: f.assign(gene3=np.where(f.index == 4, np.nan, f.gene3)),
            ["--missing", "refuse"],
            r"missing values in gene3 (1)",
        ),
        (lambda f: f, ["--missing", "median", "--knockoffs", "gausian"], "Did you mean 'gaussian'"),
        (lambda f: f, ["--missing", "impute"], "missing must be one of draw, indicator, median, refuse"),
        (lambda f: f, ["--missing", "draw", "--impute"], "give one of them"),
        (
            lambda f: f.assign(gene3=np.where(f.index == 4, np.inf, f.gene3)),
            [],
            "column gene3 holds infinity in row 5",
        ),
        (lambda f: f.assign(leak=2 * f.y), [], "column leak is a copy of the target 'y'; leave it out"),
        (lambda f: f.assign(gene3=[*f.gene3.astype(str)[:-1], "3;5"]), [], "holds numbers, but not in row 300 ('3;5')"),
        (lambda f: f, ["--as", "gene_1=number"], "did you mean 'gene1'"),
        (lambda f: f, ["--as", "gene1=numbr"], "Did you mean 'number'"),
        (lambda f: f, ["--as", "gene1"], "--as: expected COLUMN=ROLE"),
        (lambda f: f, ["--cluster", "gene_1"], "--cluster: there is no column 'gene_1'; did you mean 'gene1'"),
        (lambda f: f, ["--event", "gene_1"], "--event: there is no column 'gene_1'"),
        (lambda f: f, ["--weights", "gene1"], "no statistic honours weights"),
        (lambda f: f.assign(y=np.nan), [], "y"),
        (lambda f: f.head(9), [], "at least 10 rows"),
        (lambda f: f[["gene1", "y"]], [], "at least 2 features"),
        (lambda f: f.assign(y=3.0), [], "the target is a constant"),
        (lambda f: f.assign(y="sick"), [], "the target is one class"),
        (lambda f: f, ["--fdr", "1.5"], "--fdr must be a number above 0 and below 1, got 1.5"),
        (lambda f: f, ["--statistic", "grip"], "statistic must be one of"),
        (lambda f: f, ["--statistic", "lcdd"], "Did you mean 'lcd'"),
        (lambda f: f, ["--knockoffs", "gausian"], "Did you mean 'gaussian'"),
        (lambda f: f, ["--knockoffs", "json:dumps"], "must be a subclass of grip2.knockoffs.base.KnockoffSampler"),
        (lambda f: f, ["--set", "fold=7"], "Did you mean 'folds'"),
        (lambda f: f, ["--set", "folds=many"], "lcd: folds must be a whole number, got 'many'"),
        (lambda f: f, ["--set", "folds"], "--set: expected name=value"),
        (lambda f: f, ["--knockoffs", "copula", "--set", "knockoffs.shrink=1"], "Did you mean 'shrinkage'"),
        (lambda f: f, ["--set", "knockoffs=gaussian"], "choose the sampler with --knockoffs NAME"),
        (lambda f: f, ["--paper", "hivv"], "Did you mean 'hiv'"),
        (lambda f: f, ["--task", "ranking"], "task must be"),
        (lambda f: f, ["--drop", "gene_1"], "there is no column 'gene_1'; did you mean 'gene1'"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_two(capsys, table, tmp_path, change, words, message):
    path = tmp_path / "bad.csv"
    change(pd.read_csv(table)).to_csv(path, index=False)
    code, out, err = select(capsys, path, tmp_path / "result", *words)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert out == ""
    assert len([line for line in err.splitlines() if line.startswith("grip2:")]) == 1
    assert not (tmp_path / "result").exists()


def with_shadow(table):
    """A column that nearly repeats another one."""
    frame = pd.read_csv(table)
    frame["shadow"] = frame["gene3"] + 0.01 * np.random.default_rng(1).standard_normal(len(frame))
    frame.to_csv(table, index=False)


def features_of(folder):
    return json.loads((folder / "selection.json").read_text(encoding="utf-8"))["features"]


@pytest.mark.parametrize("extra", [[], ["--group-representatives"]], ids=["all columns", "representatives"])
def test_groups_of_correlated_features_are_one_unit(capsys, table, tmp_path, extra):
    with_shadow(table)
    code, _, err = select(capsys, table, tmp_path / "result", "--group-threshold", "0.9", *extra)
    assert code == 0, err
    assert ("all its columns" in err) == (not extra)
    assert ("one column of each is kept" in err) == bool(extra)
    (grouped,) = [feature for feature in features_of(tmp_path / "result") if "shadow" in feature["stands_for"]]
    assert sorted(grouped["stands_for"]) == ["gene3", "shadow"]
    content = (tmp_path / "result" / "selection.json").read_text(encoding="utf-8")
    assert SelectionResult.from_json(content).groups[grouped["name"]] == grouped["stands_for"]


def test_groups_from_a_file_and_text_columns_are_units(capsys, table, tmp_path):
    frame = pd.read_csv(table)
    rng = np.random.default_rng(2)
    frame["colour"] = rng.choice(["red", "green", "blue"], len(frame))
    frame["shape"] = rng.choice(["round", "square", "flat"], len(frame))
    frame.to_csv(table, index=False)
    groups = tmp_path / "groups.csv"
    groups.write_text("column,group\ngene0,pathway\ngene1,pathway\ncolour,looks\nshape,looks\n", encoding="utf-8")
    code, _, err = select(capsys, table, tmp_path / "plain")
    assert code == 0, err
    stands_for = {feature["name"]: feature["stands_for"] for feature in features_of(tmp_path / "plain")}
    assert len(stands_for["colour"]) == len(stands_for["shape"]) == 2
    assert not any("=" in name for name in stands_for)
    code, _, err = select(capsys, table, tmp_path / "grouped", "--groups", str(groups))
    assert code == 0, err
    stands_for = {feature["name"]: feature["stands_for"] for feature in features_of(tmp_path / "grouped")}
    assert stands_for["pathway"] == ["gene0", "gene1"]
    assert len(stands_for["looks"]) == 4
    assert "colour" not in stands_for


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("column,group\ngene0,a\nnone,a\n", "'none', which is no column"),
        ("column,group\ncolour=red,a\n", "one value of 'colour'; name the whole column"),
        ("gene0,a\n", "expected a header with column,group"),
        ("column,group\ngene0,colour\ngene1,colour\n", "'colour' is the name of a group and of a column outside it"),
        ("column,group\ngene0,gene2\ngene1,gene2\n", "'gene2' is the name of a group and of a column outside it"),
    ],
)
@pytest.mark.parametrize("extra", [[], ["--group-threshold", "0.9"]], ids=["", "clusters"])
def test_bad_groups_are_told(capsys, table, tmp_path, text, message, extra):
    frame = pd.read_csv(table)
    frame["colour"] = np.random.default_rng(2).choice(["red", "green", "blue"], len(frame), p=[0.2, 0.5, 0.3])
    frame.to_csv(table, index=False)
    groups = tmp_path / "groups.csv"
    groups.write_text(text, encoding="utf-8")
    code, _, err = select(capsys, table, tmp_path / "out", "--groups", str(groups), *extra)
    assert code == 2
    assert message in err
    assert not (tmp_path / "out").exists()


def test_copies_are_told_and_can_be_set(capsys, table, tmp_path):
    code, _, err = select(capsys, table, tmp_path / "auto")
    assert code == 0
    assert "knockoff copies of every feature" in err
    assert "automatic" in err
    code, _, _ = select(capsys, table, tmp_path / "two", "--copies", "2")
    assert code == 0
    assert json.loads((tmp_path / "two" / "selection.json").read_text(encoding="utf-8"))["copies"] == 2
    page = (tmp_path / "two" / "report.html").read_text(encoding="utf-8")
    assert "competes with 2 knockoffs" in page
    for word in ("many", "0", "-1", "1.5"):
        code, _, err = select(capsys, table, tmp_path / "bad", "--copies", word)
        assert code == 2
        assert "copies must be a whole number of at least 1 or 'auto'" in err


def test_diagnose_gives_a_verdict(capsys, table, tmp_path):
    code, out, err = run(capsys, "diagnose", table, "--target", "y", "--out", tmp_path / "result")
    assert code == 0, err
    content = json.loads((tmp_path / "result" / "diagnostics.json").read_text())
    assert content["verdict"] in ("good", "usable")  # one column is as correlated with its knockoff as "good" allows
    assert f"Verdict: {content['verdict']}" in out
    words = " ".join(out.split())
    assert "Correlation of a column with its own knockoff, 5 copies drawn together as by select at fdr 0.1:" in words
    measured = f"- measured on the columns: {content['mean_correlation']:.2f} on average, "
    low = f"{len(content['low_power'])} of 22 at 0.95 or above"
    assert measured in words
    assert low in words
    assert select(capsys, table, tmp_path / "selection", "--copies", "5")[0] == 0
    quality = json.loads((tmp_path / "selection" / "selection.json").read_text())["knockoff_quality"]
    of_select = f"{quality['mean_correlation']:.2f} on average, {quality['largest_correlation']:.2f} at most"
    assert f"as select tells it: {of_select}, {quality['n_low_power']} of 22 at 0.95 or above" in words
    assert content["p"] == 22
    assert (tmp_path / "result" / "diagnostics.svg").read_text().startswith("<svg")
    assert run(capsys, "diagnose", table, "--target", "z")[0] == 2


def test_odd_names_are_shown_as_they_are(capsys, table, tmp_path):
    frame = pd.read_csv(table).rename(
        columns={"gene0": "rate[/s]", "gene1": "temp[c]", "gene2": "$x_{$", "gene3": "a<b>&", "gene4": "日本"}
    )
    frame.to_csv(table, index=False)
    code, out, err = select(capsys, table, tmp_path / "result")
    assert code == 0, err
    assert "Glyph" not in err
    for name in ("rate[/s]", "temp[c]", "$x_{$", "a<b>&", "日本"):
        assert name in out
    page = (tmp_path / "result" / "report.html").read_text()
    assert "a&lt;b&gt;&amp;" in page
    assert "a<b>" not in page


def test_draws_and_offset(capsys, table, tmp_path):
    code, out, err = select(capsys, table, tmp_path / "draws", "--draws", "3", "--drop", "city")
    assert code == 0, err
    assert "averaged over 3 draws" in out
    assert "e-value" in out
    code, _, err = select(capsys, table, tmp_path / "offset", "--offset", "0")
    assert code == 0, err
    content = json.loads((tmp_path / "offset" / "selection.json").read_text())
    assert any("modified" in sentence for sentence in content["assumptions"])


def test_draws_run_on_a_dask_cluster(capsys, table, tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed (grip2[dask])")
    from tests.experiments.dask_cluster import cluster

    code, _, err = select(capsys, table, tmp_path / "here", "--draws", "3")
    assert code == 0, err
    with cluster(tmp_path, workers=2) as (address, _):
        code, _, err = select(capsys, table, tmp_path / "there", "--draws", "3", "--scheduler", address)
        assert code == 0, err
        code, _, err = select(capsys, table, tmp_path / "both", "--draws", "3", "--scheduler", address, "--jobs", "2")
        assert code == 2
        assert "not both" in err
    assert features_of(tmp_path / "here") == features_of(tmp_path / "there")


def test_settings_reach_the_statistic_and_the_sampler(capsys, table, tmp_path):
    words = ["--knockoffs", "copula", "--set", "folds=7", "--set", "knockoffs.s=equi"]
    words += ["--set", "knockoffs.extra_shrinkage=0.02"]
    code, _, err = select(capsys, table, tmp_path / "result", *words)
    assert code == 0, err
    used = json.loads((tmp_path / "result" / "selection.json").read_text())["settings"]
    assert used["statistic"]["folds"] == 7
    assert used["knockoffs"]["s"] == "equi"
    assert used["knockoffs"]["extra_shrinkage"] == 0.02


def test_paper_is_where_settings_start(capsys, table, tmp_path):
    words = ["--statistic", "mald", "--paper", "hiv", "--set", "steps=20"]
    code, _, err = select(capsys, table, tmp_path / "result", *words)
    assert code == 0, err
    used = json.loads((tmp_path / "result" / "selection.json").read_text())["settings"]["statistic"]
    assert used["steps"] == 20
    assert (used["hidden"], used["depth"], used["batch_size"]) == (1, 1, None)


def test_a_location_is_as_good_as_a_name(capsys, table, tmp_path):
    words = [
        "--statistic",
        "grip2.statistics.lasso_path:LassoPath",
        "--knockoffs",
        "grip2.knockoffs.gaussian:GaussianKnockoffs",
    ]
    code, _, err = select(capsys, table, tmp_path / "result", *words)
    assert code == 0, err
    used = json.loads((tmp_path / "result" / "selection.json").read_text())["settings"]
    assert (used["statistic"]["name"], used["knockoffs"]["name"]) == ("LassoPath", "GaussianKnockoffs")


@pytest.mark.parametrize("setting", ["s=equi", "knockoffs.s=equi"])
def test_diagnose_takes_settings_of_the_sampler(capsys, table, setting):
    code, out, err = run(capsys, "diagnose", table, "--target", "y", "--set", setting)
    assert code == 0, err
    assert out != run(capsys, "diagnose", table, "--target", "y")[1]
    code, _, err = run(capsys, "diagnose", table, "--target", "y", "--set", setting.replace("s=", "ss="))
    assert code == 2
    assert "auto knockoffs has no setting 'ss'" in err


def test_a_bug_asks_for_a_report(capsys, table, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise KeyError("no such\nthing")

    monkeypatch.setattr("grip2.selector.KnockoffSelector.fit", broken)
    code, out, err = select(capsys, table, tmp_path / "result")
    assert code == 1
    assert out == ""
    (line,) = [line for line in err.splitlines() if line.startswith("grip2:")]
    assert "KeyError" in line
    assert "This is a bug in grip2, please report it" in line
    assert "include the command, the output of `grip2 --version` and the traceback that --debug prints" in line
    assert "Traceback" not in err
    assert "Traceback" in select(capsys, table, tmp_path / "result", "--debug")[2]
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize("error", [ValueError, np.linalg.LinAlgError])
def test_errors_of_other_libraries_are_bugs_of_ours(capsys, table, tmp_path, monkeypatch, error):
    def broken(*_, **__):
        raise error("deep inside")

    monkeypatch.setattr("grip2.selector.KnockoffSelector.fit", broken)
    code, _, err = select(capsys, table, tmp_path / "result")
    assert code == 1
    assert f"{error.__name__}: deep inside. This is a bug in grip2" in err


@pytest.mark.parametrize(
    ("urls", "where"),
    [
        (["Homepage, https://a.example", "Issues, https://b.example/issues"], " at https://b.example/issues: include"),
        (["Homepage, https://a.example"], "please report it: include"),
        (None, "please report it: include"),
    ],
)
def test_the_address_for_reports_comes_from_the_metadata(monkeypatch, urls, where):
    class Metadata:
        def get_all(self, _):
            return urls

    monkeypatch.setattr("importlib.metadata.metadata", lambda _: Metadata())
    assert where in cli._bug_report(RuntimeError("x"))


def test_reports_without_an_installed_package(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.metadata", missing)
    assert "please report it: include" in cli._bug_report(RuntimeError("x"))


def test_running_out_of_memory_is_a_failure_but_no_bug(capsys, table, tmp_path, monkeypatch):
    def greedy(*_, **__):
        raise MemoryError

    monkeypatch.setattr("grip2.selector.KnockoffSelector.fit", greedy)
    code, _, err = select(capsys, table, tmp_path / "result")
    assert code == 1
    assert "out of memory" in err
    assert "bug" not in err


def test_help_lists_names_and_summaries(capsys):
    _, out, _ = run(capsys, "select", "--help")
    listed = [line.split(maxsplit=1) for line in out.splitlines()]
    for registry in (STATISTICS, SAMPLERS):
        for entry in registry.own_entries():
            assert [entry.name, entry.summary] in listed
    _, out, _ = run(capsys, "diagnose", "--help")
    assert "any marginal distributions" in out
    assert "lasso" not in out


def test_usage_errors_have_exit_code_two(capsys, table, tmp_path):
    code, _, err = run(capsys, "select", table, "--out", tmp_path)
    assert code == 2
    assert "--target" in err
    assert run(capsys, "selekt")[0] == 2
    assert run(capsys, "select", table, "--target", "y", "--out", tmp_path, "--draws", "many")[0] == 2


def test_debug_shows_the_traceback(capsys, tmp_path):
    code, _, err = select(capsys, tmp_path / "none.csv", tmp_path / "result", "--debug")
    assert code == 2
    assert "Traceback" in err


def test_missing_values_can_be_imputed(capsys, table, tmp_path):
    frame = pd.read_csv(table)
    frame.loc[4, "gene3"] = np.nan
    frame.to_csv(table, index=False)
    code, _, err = select(capsys, table, tmp_path / "result", "--impute")
    assert code == 0
    assert "gene3: 1 missing values filled" in err
    assert select(capsys, table, tmp_path / "other", "--missing", "indicator")[0] == 0


def test_a_full_disk_leaves_nothing_half_written(capsys, table, tmp_path, monkeypatch):
    assert select(capsys, table, tmp_path / "result")[0] == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "result").iterdir()}

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_output.os, "fsync", full)
    code, out, err = select(capsys, table, tmp_path / "result", "--force", "--seed", "1")
    assert code == 1
    assert "No space left on device" in err
    assert "bug" not in err
    assert "features selected at fdr" in out, "the selection is printed all the same"
    assert {path.name: path.read_bytes() for path in (tmp_path / "result").iterdir()} == before
    code, _, err = select(capsys, table, tmp_path / "other")
    assert code == 1
    assert not (tmp_path / "other").exists()


def test_an_unwritable_folder_is_told_before_the_work(capsys, table, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("here I am")
    assert "is a file; give a folder" in select(capsys, table, tmp_path / "file")[2]
    code, _, err = select(capsys, table, tmp_path / "file" / "below")
    assert code == 2
    assert "cannot write there" in err


def test_help_and_version():
    for words in (["--help"], ["select", "--help"], ["demo", "--help"], ["--version"]):
        done = subprocess.run([sys.executable, "-m", "grip2", *words], capture_output=True, text=True, check=True)
        assert "grip2" in done.stdout
        assert done.stderr == ""


def test_the_papers_settings_are_refused_where_it_has_none(capsys, table, tmp_path):
    code, _, err = select(capsys, table, tmp_path / "out", "--paper", "hiv")
    assert code == 2
    assert "the paper has no settings of its own for lcd" in err


def test_a_bad_group_threshold_is_named_as_it_was_given(capsys, table, tmp_path):
    code, _, err = select(capsys, table, tmp_path / "out", "--group-threshold", "3")
    assert code == 2
    assert "--group-threshold must be above 0 and at most 1, such as 0.9, got 3" in err


def test_representatives_need_groups(capsys, table, tmp_path):
    code, _, err = select(capsys, table, tmp_path / "out", "--group-representatives")
    assert code == 2
    assert "--group-representatives needs --group-threshold" in err


def test_a_table_as_it_comes(capsys, table, tmp_path):
    """A row index, a constant, a copy, dates, an identifier, rare levels and rows without a target: one command, all told."""
    frame = pd.read_csv(table)
    frame.insert(0, "", np.arange(len(frame)))
    frame["flat"], frame["again"] = 1, frame["gene3"]
    frame["visit"] = pd.date_range("2018-01-01", periods=len(frame), freq="5D").strftime("%d.%m.%Y")
    frame["patient"] = [f"p{i}" for i in range(len(frame))]
    frame.loc[:2, "city"] = ["Lima", "Quito", "Quito"]
    frame.loc[7, "y"] = np.nan
    frame.to_csv(table, index=False, sep=";", decimal=",")
    code, _, err = select(capsys, table, tmp_path / "result")
    assert code == 0, err
    for message in (
        "y is missing in 1 of 300 rows, which are left out", "a decimal comma was found", "Unnamed: 0: counts the rows",
        "flat: constant",
        "again: a copy of gene3, with which it forms one unit", "patient: 299 different texts in 299 rows, left out",
        "city: 2 rare levels (Quito, Lima; 3 rows) pooled into 'other'",
    ):  # fmt: skip
        assert message in err
    content = json.loads((tmp_path / "result" / "selection.json").read_text(encoding="utf-8"))
    assert {column["name"]: column["role"] for column in content["columns"]}["visit"] == "date"
    assert len(content["columns"]) == 26
    assert content["n_rows"] == 299
    (unit,) = [feature for feature in content["features"] if feature["name"] == "gene3"]
    assert unit["stands_for"] == ["gene3", "again"]


def test_columns_shows_roles_and_all_problems(capsys, table, tmp_path):
    code, out, err = run(capsys, "columns", table, "--target", "y", "--out", tmp_path / "roles.csv")
    assert code == 0, err
    assert "21 columns, 300 rows" in out
    roles = pd.read_csv(tmp_path / "roles.csv").set_index("column")
    assert roles["role"]["city"] == "category"
    assert list(roles.columns) == ["role", "why", "missing", "values", "what is done"]
    frame = pd.read_csv(table).assign(leak=lambda f: f.y, gene1=np.inf, gene2=lambda f: ["x", *f.gene2.astype(str)[1:]])
    frame.to_csv(table, index=False)
    code, out, err = run(capsys, "columns", table, "--target", "y", "--as", "nobody=drop")
    assert code == 2
    assert "city" in out
    assert "the table has 4 problems" in err
    for message in ("no column 'nobody'", "gene1 holds infinity", "row 1 ('x')", "leak is a copy of the target 'y'"):
        assert message in err
    words = ["--as", "leak=drop", "--as", "gene1=drop", "--as", "gene2=number", "--drop", "gene3"]
    assert run(capsys, "columns", table, "--target", "y", *words)[0] == 0


def test_roles_and_clusters_on_the_command_line(capsys, table, tmp_path):
    frame = pd.read_csv(table)
    frame["code"] = np.arange(len(frame)) % 4
    frame["patient"] = np.arange(len(frame)) // 2
    frame.to_csv(table, index=False)
    words = ["--as", "code=category", "--cluster", "patient"]
    code, _, err = select(capsys, table, tmp_path / "result", *words)
    assert code == 0, err
    content = json.loads((tmp_path / "result" / "selection.json").read_text(encoding="utf-8"))
    roles = {column["name"]: column["role"] for column in content["columns"]}
    assert roles["code"] == "category"
    assert "patient" not in roles
    assert any("one row of each of 150 clusters" in text for text in content["assumptions"])


def few_columns(tmp_path, p, n=60):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.standard_normal((n, p)), columns=[f"x{j}" for j in range(p)])
    frame["y"] = frame.sum(axis=1) + 0.1 * rng.standard_normal(n)
    path = tmp_path / "few.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_table_that_is_not_judged_says_why(capsys, tmp_path):
    code, out, err = select(capsys, few_columns(tmp_path, 4), tmp_path / "result")
    assert code == 0, err
    words = "Responses were not simulated: 4 units, at least 5 are needed."
    assert f"No verdict on the knockoffs. {words}" in " ".join(out.split())
    assert f"They were not judged on this table. {words}" in (tmp_path / "result" / "report.html").read_text()


def test_a_verdict_that_warns_comes_before_the_features(capsys):
    result = KnockoffSelector("lcd", "gaussian", random_state=0, fdr=0.2, describe=False).fit(*_ten_effects()).result_
    for verdict in ("do not trust", "usable", "good"):
        quality = replace(result.knockoff_quality, verdict=verdict, verdict_reasons=("For a reason.",))
        show_selection(replace(result, knockoff_quality=quality))
        out = " ".join(capsys.readouterr().out.split())
        place = out.index(f"Verdict on the knockoffs: {verdict}. For a reason.")
        assert (place < out.index("features selected at fdr")) == (verdict == "do not trust")
        assert out.count("Verdict") == 1


def _ten_effects():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    return X, X[:, :10].sum(axis=1) + 0.1 * rng.standard_normal(200)


def test_rows_that_belong_together_and_rare_values_are_told(capsys, tmp_path):
    rng = np.random.default_rng(5)
    of_professor = pd.DataFrame({"age": rng.integers(30, 70, 60), "rank": rng.integers(0, 3, 60), "z": rng.random(60)})
    frame = of_professor.loc[np.repeat(np.arange(60), 4)].reset_index(drop=True)
    frame = frame.assign(prof_id=np.repeat(np.arange(100, 160), 4), flag=np.arange(240) == 7, x=rng.random(240))
    frame = frame.assign(flag=frame["flag"].astype(int), y=rng.random(240))
    path = tmp_path / "evals.csv"
    frame.to_csv(path, index=False)
    code, _, err = select(capsys, path, tmp_path / "result", "--knockoffs", "gaussian", "--cluster", "prof_id")
    assert code == 0, err
    assert "flag: only 1 of 240 rows has 1; it cannot be selected" in err
    assert "never vary within" not in err
    code, _, err = select(capsys, path, tmp_path / "alone", "--knockoffs", "gaussian")
    assert "columns age, rank, z never vary within prof_id: rows that belong together are not independent" in err
    assert "Use --cluster prof_id." in err
