"""Plans: what presets hold, what a list means, and that complaints point at the line."""

from __future__ import annotations

import re

import pytest
from sklearn.ensemble import RandomForestRegressor

from grip2.datasets.families import FAMILIES
from grip2.experiments.methods import check_methods, places_of, statistic_for
from grip2.experiments.plan import PRESETS, PlanError, load_plan
from grip2.experiments.plan_file import parse_plan
from grip2.statistics import GRIP2, FromEstimator
from grip2.statistics.registry import STATISTICS
from tests.experiments.helpers import SMALL


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_presets(name, quick):
    plan = load_plan(name, quick=quick)
    assert plan.name == (f"{name}-quick" if quick else name)
    assert "grip2" in {method.name for method in plan.methods}
    assert "lcd" in {method.name for method in plan.methods}, "the linear yardstick stands beside every comparison"
    assert "staged" in {method.name for method in plan.methods}
    check_methods(plan)


def test_one_name_means_one_method_in_all_plans():
    statistics = {}
    for name in PRESETS:
        for quick in (False, True):
            for method in load_plan(name, quick=quick).methods:
                statistics.setdefault(method.name, set()).add((method.statistic, method.label))
    assert {name: found for name, found in statistics.items() if len(found) > 1} == {}


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
@pytest.mark.parametrize("name", PRESETS)
def test_the_default_method_stands_beside_the_papers(name, quick):
    plan = load_plan(name, quick=quick)
    ours, theirs = (
        statistic_for(plan, next(method for method in plan.methods if method.name == wanted))
        for wanted in ("staged", "grip2")
    )
    paper = GRIP2.paper({"har": "semireal", "hiv": "hiv"}.get(name, "synthetic"))
    assert theirs.block_size == paper.block_size
    if not quick:
        assert theirs.get_params() == paper.get_params()
    if not plan.shared_settings(plan.methods[0]):
        assert ours.get_params(deep=False).keys() == STATISTICS.create("staged").get_params(deep=False).keys()
        assert ours.network.get_params() == STATISTICS.create("staged").network.get_params()


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
        (("trials = 3", "trails = 3"), 4, "Did you mean 'trials'?"),
        (("fdr = [0.1, 0.2]", "fdr = [0.1, 2]"), 5, "fdr must hold numbers between 0 and 1, got 2"),
        (('source = "synthetic"', 'source = "sintetic"'), 8, "Did you mean 'synthetic'?"),
        (("n = 120", 'n = "many"'), 9, "n must be a whole number, or a list of them, got 'many'"),
        (("p = 20", "drug = 'APV'"), 10, "unknown key"),
        (("rho = [0.0, 0.5]", "rho = []"), 11, "rho must not be an empty list"),
        (("rho = [0.0, 0.5]", "rho = [0.5, 0.5]"), 7, "the same data and knockoffs twice"),
        (
            ("snr = 2.0", 'knockoffs = "magic"'),
            12,
            "knockoffs: expected one of exact, auto, copula, sequential, gaussian, fixed, got 'magic'",
        ),
        (("snr = 2.0", "copies = [0, 3]"), 12, "copies must be at least 1 and at most 200, got 0"),
        (("snr = 2.0", "copies = true"), 12, "copies must be a whole number, or a list of them, got True"),
        (("snr = 2.0", 'copies = 3\nknockoffs = "fixed"'), 12, "fixed knockoffs exist in one copy only"),
        (("snr = 2.0", "grouped = true"), 12, "grouped = true needs units of several columns: source = 'hiv'"),
        (('name = "lcd"', 'name = "lcdd"'), 18, "Did you mean 'lcd'?"),
        (('name = "lcd"', 'name = "lapa"'), 14, "two methods of one name and ensemble size"),
        (('name = "lcd"', 'statistic = "lcd"'), 17, "name is missing"),
        (('name = "lcd"', 'name = "lcd"\nonly = { rho = 0.9 }'), 19, "no data block has"),
        (('name = "lcd"', 'name = "lcd"\nonly = { roh = 0.5 }'), 19, "Did you mean 'rho'?"),
        (('name = "lcd"', 'name = "lcd"\nensemble = [0]'), 19, "ensemble must be at least 1, got 0"),
        (('name = "lcd"', 'name = "lcd"\nsettings = 5'), 19, "settings must be a table"),
        (('name = "small"', 'name = "../../x"'), 2, "name is also the name of a folder"),
        (('name = "small"', 'name = ".."'), 2, "name is also the name of a folder"),
        (('name = "small"', 'name = "/tmp/x"'), 2, "name is also the name of a folder"),
        (('name = "small"', 'name = "a:b"'), 2, "name is also the name of a folder"),
        (('name = "small"', "name = 5"), 2, "name must be a text, got 5"),
        (("trials = 3", "trials = 0"), 4, "trials must be a whole number of at least 1, got 0"),
        (("trials = 3", "trials = 2.5"), 4, "trials must be a whole number of at least 1, got 2.5"),
        (("seed = 3", "seed = true"), 3, "seed must be a whole number"),
        (("seed = 3", "batch = 0"), 3, "batch must be a whole number of at least 1, got 0"),
        (("fdr = [0.1, 0.2]", "fdr = 0.1"), 5, "fdr must be a list such as"),
        (("fdr = [0.1, 0.2]", "fdr = [nan]"), 5, "fdr must hold numbers between 0 and 1, got nan"),
        (("n = 120", "n = -120"), 9, "n must be at least 2, got -120"),
        (("n = 120", "n = 120.5"), 9, "n must be a whole number"),
        (("p = 20", "p = 1"), 10, "p must be at least 2, got 1"),
        (("rho = [0.0, 0.5]", "rho = [0.0, 1]"), 11, "rho must be above -1 and below 1, got 1"),
        (("rho = [0.0, 0.5]", "rho = nan"), 11, "rho must be above -1 and below 1, got nan"),
        (("snr = 2.0", "snr = -2.0"), 12, "snr must be above 0, got -2.0"),
        (("snr = 2.0", "snr = inf"), 12, "snr must be above 0, got inf"),
        (("snr = 2.0", "spacing = 0"), 12, "spacing must be at least 1, got 0"),
        (("snr = 2.0", "coefficients = -1"), 12, "coefficients must be at least 0, got -1"),
        (("snr = 2.0", 's = "eqi"'), 12, "Did you mean 'equi'?"),
        (("snr = 2.0", 'center = "yes"'), 12, "center must be true or false"),
        (('name = "lcd"', 'name = "lcd"\ntrials = 0'), 19, "trials must be a whole number of at least 1"),
        (('name = "lcd"', 'name = "l\\ncd"\nstatistic = "lcd"'), 18, "name must be one line of plain text"),
        (('name = "lcd"', 'name = "lcd"\nlabel = "LAPA"'), 17, "'lapa' and 'lcd' are both shown as 'LAPA'"),
        (('name = "lcd"', 'name = "lcd, K = 5"\nstatistic = "lcd"'), 17, "must not hold ', K = '"),
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


