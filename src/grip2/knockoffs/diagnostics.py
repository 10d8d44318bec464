"""Do knockoffs keep the false discovery rate, and do they leave any power? Simulation, exact tests and a verdict in words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grip2._random import generator_from, stream
from grip2.errors import Grip2Error
from grip2.knockoffs.base import Groups, as_matrix, refuse_constant, units_of_columns
from grip2.knockoffs.diagnostic_tests import DiagnosticTest, marginal_test, moment_tests, swap_tests
from grip2.knockoffs.exchangeability import (
    Contrast,
    Pairs,
    covariance_contrast,
    cross_covariance_contrast,
    kolmogorov_smirnov,
    marginal_contrast,
    mean_contrast,
    partial_covariance_contrast,
)
from grip2.knockoffs.harm import LEVELS, Harm, can_simulate, predict_harm
from grip2.knockoffs.verdict import judge, low_power_features
from grip2.progress import Progress, begin, counted_progress, split_progress
from grip2.units import Units

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WHO = "diagnose"
_MAX_ROWS = 20_000
# Every column is compared with every other one in tables of at most so many columns, and in wider ones so many columns that are
# drawn at random: matrices of all pairs of 5,000 columns take minutes, those of 20,000 more memory than there is.
_MOST_COMPARED = 2_000


@dataclass(frozen=True)
class KnockoffDiagnostics:
    """What ``diagnose`` found.

    ``verdict`` is "good", "usable" or "do not trust"; ``reasons`` explains it in sentences. ``harm`` holds the false discovery
    rates of simulated responses, None if the table is too small for them. If the knockoffs are exact, the probability that
    any test rejects is at most ``false_alarm_rate``. ``correlation`` of every column with its own knockoff is the mean over the
    copies, measured on the columns; a sampler may work on another scale, as copulas on normal scores, and report it there.
    """

    verdict: str
    reasons: tuple[str, ...]
    harm: Harm | None
    tests: tuple[DiagnosticTest, ...]
    feature_names: tuple[str, ...]
    correlation: np.ndarray
    ks: np.ndarray
    low_power: tuple[str, ...]
    n: int
    p: int
    rows_used: int
    columns_compared: int  # with each other; distributions, classifier and energy test are of all columns
    condition_number: float
    joint_condition_number: float
    detectable_error: float
    false_alarm_rate: float
    points: dict[str, np.ndarray] = field(repr=False)

    @property
    def mean_correlation(self) -> float:
        """Mean correlation of a feature with its own knockoff: near 1 means no power."""
        return float(self.correlation.mean())

    @property
    def estimated_fdr(self) -> dict[str, float] | None:
        """The false discovery rate at fdr 0.1 and 0.2 of responses simulated with noise, of the kind with the largest."""
        if self.harm is None:
            return None
        noisy = self.harm.without_strong()
        return {f"{level:g}": noisy.worst(level).fdr for level in LEVELS}

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
            "estimated_fdr": self.estimated_fdr,
            "simulated": None if self.harm is None else asdict(self.harm),
            "tests": tests,
            "mean_correlation": self.mean_correlation,
            "low_power": list(self.low_power),
            "n": self.n,
            "p": self.p,
            "rows_used": self.rows_used,
            "columns_compared": self.columns_compared,
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
        """Four panels: correlations with knockoffs, moments, simulated rates (or marginal distributions), tests."""
        from grip2.knockoffs.diagnostics_figure import draw

        return draw(self)

    def __str__(self) -> str:
        return "\n".join([f"{self.verdict}: {self.n} rows, {self.p} features", *(f"- {r}" for r in self.reasons)])


def diagnose(
    X: Any,
    Xk: Any,
    *,
    units: Groups = None,
    feature_names: Sequence[str] | None = None,
    false_alarm_rate: float = 0.01,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> KnockoffDiagnostics:
    """Say whether Xk can be trusted as knockoffs of X: (n, p) for one copy, (copies, n, p) for several drawn together.

    ``units`` holds a label for every column: columns with the same label are one unit. None: every column is a unit.

    The verdict rests on responses that are simulated on X (`grip2.knockoffs.harm`): with these knockoffs, is the false
    discovery rate kept? Tests of exchangeability, on the first copy, are reported beside it. Every test is exact for
    independent rows: if the knockoffs are exact, the probability that any test rejects is at most ``false_alarm_rate``, for
    any n, p and distribution. The level is split evenly among moments, marginal distributions, classifier and energy test.
    Knockoffs made with estimated parameters are only approximate and are rejected once n is large enough, which need not
    matter.

    At most 20,000 rows are used, drawn at random, and covariances are those of at most 2,000 columns. ``rng`` decides which
    rows and columns, and which features the classifier and energy tests swap; with None the choice is the same every time.
    ``progress`` is called with the number of steps done and of all steps.
    """
    if not 0 < false_alarm_rate < 1:
        raise Grip2Error(f"{_WHO}: false_alarm_rate must be in (0, 1), got {false_alarm_rate}.")
    matrix, copies = as_matrix(X, _WHO), _copies(Xk)
    if matrix.shape != copies.shape[1:]:
        raise Grip2Error(
            f"{_WHO}: X and Xk must have one shape, or Xk one more dimension for copies, got {matrix.shape} and "
            f"{np.shape(Xk)}."
        )
    n, p = matrix.shape
    of_columns = units_of_columns(units, p, _WHO)
    if n < 4:
        raise Grip2Error(f"{_WHO}: at least 4 rows are needed, got {n}.")
    names = _names(X, feature_names, p)
    refuse_constant(X, np.ptp(matrix, axis=0) == 0, _WHO)
    draw = stream(generator_from(0) if rng is None else rng, "diagnose")
    if n > _MAX_ROWS:
        row_indices = np.sort(draw.choice(n, _MAX_ROWS, replace=False))
        matrix, copies = matrix[row_indices], copies[:, row_indices]
    of_tests, of_harm = split_progress(progress, 2, 3)
    after_step = counted_progress(of_tests, 4)
    begin(progress, "comparing moments")
    pairs = Pairs.standardised(matrix, copies[0])
    compared = _compared(pairs, of_columns, names, draw)
    moments = compared.moments()
    after_step()
    begin(progress, "comparing distributions")
    ks = kolmogorov_smirnov(pairs)
    of_margins = marginal_test(marginal_contrast(pairs), ks, names, false_alarm_rate / 4)
    after_step()
    begin(progress, "telling knockoffs from originals")
    tests = (
        *moment_tests(moments, compared.names, false_alarm_rate / 4),
        of_margins,
        *swap_tests(pairs, of_columns, false_alarm_rate / 4, draw),
    )
    after_step()
    others = (_pair_correlation(Pairs.standardised(matrix, copy)) for copy in copies[1:])
    correlation = np.mean([_pair_correlation(pairs), *others], axis=0)
    detectable = _detectable_error(moments, false_alarm_rate / 4)
    after_step()
    harm = None
    if can_simulate(matrix, of_columns):
        begin(progress, "simulating responses")
        harm = predict_harm(matrix, [copies], units=of_columns, rng=draw, progress=of_harm)
    found = judge(pairs, tests, harm, correlation, detectable, names)
    part = f"Covariances were compared for {len(compared.names):,} of {p:,} columns, drawn at random."
    return KnockoffDiagnostics(
        verdict=found.verdict,
        reasons=(*found.reasons, part) if len(compared.names) < p else found.reasons,
        harm=harm,
        tests=tests,
        feature_names=names,
        correlation=correlation,
        ks=ks,
        low_power=low_power_features(correlation, names),
        n=n,
        p=p,
        rows_used=len(matrix),
        columns_compared=len(compared.names),
        condition_number=_condition(compared.pairs.X, p),
        joint_condition_number=_condition(np.hstack([compared.pairs.X, compared.pairs.Xk]), 2 * p),
        detectable_error=detectable,
        false_alarm_rate=false_alarm_rate,
        points=_points(compared.pairs, draw),
    )


class _Compared(NamedTuple):
    """The columns whose covariances are compared."""

    pairs: Pairs
    units: Units
    names: tuple[str, ...]

    def moments(self) -> dict[str, Contrast]:
        return {
            "mean": mean_contrast(self.pairs),
            "covariance": covariance_contrast(self.pairs),
            "cross-covariance": cross_covariance_contrast(self.pairs, self.units),
            "partial covariance": partial_covariance_contrast(self.pairs),
        }


def _compared(pairs: Pairs, units: Units, names: tuple[str, ...], rng: np.random.Generator) -> _Compared:
    """All columns, or in wide tables some that are drawn at random: whatever they hold."""
    p = len(names)
    if p <= _MOST_COMPARED:
        return _Compared(pairs, units, names)
    some = np.sort(rng.choice(p, _MOST_COMPARED, replace=False))
    of_some = Units.from_labels(units.of_column[some].tolist())
    return _Compared(Pairs(pairs.X[:, some], pairs.Xk[:, some]), of_some, tuple(names[j] for j in some))


def _detectable_error(moments: Mapping[str, Contrast], level: float) -> float:
    """Of a correlation, that a test of all moments would see."""
    standard_error = moments["covariance"].standard_error
    typical = float(np.median(standard_error[np.triu_indices(len(standard_error))]))
    count = sum(contrast.size for contrast in moments.values())
    return typical * float(np.sqrt(2 * np.log(2 * count / level)))


def _copies(Xk: Any) -> np.ndarray:
    """(copies, n, p) knockoffs, given as (n, p) or (copies, n, p)."""
    if np.ndim(Xk) != 3:
        return as_matrix(Xk, _WHO, name="Xk")[np.newaxis]
    return np.stack([as_matrix(copy, _WHO, name="Xk") for copy in Xk])


def _names(X: Any, feature_names: Sequence[str] | None, p: int) -> tuple[str, ...]:
    columns = getattr(X, "columns", None)
    if feature_names is None:
        return tuple(f"x{j}" for j in range(p)) if columns is None else tuple(str(c) for c in columns)
    if len(feature_names) != p:
        raise Grip2Error(f"{_WHO}: feature_names must hold {p} names, got {len(feature_names)}.")
    return tuple(str(name) for name in feature_names)


def _pair_correlation(pairs: Pairs) -> np.ndarray:
    X, Xk = pairs.X - pairs.X.mean(axis=0), pairs.Xk - pairs.Xk.mean(axis=0)
    size = np.sqrt((X**2).sum(axis=0) * (Xk**2).sum(axis=0))
    # A constant knockoff of a column that varies has no correlation: 0 here; the marginal distribution test rejects it.
    return np.asarray((X * Xk).sum(axis=0) / np.where(size > 0, size, np.inf))


def _condition(Z: np.ndarray, n_columns: int) -> float:
    """Condition number of the correlation matrix; infinite if singular, as with no more rows than ``n_columns``, those of all."""
    if len(Z) <= n_columns:
        return float("inf")
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
