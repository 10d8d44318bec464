"""Gibbs sweeps over pairs of columns of which one member may act, each through a set of orthonormal shapes.

The inner loop of `grip2.statistics.effects`: tens of thousands of small draws, each of which changes what the next sees.
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
    residual: np.ndarray  # (columns + 1,) correlations of every column with what is left
    chosen: np.ndarray  # (p,) 0 for pairs that do not act, else 1 + number of the set
    probability: np.ndarray  # (p, 2) mean probability that the member acts
    mean_effect: np.ndarray  # (p, 2, shapes)


class EffectSweeps:
    """State of the sampler: effects of all columns, and their correlations with what these leave.

    ``gram`` and ``correlation`` are moments per row; their last row and column, all zero, stand for shapes that there are not.
    ``place`` (2, p, shapes) numbers the columns of a pair, ``sets`` (sets, shapes) says which shapes may act together.
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
        """One sweep for each row of ``order`` (sweeps, p), with random numbers (sweeps, p) and (sweeps, p, shapes).

        ``precision`` is rows over noise variance; ``variances`` are those of effects along each shape, ``log_shares`` the prior
        of not acting and of acting through each set.
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

    Shapes of one column are orthonormal, so given its set of shapes its effects are independent normals, and evidence for a
    set is the sum of that for its shapes. A shape that there is not has no effect, whether it is in the set or not.
    """
    n_sweeps, p = order.shape
    nothing = len(residual) - 1
    n_sets, n_shapes = sets.shape
    posterior = 1.0 / (precision + 1.0 / variances)  # variance of an effect
    at_zero = 0.5 * jnp.log(posterior / variances)

    def pair(i: jax.Array, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        effects, residual, chosen, found, expected = state
        sweep = i // p
        j = order[sweep, i % p]
        columns = place[j].reshape(-1)
        there = (place[j] != nothing).astype(jnp.float32)  # (2, shapes)
        before = effects[columns]
        # Correlations with what is left if the pair does not act.
        own = residual[columns] + gram[columns[:, None], columns] @ before
        mean = posterior * precision * own.reshape(2, n_shapes) * there
        evidence = (at_zero + 0.5 * mean**2 / posterior) * there
        log_weight = log_shares[1:] - jnp.log(2.0) + evidence @ sets.T  # (2, sets)
        # The likelier member comes first, so that one uniform draw leads to the same member whichever is called the original.
        turned = log_weight[1].max() > log_weight[0].max()
        ordered = jnp.where(turned, log_weight[::-1], log_weight)
        weight = jax.nn.softmax(jnp.concatenate([ordered.reshape(-1), log_shares[:1]]))
        drawn = jnp.minimum((jnp.cumsum(weight) <= uniform[sweep, j]).sum(), 2 * n_sets)
        acts = drawn < 2 * n_sets
        which = drawn % n_sets
        member = jnp.where(turned, 1 - drawn // n_sets, drawn // n_sets) % 2
        value = acts * sets[which] * there[member] * (mean[member] + jnp.sqrt(posterior) * normal[sweep, j])
        after = jnp.zeros((2, n_shapes)).at[member].set(value).reshape(-1)
        change = after - before
        residual = jax.lax.cond(
            jnp.any(change != 0), lambda r: r - change @ gram[columns], lambda r: r, residual
        )  # most pairs neither did nor do act
        of_sets = weight[:-1].reshape(2, n_sets)
        of_sets = jnp.where(turned, of_sets[::-1], of_sets)
        real = (there @ sets.T) > 0  # sets with a shape that there is
        return (
            effects.at[columns].set(after),
            residual,
            chosen.at[j].set(jnp.where(acts, which + 1, 0)),
            found.at[j].add((of_sets * real).sum(axis=1) / n_sweeps),
            expected.at[j].add((of_sets @ sets) * mean / n_sweeps),
        )

    start = (effects, residual, jnp.zeros(p, jnp.int32), jnp.zeros((p, 2)), jnp.zeros((p, 2, n_shapes)))
    return jax.lax.fori_loop(0, n_sweeps * p, pair, start)
