"""A core of the planted defects: those that the cheapest checks see in seconds. All of them: `make guarantee-defects`."""

from __future__ import annotations

import pytest
from guarantee.battery import CHECKS, LIMIT, examine
from guarantee.defects import DEFECTS, description

from grip2 import decision, filter
from grip2.knockoffs.conditional import ConditionalGaussian
from grip2.statistics import base

CHEAP = CHECKS[:8]  # without whole selections, missing values and learnt samplers: seconds for all of them
OTHERS = CHECKS[8:]
# Seen by the other checks only.
LATER = [
    "swapped levels",
    "independent dummies",
    "median in x only",
    "draws counted as independent",
    "repeated rows accepted",
]
CORE = [name for name in DEFECTS if name not in LATER]


def test_nothing_is_found_where_nothing_is_planted():
    """False alarm below 1e-4 for all checks together, by the limit on their e-values."""
    found = examine("", CHEAP)
    assert not found.by
    assert found.log_e < LIMIT


@pytest.mark.parametrize("defect", CORE)
def test_a_planted_defect_is_caught(defect):
    assert examine(defect, CHEAP).by


@pytest.mark.slow
@pytest.mark.parametrize("defect", LATER)
def test_the_other_checks_catch_the_other_defects(defect):
    assert examine(defect, OTHERS).by


@pytest.mark.slow
def test_the_other_checks_find_nothing_where_nothing_is_planted():
    """With the same limit."""
    assert not examine("", OTHERS).by


def test_a_missing_shuffle_is_told_from_a_biased_statistic():
    """The shuffle makes a biased statistic harmless: its false discoveries are seen only where the shuffle is missing."""
    selections = tuple(check for check in CHEAP if check.kind == "selection")
    assert examine("shuffle missing", selections).by
    assert not examine("statistic favours the first", selections).by


def test_defects_leave_no_trace():
    before = ConditionalGaussian.draw, base.draw_order, decision.knockoff_threshold, filter.fdp_from_counts
    for plant in DEFECTS.values():
        with plant():
            pass
    assert before == (ConditionalGaussian.draw, base.draw_order, decision.knockoff_threshold, filter.fdp_from_counts)


def test_there_are_twenty_with_descriptions():
    assert len(DEFECTS) >= 20
    assert all(description(name).endswith(".") for name in DEFECTS)