@pytest.mark.parametrize(
    ("block", "line", "message"),
    [
        ('source = "hiv"\ndrug = "APW"', 4, "drug of PI must be one of APV, .*Did you mean 'APV'"),
        ('source = "hiv"\ndrug_class = "NRTI"\ndrug = "APV"', 5, "drug of NRTI must be one of"),
        ('source = "hiv"\nrules = "mine"', 4, "rules: expected one of paper, vignette"),
        ('source = "har"\nrows = 1', 4, "rows must be at least 2 and at most 10299, got 1"),
        ('source = "har"\nshare = 1.5', 4, "share must be above 0 and at most 1, got 1.5"),
        ('source = "har"\nhidden = 0', 4, "hidden must be at least 1, got 0"),
        ('source = "har"\ngroup_threshold = 0', 4, "group_threshold must be above 0 and at most 1"),
        ('source = "har"\nsupport = -1', 4, "support must be at least 0"),
        ('source = "family"\np = 10\nn_signals = 12', 5, "n_signals must be a number from 1 to p = 10, got 12"),
        ('source = "family"\nfamily = "gates"\nn_signals = 3', 5, "n_signals must be an even number"),
        ('source = "family"\nfamily = "linaer"', 4, "Did you mean 'linear'"),
        ('source = "family"\ntruth = -1', 4, "truth must be at least 0, got -1"),
        ('source = "family"\nclasses = 7', 4, "classes: expected one of 0, 2, 3, 4, 5"),
    ],
)
def test_bad_options_of_every_source_point_at_their_line(block, line, message):
    text = f'name = "x"\n[[data]]\n{block}\n[[method]]\nname = "lcd"\n'
    with pytest.raises(PlanError, match=message) as caught:
        parse_plan(text, "mine.toml")
    assert str(caught.value).startswith(f"mine.toml, line {line}: ")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ('name = "lcd"\nsettings = { folds = 1 }', "method 'lcd': LassoCoefficient: folds must be a whole number"),
        ('name = "lcd"\nsettings = { ratio = 2.0 }', "ratio must be in (0, 1), got 2.0"),
        ('name = "lapa"\nsettings = { method = "fast" }', "method must be 'auto', 'lars' or 'grid'"),
        ('name = "rf"\nsettings = { n_trees = 0 }', "n_trees must be a whole number of at least 1, got 0"),
        ('name = "grip2"\nsettings = { steps = -5 }', "steps must be a whole number of at least 1"),
        ('name = "grip2"\nsettings = { learning_rate = -1.0 }', "learning_rate must be positive, got -1.0"),
        ('name = "grip2"\nensemble = 3\nsettings = { hidden = 0, steps = 600 }', "hidden must be a whole number"),
        ('name = "staged"\nsettings = { network.steps = 0 }', "steps must be a whole number"),
        ('name = "staged"\nsettings = { first.sweeps = 0 }', "sweeps must be a whole number"),
        ('name = "deeppink"\nsettings = { epochs = 0 }', "epochs must be a whole number"),
        ('name = "mald"\nsettings = { power = 0.0 }', "power must be positive"),
        ('name = "shap"\nsettings = { background = 0 }', "background must be a whole number"),
        ('name = "effects"\nsettings = { sweeps = -1 }', "sweeps must be a whole number"),
    ],
)
def test_bad_values_of_settings_are_refused_with_their_line(block, message):
    text = f'name = "x"\n[[data]]\nsource = "synthetic"\n[[method]]\n{block}\n'
    plan = parse_plan(text, "mine.toml")
    with pytest.raises(PlanError) as caught:
        check_methods(plan)
    line = len(text.splitlines())  # settings stand last
    assert str(caught.value).startswith(f"mine.toml, line {line}: ")
    assert message in str(caught.value)


