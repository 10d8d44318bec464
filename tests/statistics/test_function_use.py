"""Chances of basis functions: the shares of sets, and a Gibbs step that leaves their prior as it is."""

import numpy as np
import pytest
from scipy.stats import beta

from grip2.statistics import function_use
from grip2.statistics.basis import FUNCTIONS
from grip2.statistics.effect_model import SETS
from grip2.statistics.function_use import SHAPE, UNUSED, draw_chances, even_chances, prior_chances, set_shares

RNG = np.random.default_rng
REPLICATES = 20_000


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


def step(rng, columns, present=None):
    """Chances drawn given columns that were drawn given chances from the prior.

    ``present`` (columns, functions): all by default.
    """
    before = prior_chances(rng)
    chosen = SETS[rng.choice(len(SETS), columns, p=set_shares(before))] > 0
    present = np.ones((columns, FUNCTIONS), bool) if present is None else present
    return draw_chances(chosen, present, before, rng)


def distances(chances):
    """Standard errors between what is expected a priori and what was drawn: how often functions are unused, and the shares of
    chances below three bounds."""
    bent = np.arange(FUNCTIONS) > 0
    unused = np.where(bent, UNUSED, 0.0)
    assert not (chances[:, 0] == 0).any()  # the line may always be used
    found = [((chances == 0).mean(axis=0)[1:] - UNUSED) / np.sqrt(UNUSED * (1 - UNUSED) / len(chances))]
    for bound in (0.1, 0.3, 0.7):
        share = unused + (1 - unused) * beta(SHAPE, SHAPE).cdf(bound)
        error = np.sqrt(share * (1 - share) / len(chances))
        found.append(((chances < bound).mean(axis=0) - share) / error)
    return np.abs(np.concatenate(found))


@pytest.mark.parametrize("columns", [0, 4, 30])
def test_a_step_leaves_the_prior_as_it_is(columns):
    """20,000 replicates, 23 distances of at most 5.2 standard errors: false alarms below 1e-5."""
    rng = RNG(1)
    assert distances(np.array([step(rng, columns) for _ in range(REPLICATES)])).max() < 5.2


def test_a_step_leaves_the_prior_as_it_is_where_columns_lack_functions():
    """As above. Half of the columns have a line only, or a line and one more function."""
    present = np.ones((12, FUNCTIONS), bool)
    present[:3, 1:] = False
    present[3:6, 2:] = False
    rng = RNG(2)
    assert distances(np.array([step(rng, 12, present) for _ in range(REPLICATES)])).max() < 5.2


class ColumnsAlongNothingForgotten:
    """A random generator for a step that forgets how often a column would have acted along no function."""

    def __init__(self, rng):
        self._rng = rng

    def negative_binomial(self, n, p):
        return 0

    def __getattr__(self, name):
        return getattr(self._rng, name)


@pytest.mark.parametrize("broken", ["columns that act along nothing are forgotten", "never unused", "another shape"])
def test_broken_steps_change_the_prior(broken, monkeypatch):
    rng = RNG(1)
    of_step = ColumnsAlongNothingForgotten if broken.startswith("columns") else lambda same: same
    found = []
    for _ in range(REPLICATES):
        with monkeypatch.context() as patched:
            before = prior_chances(rng)
            chosen = SETS[rng.choice(len(SETS), 30, p=set_shares(before))] > 0
            if broken == "never unused":
                patched.setattr(function_use, "_MAY_BE_UNUSED", np.zeros(FUNCTIONS, bool))
            elif broken == "another shape":
                patched.setattr(function_use, "SHAPE", 1.0)
            found.append(draw_chances(chosen, np.ones_like(chosen), before, of_step(rng)))
    assert distances(np.array(found)).max() > 10


def test_what_a_column_lacks_says_nothing():
    """One column acts along its line and could bend; a hundred have lines only. Bits of functions that those lack are drawn at
    random at every step here: if they counted, they would hold the chances where they are."""
    rng = RNG(3)
    present = np.zeros((101, FUNCTIONS), bool)
    present[:, 0] = True
    present[0] = True
    chances, found = even_chances(), []
    for _ in range(200):
        chosen = rng.random((101, FUNCTIONS)) < chances
        chosen[:, 0] = True
        chosen[0, 1:] = False
        chances = draw_chances(chosen, present, chances, rng)
        found.append(chances[1:])
    assert np.mean(np.array(found[20:]) == 0) > 0.4  # 0.11 if they counted, 0.85 else


def test_functions_that_no_column_needs_are_dropped():
    """Twenty columns act along their lines only: a further one very likely does the same. With half of them acting along V,
    both functions keep their share."""
    line, bent = (np.flatnonzero((SETS.sum(axis=1) == 1) & (SETS[:, f] > 0))[0] for f in (0, 1))
    for of_line, of_bent in ((20, 0), (10, 10)):
        rng = RNG(2)
        chosen = SETS[np.repeat([line, bent], [of_line, of_bent])] > 0
        chances, found = even_chances(), []
        for _ in range(1000):
            chances = draw_chances(chosen, np.ones_like(chosen), chances, rng)
            found.append(set_shares(chances)[[line, bent]])
        mean = np.mean(found[100:], axis=0)
        assert mean[0] > 0.85 if of_bent == 0 else min(mean) > 0.3
