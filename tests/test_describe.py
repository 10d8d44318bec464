"""How selected features act: right on known truths, for every kind of response and column; the selection stays as it is."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from grip2 import KnockoffSelector
from grip2.commands.console import output, show_selection
from grip2.describe import describe_effects, selected
from grip2.describe.columns import DescribedColumn
from grip2.describe.draws import EffectDraws
from grip2.errors import Grip2Error
from grip2.feature_effects import (
    BEYOND_WHOLE,
    EffectCurve,
    EffectDescription,
    EffectSurface,
    FeatureEffect,
    Interaction,
    percent,
    rounded,
)
from grip2.knockoffs import GaussianKnockoffs
from grip2.report import selection_page
from grip2.report.cards import cards
from grip2.report.effect_drawings import curve_drawing
from grip2.responses import response_from
from grip2.result import SelectionResult
from grip2.standardise import standardise
from grip2.statistics import EffectPosterior, LassoCoefficient
from grip2.statistics.effect_sampler import sample_posterior
from grip2.tables import prepare
from grip2.units import Layout, Units
from tests.test_notebook import opened

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "selection.schema.json").read_text())


def described(frame, y, task="regression", *, W=None, chosen=None, groups=None, seed=0) -> EffectDescription:
    """All features of a table described as if they were selected."""
    table = prepare(frame, groups=groups)
    names = table.units.names
    mask = np.array([chosen is None or name in chosen for name in names])
    return describe_effects(
        table,
        response_from(y, task),
        mask,
        np.arange(len(names), 0, -1.0) if W is None else np.asarray(W),
        sampler=GaussianKnockoffs(),
        one_row_each=None,
        rng=np.random.default_rng(seed),
    )


@pytest.fixture(scope="module")
def known() -> tuple[pd.DataFrame, dict[str, np.ndarray], np.ndarray, EffectDescription]:
    """A table, what each feature adds in 10 units of the response, the response, and its description."""
    rng = np.random.default_rng(1)
    n = 3000
    Z = pd.DataFrame(rng.standard_normal((n, 7)), columns=["up", "down", "even", "left", "right", "step", "idle"])
    parts = {
        "up": Z["up"],
        "down": -0.8 * Z["down"],
        "even": 1.5 * (Z["even"] - Z["even"].median()).abs(),
        "left": Z["left"] * Z["right"],
        "step": 1.5 * (Z["step"] > Z["step"].quantile(2 / 3)),
    }
    parts = {name: (part - part.mean()).to_numpy() for name, part in parts.items()}
    y = 50.0 + 10.0 * (sum(parts.values()) + 1.2 * rng.standard_normal(n))
    return 5.0 + 2.0 * Z, parts, y, described(5.0 + 2.0 * Z, y)


def test_directions_of_known_effects(known):
    effects = known[3]
    assert [effect.name for effect in effects] == ["up", "down", "even", "left", "right", "step", "idle"]
    # Effects of ten standard errors and more.
    assert {name: effects[name].direction for name in ("up", "down", "even", "step")} == {
        "up": "increasing",
        "down": "decreasing",
        "even": "not monotone",
        "step": "increasing",
    }
    assert effects.scale == "units of the response"
    assert effects.n_rows == 3000
    assert effects.notes == ()


def test_shares_of_known_effects(known):
    """Within 0.06 of the truth: the standard error of each is below 2 sqrt(s (1 - s) / n) < 0.014, so false alarms of all six
    together have a probability below 1e-4."""
    _, parts, y, effects = known
    for name, part in parts.items():
        assert abs(effects[name].share - np.var(10 * part) / np.var(y)) < 0.06
    assert effects["right"].share == pytest.approx(effects["left"].share, abs=0.01)
    # Of noise: about 1 / 3000 for each function that acts; 0.02 is 60 times that.
    assert effects["left"].share_alone < 0.02
    assert effects["idle"].share < 0.02
    # A twin that forgets the variance of the basis functions' products, or the noise, is off by more.
    signal = np.var(10 * sum(parts.values()))
    assert abs(np.var(10 * parts["up"]) / signal - np.var(10 * parts["up"]) / np.var(y)) > 0.06


def test_an_interaction_and_its_surface(known):
    frame, _, _, effects = known
    found = effects["left"].interactions
    assert found[0].partner == "right"
    assert found[0].probability > 0.95
    assert found[0].functions[0] == "line x line"
    surface = found[0].surface
    assert (surface.column, surface.partner_column) == ("left", "right")
    assert (len(surface.grid), len(surface.partner_grid)) == (20, 20)
    truth = 10 * np.outer((np.array(surface.grid) - 5) / 2, (np.array(surface.partner_grid) - 5) / 2)
    # The coefficient 10 has a standard error of 0.22; 1.5 is nearly seven of it. Corners lie 2.3 deviations out on each side.
    assert np.abs(np.array(surface.mean) - truth).max() < 1.5 * 2.4**2
    mirrored = effects["right"].interactions[0].surface
    np.testing.assert_allclose(np.array(mirrored.mean).T, surface.mean)
    others = [each for name in ("up", "down", "even", "step", "idle") for each in effects[name].interactions]
    assert all(each.share < 0.02 for each in others)
    low, high = np.quantile(frame["left"], [0.01, 0.99])
    np.testing.assert_allclose([surface.grid[0], surface.grid[-1]], [low, high])


def test_bands_cover_the_true_curves(monkeypatch):
    """20 data sets with two curves and two features that act together only. If bands are right a curve is covered at 90 % of its
    points on average, at worst wholly or not at all; fewer than 26 of 40 then have a probability of 2e-5. The same holds of the
    features that act together if one in ten seems to act alone too. Bands of a third of the width cover too little."""
    monkeypatch.setattr(selected, "SWEEPS", 240)
    covered, narrow, together = [], [], 0
    for seed in range(20):
        rng = np.random.default_rng([7, seed])
        frame = pd.DataFrame(rng.standard_normal((400, 4)), columns=["line", "even", "left", "right"])
        middle = frame["even"].median()
        truth = {"line": lambda x: x, "even": lambda x, middle=middle: np.abs(x - middle)}
        y = sum(truth[name](frame[name].to_numpy()) for name in truth) + rng.standard_normal(400)
        effects = described(frame, y + (frame["left"] * frame["right"]).to_numpy(), seed=seed)
        together += sum(effects[name].direction == "only together with others" for name in ("left", "right"))
        for effect in (effects[name] for name in truth):
            (curve,) = effect.curves
            exact = truth[effect.name](np.array(curve.grid)) - truth[effect.name](frame[effect.name].to_numpy()).mean()
            mean, lower, upper = (np.array(each) for each in (curve.mean, curve.lower, curve.upper))
            covered.append(np.mean((lower <= exact) & (exact <= upper)))
            narrow.append(np.mean((mean + (lower - mean) / 3 <= exact) & (exact <= mean + (upper - mean) / 3)))
    assert np.sum(covered) >= 26
    assert np.sum(narrow) < 26
    assert together >= 26


def test_shares_and_curves_are_those_of_the_rows():
    """Naive twin: effects of every draw evaluated at every row, instead of moments."""
    rng = np.random.default_rng(3)
    Z = standardise(rng.standard_normal((300, 4))).astype(np.float32)
    y = Z[:, 0] + np.abs(Z[:, 1]) + Z[:, 2] * Z[:, 3] + 0.5 * rng.standard_normal(300)
    for labels in (False, True):
        response = (y > 0.8).astype(float) if labels else y
        posterior = sample_posterior(Z, Layout(1, Units.single(4)), [response], rng=rng, labels=labels, sweeps=120)
        draws = EffectDraws(posterior, 0)
        (pair,) = [each for each in draws.pairs if (each.left, each.right) == (2, 3)]
        terms = [*(draws.of_column(j) for j in range(4)), *(each.numbers for each in draws.pairs)]
        at_rows = [draws.values(dict(enumerate(Z.T)), numbers) / draws.unit for numbers in terms]
        whole = np.var(sum(at_rows), axis=0) + 1.0 if labels else 1.0
        for numbers, values in zip(terms, at_rows, strict=True):
            assert draws.share(numbers) == pytest.approx(np.mean(np.var(values, axis=0) / whole), abs=2e-4)
            assert np.abs(values.mean(axis=0)).max() < 1e-4
            assert draws.acts(numbers) == np.mean(np.ptp(values, axis=0) > 0)
        alone = draws.values({0: Z[:, 0]}, draws.of_column(0))
        np.testing.assert_allclose(alone / draws.unit, at_rows[0], atol=1e-6)
        assert ("line", "line") in pair.functions


def test_the_direction_of_curves():
    x = np.linspace(-1, 1, 101)
    for values, direction in (
        (x, "increasing"),
        (-(x**3), "decreasing"),
        (x > 0.5, "increasing"),
        (np.tanh(3 * x) + 0.02 * np.sin(40 * x), "increasing"),
        (np.abs(x), "not monotone"),
        (-(x**2), "not monotone"),
        (np.sin(6 * x), "not monotone"),
        (np.zeros(101), "unclear"),
    ):
        assert selected.direction_of(np.asarray(values, dtype=float)) == direction


def test_grids_and_labels():
    rng = np.random.default_rng(0)
    assert DescribedColumn("x", np.repeat([3.0, 1.0, 9.0], 5)).grid(41).tolist() == [1, 3, 9]
    wide = DescribedColumn("x", rng.standard_normal(1000)).grid(41)
    assert len(wide) == 41
    assert np.ptp(np.diff(wide)) < 1e-12
    mostly_zero = np.where(rng.random(5000) < 0.005, rng.random(5000), 0.0)
    assert np.ptp(DescribedColumn("x", mostly_zero).grid(41)) > 0
    sizes = DescribedColumn("size", np.array([0.0, 2, 1, 2]), ("s", "m", "l"))
    assert sizes.labels(sizes.grid(41)) == ("s", "m", "l")
    assert DescribedColumn("x", np.array([0.5, 1])).labels(np.array([0.5, 1])) == ()
    assert rounded(np.array([[1.234567, 2], [0, -1e-9]])) == ((1.2346, 2.0), (0.0, -1e-9))


def responses(score: np.ndarray, rng: np.random.Generator) -> dict[str, object]:
    time = rng.exponential(np.exp(-score))
    return {
        "two classes": np.where(score + rng.standard_normal(len(score)) > 0, "b", "a"),
        # The third class has nothing to do with the columns, so that they act most on the other two.
        "several classes": np.where(
            rng.random(len(score)) < 0.3, "other", np.where(score + rng.standard_normal(len(score)) > 0, "top", "low")
        ),
        "counts": rng.poisson(np.exp(0.5 * score)),
        "survival": pd.DataFrame({"time": time, "event": rng.random(len(score)) < 0.8}),
        "ordered": np.digitize(score + rng.logistic(size=len(score)), [-1, 0, 1]),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "task", "scale", "output"),
    [
        ("two classes", "classification", "latent measurement", {"b"}),
        ("several classes", "classification", "latent measurement", {"low", "top"}),
        ("counts", "counts", "working response", {""}),
        ("survival", "survival", "working response", {""}),
        ("ordered", "ordered", "working response", {""}),
    ],
)
def test_every_kind_of_response(kind, task, scale, output):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.standard_normal((800, 3)), columns=["x", "z", "w"])
    score = 1.2 * frame["x"].to_numpy() - 0.8 * frame["z"].to_numpy()
    y = responses(score, rng)[kind]
    effects = described(frame, y, task)
    assert scale in effects.scale
    assert {effects[name].output for name in ("x", "z")} <= output
    turned = -1 if effects["x"].output == "low" else 1
    directions = {1: "increasing", -1: "decreasing"}
    assert effects["x"].direction == directions[turned]
    turned = -1 if effects["z"].output == "low" else 1
    assert effects["z"].direction == directions[-turned]
    assert 0.15 < effects["x"].share < 0.75
    assert 0.05 < effects["z"].share < effects["x"].share
    assert effects["w"].share < 0.03  # of noise it is about 1 / 800


def test_the_latent_scale_of_two_classes():
    """Slope 1.2 on the probit scale, of which the standard error is about 0.06; share 1.44 / 2.44."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(rng.standard_normal((3000, 2)), columns=["x", "w"])
    effects = described(frame, 1.2 * frame["x"].to_numpy() + rng.standard_normal(3000) > 0.3, "classification")
    curve = effects["x"].curves[0]
    slope = (curve.mean[-1] - curve.mean[0]) / (curve.grid[-1] - curve.grid[0])
    assert abs(slope - 1.2) < 0.3
    assert abs(effects["x"].share - 1.44 / 2.44) < 0.1


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(2)
    n = 600
    frame = pd.DataFrame(rng.standard_normal((n, 5)), columns=["a", "b", "c", "d", "e"])
    frame["region"] = rng.choice(["north", "south", "east"], n)
    frame["smoker"] = np.where(rng.random(n) < 0.4, "yes", "no")
    frame["size"] = pd.Categorical(rng.choice(["s", "m", "l"], n), categories=["s", "m", "l"], ordered=True)
    y = (
        2 * frame["a"] - frame["b"] + frame["c"] * (frame["smoker"] == "yes") * 2
        + frame["region"].map({"north": 0.0, "south": 2.0, "east": -2.0}) + frame["size"].cat.codes
        + 0.5 * rng.standard_normal(n)
    )  # fmt: skip
    return frame, y.to_numpy()


