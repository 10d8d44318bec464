"""Exchange of the acting member of a unit of several columns, a joint move of the sampler of `EffectPosterior`.

Sweeps visit column after column, and a column can act only through the member through which its unit acts elsewhere. Once two
columns of a unit act, they are therefore bound to their member. This move draws the member anew for all of them at once, given
which of their basis functions act and with the effects integrated out, then the effects: an exact Gibbs step.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from grip2.engine.effect_sweeps import EffectState
from grip2.units import Units


def exchange_members(
    state: EffectState[np.ndarray],
    gram: np.ndarray,
    place: np.ndarray,
    units: Units,
    *,
    precision: float,
    variances: np.ndarray,
    rng: np.random.Generator,
) -> EffectState[np.ndarray]:
    """The state after the acting member of every unit in which two or more columns act is drawn anew.

    ``gram`` are moments per row of the basis functions, ``place`` (members, p, functions) their numbers; ``precision`` is rows
    over noise variance, ``variances`` are the slab variances of effects along each basis function.
    """
    effects, residual, member = state.effects.astype(float), state.residual.astype(float), state.member.copy()
    for unit in np.flatnonzero(state.acting > 1):
        functions = place[:, units.columns[unit]].reshape(len(place), -1)  # (members, functions of all its columns)
        active = np.flatnonzero(effects[functions[member[unit]]])
        of_members, before = functions[:, active], functions[member[unit], active]
        without = residual + effects[before] @ gram[before]  # correlations that there would be if the unit did not act
        slabs = np.tile(variances, len(units.columns[unit]))[active]
        posterior = _Posterior.of(gram, without, of_members, precision, slabs)
        # Likelier members come first, so that one uniform draw picks the same member whichever is called the original.
        order = np.argsort(-posterior.evidence, kind="stable")
        ladder = np.cumsum(np.exp(posterior.evidence[order] - posterior.evidence[order[0]]))
        new = order[min(np.searchsorted(ladder, rng.random() * ladder[-1], side="right"), len(order) - 1)]
        drawn = posterior.draw(new, rng.standard_normal(len(active)))
        effects[before] = 0.0
        effects[of_members[new]] = drawn
        residual = without - drawn @ gram[of_members[new]]
        member[unit] = new
    return state._replace(effects=effects, residual=residual, member=member)


class _Posterior(NamedTuple):
    """Of the effects of some basis functions, for every member through which they may act.

    Effects e have the prior N(0, D^2), D = diag(sqrt(slabs)), and the likelihood exp(b'e - e'Ge / 2) with G = precision x Gram
    matrix, b = precision x correlations. With the eigenvalues l and eigenvectors V of D G D, their posterior precision is
    D^-1 V (1 + l) V' D^-1. Columns of a unit may be collinear, as the levels of a category are: rounding can make l negative.
    """

    scale: np.ndarray  # (functions,) diagonal of D
    vectors: np.ndarray  # (members, functions, functions) V
    values: np.ndarray  # (members, functions) 1 + l
    along: np.ndarray  # (members, functions) V' D b
    evidence: np.ndarray  # (members,) log marginal likelihood, up to a constant that is the same for all members

    @classmethod
    def of(
        cls, gram: np.ndarray, correlation: np.ndarray, of_members: np.ndarray, precision: float, slabs: np.ndarray
    ) -> Self:
        scale = np.sqrt(slabs)
        own = gram[of_members[:, :, None], of_members[:, None, :]].astype(float)
        found, vectors = np.linalg.eigh(precision * own * scale[:, None] * scale)
        values = 1.0 + np.maximum(found, 0.0)
        along = np.einsum("kij,ki->kj", vectors, precision * correlation[of_members] * scale)
        evidence = 0.5 * (along**2 / values - np.log(values)).sum(axis=1)
        return cls(scale, vectors, values, along, evidence)

    def draw(self, member: int, normal: np.ndarray) -> np.ndarray:
        """Effects of the functions of a member from independent normal numbers."""
        values, vectors = self.values[member], self.vectors[member]
        # Through the symmetric root: the signs of eigenvectors, which rounding decides, do not matter.
        found: np.ndarray = self.scale * (vectors @ (self.along[member] / values + normal @ vectors / np.sqrt(values)))
        return found
