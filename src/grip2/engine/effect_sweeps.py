"""Gibbs sweeps of a spike-and-slab model in which one member of a unit acts, through sets of orthonormal basis functions.

The inner loop of `grip2.statistics.effect_sampler`: tens of thousands of small draws, each given all others.

A column acts through one of the sets of its basis functions, or not at all; all columns of a unit that act do so through the
same member. With shares pi_0 of columns that do not act and pi_s of each set s, the prior of the columns of a unit is

    prod_j pi_{s_j} x (1 / members, once, if any of them acts).

So a column whose unit acts elsewhere can act through that member only and pays no factor for the choice of the member; any
other column has the choice of all members, each with the factor 1 / members.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from grip2.engine.compilation import enable_cache

Values = TypeVar("Values", jax.Array, np.ndarray)


class EffectState(NamedTuple, Generic[Values]):
    """Where the sampler is."""

    effects: Values  # (columns + 1,)
    residual: Values  # (columns + 1,) correlations of every column with the residual
    chosen: Values  # (p,) 0 for a column that does not act, else 1 + number of its set of functions
    acting: Values  # (units,) how many of its columns act; a set of absent functions is no act
    member: Values  # (units,) through which they act, or did last


class EffectDraw(NamedTuple):
    """The state after some sweeps, and means over them."""

    state: EffectState[np.ndarray]
    probability: np.ndarray  # (units, members) mean probability that the unit acts through the member
    mean_effect: np.ndarray  # (p, members, functions)


class EffectSweeps:
    """State of the sampler: effects of all columns, and correlations of all columns with the residual.

    ``gram`` and ``correlation`` are moments per row; their last row and column are zero placeholders for absent basis
    functions. ``place`` (members, p, functions) numbers the basis functions of every column, ``sets`` (sets, functions) says
    which may act together, ``unit`` (p,) is the number of the unit of every column.
    """

    def __init__(
        self, gram: np.ndarray, correlation: np.ndarray, place: np.ndarray, sets: np.ndarray, unit: np.ndarray
    ) -> None:
        enable_cache()
        self._gram, self._correlation = jnp.asarray(gram, jnp.float32), jnp.asarray(correlation, jnp.float32)
        self._place = jnp.asarray(place.transpose(1, 0, 2), jnp.int32)
        functions = self._place.reshape(len(self._place), -1)
        self._own_gram = self._gram[functions[:, :, None], functions[:, None, :]]  # of the functions of each column
        self._sets = jnp.asarray(sets, jnp.float32)
        self._unit, self._sizes = jnp.asarray(unit, jnp.int32), jnp.asarray(np.bincount(unit), jnp.float32)
        nobody = jnp.zeros(len(self._sizes), jnp.int32)
        nothing = jnp.zeros(len(correlation), jnp.float32)
        self._state = EffectState(nothing, self._correlation, jnp.zeros(place.shape[1], jnp.int32), nobody, nobody)

    def refresh(self) -> None:
        """Compute the correlations anew: in single precision they drift a little with every change."""
        self._state = self._state._replace(residual=self._correlation - self._gram @ self._state.effects)

    def move_to(self, state: EffectState[np.ndarray]) -> None:
        """Go on from another state."""
        self._state = EffectState(*(jnp.asarray(now, was.dtype) for now, was in zip(state, self._state, strict=True)))

    def draw(
        self,
        *,
        order: np.ndarray,
        uniform: np.ndarray,
        normal: np.ndarray,
        precision: float,
        variances: np.ndarray,
        log_shares: np.ndarray,
    ) -> EffectDraw:
        """One sweep for each row of ``order`` (sweeps, p), with random numbers (sweeps, p) and (sweeps, p, functions).

        ``precision`` is rows over noise variance; ``variances`` are the slab variances of effects along each basis function,
        ``log_shares`` the log prior of not acting and of acting through each set.
        """
        self._state, probability, mean = _sweeps(
            self._gram,
            self._own_gram,
            self._place,
            self._unit,
            self._sizes,
            self._state,
            order,
            uniform,
            normal,
            np.float32(precision),
            np.asarray(variances, np.float32),
            np.asarray(log_shares, np.float32),
            self._sets,
        )
        state = EffectState(*(np.asarray(part) for part in self._state))
        return EffectDraw(state, np.asarray(probability), np.asarray(mean))


@jax.jit
def _sweeps(
    gram: jax.Array,
    own_gram: jax.Array,
    place: jax.Array,
    unit: jax.Array,
    sizes: jax.Array,
    state: EffectState[jax.Array],
    order: jax.Array,
    uniform: jax.Array,
    normal: jax.Array,
    precision: jax.Array,
    variances: jax.Array,
    log_shares: jax.Array,
    sets: jax.Array,
) -> tuple[EffectState[jax.Array], jax.Array, jax.Array]:
    """Draw every column anew, given all others, once for each row of ``order``; probabilities and effects are means.

    Basis functions of one column are orthonormal, so given the set that acts, its effects are independent normals, and the
    log evidence for a set is the sum over its functions. An absent function has no effect, whether it is in the set or not.
    """
    n_sweeps, p = order.shape
    placeholder = len(state.residual) - 1
    n_sets, n_functions = sets.shape
    members = place.shape[1]
    posterior = 1.0 / (precision + 1.0 / variances)  # variance of an effect
    at_zero = 0.5 * jnp.log(posterior / variances)
    earlier = jnp.tri(members, k=-1, dtype=bool)

    Carried = tuple[EffectState[jax.Array], jax.Array, jax.Array]

    def column(i: jax.Array, carried: Carried) -> Carried:
        (effects, residual, chosen, acting, acting_member), found, expected = carried
        sweep = i // p
        j = order[sweep, i % p]
        u = unit[j]
        columns = place[j].reshape(-1)
        present = (place[j] != placeholder).astype(jnp.float32)  # (members, functions)
        before = effects[columns]
        others = acting[u] - jnp.any(before != 0)  # columns of the unit that act beside this one
        free = others == 0
        allowed = free | (jnp.arange(members) == acting_member[u])
        # Correlations with the residual that there would be if the column did not act.
        own = residual[columns] + own_gram[j] @ before
        mean = posterior * precision * own.reshape(members, n_functions) * present
        evidence = (at_zero + 0.5 * mean**2 / posterior) * present
        log_weight = log_shares[1:] - jnp.where(free, jnp.log(float(members)), 0.0) + evidence @ sets.T
        log_weight = jnp.where(allowed[:, None], log_weight, -jnp.inf)  # (members, sets)
        # Likelier members come first, so that one uniform draw picks the same member whichever is called the original.
        top = log_weight.max(axis=1)
        rank = ((top[None] > top[:, None]) | ((top[None] == top[:, None]) & earlier)).sum(axis=1)
        likeliest = (rank[None] == jnp.arange(members)[:, None]).argmax(axis=1)
        ordered = log_weight[likeliest]
        weight = jax.nn.softmax(jnp.concatenate([ordered.reshape(-1), log_shares[:1]]))
        drawn = jnp.minimum((jnp.cumsum(weight) <= uniform[sweep, j]).sum(), members * n_sets)
        acts = drawn < members * n_sets
        which = drawn % n_sets
        member = likeliest[jnp.minimum(drawn // n_sets, members - 1)]
        value = acts * sets[which] * present[member] * (mean[member] + jnp.sqrt(posterior) * normal[sweep, j])
        after = jnp.zeros((members, n_functions)).at[member].set(value).reshape(-1)
        # At most two members change: the one that acted before and the one that acts now.
        change = (after - before).reshape(members, n_functions)
        acted = (before.reshape(members, n_functions) != 0).any(axis=1).argmax()
        other = jnp.where(member == acted, acted == 0, member)
        two = jnp.stack([jnp.minimum(acted, other), jnp.maximum(acted, other)])
        residual = jax.lax.cond(
            jnp.any(change != 0),
            lambda r: r - change[two].reshape(-1) @ gram[place[j, two].reshape(-1)],
            lambda r: r,
            residual,
        )  # most columns did not act and do not act now
        of_sets = weight[:-1].reshape(members, n_sets)[rank]
        possible = (present @ sets.T) > 0  # sets with at least one present function
        through = jnp.where(free, (of_sets * possible).sum(axis=1), allowed)
        acts_now = jnp.any(after != 0)
        after_visit = EffectState(
            effects.at[columns].set(after),
            residual,
            chosen.at[j].set(jnp.where(acts, which + 1, 0)),
            acting.at[u].set(others + acts_now),
            acting_member.at[u].set(jnp.where(acts_now, member, acting_member[u])),
        )
        return (
            after_visit,
            found.at[u].add(through / (n_sweeps * sizes[u])),
            expected.at[j].add((of_sets @ sets) * mean / n_sweeps),
        )

    start = (state, jnp.zeros((len(sizes), members)), jnp.zeros((p, members, n_functions)))
    done: Carried = jax.lax.fori_loop(0, n_sweeps * p, column, start)
    return done