def test_categories_groups_levels_and_0_1_columns(mixed):
    frame, y = mixed
    effects = described(frame, y, groups={"two": ["a", "b"]}, chosen=["two", "c", "region", "smoker", "size"])
    assert "d" not in effects
    assert effects["region"].direction == "differs between levels"
    assert effects["region"].curves == ()
    assert effects["two"].direction == "differs between columns"
    assert [(curve.column, curve.direction) for curve in effects["two"].curves] == [
        ("a", "increasing"),
        ("b", "decreasing"),
    ]
    (curve,) = effects["size"].curves
    assert (curve.labels, curve.direction, curve.grid) == (("s", "m", "l"), "increasing", (0.0, 1.0, 2.0))
    (interaction,) = effects["c"].interactions
    assert interaction.partner == "smoker"
    assert (len(interaction.surface.grid), interaction.surface.partner_grid) == (20, (0.0, 1.0))
    assert set(interaction.surface.partner_labels) == {"no", "yes"}
    same = described(frame.assign(b=-frame["b"]), y, groups={"two": ["a", "b"]}, chosen=["two"])
    assert same["two"].direction == "increasing"


def test_an_interaction_with_a_level_of_a_category(mixed):
    frame, _ = mixed
    rng = np.random.default_rng(8)
    y = frame["a"] * np.where(frame["region"] == "south", 2.0, 0.0) + 0.5 * rng.standard_normal(len(frame))
    effects = described(frame, y.to_numpy(), chosen=["a", "region"])
    (interaction,) = effects["region"].interactions
    assert interaction.partner == "a"
    assert interaction.surface.column.startswith("region=")
    assert interaction.surface.labels[0].startswith("not ")
    assert effects["region"].direction == "only together with others"


