"""`SelectionResult.at(fdr)` is what a fit at that fdr gives, without the fit."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from grip2 import KnockoffSelector
from grip2.errors import Grip2Error
from grip2.knockoffs import FixedXKnockoffs, GaussianKnockoffs
from grip2.result import SelectionResult
from grip2.statistics import GRIP2, LassoCoefficient

# Some levels are out of reach for so few features, which is the point of them.
pytestmark = pytest.mark.filterwarnings("ignore:.*nothing can be selected at fdr")

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "selection.schema.json").read_text())
LEVELS = (0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.7)


def data(seed=0):
    """Strong, middling and weak effects of 14 of 30 features, so that selections differ between levels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 30))
    return X, X[:, :14] @ np.linspace(1.0, 0.1, 14) + 1.2 * rng.standard_normal(150)


@cache
def fitted(fdr, *, copies=1, draws=1, offset=1, describe=False, knockoffs=GaussianKnockoffs):
    settings = {"copies": copies, "n_draws": draws, "offset": offset, "describe": describe, "random_state": 3}
    return KnockoffSelector(LassoCoefficient(), knockoffs(), fdr=fdr, **settings).fit(*data()).result_


def assert_same_selection(found, wanted):
    for name in ("W", "q_values", "selected_mask", "original", "knockoff", "e_values", "frequency", "W_draws"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    for name in ("threshold", "fdr", "copies", "offset", "selected", "n_draws"):
        assert getattr(found, name) == getattr(wanted, name), name
    for name in ("statistic", "knockoffs", "copies", "n_draws"):
        assert found.to_dict()["settings"][name] == wanted.to_dict()["settings"][name], name
    assert found.reason.startswith(wanted.reason)


@pytest.mark.parametrize(
    ("copies", "draws", "offset"), [(1, 1, 1), (5, 1, 1), (1, 1, 0), (5, 1, 0), (1, 4, 1), (5, 4, 1)]
)
def test_at_is_a_fit_at_that_level(copies, draws, offset):
    settings = {"copies": copies, "draws": draws, "offset": offset}
    starts = [fitted(fdr, **settings) for fdr in LEVELS[1:6:4]]
    sizes = set()
    for level in LEVELS if draws == 1 else LEVELS[::2]:
        wanted = fitted(level, **settings)
        sizes.add(len(wanted.selected))
        for start in starts:
            assert_same_selection(start.at(level), wanted)
            again = SelectionResult.from_json(start.to_json()).at(level)
            assert_same_selection(again, wanted)
    assert len(sizes) > 1, "levels that all select alike would show nothing"


@pytest.mark.parametrize("draws", [1, 3])
def test_networks_whose_numbers_are_of_single_precision(draws):
    X, y = data()
    network = GRIP2((1e-2, 1e-1), hidden=4, depth=1, steps=60, block_size=20, batch_size=32)
    settings = {"copies": 2, "n_draws": draws, "describe": False, "random_state": 0}
    first, second = (
        KnockoffSelector(network, GaussianKnockoffs(), fdr=fdr, **settings).fit(X, y).result_ for fdr in (0.3, 0.6)
    )
    assert_same_selection(first.at(0.6), second)
    assert_same_selection(SelectionResult.from_json(first.to_json()).at(0.6), second)


def test_the_inner_level_of_draws_follows_the_new_fdr():
    """The e-values themselves change, which those kept from the fit could not show."""
    result = fitted(0.1, copies=5, draws=4)
    assert not np.array_equal(result.e_values, result.at(0.4).e_values)
    assert not np.array_equal(result.frequency, result.at(0.4).frequency)


def test_the_fdr_of_the_fit_gives_the_fit():
    result = fitted(0.1, copies=5, describe=True)
    assert result.at(0.1) is result
    assert result.at(0.4).at(0.1) is result
    assert result.at(0.4).at(0.25) == result.at(0.25)
    assert result.fitted_fdr is None


def test_a_result_at_another_fdr_goes_through_json_and_follows_the_schema():
    for draws in (1, 4):
        changed = fitted(0.1, copies=5, draws=draws, describe=True).at(0.4)
        content = json.loads(changed.to_json())
        assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)) == []
        assert content["fitted_fdr"] == 0.1
        again = SelectionResult.from_json(changed.to_json())
        assert again == changed
        back = again.at(0.1)
        assert back.fitted_fdr is None
        assert back.selected == fitted(0.1, copies=5, draws=draws).selected
        assert back.assumptions == fitted(0.1, copies=5, draws=draws, describe=True).assumptions
        other = again.at(0.25)
        assert [text for text in other.assumptions if "was set after a fit" in text] == [other.assumptions[-1]]
        assert "0.25 was set after a fit at 0.1" in other.assumptions[-1]
        assert len(other.effects.notes) == 1


def test_files_of_earlier_versions_load():
    content = fitted(0.1, copies=5, draws=4).to_dict()
    for name in ("copies_limit", "fitted_fdr"):
        del content[name]
    del content["knockoff_quality"]["draws_copies"]
    for feature in content["features"]:
        del feature["W_draws"]
    old = SelectionResult.from_json(json.dumps(content))
    assert old.selected == fitted(0.1, copies=5, draws=4).selected
    assert old.at(0.1) is old
    with pytest.raises(Grip2Error, match=r"statistics of each of the 4 draws are needed.*Run the selection again"):
        old.at(0.2)
    content = fitted(0.1, copies=5).to_dict()
    del content["copies_limit"], content["fitted_fdr"]
    assert_same_selection(SelectionResult.from_json(json.dumps(content)).at(0.4), fitted(0.4, copies=5))


