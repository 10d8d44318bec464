"""Plans: what presets hold, what a list means, and that complaints point at the line."""

from __future__ import annotations

import pytest

from grip2.experiments.plan import PRESETS, PlanError, load_plan
from grip2.experiments.plan_file import parse_plan
from grip2.experiments.trial import statistic_for
from grip2.statistics import GRIP2
from tests.experiments.helpers import SMALL


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_presets(name, quick):
    plan = load_plan(name, quick=quick)
    assert plan.name == (f"{name}-quick" if quick else name)
    assert "grip2" in {method.name for method in plan.methods}
    assert "lcd" in {method.name for method in plan.methods}, "the linear yardstick stands beside every comparison"
    for method in plan.methods:
        statistic_for(plan, method)


def test_full_presets_are_the_papers():
    synthetic = load_plan("synthetic")
    assert {(d.options["n"], d.options["p"], d.options["snr"]) for d in synthetic.designs} == {(20_000, 500, 0.2)}
    assert {(d.options["rho"], d.trials) for d in synthetic.designs} == {(0.8, 5), (0.0, 3), (0.4, 3), (0.6, 3)}
    ensembles = {(m.name, m.ensemble) for m in synthetic.methods if m.ensemble > 1}
    assert ensembles == {(name, k) for name in ("grip2", "mald", "shap", "deeppink") for k in (2, 5)}
    har = load_plan("har")
    assert {design.s for design in har.designs} == {"equi", "mvr"}
    grip2 = {method.name: statistic_for(har, method) for method in har.methods if method.ensemble == 1}
    assert grip2["grip2"].omega == (1.0, 100.0)
    assert grip2["grip2-low"].omega == (1e-4, 1e-1)
    assert grip2["grip2-low"].steps == 10_000
    hiv = load_plan("hiv")
    assert [design.trials for design in hiv.designs] == [50] * 7
    assert {(design.knockoffs, design.s) for design in hiv.designs} == {("fixed", "equi")}


def test_ensembles_split_the_budget():
    plan = load_plan("synthetic")
    five = next(method for method in plan.methods if (method.name, method.ensemble) == ("grip2", 5))
    assert statistic_for(plan, five).member().steps == 1000


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ["synthetic", "har", "hiv"])
def test_grip2_as_it_comes_stands_beside_the_papers(name, quick):
    plan = load_plan(name, quick=quick)
    ours = next(method for method in plan.methods if method.name == "grip2-auto")
    assert statistic_for(plan, ours).get_params() == GRIP2().get_params()
    theirs = next(method for method in plan.methods if method.name == "grip2")
    assert statistic_for(plan, theirs).linear is None


def test_a_method_may_have_a_setting_and_fewer_trials():
    text = SMALL + '\n[[method]]\nname = "grip2"\nsetting = "hiv"\ntrials = 2\n'
    plan = parse_plan(text)
    assert statistic_for(plan, plan.methods[-1]).hidden == 1
    assert {(cell.method.name, cell.trials) for cell in plan.cells()} == {("lapa", 3), ("lcd", 3), ("grip2", 2)}
    assert {cell.trials for cell in plan.restricted(trials=1).cells()} == {1}
    other = parse_plan(text.replace('"hiv"', '"synthetic"'))
    keys = [{cell.configuration for cell in one.cells()} for one in (plan, other)]
    assert len(keys[0] & keys[1]) == 4, "lapa and lcd alone are the same"
    with pytest.raises(PlanError, match="setting"):
        parse_plan(text.replace('"hiv"', '"hvi"'))


def test_lists_and_only():
    plan = parse_plan(SMALL + '\n[[method]]\nname = "rf"\nonly = { rho = 0.5 }\n')
    assert [design.options["rho"] for design in plan.designs] == [0.0, 0.5]
    assert [(cell.design.options["rho"], cell.method.name) for cell in plan.cells()] == [
        (0.0, "lapa"), (0.0, "lcd"), (0.5, "lapa"), (0.5, "lcd"), (0.5, "rf"),
    ]  # fmt: skip