@pytest.fixture(scope="module")
def fitted(mixed) -> KnockoffSelector:
    """Missing values, two draws, clusters, and a statistic that knows nothing of curves."""
    frame, y = mixed
    holes = frame.mask(np.random.default_rng(4).random(frame.shape) < 0.05)
    selector = KnockoffSelector(LassoCoefficient(), "copula", fdr=0.5, n_draws=2, random_state=0)
    return selector.fit(holes, y, clusters=np.arange(len(y)) // 2)


def test_missing_values_draws_and_clusters(fitted):
    effects = fitted.result_.effects
    assert {effect.name for effect in effects} == set(fitted.result_.selected)
    assert effects.n_rows == 300
    assert effects["a"].direction == "increasing"
    assert effects["region"].direction == "differs between levels"


def test_the_description_does_not_change_the_selection(mixed):
    frame, y = mixed
    for random_state in (0, np.random.default_rng(3)):
        states = [np.random.default_rng(3), np.random.default_rng(3)] if random_state else [0, 0]
        given, off = (
            KnockoffSelector(LassoCoefficient(), "copula", fdr=0.4, random_state=state, describe=describe).fit(frame, y)
            for state, describe in zip(states, (True, False), strict=True)
        )
        assert off.result_.effects is None
        assert len(given.result_.effects) == given.result_.selected_mask.sum() > 0
        assert replace(given.result_, effects=None, seconds=0.0) == replace(off.result_, seconds=0.0)
        if random_state:
            assert states[0].random() == states[1].random()


def test_the_same_seed_gives_the_same_description(mixed):
    frame, y = mixed
    first, again = (described(frame, y, chosen=["a", "c", "smoker"]) for _ in range(2))
    assert first == again


def test_arrays_and_a_selection_of_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    found = KnockoffSelector(LassoCoefficient(), "gaussian", fdr=0.5, random_state=0).fit(X, X[:, 0] + X[:, 1])
    assert {effect.direction for effect in found.result_.effects if effect.name in ("x0", "x1")} == {"increasing"}
    nothing = KnockoffSelector(LassoCoefficient(), "gaussian", fdr=0.05, random_state=0).fit(X, rng.random(200))
    assert len(nothing.result_.effects) == 0
    assert "How the selected features act" not in selection_page(nothing.result_)
    with pytest.raises(Grip2Error, match="describe must be True or False, got 'no'"):
        KnockoffSelector(describe="no").fit(X, X[:, 0])


def test_long_tables_and_many_features(known, monkeypatch):
    frame, _, y, _ = known
    monkeypatch.setattr(selected, "MOST_ROWS", 1000)
    monkeypatch.setattr(selected, "MOST_FEATURES", 2)
    effects = described(frame, y, W=[1.0, 5, 2, 3, 3, 9, 4])
    assert [effect.name for effect in effects] == ["step", "down"]
    assert effects.n_rows == 1000
    assert effects.notes == (
        "Of 7 selected features the 2 with the largest W are described.",
        "Fitted to 1000 of 3000 rows, chosen at random.",
    )


def test_a_name_that_is_not_described(known):
    with pytest.raises(Grip2Error, match=r"'dwn' is not among the 7 features described\. Did you mean 'down'"):
        known[3]["dwn"]


def test_json_and_its_schema(fitted, known):
    for result in (fitted.result_, replace(fitted.result_, effects=known[3]), replace(fitted.result_, effects=None)):
        text = result.to_json()
        again = SelectionResult.from_json(text)
        assert again.effects == result.effects
        assert again == result
        assert again.to_json() == text
        assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(json.loads(text))) == []
    content = json.loads(fitted.result_.to_json())
    assert "without an error guarantee" in content["effects"]["guarantee"]
    del content["effects"]  # as files of earlier versions
    assert SelectionResult.from_dict(content).effects is None