def test_effects_are_those_of_features_that_stay():
    wide = fitted(0.4, copies=5, describe=True)
    narrow = wide.at(0.05)
    assert 0 < len(narrow.selected) < len(wide.selected)
    assert {effect.name for effect in narrow.effects} == set(narrow.selected)
    for effect in narrow.effects:
        assert effect.curves == wide.effects[effect.name].curves
        assert {each.partner for each in effect.interactions} <= set(narrow.selected)
    assert "selected at fdr 0.4, by one model of them all" in narrow.effects.notes[-1]
    assert "not described" not in narrow.reason


def test_features_that_are_new_have_no_description_and_are_named():
    narrow = fitted(0.05, copies=5, describe=True)
    wide = narrow.at(0.4)
    new = [name for name in wide.selected if name not in narrow.selected]
    assert new
    assert {effect.name for effect in wide.effects} == set(narrow.selected)
    told = wide.reason.partition("Selected, but not described, as a fit at fdr 0.4 would: ")[2]
    assert told.rstrip(".").split(", ") == new
    assert "not described" not in fitted(0.05, copies=5).at(0.4).reason, "nothing was described at all"


def test_words_about_copies_that_would_be_others():
    automatic = fitted(0.1, copies="auto")
    assert (automatic.copies, automatic.copies_limit) == (5, 20)
    changed = automatic.at(0.25)
    assert fitted(0.25, copies="auto").copies == 2
    assert 'A fit at fdr 0.25 would draw 2 knockoff copies of every feature, not 5 (copies="auto")' in changed.reason
    assert changed.copies_reason == "automatic for a fit at fdr 0.1; at fdr 0.25 as few as 1 can be selected"
    assert "would draw 1 knockoff copy of every feature, not 5" in automatic.at(0.7).reason
    np.testing.assert_array_equal(changed.selected_mask, fitted(0.25, copies=5).selected_mask)
    assert "would draw" not in automatic.at(0.11).reason, "five copies there too"
    assert "would draw" not in fitted(0.1, copies=5).at(0.25).reason, "they were given"
    assert fitted(0.1, copies=5).at(0.25).copies_reason == "given"
    single = fitted(0.1, copies="auto", knockoffs=FixedXKnockoffs)
    assert (single.copies, single.copies_limit) == (1, 1)
    assert "would draw" not in single.at(0.25).reason
    assert single.at(0.25).copies_reason == single.copies_reason


def test_more_copies_are_advised_only_by_samplers_that_have_them():
    """As in a fit: what is known of the sampler is kept."""
    for knockoffs, advised in ((GaussianKnockoffs, True), (FixedXKnockoffs, False)):
        changed = fitted(0.4, knockoffs=knockoffs).at(0.02)
        assert not changed.selected
        assert ("With more copies" in changed.reason) == advised


def test_the_guarantee_says_that_the_level_was_chosen_later():
    changed = fitted(0.1).at(0.4)
    assert changed.assumptions[:-1] == fitted(0.1).assumptions
    assert "not at one that is chosen because of what it selects" in changed.assumptions[-1]
    assert "Thresholded anew after a fit at fdr 0.1." in changed.reason


def test_level_contrasts_are_those_of_categories_that_stay():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((300, 8)), columns=[f"x{j}" for j in range(8)])
    X["colour"] = rng.choice(["red", "green", "blue"], 300)
    y = X["x0"] + 0.3 * X["x1"] + 2.0 * (X["colour"] == "red") + 0.5 * rng.standard_normal(300)
    result = KnockoffSelector(LassoCoefficient(), fdr=0.2, copies=5, random_state=0).fit(X, y).result_
    assert "colour" in result.selected
    assert len(result.level_contrasts) == 2
    nothing = result.at(0.001)
    assert nothing.selected == []
    assert nothing.level_contrasts == ()
    assert len(nothing.effects) == 0
    assert result.at(0.3).level_contrasts == result.level_contrasts


@pytest.mark.parametrize("fdr", [0, 1, 1.5, -0.1, "0.1", None, True])
def test_bad_levels_are_refused(fdr):
    with pytest.raises(Grip2Error, match=r"fdr must be in \(0, 1\)"):
        fitted(0.1).at(fdr)


def test_set_fdr_changes_the_selector():
    X, y = data()
    selector = KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), copies=5, random_state=3, describe=False)
    selector.fit(X, y)
    assert selector.set_fdr(0.4) is selector
    wanted = fitted(0.4, copies=5)
    assert selector.fdr == 0.4
    assert selector.threshold_ == wanted.threshold
    assert selector.transform(X).shape == (150, len(wanted.selected))
    np.testing.assert_array_equal(selector.get_support(), wanted.selected_mask)
    np.testing.assert_array_equal(selector.fit(X, y).get_support(), wanted.selected_mask)
    with pytest.raises(Grip2Error, match="fdr must be in"):
        selector.set_fdr(2)
    assert selector.fdr == 0.4