def test_configuration_names_what_decides_a_result():
    def keys(text: str) -> list[str]:
        return [cell.configuration for cell in parse_plan(text).cells()]

    reference = keys(SMALL)
    assert len(set(reference)) == 4
    assert keys(SMALL.replace("snr = 2.0", "spacing = 5\nsnr = 2")) == reference, "a default written out is the same"
    assert keys(SMALL.replace("trials = 3", "trials = 30").replace("[0.1, 0.2]", "[0.3]")) == reference
    for change in (("seed = 3", "seed = 4"), ("n = 120", "n = 121"), ("snr = 2.0", 'snr = 2.0\ns = "mvr"')):
        assert not set(keys(SMALL.replace(*change))) & set(reference)


def test_restricted():
    plan = parse_plan(SMALL).restricted(trials=7, methods=["lcd"])
    assert {design.trials for design in plan.designs} == {7}
    assert [method.name for method in plan.methods] == ["lcd"]
    with pytest.raises(ValueError, match="the plan 'small' has lapa, lcd; there is no 'grip2'"):
        plan = parse_plan(SMALL).restricted(methods=["grip2"])


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("seed = 3", "seed = -3"), 3, "seed must be a whole number of at least 0, got -3"),
        (("trials = 3", "trails = 3"), 4, "did you mean 'trials'?"),
        (("fdr = [0.1, 0.2]", "fdr = [0.1, 2]"), 5, "fdr must hold numbers between 0 and 1, got 2"),
        (('source = "synthetic"', 'source = "sintetic"'), 8, "did you mean 'synthetic'?"),
        (("n = 120", 'n = "many"'), 9, "n must be a whole number, or a list of them, got 'many'"),
        (("p = 20", "drug = 'APV'"), 10, "unknown key"),
        (("rho = [0.0, 0.5]", "rho = []"), 11, "rho must not be an empty list"),
        (("rho = [0.0, 0.5]", "rho = [0.5, 0.5]"), 7, "the same data and knockoffs twice"),
        (("snr = 2.0", 'knockoffs = "magic"'), 12, "knockoffs must be one of exact"),
        (('name = "lcd"', 'name = "lcdd"'), 18, "did you mean 'lcd'?"),
        (('name = "lcd"', 'name = "lapa"'), 14, "two methods of one name and ensemble size"),
        (('name = "lcd"', 'statistic = "lcd"'), 17, "name is missing"),
        (('name = "lcd"', 'name = "lcd"\nonly = { rho = 0.9 }'), 19, "no data block has"),
        (('name = "lcd"', 'name = "lcd"\nonly = { roh = 0.5 }'), 19, "did you mean 'rho'?"),
        (('name = "lcd"', 'name = "lcd"\nensemble = [0]'), 19, "ensemble must hold whole numbers of at least 1"),
        (('name = "lcd"', 'name = "lcd"\nsettings = 5'), 19, "settings must be a table"),
    ],
)
def test_complaints_point_at_the_line(change, line, message):
    text = SMALL.replace(*change)
    assert text != SMALL
    with pytest.raises(PlanError) as caught:
        parse_plan(text, "mine.toml")
    assert str(caught.value).startswith(f"mine.toml, line {line}: ")
    assert message in str(caught.value)
    assert text.splitlines()[line - 1].strip() in str(caught.value).splitlines()[-1]


def test_not_toml():
    with pytest.raises(PlanError, match=r"mine.toml: not a TOML file: .*line 2"):
        parse_plan('name = "x"\nseed = = 3\n', "mine.toml")


def test_missing_blocks():
    with pytest.raises(PlanError, match=r"at least one \[\[data\]\] block is needed"):
        parse_plan('name = "x"\n')


def test_unknown_setting_of_a_statistic():
    plan = parse_plan(SMALL.replace('name = "lcd"', 'name = "lcd"\nsettings = { fold = 3 }'))
    with pytest.raises(ValueError, match="lcd has no setting 'fold'; it has folds"):
        statistic_for(plan, plan.methods[-1])


def test_names_and_files(tmp_path):
    with pytest.raises(ValueError, match="expected synthetic, har, hiv, calibration or a plan file"):
        load_plan("hvi")
    with pytest.raises(PlanError, match="cannot be read"):
        load_plan(tmp_path / "none.toml")
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    assert load_plan(path).name == "small"
    with pytest.raises(ValueError, match="--quick is for"):
        load_plan(path, quick=True)