def test_records_and_schema_have_the_same_fields():
    description = SCHEMA["properties"]["effects"]["anyOf"][1]
    feature = description["properties"]["features"]["items"]
    interaction = feature["properties"]["interactions"]["items"]
    for record, place in (
        (EffectDescription, description),
        (FeatureEffect, feature),
        (EffectCurve, feature["properties"]["curves"]["items"]),
        (Interaction, interaction),
        (EffectSurface, interaction["properties"]["surface"]),
    ):
        assert list(place["properties"]) == [field.name for field in fields(record)] == place["required"]


def shown(result, effects):
    """Cards of a result that has selected exactly what these effects describe."""
    names = tuple(effect.name for effect in effects)
    some = np.ones(len(names))
    chosen = replace(
        result,
        feature_names=names,
        W=some,
        q_values=0 * some,
        selected_mask=some > 0,
        original=some,
        knockoff=some,
        W_draws=None,
        effects=effects,
        knockoff_quality=replace(result.knockoff_quality, unit_correlations=()),
        lasso=None,
        e_values=None,
        frequency=None,
    )
    return chosen, {card.name: card for card in cards(chosen)}


def test_the_report_says_how_features_act(fitted, known):
    told = {"even": "not monotone", "left": "only together with others", "idle": "unclear"}
    told_effects = (replace(known[3][name], direction=direction) for name, direction in told.items())
    some = replace(
        known[3], features=tuple(replace(effect, interactions=effect.interactions[:1]) for effect in told_effects)
    )
    result, found = shown(fitted.result_, some)
    text = selection_page(result)
    assert "How the selected features act" in text
    assert some.guarantee.split(":")[0] in text
    assert found["even"].direction == "acts, but neither only upwards nor only downwards"
    assert [partner.name for partner in found["left"].partners] == ["right"]
    assert {name: len(card.drawings) for name, card in found.items()} == {"even": 1, "left": 1, "idle": 0}
    assert 'class="warm"' in found["left"].drawings[0]
    assert all(str(card.drawings[0]) in text for card in found.values() if card.drawings)
    assert "How the selected features act" not in selection_page(replace(result, effects=None))


