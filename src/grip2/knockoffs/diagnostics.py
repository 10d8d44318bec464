"""Are the knockoffs exchangeable with X, and do they leave any power? Exact tests, effect sizes and a verdict in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grip2._random import generator_from, stream
from grip2.errors import Grip2Error
from grip2.knockoffs.base import as_matrix, refuse_constant
from grip2.knockoffs.exchangeability import (
    Contrast,
    Pairs,
    classifier_test,
    covariance_contrast,
    cross_covariance_contrast,
    energy_test,
    kolmogorov_smirnov,
    marginal_contrast,
    mean_contrast,
    partial_covariance_contrast,
    swap_sets,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WHO = "diagnose"
_MAX_ROWS = 20_000
_N_SWAP_SETS = 4

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
_LOW_POWER_CORRELATION = 0.95
_SAME = 1 - 1e-6
# If errors up to this size (in correlation units) can go undetected, a passed test means little.
_TOO_FEW_ROWS = 0.5


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


@dataclass(frozen=True)
class KnockoffDiagnostics:
    """What ``diagnose`` found.

    ``verdict`` is "good", "usable" or "do not trust"; ``reasons`` explains it in sentences. If the knockoffs are exact, the
    probability that any test rejects is at most ``false_alarm_rate``.
    """

    verdict: str
    reasons: tuple[str, ...]
    tests: tuple[DiagnosticTest, ...]
    feature_names: tuple[str, ...]
    correlation: np.ndarray
    ks: np.ndarray
    low_power: tuple[str, ...]
    n: int
    p: int
    rows_used: int
    condition_number: float
    joint_condition_number: float
    detectable_error: float
    false_alarm_rate: float
    points: dict[str, np.ndarray] = field(repr=False)

    @property
    def mean_correlation(self) -> float:
        """Mean correlation of a feature with its own knockoff: near 1 means no power."""
        return float(self.correlation.mean())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists; infinities become None."""
        tests = [asdict(test) | {"rejected": test.rejected, "large": test.large} for test in self.tests]
        features = [
            {"name": name, "correlation": float(r), "ks": float(d)}
            for name, r, d in zip(self.feature_names, self.correlation, self.ks, strict=True)
        ]
        return {
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "tests": tests,
            "mean_correlation": self.mean_correlation,
            "low_power": list(self.low_power),
            "n": self.n,
            "p": self.p,
            "rows_used": self.rows_used,
            "condition_number": _finite(self.condition_number),
            "joint_condition_number": _finite(self.joint_condition_number),
            "detectable_error": self.detectable_error,
            "false_alarm_rate": self.false_alarm_rate,
            "features": features,
        }

    def to_json(self, indent: int | None = 2) -> str:
        """``to_dict`` as strict JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def figure(self) -> Figure:
        """Four panels: correlations with knockoffs, moments, marginal distributions, tests."""
        from grip2.knockoffs.diagnostics_figure import draw

        return draw(self)

    def __str__(self) -> str:
        return "\n".join([f"{self.verdict}: {self.n} rows, {self.p} features", *(f"- {r}" for r in self.reasons)])


def diagnose(
    X: Any,
    Xk: Any,
    *,
    feature_names: Sequence[str] | None = None,
    false_alarm_rate: float = 0.01,
    rng: np.random.Generator | None = None,
) -> KnockoffDiagnostics:
    """Test whether Xk can be a knockoff copy of X, and say what follows.

    Every test is exact for independent rows: if the knockoffs are exact, the probability that any test rejects is at most
    ``false_alarm_rate``, for any n, p and distribution. The level is split evenly among moments, marginal distributions,
    classifier and energy test. Knockoffs made with estimated parameters are only approximate and are rejected once n is
    large enough; the verdict then depends on the size of the error.

    At most 20,000 rows are used, drawn at random. ``rng`` decides which rows, and which features the classifier and energy
    tests swap; with None the choice is the same every time.
    """
    if not 0 < false_alarm_rate < 1:
        raise Grip2Error(f"{_WHO}: false_alarm_rate must be in (0, 1), got {false_alarm_rate}.")
    matrix, knockoff = as_matrix(X, _WHO), as_matrix(Xk, _WHO, name="Xk")
    if matrix.shape != knockoff.shape:
        raise Grip2Error(f"{_WHO}: X and Xk must have one shape, got {matrix.shape} and {knockoff.shape}.")
    n, p = matrix.shape
    if n < 4:
        raise Grip2Error(f"{_WHO}: at least 4 rows are needed, got {n}.")
    names = _names(X, feature_names, p)
    refuse_constant(X, np.ptp(matrix, axis=0) == 0, _WHO)
    draw = stream(generator_from(0) if rng is None else rng, "diagnose")
    if n > _MAX_ROWS:
        row_indices = np.sort(draw.choice(n, _MAX_ROWS, replace=False))
        matrix, knockoff = matrix[row_indices], knockoff[row_indices]
    pairs = Pairs.standardised(matrix, knockoff)
    moments = {
        "mean": mean_contrast(pairs),
        "covariance": covariance_contrast(pairs),
        "cross-covariance": cross_covariance_contrast(pairs),
        "partial covariance": partial_covariance_contrast(pairs),
    }
    ks = kolmogorov_smirnov(pairs)
    tests = (
        *_moment_tests(moments, names, false_alarm_rate / 4),
        _marginal_test(marginal_contrast(pairs), ks, names, false_alarm_rate / 4),
        *_swap_tests(pairs, false_alarm_rate / 4, draw),
    )
    correlation = _pair_correlation(pairs)
    count = sum(contrast.size for contrast in moments.values())
    typical = float(np.median(moments["covariance"].standard_error[np.triu_indices(p)]))
    detectable = typical * float(np.sqrt(2 * np.log(2 * count / (false_alarm_rate / 4))))
    verdict, reasons, low_power = _judge(pairs, tests, correlation, detectable, names)
    return KnockoffDiagnostics(
        verdict=verdict,
        reasons=reasons,
        tests=tests,
        feature_names=names,
        correlation=correlation,
        ks=ks,
        low_power=low_power,
        n=n,
        p=p,
        rows_used=len(matrix),
        condition_number=_condition(pairs.X),
        joint_condition_number=_condition(np.hstack([pairs.X, pairs.Xk])),
        detectable_error=detectable,
        false_alarm_rate=false_alarm_rate,
        points=_points(pairs, draw),
    )


def _names(X: Any, feature_names: Sequence[str] | None, p: int) -> tuple[str, ...]:
    columns = getattr(X, "columns", None)
    if feature_names is None:
        return tuple(f"x{j}" for j in range(p)) if columns is None else tuple(str(c) for c in columns)
    if len(feature_names) != p:
        raise Grip2Error(f"{_WHO}: feature_names must hold {p} names, got {len(feature_names)}.")
    return tuple(str(name) for name in feature_names)


def _moment_tests(moments: dict[str, Contrast], names: tuple[str, ...], level: float) -> list[DiagnosticTest]:
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


def _marginal_test(contrast: Contrast, ks: np.ndarray, names: tuple[str, ...], level: float) -> DiagnosticTest:
    _, standard_error, (j, _) = contrast.worst(level)
    unit = "Kolmogorov-Smirnov distance"
    distance = float(ks[j])
    return DiagnosticTest("marginal distribution", contrast.p_value(), level, distance, standard_error, unit, names[j])


def _swap_tests(pairs: Pairs, level: float, rng: np.random.Generator) -> list[DiagnosticTest]:
    """Classifier and energy test, each on several sets of swapped features with a Bonferroni correction."""
    sets = swap_sets(pairs.X.shape[1], _N_SWAP_SETS, rng)
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


def _pair_correlation(pairs: Pairs) -> np.ndarray:
    X, Xk = pairs.X - pairs.X.mean(axis=0), pairs.Xk - pairs.Xk.mean(axis=0)
    size = np.sqrt((X**2).sum(axis=0) * (Xk**2).sum(axis=0))
    # A constant knockoff of a column that varies has no correlation: 0 here; the marginal distribution test rejects it.
    return np.asarray((X * Xk).sum(axis=0) / np.where(size > 0, size, np.inf))


def _judge(
    pairs: Pairs,
    tests: Sequence[DiagnosticTest],
    correlation: np.ndarray,
    detectable: float,
    names: tuple[str, ...],
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Verdict, reasons and the features with little power.

    "do not trust": a large significant error, or knockoffs that are copies or functions of X. "usable": a small significant
    error, features with little power, or too few rows.
    """
    bad: list[str] = []
    limits: list[str] = []
    n, p = pairs.X.shape
    if np.all(correlation >= _SAME):
        bad.append("The knockoffs equal X: nothing can ever be selected.")
    elif n > 2 * p and _unexplained(pairs) < 1e-8:
        bad.append(
            "The knockoffs are a linear function of X, without any noise of their own. Were data and knockoffs drawn "
            "from the same seed?"
        )
    for test in tests:
        if test.rejected:
            (bad if test.large else limits).append(_sentence(test))
    low = tuple(names[j] for j in np.flatnonzero(correlation >= _LOW_POWER_CORRELATION))
    if low and not np.all(correlation >= _SAME):
        shown = ", ".join(low[:5]) + (f" and {len(low) - 5} more" if len(low) > 5 else "")
        limits.append(
            f"{len(low)} of {p} features have a correlation of {_LOW_POWER_CORRELATION} or more with their knockoff "
            f"(s near 0), so little power: {shown}. Group features, or use s='mvr'."
        )
    if detectable > _TOO_FEW_ROWS:
        limits.append(
            f"With {n} rows only errors above {detectable:.2g} (correlation units) can be detected: the tests say little."
        )
    if bad:
        return "do not trust", tuple(bad + limits), low
    if limits:
        return "usable", tuple(limits), low
    good = f"No test finds a difference; covariance errors above {detectable:.2g} would have been detected."
    return "good", (good,), low


