"""The report: its order, its numbers, and names that try to do harm."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from grip2.facts import LimitingUnit, StageFacts
from grip2.filter import knockoff_threshold, q_values
from grip2.report import selection_page
from grip2.report.fdr_levels import levels
from grip2.report.lasso_beside import lasso_beside
from grip2.report.near_misses import near_misses
from grip2.report.network_surface import network_surface
from grip2.result import SelectionResult
from tests.report.examples import ESCAPES, FORMULA, LONG, SCRIPT, TURNED, nothing, odd_names, thousand

SECTIONS = [
    "Selected",
    "Near misses",
    "Every feature against its knockoff",
    "Selected at other rates",
    "Can the knockoffs be trusted?",
    "Where the signal lies",
    "Compared with the lasso",
    "The regularization surface of",
    "Columns, and everything that was changed",
    "What the guarantee rests on",
    "How it was made",
]


class Outline(HTMLParser):
    """Elements and headings of a page; a page whose elements do not nest fails."""

    empty = frozenset({"meta", "link", "input", "br", "path", "circle"})

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.kinds = [], [], set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.kinds.add(tag)
        self.kinds.update(name for name, _ in attrs if name.startswith("on"))
        if tag not in self.empty:
            self.open.append(tag)
        if tag == "h2":
            self.headings.append("")

    def handle_startendtag(self, tag, attrs):
        self.kinds.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "h2" in self.open:
            self.headings[-1] += data


def with_stages(result):
    network = StageFacts("network", "any signal", "residual", 0.1)
    return replace(result, facts=replace(result.facts, stages=(network,)))


def test_the_order_of_the_sections():
    headings = Outline(selection_page(with_stages(thousand()), changes=("a column was dropped",))).headings
    assert len(headings) == len(SECTIONS)
    assert all(heading.startswith(start) for heading, start in zip(headings, SECTIONS, strict=True))


def test_the_guide_names_the_sections_as_the_page_does():
    guide = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| \*\*(.+?)\*\*", guide, flags=re.MULTILINE)
    assert named == [section.removesuffix(" of") for section in SECTIONS]


def test_a_direction_says_of_what():
    """Of survival the risk goes up or down, and not the time; of classes the chance of one of them."""
    effects = odd_names().effects
    assert effects is not None
    assert "the response increases with it" in selection_page(odd_names())
    assert "the risk of the event increases with it" in selection_page(replace(odd_names(), task="survival"))
    of_class = replace(effects, features=tuple(replace(effect, output="ill") for effect in effects))
    assert "the chance of ill increases with it" in selection_page(replace(odd_names(), effects=of_class))


def test_the_answer_is_one_sentence_with_rate_and_verdict():
    result = thousand()
    judged = replace(result, knockoff_quality=replace(result.knockoff_quality, verdict="do not trust"))
    text = " ".join(re.sub(r"<[^>]+>", "", selection_page(judged)).split())
    assert (
        f"{len(result.selected)} of 1,000 features were selected at a target false discovery rate of 0.1: gene_" in text
    )
    assert "the knockoffs are judged not to be trusted." in text
    assert "None of 12 features was selected" in " ".join(selection_page(nothing()).split())


@pytest.mark.parametrize("n_draws", [1, 3])
def test_names_do_no_harm(n_draws):
    result = odd_names(n_draws)
    text = selection_page(result, title=SCRIPT, notes=(SCRIPT,), changes=(SCRIPT, ESCAPES), command=f"grip2 {SCRIPT}")
    outline = Outline(text)
    assert SCRIPT in result.selected
    assert "<script>alert" not in text
    assert "<b>south</b>" not in text
    assert text.count("<script") == 1
    assert not {kind for kind in outline.kinds if kind.startswith("on")}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text)
    assert r"\x1b[31mred" in text
    assert r"abc\u202edef" in text
    assert LONG.strip() not in re.sub(r'title="[^"]*"|<title>[^<]*</title>|aria-label="[^"]*"', "", text)


def test_the_page_asks_nobody():
    for result in (odd_names(), thousand()):
        text = selection_page(result)
        assert not re.search(r"""(src|href|url|action)\s*=\s*["']|@import|url\(""", text)
        assert "http" not in text


def test_a_thousand_features_are_less_than_two_megabytes():
    text = selection_page(thousand())
    assert text.count("<tr") > 2000
    assert len(text.encode()) < 2_000_000


def test_rates_are_what_the_filter_selects():
    result = thousand()
    for level in levels(replace(result, fdr=0.15, selected_mask=knockoff_threshold(result.W, 0.15) <= result.W)):
        assert level.count == np.sum(result.W >= knockoff_threshold(result.W, level.fdr))
    assert [level.fdr for level in levels(replace(result, fdr=0.15))] == [0.05, 0.1, 0.15, 0.2]
    assert [level.asked for level in levels(result)] == [False, True, False]
    listed = [name for level in levels(result) for name in level.new]
    assert len(listed) == len(set(listed)) == levels(result)[-1].count