def test_a_category_shows_its_levels(fitted):
    (card,) = [card for card in cards(fitted.result_) if card.name == "region"]
    assert card.direction == "the response differs between its levels"
    assert {contrast.variable for contrast in card.contrasts} == {"region"}
    assert [abs(contrast.difference) for contrast in card.contrasts] == sorted(
        (abs(contrast.difference) for contrast in card.contrasts), reverse=True
    )
    assert card.stands_for == ()


def test_two_levels_are_told_by_their_names(fitted, known):
    curve = replace(known[3]["up"].curves[0], grid=(0.0, 1.0), labels=("no", "yes"), mean=(-1.0, 1.0))
    curve = replace(curve, lower=(-1.5, 0.5), upper=(-0.5, 1.5))
    effect = replace(known[3]["up"], curves=(curve,), interactions=())
    _, found = shown(fitted.result_, replace(known[3], features=(effect,)))
    assert found["up"].direction == "the response is higher with yes than with no"
    assert effect.in_brief == "higher with yes"
    down = replace(effect, direction="decreasing")
    assert (down.two_levels, down.in_brief) == (("yes", "no"), "higher with no")
    assert replace(effect, direction="not monotone").in_brief == "not monotone"
    assert known[3]["up"].in_brief == "increasing"
    assert ">yes</text>" in curve_drawing(curve)


