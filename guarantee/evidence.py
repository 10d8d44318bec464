"""Evidence against the two claims of knockoffs, as e-processes: it may be looked at, stopped and resumed at any time.

An e-process is nonnegative and has an expectation of at most 1 at any stopping time while the claim is true. By Ville's
inequality (1939) it ever reaches 1 / a with probability at most a.

**False discovery proportions.** The claim: given all earlier trials, ``E FDP_t <= q``. For a bet ``lambda`` in [0, 1/q],

    wealth_T = prod_{t <= T} (1 + lambda (FDP_t - q))

has factors that are nonnegative, since ``FDP_t - q >= -q``, and have an expectation of at most 1: a nonnegative supermartingale
(Waudby-Smith & Ramdas, 2024, JRSS B 86, "Estimating means of bounded random variables by betting"). A mean over bets, and over
levels q, is one again.

**Signs.** The claim: given the sizes of all W, each of the k = 1 + m members of a null unit wins with probability 1/k,
independently. With n_i wins of member i among N and a symmetric Dirichlet(a) prior on the chances of winning, the ratio of the
marginal likelihood of the winners to their probability under the claim,

    k^N  Gamma(k a) / Gamma(N + k a)  prod_i Gamma(n_i + a) / Gamma(a),

is a martingale with expectation 1 (the mixture of Robbins, 1970). Again a mean over several a.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, logsumexp

# An e-process of false discoveries fails from here on: with probability at most 1e-4 if the claim is true.
FAILS_AT = 1e4

# Levels at which every trial is judged.
LEVELS = (0.1, 0.2)

# Bets, as shares of the largest possible one, 1 / q: small ones for small violations that need many trials.
SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])

# Concentrations of the prior: 1 for members that win far too often, 10,000 for a share of 0.505 instead of 0.5.
CONCENTRATIONS = np.array([1.0, 10.0, 100.0, 1_000.0, 10_000.0])


def log_wealth(proportions: np.ndarray, levels: tuple[float, ...] = LEVELS) -> np.ndarray:
    """(levels, bets) log of the wealth after trials with ``proportions`` (trials, levels); sums over parts of the trials."""
    proportions = np.asarray(proportions, dtype=float).reshape(-1, len(levels))
    q = np.array(levels)
    stakes = SHARES / q[:, None]  # (levels, bets)
    return np.asarray(np.log1p(stakes * (proportions - q)[:, :, None]).sum(axis=0))


def log_mean_exp(values: np.ndarray) -> float:
    """Log of the mean of e-values that are given as logs: an e-value again."""
    return float(logsumexp(values) - np.log(np.size(values)))


def e_of_wealth(wealth: np.ndarray) -> float:
    """Log e-value of logs of wealth (levels, bets)."""
    return log_mean_exp(wealth)


def e_of_wins(*counts: np.ndarray) -> float:
    """Log e-value of wins (members,), or the mean over several countings of the same trials."""
    return log_mean_exp(np.concatenate([_of_counting(np.asarray(wins, dtype=float)) for wins in counts]))


def _of_counting(wins: np.ndarray) -> np.ndarray:
    """(concentrations,) log of the martingale for each prior."""
    k, total, a = len(wins), wins.sum(), CONCENTRATIONS
    fair = total * np.log(k)
    prior = gammaln(k * a) - gammaln(total + k * a)
    return np.asarray(fair + prior + (gammaln(wins + a[:, None]) - gammaln(a)[:, None]).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Tally:
    """What the trials of one cell have shown so far; tallies of parts of the trials add up."""

    trials: int = 0
    refused: int = 0  # trials that ended in an error that tells the user what to do: nothing was selected
    seconds: float = 0.0
    wins: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (members,) of null units
    top_wins: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of the quarter of null units with the largest W
    fdp: np.ndarray = field(default_factory=lambda: np.zeros(len(LEVELS)))  # sums over trials
    fdp_squared: np.ndarray = field(default_factory=lambda: np.zeros(len(LEVELS)))
    power: float = 0.0  # sum over trials
    wealth: np.ndarray = field(default_factory=lambda: np.zeros((len(LEVELS), len(SHARES))))  # log
    worst: float = 0.0  # largest log e-value of the wealth seen at the end of a part

    def __add__(self, other: Tally) -> Tally:
        wealth = self.wealth + other.wealth
        return Tally(
            self.trials + other.trials,
            self.refused + other.refused,
            self.seconds + other.seconds,
            _sum(self.wins, other.wins),
            _sum(self.top_wins, other.top_wins),
            self.fdp + other.fdp,
            self.fdp_squared + other.fdp_squared,
            self.power + other.power,
            wealth,
            max(self.worst, e_of_wealth(wealth)),
        )

    @property
    def signs(self) -> int:
        return int(self.wins.sum())

    @property
    def log_e_signs(self) -> float:
        return e_of_wins(self.wins, self.top_wins) if self.signs else 0.0

    @property
    def mean_fdp(self) -> np.ndarray:
        return self.fdp / max(1, self.trials)

    @property
    def error_of_fdp(self) -> np.ndarray:
        """Standard errors of the means."""
        variance = self.fdp_squared / max(1, self.trials) - self.mean_fdp**2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) / max(1, self.trials - 1)))

    @property
    def mean_power(self) -> float:
        return self.power / max(1, self.trials)


def _sum(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The sum of counts, of which one may have none."""
    return other if not len(one) else one if not len(other) else one + other