def few(W, *, fdr=0.1, copies=1):
    W = np.array(W, dtype=float)
    return replace(
        nothing(),
        feature_names=tuple(f"f{j}" for j in range(len(W))),
        W=W,
        q_values=q_values(W, 1, copies),
        selected_mask=knockoff_threshold(W, fdr, 1, copies) <= W,
        threshold=knockoff_threshold(W, fdr, 1, copies),
        original=W,
        knockoff=0 * W,
        fdr=fdr,
        copies=copies,
        knockoff_quality=replace(nothing().knockoff_quality, unit_correlations=(), limiting=()),
    )


def test_near_misses_that_more_copies_would_let_in():
    """Three features above all knockoffs: at one copy 1 / 3, and 1 / (m 3) is at most 0.1 from four copies on."""
    result = few([5, 4, 3, -2, -1.5, 1, -0.5])
    misses = near_misses(result)
    assert [miss.name for miss in misses] == ["f0", "f1", "f2"]
    assert all(miss.q_value == pytest.approx(1 / 3) for miss in misses)
    assert all(miss.selected_from == 0.334 for miss in misses)  # 0.333 would not select it
    assert all("(1 + 0) / (1 x 3) = 0.33 is above 0.1. With 4 copies they would pass" in miss.why for miss in misses)
    assert few([5, 4, 3, -2, -1.5, 1, -0.5], copies=4).selected == ["f0", "f1", "f2"]


def test_near_misses_behind_knockoffs():
    result = few([9, 8, 7, 6, 5, -4, -4, 3, 3, 3], copies=2, fdr=0.11)
    assert result.selected == ["f0", "f1", "f2", "f3", "f4"]
    misses = near_misses(result)
    assert {miss.name for miss in misses} == {"f7", "f8", "f9"}
    assert misses[0].q_value == pytest.approx(3 / 16)
    assert "together with 7 others, and 2 knockoffs came as far" in misses[0].why
    assert "(1 + 2) / (2 x 8) = 0.19, above 0.11" in misses[0].why


def test_near_misses_of_several_draws_have_their_frequency():
    result = odd_names(3)
    lowest = replace(result, selected_mask=np.zeros_like(result.selected_mask))
    misses = near_misses(lowest)
    assert misses
    assert [miss.frequency for miss in misses] == sorted((miss.frequency for miss in misses), reverse=True)
    assert "Its mean e-value" in misses[0].why
    dropped = replace(lowest, e_values=np.zeros_like(lowest.e_values))
    assert all("fewer than half of the draws" in miss.why for miss in near_misses(dropped))


def test_the_surface_is_that_of_a_selected_feature_where_the_network_contributes():
    result = thousand()
    strong = result.surface.activity.copy()
    unselected = int(np.flatnonzero(~result.selected_mask)[0])
    strong[:, 0, unselected] = 100
    shown = network_surface(replace(result, surface=replace(result.surface, activity=strong)))
    assert shown is not None
    assert shown.name in result.selected
    idle = with_stages(result)
    idle = replace(idle, facts=replace(idle.facts, stages=(replace(idle.facts.stages[0], held_out_share=0.0),)))
    assert network_surface(with_stages(result)) is not None
    assert network_surface(idle) is None
    assert network_surface(replace(result, selected_mask=0 * result.W > 0)) is None
    assert network_surface(replace(result, surface=None)) is None


def test_the_lasso_beside_the_selection():
    result = odd_names()
    beside = lasso_beside(result)
    assert set(beside.both) | set(beside.only_here) == set(result.selected)
    assert set(beside.both).isdisjoint(beside.only_here)
    lasso = np.array(result.lasso.W)
    threshold = knockoff_threshold(lasso, result.fdr, result.offset, result.copies)
    assert beside.n_lasso == np.sum(lasso >= threshold)
    assert {FORMULA, LONG} <= set(beside.only_here), "a product without main effects is no line"
    assert "<td>this selection only</td>" in selection_page(result)
    assert lasso_beside(replace(result, lasso=None)) is None
    assert "Compared with the lasso" not in selection_page(replace(result, lasso=None))


def test_columns_that_limit_power_are_listed():
    result = nothing()
    unit = LimitingUnit("weight", 0.97, "height", 0.99)
    text = selection_page(replace(result, knockoff_quality=replace(result.knockoff_quality, limiting=(unit,))))
    assert "Features that limit power" in text
    assert "<td>0.970</td>" in text
    assert "Features that limit power" not in selection_page(result)


def test_the_command_or_the_call_is_shown():
    result = odd_names()
    assert "grip2 select a.csv --seed 3" in selection_page(result, command="grip2 select a.csv --seed 3")
    call = "KnockoffSelector(fdr=0.2, groups={&#39;pair&#39;: [&#39;noise_0&#39;, &#39;noise_1&#39;]}"
    assert call in selection_page(result)
    old = replace(result, settings={name: value for name, value in result.settings.items() if name != "call"})
    assert "gives the same selection again" not in selection_page(old)


def test_a_result_of_an_earlier_version_has_a_page():
    content = odd_names().to_dict()
    del content["lasso"], content["settings"]["call"]
    del content["knockoff_quality"]["unit_correlations"], content["knockoff_quality"]["limiting"]
    old = SelectionResult.from_dict(content)
    assert old.lasso is None
    assert "Every feature against its knockoff" in selection_page(old)


def test_W_is_not_called_an_effect():
    for result in (odd_names(), nothing()):
        assert "it is not the size of an effect" in selection_page(result)
    assert TURNED in odd_names().feature_names