def test_columns_of_a_group_that_are_not_drawn(fitted, known):
    frame, _, y, _ = known
    effects = described(frame, y, groups={"all": ["up", "down", "even", "step", "idle"]}, chosen=["all"])
    _, found = shown(fitted.result_, effects)
    assert len(found["all"].drawings) == 3
    assert "2 more columns act less; selection.json has all curves." in found["all"].note


def test_the_printed_selection_has_direction_and_share(fitted, capsys):
    show_selection(fitted.result_)
    printed = " ".join(capsys.readouterr().out.split())
    assert "direction" in printed
    assert "increasing" in printed
    assert "without an error guarantee" in printed
    show_selection(replace(fitted.result_, task="survival"))
    assert "Direction (of the risk of the event) and share" in " ".join(capsys.readouterr().out.split())
    show_selection(replace(fitted.result_, effects=None))
    assert "without an error guarantee" not in capsys.readouterr().out


def test_the_statistic_of_effects_itself(known):
    frame, _, y, _ = known
    chosen = KnockoffSelector(EffectPosterior(sweeps=100), "gaussian", fdr=0.5, copies=1, random_state=0)
    effects = chosen.fit(frame.iloc[:600], y[:600]).result_.effects
    assert effects["up"].direction == "increasing"
    assert effects["left"].interactions[0].partner == "right"


def beyond(effects: EffectDescription) -> EffectDescription:
    """The first feature with a share beyond the whole, as correlated features may have."""
    first, *others = effects.features
    return replace(effects, features=(replace(first, share=1.579), *others))


