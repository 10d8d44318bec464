"""Exact tests of exchangeability, with the size of the largest error that each has found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.knockoffs.exchangeability import (
    N_SWAP_SETS,
    Contrast,
    Pairs,
    classifier_test,
    energy_test,
    swap_sets,
)
from grip2.units import Units

# An error that a test has detected is called large from this size: a mean, correlation or probability that is off by 0.1,
# or a classifier that distinguishes rows from swapped rows with an accuracy of 60 %.
_LARGE = {
    "mean": 0.1,
    "covariance": 0.1,
    "cross-covariance": 0.1,
    "partial covariance": 0.1,
    "marginal distribution": 0.1,
    "classifier": 0.6,
}


@dataclass(frozen=True)
class DiagnosticTest:
    """One test of exchangeability.

    ``p_value`` is exact or an upper bound; the test rejects when it is at most ``level``. ``effect`` is the size of the
    error in the units of ``effect_is``, ``effect_error`` its standard error (None if it has none), ``where`` the features
    concerned. A test looks at many possible errors and reports the largest significant one; if none is significant, the
    one with the smallest p-value.
    """

    name: str
    p_value: float
    level: float
    effect: float
    effect_error: float | None
    effect_is: str
    where: str = ""

    @property
    def rejected(self) -> bool:
        return self.p_value <= self.level

    @property
    def large(self) -> bool:
        return self.rejected and abs(self.effect) >= _LARGE.get(self.name, np.inf)

    def __str__(self) -> str:
        error = "" if self.effect_error is None else f" (standard error {self.effect_error:.2g})"
        size = "a large error" if self.large else "an error"
        place = f" at {self.where}" if self.where else ""
        return (
            f"The {self.name} test finds {size}{place}: {self.effect:.3g} {self.effect_is}{error}, "
            f"p-value {self.p_value:.1e}."
        )


def moment_tests(moments: dict[str, Contrast], names: tuple[str, ...], level: float) -> list[DiagnosticTest]:
    units = {"mean": "standard deviations", "partial covariance": "partial correlation"}
    tests = []
    for name, contrast in moments.items():
        error, standard_error, where = contrast.worst(level / len(moments))
        place = " and ".join(dict.fromkeys(names[j] for j in where))
        unit = units.get(name, "correlation")
        tests.append(
            DiagnosticTest(name, contrast.p_value(), level / len(moments), abs(error), standard_error, unit, place)
        )
    return tests


def marginal_test(contrast: Contrast, ks: np.ndarray, names: tuple[str, ...], level: float) -> DiagnosticTest:
    _, standard_error, (j, _) = contrast.worst(level)
    unit = "Kolmogorov-Smirnov distance"
    distance = float(ks[j])
    return DiagnosticTest("marginal distribution", contrast.p_value(), level, distance, standard_error, unit, names[j])


def swap_tests(pairs: Pairs, units: Units, level: float, rng: np.random.Generator) -> list[DiagnosticTest]:
    """Classifier and energy test, each on several sets of swapped units with a Bonferroni correction."""
    sets = swap_sets(units, N_SWAP_SETS, rng)
    found = []
    for name, test, unit in (
        ("classifier", classifier_test, "held-out accuracy"),
        ("energy", energy_test, "share of the mean distance"),
    ):
        results = [test(pairs, columns, rng) for columns in sets]
        best = int(np.argmin([p_value for _, p_value in results]))
        effect, p_value = results[best]
        where = "all pairs swapped" if best == 0 else f"{int(sets[best].sum())} random pairs swapped"
        found.append(DiagnosticTest(name, min(1.0, p_value * len(sets)), level, effect, None, unit, where))
    return found
