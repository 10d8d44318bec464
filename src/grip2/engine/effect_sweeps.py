"""Gibbs sweeps of a spike-and-slab model in which one member of a pair acts, through a set of orthonormal basis functions.

The inner loop of `grip2.statistics.effect_sampler`: tens of thousands of small draws, each given all others.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from grip2.engine.compilation import enable_cache


class EffectDraw(NamedTuple):
    """The state after some sweeps, and means over them."""

    effects: np.ndarray  # (columns + 1,)
    residual: np.ndarray  # (columns + 1,) correlations of every column with the residual
    chosen: np.ndarray  # (p,) 0 for a pair that does not act, else 1 + number of its set of functions
    probability: np.ndarray  # (p, 2) mean probability that the member acts
    mean_effect: np.ndarray  # (p, 2, functions)


class EffectSweeps:
    """State of the sampler: effects of all columns, and correlations of all columns with the residual.

    ``gram`` and ``correlation`` are moments per row; their last row and column are zero placeholders for absent basis
    functions. ``place`` (2, p, functions) numbers the columns of a pair, ``sets`` (sets, functions) says which functions may
    act together.
    """

    def __init__(self, gram: np.ndarray, correlation: np.ndarray, place: np.ndarray, sets: np.ndarray) -> None:
        enable_cache()
        self._gram, self._correlation = jnp.asarray(gram, jnp.float32), jnp.asarray(correlation, jnp.float32)
        self._place = jnp.asarray(place.transpose(1, 0, 2), jnp.int32)
        self._sets = jnp.asarray(sets, jnp.float32)
        self._effects, self._residual = jnp.zeros(len(correlation), jnp.float32), self._correlation

    def refresh(self) -> None:
        """Compute the correlations anew: in single precision they drift a little with every change."""
        self._residual = self._correlation - self._gram @ self._effects

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
        self._effects, self._residual, chosen, probability, mean = _sweeps(
            self._gram,
            self._place,
            self._effects,
            self._residual,
            order,
            uniform,
            normal,
            np.float32(precision),
            np.asarray(variances, np.float32),
            np.asarray(log_shares, np.float32),
            self._sets,
        )
        return EffectDraw(*(np.asarray(part) for part in (self._effects, self._residual, chosen, probability, mean)))


@jax.jit
def _sweeps(
    gram: jax.Array,
    place: jax.Array,
    effects: jax.Array,
    residual: jax.Array,
    order: jax.Array,
    uniform: jax.Array,
    normal: jax.Array,
    precision: jax.Array,
    variances: jax.Array,
    log_shares: jax.Array,
    sets: jax.Array,
) -> tuple[jax.Array, ...]:
    """Draw every pair anew, given all others, once for each row of ``order``; probabilities and effects are means.

    Basis functions of one column are orthonormal, so given the set that acts, its effects are independent normals, and the
    log evidence for a set is the sum over its functions. An absent function has no effect, whether it is in the set or not.
    """
    n_sweeps, p = order.shape
    placeholder = len(residual) - 1
    n_sets, n_functions = sets.shape
    posterior = 1.0 / (precision + 1.0 / variances)  # variance of an effect
    at_zero = 0.5 * jnp.log(posterior / variances)

    def pair(i: jax.Array, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        effects, residual, chosen, found, expected = state
        sweep = i // p
        j = order[sweep, i % p]
        columns = place[j].reshape(-1)
        present = (place[j] != placeholder).astype(jnp.float32)  # (2, functions)
        before = effects[columns]
        # Correlations with the residual that there would be if the pair did not act.
        own = residual[columns] + gram[columns[:, None], columns] @ before
        mean = posterior * precision * own.reshape(2, n_functions) * present
        evidence = (at_zero + 0.5 * mean**2 / posterior) * present
        log_weight = log_shares[1:] - jnp.log(2.0) + evidence @ sets.T  # (2, sets)
        # The likelier member comes first, so that one uniform draw picks the same member whichever is called the original.
        turned = log_weight[1].max() > log_weight[0].max()
        ordered = jnp.where(turned, log_weight[::-1], log_weight)
        weight = jax.nn.softmax(jnp.concatenate([ordered.reshape(-1), log_shares[:1]]))
        drawn = jnp.minimum((jnp.cumsum(weight) <= uniform[sweep, j]).sum(), 2 * n_sets)
        acts = drawn < 2 * n_sets
        which = drawn % n_sets
        member = jnp.where(turned, 1 - drawn // n_sets, drawn // n_sets) % 2
        value = acts * sets[which] * present[member] * (mean[member] + jnp.sqrt(posterior) * normal[sweep, j])
        after = jnp.zeros((2, n_functions)).at[member].set(value).reshape(-1)
        change = after - before
        residual = jax.lax.cond(
            jnp.any(change != 0), lambda r: r - change @ gram[columns], lambda r: r, residual
        )  # most pairs did not act and do not act now
        of_sets = weight[:-1].reshape(2, n_sets)
        of_sets = jnp.where(turned, of_sets[::-1], of_sets)
        possible = (present @ sets.T) > 0  # sets with at least one present function
        return (
            effects.at[columns].set(after),
            residual,
            chosen.at[j].set(jnp.where(acts, which + 1, 0)),
            found.at[j].add((of_sets * possible).sum(axis=1) / n_sweeps),
            expected.at[j].add((of_sets @ sets) * mean / n_sweeps),
        )

    start = (effects, residual, jnp.zeros(p, jnp.int32), jnp.zeros((p, 2)), jnp.zeros((p, 2, n_functions)))
    done: tuple[jax.Array, ...] = jax.lax.fori_loop(0, n_sweeps * p, pair, start)
    return done