def test_a_share_beyond_the_whole_is_bounded_and_explained(fitted, capsys):
    usual = fitted.result_
    result = replace(usual, effects=beyond(usual.effects))
    assert (percent(1.579), percent(1.004), percent(0.96), percent(0.0034)) == ("> 100 %", "100 %", "96 %", "0.34 %")
    show_selection(result)
    printed = " ".join(capsys.readouterr().out.split())
    assert "> 100 %" in printed
    for text in (printed, selection_page(result), str(result.effects), str(opened(result._repr_html_()).text)):
        assert BEYOND_WHOLE in " ".join(text.split())
        assert "158" not in text
    for text in (selection_page(usual), str(usual.effects), opened(usual._repr_html_()).text):
        assert BEYOND_WHOLE not in text
    assert result.effects[result.effects.features[0].name].share == 1.579, "the number itself is kept"


def test_effects_are_printed_in_a_few_lines(fitted, known):
    text = str(fitted.result_.effects)
    assert "without an error guarantee" in text
    assert "  region: differs between levels, " in text
    assert len(text.splitlines()) <= len(fitted.result_.effects) + 3
    assert "left: only together with others, " in str(known[3]["left"])
    assert "; together with right (" in str(known[3]["left"])
    many = replace(known[3], features=known[3].features[:1] * 40)
    assert "  and 25 more" in str(many)
    assert str(EffectDescription("units of the response", 0, (), ())).startswith("No feature is described")


def test_cards_have_no_jargon(fitted, known):
    effect = known[3]["left"]
    bent = replace(effect, interactions=(replace(effect.interactions[0], functions=("V x line",)),))
    result, found = shown(fitted.result_, replace(known[3], features=(bent,)))
    assert found["left"].partners[0].told.endswith("(bend x line)")
    assert "V x line" not in selection_page(result)
    assert '"bend x line" is a bend of the first' in selection_page(result)


def test_selected_categories_are_drawn_by_their_levels(fitted):
    result = fitted.result_
    contrasts = {each.level: each for each in result.level_contrasts if each.variable == "region"}
    (axes,) = [axes for axes in result.plot_effects().axes if axes.get_title(loc="left").startswith("region\n")]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert set(labels) == set(contrasts)
    drawn = dict(zip(labels, axes.get_lines()[-1].get_xdata(), strict=True))
    assert drawn == {level: each.difference for level, each in contrasts.items()}
    assert axes.get_xlabel().startswith(f"difference to {result.level_contrasts[0].reference}\nstandard deviations")
    (bars,) = axes.collections
    widths = {label: np.ptp(segment[:, 0]) for label, segment in zip(labels, bars.get_segments(), strict=True)}
    assert widths == pytest.approx({level: 2 * 1.645 * each.standard_error for level, each in contrasts.items()})


def test_what_is_selected_and_not_drawn_is_named(fitted):
    result = fitted.result_
    without = replace(result, level_contrasts=())
    assert "cannot be told from other features: region." in below(without.plot_effects())
    assert below(result.plot_effects()) == ""
    some = replace(result, effects=replace(result.effects, features=result.effects.features[:1]))
    others = [name for name in result.selected if name != some.effects.features[0].name]
    assert f"Selected, but not drawn: {', '.join(others[:5])}" in below(some.plot_effects())
    with pytest.raises(Grip2Error, match="categories whose levels were not compared"):
        without.plot_effects(["region"])


def below(figure) -> str:
    """The sentences below the panels, on one line."""
    return " ".join(figure.get_supxlabel().split())


def test_names_are_not_broken_before_directions_are(fitted, capsys, monkeypatch):
    monkeypatch.setattr(output, "width", 80)
    result, _ = shown(fitted.result_, fitted.result_.effects)
    name = "a_name_of_thirty_five_letters_or_so"
    first = replace(result.effects.features[0], name=name, direction="only together with others", curves=())
    effects = replace(result.effects, features=(first, *result.effects.features[1:]))
    result, _ = shown(fitted.result_, effects)
    show_selection(result)
    table = capsys.readouterr().out.split("└")[0]
    assert name in table
    assert "together" in table
    assert "only together with others" not in table, "the direction is broken, between words"
    assert max(map(len, table.splitlines())) <= 80
