"""The number of copies: as given, or from the table's size and the level, and never from the response."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from grip2.copies import AUTOMATIC, check_copies, choose_copies
from grip2.derandomize import e_benjamini_hochberg, mean_e_values
from grip2.errors import Grip2Error
from grip2.filter import fewest_selected


def automatic(fdr=0.1, n_rows=500, n_columns=30, n_units=None, draws_copies=True, n_draws=1):
    return choose_copies(
        AUTOMATIC,
        fdr=fdr,
        n_rows=n_rows,
        n_columns=n_columns,
        n_units=n_columns if n_units is None else n_units,
        draws_copies=draws_copies,
        n_draws=n_draws,
    )


def test_a_number_is_taken_as_it_is():
    choice = choose_copies(3, fdr=0.1, n_rows=500, n_columns=30, n_units=30, draws_copies=True)
    assert (choice.copies, choice.reason) == (3, "given")


@pytest.mark.parametrize("fdr", [0.05, 0.1, 0.2])
def test_few_features_can_be_selected_from_an_ordinary_table(fdr):
    choice = automatic(fdr)
    assert fewest_selected(fdr, choice.copies) == 2
    assert str(fewest_selected(fdr, choice.copies)) in choice.reason


@pytest.mark.parametrize("fdr", [0.05, 0.1, 0.2])
def test_a_single_feature_can_be_selected_from_few(fdr):
    choice = automatic(fdr, n_columns=20)
    assert fewest_selected(fdr, choice.copies) == 1
    assert "as few as 1 can be selected" in choice.reason
    assert fewest_selected(fdr, automatic(fdr, n_columns=21).copies) == 2


def test_levels_of_categories_are_no_units():
    """Twelve variables, two of which have many levels: few units, and columns enough that five copies are all it may cost."""
    assert automatic(n_columns=60, n_units=12).copies == 10
    assert automatic(n_columns=300, n_units=12).copies == 5


def test_wide_tables_have_at_most_five_copies_at_small_levels():
    counts = [automatic(0.05, n_columns=p).copies for p in (30, 109, 150, 500, 2000, 5000, 20_000)]
    assert counts == [10, 10, 7, 5, 5, 3, 1]


def test_several_draws_have_copies_enough_that_half_of_them_may_miss_a_feature():
    assert [automatic(fdr, n_columns=57, n_draws=10).copies for fdr in (0.05, 0.1, 0.2)] == [20, 20, 10]
    assert [automatic(n_columns=p, n_draws=10).copies for p in (20, 57, 58, 109, 150, 200)] == [20, 20, 10, 10, 7, 5]
    assert "need not be found by every draw" in automatic(n_draws=10).reason
    # Two features that half of ten draws find, with no copy beyond them, pass e-BH at fdr 0.1; with five copies they do not.
    W = np.zeros((10, 20))
    W[:5, :2], W[5:, :2] = 1.0, -1e-9
    for copies, selected in ((10, 2), (5, 0)):
        e = mean_e_values(W, 0.1, copies=copies)
        assert np.count_nonzero(e_benjamini_hochberg(e, 0.1)) == selected


def test_one_copy_where_the_sampler_has_no_more():
    choice = automatic(draws_copies=False)
    assert choice.copies == 1
    assert "one copy only" in choice.reason


def test_large_tables_get_fewer_copies_and_say_why():
    counts = [automatic(n_rows=n_rows, n_columns=100).copies for n_rows in (1_000, 100_000, 1_000_000)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1
    assert "too much time and memory" in automatic(n_rows=1_000_000, n_columns=100).reason
    assert automatic(n_columns=100_000).copies == 1


def test_the_response_has_no_part_in_it():
    assert not {"y", "response", "W", "importance"} & set(inspect.signature(choose_copies).parameters)


@pytest.mark.parametrize("copies", [0, -1, 1.5, True, "five", None])
def test_other_values_are_refused(copies):
    with pytest.raises(Grip2Error, match="copies must be a whole number of at least 1 or 'auto'"):
        check_copies(copies, "test")