def test_a_bad_setting_of_the_plan_has_the_plans_line():
    text = 'name = "x"\n[settings]\nfolds = 0\n[[data]]\nsource = "synthetic"\n[[method]]\nname = "lcd"\n'
    with pytest.raises(PlanError, match=r"mine.toml, line 3: method 'lcd'.*folds must be"):
        check_methods(parse_plan(text, "mine.toml"))


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("quick", [False, True])
def test_presets_pass_the_check(name, quick):
    check_methods(load_plan(name, quick=quick))


def test_not_toml():
    with pytest.raises(PlanError, match=r"mine.toml: not a TOML file: .*line 2"):
        parse_plan('name = "x"\nseed = = 3\n', "mine.toml")


def test_missing_blocks():
    with pytest.raises(PlanError, match=r"at least one \[\[data\]\] block is needed"):
        parse_plan('name = "x"\n')


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{ fold = 3 }", "method 'lcd': LassoCoefficient has no setting 'fold'; it has folds"),
        ("{ folds.steps = 3 }", "folds of LassoCoefficient is 5, which has no settings"),
    ],
)
def test_unknown_setting_of_a_statistic(settings, message):
    plan = parse_plan(SMALL.replace('name = "lcd"', f'name = "lcd"\nsettings = {settings}'), "mine.toml")
    with pytest.raises(PlanError) as caught:
        check_methods(plan)
    assert str(caught.value).startswith("mine.toml, line 19: ")
    assert message in str(caught.value)
    assert str(caught.value).endswith(f"settings = {settings}")


def test_a_misspelled_setting_of_the_plan():
    text = SMALL.replace("[[data]]", "[settings]\nstep = 60\n\n[[data]]") + '[[method]]\nname = "mald"\n'
    with pytest.raises(
        PlanError, match=r"line 8: .*no statistic of the plan has a setting 'step'. Did you mean 'steps'?"
    ):
        check_methods(parse_plan(text))
    check_methods(parse_plan(text.replace("step =", "steps =")))


NESTED = (
    SMALL.replace("[[data]]", "[settings]\nsteps = 60\nn_estimators = 7\n\n[[data]]")
    + """
[[method]]
name = "wrapped"
statistic = "tests.experiments.test_plan:Wrapped"
[[method]]
name = "wrapped, ten trees"
statistic = "tests.experiments.test_plan:Wrapped"
[method.settings.estimator]
n_estimators = 10
max_depth = 2
[[method]]
name = "mald"
settings = { hidden = 4 }
"""
)


class Wrapped(FromEstimator):
    """A statistic that holds something with settings of its own."""

    def __init__(self, estimator=None):
        super().__init__(RandomForestRegressor() if estimator is None else estimator)


def test_settings_of_the_plan_reach_what_a_statistic_holds():
    plan = parse_plan(NESTED)
    check_methods(plan)
    found = {method.name: statistic_for(plan, method) for method in plan.methods}
    assert found["wrapped"].estimator.n_estimators == 7
    assert found["wrapped, ten trees"].estimator.n_estimators == 10, "the method's own settings win"
    assert found["wrapped, ten trees"].estimator.max_depth == 2
    assert (found["mald"].steps, found["mald"].hidden) == (60, 4)
    assert plan.methods[3].settings == {"estimator.n_estimators": 10, "estimator.max_depth": 2}
    assert places_of(found["wrapped"], "n_estimators") == ["estimator.n_estimators"]
    assert places_of(found["wrapped"], "estimator.max_depth") == ["estimator.max_depth"]
    assert places_of(found["wrapped"], "steps") == []


