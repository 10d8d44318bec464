"""Which basis functions the columns of a table act along: part of the prior of `EffectPosterior`.

A column that acts does so along each basis function with a chance of that function, independently of the others, given that it
acts along at least one. Chances are the same for all columns of a table and are drawn together with everything else, so that
the model learns whether effects are straight, even, steep or sudden. A priori a bent function or a step is not used at all
with probability 1/2 (its chance is 0): without this, a few hundred columns that act by accident keep curves in a model of a
small table whose effects are straight lines, and cost it power.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln

from grip2.statistics.basis import FUNCTIONS
from grip2.statistics.effect_model import SETS

UNUSED = 0.5  # prior probability that a bent function or a step is not used at all; the line may always be used
SHAPE = 0.5  # of the prior of a chance, Beta(SHAPE, SHAPE)
# Chances that are not 0 stay this far from 0 and 1: draws beyond are moved there, which the prior hardly notices up to a few
# hundred columns that act. Without a limit a chance of the line near 0 would call for endless columns that act along no function.
_LEAST = 1e-3

_MAY_BE_UNUSED = np.arange(FUNCTIONS) > 0


def even_chances() -> np.ndarray:
    """(functions,) chances under which all sets of functions are equally likely: those with which a chain begins."""
    return np.full(FUNCTIONS, 0.5)


def prior_chances(rng: np.random.Generator) -> np.ndarray:
    """(functions,) chances drawn from their prior."""
    chances = np.clip(rng.beta(SHAPE, SHAPE, FUNCTIONS), _LEAST, 1.0 - _LEAST)
    return np.where(_MAY_BE_UNUSED & (rng.random(FUNCTIONS) < UNUSED), 0.0, chances)


def set_shares(chances: np.ndarray) -> np.ndarray:
    """(sets,) the probability of each set of functions for a column that acts."""
    shares = np.where(SETS > 0, chances, 1.0 - chances).prod(axis=1)
    return np.asarray(shares / shares.sum())


def draw_chances(chosen: np.ndarray, present: np.ndarray, chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(functions,) chances drawn given the sets along which columns act; a Gibbs step.

    ``chosen``, ``present`` (columns, functions): the set of every column that acts, and which functions the column has at all (a
    0/1 column has no curves).

    Columns never act along no function. How often that would have happened before the columns that act had one is drawn from
    the ``chances`` of before; given these numbers, functions are independent and their chances are conjugate. Whether a function
    that a column does not have is in its set says nothing, unless the set has no others: it is left out (integrated out), so
    that columns without curves do not hold chances of curves where they are.
    """
    columns = len(chosen)
    of_none = float((1.0 - chances).prod())
    nones = int(rng.negative_binomial(columns, 1.0 - of_none)) if columns else 0
    counted = present | ~(chosen & present).any(axis=1, keepdims=True)
    along = (chosen & counted).sum(axis=0)
    trials = counted.sum(axis=0) + nones
    drawn = np.clip(rng.beta(SHAPE + along, SHAPE + trials - along), _LEAST, 1.0 - _LEAST)
    # Of a function along which no column acts: the probability that its chance is 0, by Bayes' rule.
    used_but_never = (1.0 - UNUSED) * np.exp(betaln(SHAPE, SHAPE + trials) - betaln(SHAPE, SHAPE))
    unused = _MAY_BE_UNUSED & (along == 0) & (rng.random(FUNCTIONS) < UNUSED / (UNUSED + used_but_never))
    return np.where(unused, 0.0, drawn)