def _sentence(test: DiagnosticTest) -> str:
    error = "" if test.effect_error is None else f" (standard error {test.effect_error:.2g})"
    size = "a large error" if test.large else "an error"
    place = f" at {test.where}" if test.where else ""
    return (
        f"The {test.name} test finds {size}{place}: {test.effect:.3g} {test.effect_is}{error}, "
        f"p-value {test.p_value:.1e}."
    )


def _unexplained(pairs: Pairs) -> float:
    """Mean over knockoffs of the share of variance that a linear regression on X leaves unexplained."""
    X, Xk = pairs.X - pairs.X.mean(axis=0), pairs.Xk - pairs.Xk.mean(axis=0)
    return float(np.mean((Xk - X @ np.linalg.lstsq(X, Xk, rcond=None)[0]) ** 2))


def _condition(Z: np.ndarray) -> float:
    """Condition number of the correlation matrix; infinite if it is singular."""
    centred = Z - Z.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    centred /= np.where(size > 0, size, 1.0)
    eigenvalues = np.linalg.eigvalsh(centred.T @ centred)
    smallest = eigenvalues[0]
    return float(eigenvalues[-1] / smallest) if smallest > 1e-13 * len(eigenvalues) else float("inf")


def _points(pairs: Pairs, rng: np.random.Generator, limit: int = 4000) -> dict[str, np.ndarray]:
    """Off-diagonal entries of the three covariance matrices, at most ``limit`` of each, for the figure."""
    n, p = pairs.X.shape
    j, k = np.nonzero(~np.eye(p, dtype=bool))
    if len(j) > limit:
        some = rng.choice(len(j), limit, replace=False)
        j, k = j[some], k[some]
    original = pairs.X.T @ pairs.X / n
    knockoff = pairs.Xk.T @ pairs.Xk / n
    cross = pairs.X.T @ pairs.Xk / n
    return {"original": original[j, k], "knockoff": knockoff[j, k], "cross": cross[j, k]}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