def test_labels_do_not_enter_the_configuration():
    plain = parse_plan(SMALL)
    labelled = parse_plan(SMALL.replace('name = "lcd"', 'name = "lcd"\nlabel = "The lasso"'))
    assert labelled.methods[1].label == "The lasso"
    assert [cell.configuration for cell in plain.cells()] == [cell.configuration for cell in labelled.cells()]


def test_knockoffs_by_name_or_place():
    by_place = "grip2.knockoffs.gaussian:GaussianKnockoffs"
    plan = parse_plan(SMALL.replace("snr = 2.0", f'knockoffs = ["gaussian", "{by_place}"]\ns = "mvr"'))
    assert [design.knockoffs for design in plan.designs][:2] == ["gaussian", by_place]
    for bad, message in (
        ("grip2.knockoffs.gaussian:None", "cannot be imported"),
        ("gausian", "Did you mean 'gaussian'?"),
    ):
        with pytest.raises(PlanError, match=r"line 12: .*" + re.escape(message)):
            parse_plan(SMALL.replace("snr = 2.0", f'knockoffs = "{bad}"'))


# Computed by the code of the first stores: a trial is found by these, so they must never change.
DIGESTS = [
    ("hiv", "grip2", 1, "864d3a8a83c7539d", "fa1b05a5f57d9d23", "1bef94ffc0802415"),
    ("hiv", "lapa", 1, "864d3a8a83c7539d", "fa1b05a5f57d9d23", "1d6c86ea486d23f9"),
    ("synthetic", "grip1", 1, "f940a9b291a5ae13", "fb6e66fe6822eaea", "073f5dfce44cc138"),
    ("synthetic", "grip2", 5, "f940a9b291a5ae13", "fb6e66fe6822eaea", "d87293061d488612"),
    ("har", "grip2-low", 1, "cd19dd81a1eea046", "57aa0f14d860892b", "4159b291e2c17d64"),
    ("har", "mald", 2, "cd19dd81a1eea046", "246cae7eae7a015a", "2dc16e1cec654d74"),
    ("calibration", "lcd", 1, "e697cecdc58a9a55", "e78e8a780168155b", "04ed658d721bb4fa"),
    ("calibration", "rf", 1, "e697cecdc58a9a55", "e78e8a780168155b", "dea5b47ab33ec613"),
]


@pytest.mark.parametrize(("preset", "method", "ensemble", "data", "design", "configuration"), DIGESTS)
def test_stores_written_before_are_recognised(preset, method, ensemble, data, design, configuration):
    cells = load_plan(preset).cells()
    cell = next(cell for cell in cells if (cell.method.name, cell.method.ensemble) == (method, ensemble))
    assert (cell.design.data_key, cell.design.key, cell.configuration) == (data, design, configuration)


def test_settings_of_stores_written_before_are_recognised():
    text = """
name = "quick"
seed = 4
batch = 2
[settings]
steps = 100
[[data]]
source = "hiv"
knockoffs = "gaussian"
center = false
[[method]]
name = "grip2"
settings = { omega = [1e-2, 1e-1] }
[[method]]
name = "mald"
setting = "hiv"
"""
    cells = list(parse_plan(text).cells())
    assert {cell.design.key for cell in cells} == {"341195e9e4a4ddf0"}
    assert [cell.configuration for cell in cells] == ["b6e4d9f082be07b5", "b552ffa940808562"]


def test_an_option_added_later_enters_the_key_only_where_it_is_used():
    def keys(more: str) -> str:
        text = f'name = "f"\n[[data]]\nsource = "family"\n{more}\n[[method]]\nname = "lcd"\n'
        return parse_plan(text).designs[0].data_key

    assert keys("") == keys("classes = 0")
    assert len({keys(f"classes = {k}") for k in (0, 2, 3)}) == 3


def test_copies_enter_the_key_only_where_there_are_several():
    def designs(word):
        return parse_plan(SMALL.replace("rho = [0.0, 0.5]", f"rho = 0.5\n{word}")).designs

    (plain,), (one, three) = designs(""), designs("copies = [1, 3]")
    assert one.key == plain.key != three.key
    assert one.data_key == three.data_key, "the same data, other knockoffs"
    assert (one.parameters["copies"], three.parameters["copies"]) == (1, 3)


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


def test_the_study_of_calibration_has_interactions_and_two_classes():
    plan = load_plan("calibration")
    found = {(design.options["family"], design.options["classes"]) for design in plan.designs}
    assert {family for family, classes in found if classes == 0} == set(FAMILIES)
    assert {family for family, classes in found if classes == 2} == {"linear", "abs", "products"}
    assert len(plan.designs) == 6 * 12 + 9 * 3
    slow = {cell.design.options["family"] for cell in plan.cells() if cell.method.name in ("grip2", "grip2-auto")}
    assert slow == {"linear", "sine", "abs", "products", "signs", "network"}
