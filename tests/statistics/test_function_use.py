"""Chances of basis functions: the shares of sets, and a Gibbs step that leaves their prior as it is."""

import numpy as np
import pytest

from grip2.statistics import function_use
from grip2.statistics.basis import FUNCTIONS
from grip2.statistics.effect_model import SETS
from grip2.statistics.function_use import UNUSED, draw_chances, even_chances, prior_chances, set_shares

RNG = np.random.default_rng
REPLICATES, COLUMNS = 20_000, 4


def test_shares_are_those_of_independent_functions_given_that_one_acts():
    chances = np.array([0.9, 0.2, 0.0, 0.5, 0.3, 0.1])
    drawn = RNG(0).random((200_000, FUNCTIONS)) < chances
    drawn = drawn[drawn.any(axis=1)]
    shares = set_shares(chances)
    assert shares.sum() == pytest.approx(1)
    for one, share in zip(SETS, shares, strict=True):
        assert (drawn == (one > 0)).all(axis=1).mean() == pytest.approx(share, abs=0.01)  # 8 standard errors and more


def test_a_chain_begins_with_equally_likely_sets():
    np.testing.assert_allclose(set_shares(even_chances()), 1 / len(SETS))


def after_a_step():
    """(replicates, functions): chances from the prior, columns drawn given these, chances drawn given the columns."""
    rng, found = RNG(1), []
    for _ in range(REPLICATES):
        before = prior_chances(rng)
        found.append(draw_chances(rng.multinomial(COLUMNS, set_shares(before)), before, rng))
    return np.array(found)


def distances(chances):
    """Standard errors between what is expected a priori and what was drawn: how often functions are unused, mean chances."""
    unused = np.where(np.arange(FUNCTIONS) > 0, UNUSED, 0.0)
    often = ((chances == 0).mean(axis=0)[1:] - unused[1:]) / np.sqrt(UNUSED * (1 - UNUSED) / len(chances))
    assert not (chances[:, 0] == 0).any()  # the line may always be used
    mean = (chances.mean(axis=0) - 0.5 * (1 - unused)) / (chances.std(axis=0) / np.sqrt(len(chances)))
    return np.abs([*often, *mean])


def test_a_step_leaves_the_prior_as_it_is():
    """20,000 replicates, eleven distances of at most 5 standard errors: false alarms below 1e-5."""
    assert distances(after_a_step()).max() < 5


@pytest.mark.parametrize("broken", ["columns that act along nothing are forgotten", "functions are never unused"])
def test_broken_steps_change_the_prior(broken, monkeypatch):
    if broken == "functions are never unused":
        monkeypatch.setattr(function_use, "_MAY_BE_UNUSED", np.zeros(FUNCTIONS, bool))
        rng = RNG(1)
        found = np.array([draw_chances(np.zeros(len(SETS), int), even_chances(), rng) for _ in range(REPLICATES)])
    else:

        class NoneForgotten:
            def __init__(self, rng):
                self._rng = rng

            def negative_binomial(self, n, p):
                return 0

            def __getattr__(self, name):
                return getattr(self._rng, name)

        rng, found = RNG(1), []
        for _ in range(REPLICATES):
            before = prior_chances(rng)
            counts = rng.multinomial(COLUMNS, set_shares(before))
            found.append(draw_chances(counts, before, NoneForgotten(rng)))
        found = np.array(found)
    assert distances(found).max() > 10


def test_functions_that_no_column_needs_are_dropped():
    """Twenty columns act along their lines only: a further one very likely does the same. With half of them acting along V,
    both functions keep their share."""
    line, bent = (np.flatnonzero((SETS.sum(axis=1) == 1) & (SETS[:, f] > 0))[0] for f in (0, 1))
    for of_line, of_bent in ((20, 0), (10, 10)):
        counts, rng = np.zeros(len(SETS), int), RNG(2)
        counts[line], counts[bent] = of_line, of_bent
        chances, found = even_chances(), []
        for _ in range(1000):
            chances = draw_chances(counts, chances, rng)
            found.append(set_shares(chances)[[line, bent]])
        mean = np.mean(found[100:], axis=0)
        assert mean[0] > 0.85 if of_bent == 0 else min(mean) > 0.3
