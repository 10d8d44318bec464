"""Numbers that a change of the code must not move unseen; `make_golden.py` beside this file makes them.

Compiled code rounds differently on another kind of processor, and training amplifies it, so the bound is loose there:
5 % of the largest |W|. On one machine `python tests/golden/make_golden.py --check` demands equality to nine digits.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.golden.make_golden import FILE, cases, largest_change

GOLDEN = json.loads(FILE.read_text())
BOUND = 0.05


def test_every_case_has_its_numbers():
    assert sorted(GOLDEN) == sorted(cases())


@pytest.mark.filterwarnings("ignore:block_size='pilot'")
@pytest.mark.parametrize("name", GOLDEN)
def test_W_is_where_it_was(name):
    assert largest_change(GOLDEN[name], cases()[name]()) <= BOUND


def test_another_statistic_would_be_noticed():
    """The broken twin: the numbers of a neighbouring case are far outside the bound."""
    assert largest_change(GOLDEN["grip2, regression"], np.array(GOLDEN["grip1, regression"])) > BOUND
    assert largest_change(GOLDEN["mald, regression"], np.array(GOLDEN["shap, regression"])) > BOUND
