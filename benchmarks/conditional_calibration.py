"""e-BH with conditional calibration beside e-BH and one draw of the filter: power, false discoveries, statistics computed, time.

    python benchmarks/conditional_calibration.py --check     # the shortcut below against draws with all rows; 20 seconds
    python benchmarks/conditional_calibration.py             # seed 1; one core, about 11 minutes; goes on where it stopped

The settings and data sets are those of ``derandomisation.py``; ``no effects`` is ``few`` with noise alone as y. Exact Gaussian
knockoffs (true covariance, s by MVR); W_j compares lasso coefficients at one fixed penalty. Rows are kept in ``--runs``; the
means go to ``results/derandomisation/conditional_calibration.csv``, and the table of its README is printed.

**The method** (Lee & Ren 2024). Let e be knockoff e-values, R the selection of e-BH at level alpha, and R_j = R with j added.
S_j = (X_-j, y): under the null of j, X_j given S_j has its known normal distribution given X_-j. Let C_j be any statistic of the
data and their knockoffs, where small values speak against the null. Data 0 are the observed ones; in data b = 1 .. B, X_j is
drawn anew given S_j, and then all knockoffs. Each gives e_j^b, R_j^b and C_j^b. The boosted e-value of j is

    p / (alpha |R_j^0|) if phi_j(C_j^0) <= 0, else 0,   phi_j(c) = sum_b [p / (alpha |R_j^b|) 1{C_j^b <= c} - e_j^b],

with the sum from 0 to B, and e-BH is applied to the boosted e-values. Two choices of C_j:

- ``published``: C_j = p / (alpha |R_j| e_j), the factor that e_j lacks for being selected.
- ``by W``: C_j = -W_j (mean over draws), but -inf where j is in R. This is the idea of Luo, Fithian and Lei (2022), who calibrate
  fixed-X knockoffs with a test statistic of their own; features with e_j = 0 can be selected too.

**Why it is valid, for every B.** Under the null of j, the data 0 .. B are independent and equally distributed given S_j. So given
the set of them, each is equally likely to be the observed one. phi_j depends on the set alone, and never falls as c grows. Let
C* be the largest C_j^b with phi_j(C_j^b) <= 0. The mean of the boosted e-value over the B + 1 choices of the observed one is

    sum_b p / (alpha |R_j^b|) 1{C_j^b <= C*} / (B + 1) = phi_j(C*) / (B + 1) + mean_b e_j^b <= mean_b e_j^b.

So E e_j does not grow for any null j, the null e-values still sum to at most p in expectation, and e-BH keeps its level: exactly,
not up to Monte Carlo error. The authors' code estimates phi_j from resampled data alone, with confidence bounds. As a broken
twin, ``observed left out`` (by W) takes 50 resamples alone and no bounds.

**What is not lost.** For j in R, both choices of C_j count only b where j is in R^b, so that every counted term
p / (alpha |R_j^b|) - e_j^b is at most 0. Hence phi_j <= 0 without any resampling, and j is boosted to p / (alpha |R|). That may
be less than e_j (to keep e_j instead is not proven), but e-BH asks for no more. All other boosted features have
p / (alpha (|R| + 1)), so that e-BH selects R and everything boosted.

**What is saved.** Only the ten features with the largest W_j outside R are tried, and one is given up where the resampled terms
of phi_j sum to more than 0 after an eighth, a quarter or half of the resamples. Both can only lower boosted e-values.

**Shortcut.** The statistic depends on the rows only through inner products of columns. These stay as they are if the n rows are
rotated so that [X, y] lies in the first p + 1 of them. Normal noise stays normal, and the noise of the knockoffs in the other
n - p - 1 rows can be replaced by its triangular factor (Bartlett 1933): p + 1 + m p rows stand for n. A statistic that needs the
rows themselves, such as a network, has no such shortcut: it takes the number of statistics computed times its own time.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numba import njit
from scipy.linalg import null_space, toeplitz

import resumable
from derandomisation import RESULTS, SETTINGS
from grip2.derandomize import e_benjamini_hochberg, mean_e_values
from grip2.filter import contrast, knockoff_threshold, select
from grip2.knockoffs import GaussianKnockoffs
from grip2.knockoffs.conditional import ConditionalGaussian

FDR = 0.1
# Of the lasso, in units of the norm of y, about the size of x'y for a standardised x without effect. Chosen for the power of one
# draw on data sets 101 to 112 of few, six and weak.
PENALTY = 1.5
CANDIDATES = 10  # so many features with the largest W outside the selection of e-BH are tried
LOOKS = (1 / 8, 1 / 4, 1 / 2)  # shares of the resamples after which a feature can be given up
FEW_RESAMPLES = 50  # of the broken twin
ALL_SETTINGS = {**SETTINGS, "no effects": replace(SETTINGS["few"], n_true=0)}
# (setting, copies, draws, data sets, resamples). To boost one feature beside an empty selection the resampled e-values must sum
# to p / FDR, and each is 1 on average: that takes somewhat more than p / FDR resamples.
PLAN = (
    ("few", 1, 1, 40, 600),
    ("few", 3, 1, 40, 600),
    ("few", 5, 1, 40, 600),
    ("few", 1, 3, 20, 600),
    ("few", 3, 3, 20, 600),
    ("few", 5, 3, 20, 600),
    ("six", 1, 1, 10, 2000),
    ("six", 3, 1, 10, 2000),
    ("weak", 1, 1, 6, 800),
    ("no effects", 1, 1, 600, 600),
    ("no effects", 3, 1, 600, 600),
)
COLUMNS = ("setting", "copies", "draws", "data_set", "resamples")
RULES = ("one draw", "e-BH", "published", "by W", "observed left out")


@njit(cache=True)
def lasso(gram: np.ndarray, products: np.ndarray, penalty: float, tolerance: float) -> np.ndarray:
    """The minimum of ``b'Gb / 2 - b'c + penalty |b|_1`` by coordinate descent: all columns, then the nonzero ones, in turn."""
    p = len(products)
    b, left = np.zeros(p), products.copy()
    every = True
    for _ in range(10_000):
        largest = 0.0
        for j in range(p):
            if not every and b[j] == 0.0:
                continue
            z = left[j] + gram[j, j] * b[j]
            new = np.sign(z) * max(abs(z) - penalty, 0.0) / gram[j, j]
            step = new - b[j]
            if step != 0.0:
                left -= step * gram[j]
                b[j] = new
                largest = max(largest, abs(step) * np.sqrt(gram[j, j]))
        if largest <= tolerance:
            if every:
                break
            every = True
        else:
            every = False
    return b


@dataclass(frozen=True)
class Model:
    """What does not change between resamples: n normal rows with known covariance, and the distribution of their knockoffs."""

    n: int
    copies: int
    law: ConditionalGaussian
    precision: np.ndarray  # inverse of the covariance
    # (copies, copies - 1), orthonormal columns that sum to 0: a factor of the covariance of e_k - e_mean.
    between: np.ndarray

    @property
    def p(self) -> int:
        return len(self.precision)

    def knockoff_statistic(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """W of one draw of the knockoffs; Z is [X, y] in p + 1 rotated rows."""
        p, m = self.p, self.copies
        size = m * p
        noise = np.zeros((p + 1 + size, size))
        noise[: p + 1] = rng.standard_normal((p + 1, size))
        # Bartlett: T T' of the lower triangular T has the distribution of the noise's inner products; the rows are T'.
        T = np.tril(rng.standard_normal((size, size)), -1)
        T[np.diag_indices(size)] = np.sqrt(rng.chisquare(self.n - p - 1 - np.arange(size)))
        noise[p + 1 :] = T.T
        noise = noise.reshape(-1, m, p)
        # Equation of ConditionalGaussian: copy_k = X - X A + U C' + (e_k - e_mean) L'.
        common = noise[:, 0] @ self.law.C.T
        X = np.zeros((p + 1 + size, p))
        X[: p + 1] = Z[:, :p]
        common += X - X @ self.law.A
        members = [X, *(common + np.tensordot(noise[:, 1:], b, (1, 0)) * self.law.L for b in self.between)]
        D = np.hstack(members)
        norm = np.linalg.norm(Z[:, p])
        b = lasso(D.T @ D, D[: p + 1].T @ Z[:, p], PENALTY * norm, 1e-7 * norm)
        return contrast(np.abs(b).reshape(m + 1, p))


class ColumnAnew:
    """[X, y] in p + 1 rotated rows where X_j is drawn given the others: ``X_j = X_-j b + sigma noise``."""

    def __init__(self, model: Model, gram: np.ndarray, j: int, rng: np.random.Generator) -> None:
        self.model, self.j, self.rng = model, j, rng
        self.others = np.delete(np.arange(model.p + 1), j)
        self.Z = np.zeros((model.p + 1, model.p + 1))
        self.Z[:-1, self.others] = np.linalg.cholesky(gram[np.ix_(self.others, self.others)]).T
        self.sigma = 1 / np.sqrt(model.precision[j, j])
        self.mean = self.Z[:, self.others[:-1]] @ (-model.precision[j, self.others[:-1]] / model.precision[j, j])

    def draw(self) -> np.ndarray:
        p = self.model.p
        noise = np.append(self.rng.standard_normal(p), np.sqrt(self.rng.chisquare(self.model.n - p)))
        self.Z[:, self.j] = self.mean + self.sigma * noise
        return self.Z


@dataclass(frozen=True)
class Evidence:
    """One data set with its draws: mean e-values, the selection of e-BH, and mean W."""

    e: np.ndarray
    selected: np.ndarray
    W: np.ndarray

    @classmethod
    def of(cls, draws: list[np.ndarray], copies: int) -> Evidence:
        # With one draw at the final level, e-BH selects what the filter does; several draws are combined as the library does.
        e = mean_e_values(draws, FDR, copies, level=FDR if len(draws) == 1 else None)
        return cls(e, e_benjamini_hochberg(e, FDR), np.mean(draws, axis=0))

    def about(self, j: int) -> tuple[float, float, float, float]:
        """For feature j: p / (alpha |R_j|), e_j, and C_j as published and by W."""
        full = len(self.e) / (FDR * (self.selected.sum() + (not self.selected[j])))
        lacking = full / self.e[j] if self.e[j] > 0 else np.inf
        return full, self.e[j], lacking, -np.inf if self.selected[j] else -self.W[j]


def phi(terms: np.ndarray, order: int, observed: np.ndarray) -> float:
    """phi_j at the observed C_j, over the rows of ``terms``; ``order`` is the column of C_j."""
    # Exact ties are common, and rounding must not decide.
    limit = observed[order] + (1e-9 * abs(observed[order]) if np.isfinite(observed[order]) else 0.0)
    counted = (terms[:, order] <= limit) & (terms[:, order] < np.inf)
    return float(np.sum(terms[counted, 0]) - np.sum(terms[:, 1]))


ORDERS = {"published": 2, "by W": 3}  # columns of what ``Evidence.about`` returns


def calibrated(
    model: Model, gram: np.ndarray, found: Evidence, draws: int, resamples: int, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Boosted e-values by every rule, and how many resamples the two orders needed."""
    p = model.p
    at_least = np.where(found.selected, p / (FDR * max(1, found.selected.sum())), 0.0)
    boosted = {rule: at_least.copy() for rule in (*ORDERS, "observed left out")}
    used = dict.fromkeys(ORDERS, 0)
    outside = np.flatnonzero(~found.selected & (found.W > 0))
    for j in outside[np.argsort(-found.W[outside])][:CANDIDATES]:
        observed = np.array(found.about(j))
        open_rules = [rule for rule, order in ORDERS.items() if observed[order] < np.inf]
        column, terms = ColumnAnew(model, gram, j, rng), np.empty((0, 4))
        for share in (*LOOKS, 1.0):
            more = []
            for _ in range(round(share * resamples) - len(terms)):
                Z = column.draw()
                again = Evidence.of([model.knockoff_statistic(Z, rng) for _ in range(draws)], model.copies)
                more.append(again.about(j))
            terms = np.vstack((terms, more))
            for rule in open_rules:
                used[rule] += len(more)
            if share == LOOKS[0] and phi(terms[:FEW_RESAMPLES], ORDERS["by W"], observed) <= 1e-9:
                boosted["observed left out"][j] = observed[0]
            open_rules = [rule for rule in open_rules if share == 1.0 or phi(terms, ORDERS[rule], observed) <= 1e-9]
            if not open_rules:
                break
        for rule in open_rules:
            if phi(np.vstack((observed, terms)), ORDERS[rule], observed) <= 1e-9:
                boosted[rule][j] = observed[0]
    return boosted, used


@cache
def model_of(name: str, copies: int) -> tuple[Model, np.ndarray]:
    """The model of a setting, and its covariance."""
    setting = ALL_SETTINGS[name]
    Sigma = toeplitz(setting.rho ** np.arange(setting.p))
    sampler = GaussianKnockoffs(np.zeros(setting.p), Sigma).fit(np.zeros((2, setting.p)))
    law = ConditionalGaussian(sampler.mean_, sampler.covariance_, sampler.s_for(copies), copies=copies, who="benchmark")
    between = null_space(np.ones((1, copies))) if copies > 1 else np.zeros((1, 0))
    return Model(setting.n, copies, law, np.linalg.inv(Sigma), between), Sigma


def data_set(name: str, Sigma: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y and the mask of the true features: those of ``derandomisation.py`` for the same seed."""
    setting = ALL_SETTINGS[name]
    rng = np.random.default_rng([seed, list(ALL_SETTINGS).index(name)])
    X = rng.standard_normal((setting.n, setting.p)) @ np.linalg.cholesky(Sigma).T
    effects = np.zeros(setting.p)
    true = rng.choice(setting.p, setting.n_true, replace=False)
    effects[true] = setting.effect * rng.choice([-1, 1], setting.n_true)
    return X, X @ effects + rng.standard_normal(setting.n), effects != 0


def one(name: str, copies: int, draws: int, seed: int, resamples: int) -> dict[str, float]:
    """All rules on one data set."""
    model, Sigma = model_of(name, copies)
    X, y, true = data_set(name, Sigma, seed)
    rng = np.random.default_rng([seed, list(ALL_SETTINGS).index(name), copies, draws])
    gram = np.column_stack((X, y)).T @ np.column_stack((X, y))
    Z = np.linalg.cholesky(gram).T
    model.knockoff_statistic(Z, np.random.default_rng(0))  # compiled before the clock starts
    start = time.process_time()
    drawn = [model.knockoff_statistic(Z, rng) for _ in range(draws)]
    found = Evidence.of(drawn, copies)
    before = time.process_time()
    boosted, used = calibrated(model, gram, found, draws, resamples, rng)
    after = time.process_time()
    selections = {
        "one draw": select(drawn[0], knockoff_threshold(drawn[0], FDR, copies=copies)),
        "e-BH": found.selected,
        **{rule: e_benjamini_hochberg(e, FDR) for rule, e in boosted.items()},
    }
    e_values = {"e-BH": found.e, **boosted}
    computed = {"one draw": 1, "e-BH": draws, **{rule: draws * (1 + count) for rule, count in used.items()}}
    row: dict[str, float] = {"seconds e-BH": before - start, "seconds calibration": after - before}
    for rule, mask in selections.items():
        row[f"power {rule}"] = float(mask[true].mean()) if true.any() else np.nan
        row[f"fdp {rule}"] = float(mask[~true].sum() / max(1, mask.sum()))
        row[f"statistics {rule}"] = computed.get(rule, np.nan)
        row[f"null sum {rule}"] = float(e_values[rule][~true].sum() / len(true)) if rule in e_values else np.nan
    return row


def check(repeats: int = 6000) -> None:
    """z-values of the differences between rotated rows and all rows in means of W; X_j and the knockoffs are drawn anew."""
    for copies in (1, 3):
        model, Sigma = model_of("few", copies)
        X, y, true = data_set("few", Sigma, 1)
        j = int(np.flatnonzero(true)[0])
        others = np.delete(np.arange(model.p), j)
        rng = np.random.default_rng(copies)
        column = ColumnAnew(model, np.column_stack((X, y)).T @ np.column_stack((X, y)), j, rng)
        norm = np.linalg.norm(y)
        values: list[tuple[np.ndarray, np.ndarray]] = []
        for _ in range(repeats):
            short = model.knockoff_statistic(column.draw(), rng)
            b = np.linalg.solve(Sigma[np.ix_(others, others)], Sigma[others, j])
            sigma = np.sqrt(Sigma[j, j] - Sigma[j, others] @ b)
            again = X.copy()
            again[:, j] = X[:, others] @ b + sigma * rng.standard_normal(model.n)
            D = np.hstack((again, *model.law.draw(again, rng)))
            scores = np.abs(lasso(D.T @ D, D.T @ y, PENALTY * norm, 1e-7 * norm))
            values.append((short, contrast(scores.reshape(copies + 1, -1))))
        pairs = np.array(values)
        for label, function in (("W^2", np.square), ("positive part", lambda W: np.maximum(W, 0))):
            short, full = function(pairs[:, 0]), function(pairs[:, 1])
            error = np.sqrt((short.var(0) + full.var(0)) / repeats)
            z = (short.mean(0) - full.mean(0))[error > 0] / error[error > 0]
            print(f"{copies} copies, {label}: {len(z)} z-values, SD {z.std():.2f}, largest {abs(z).max():.2f}")


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """One row for every rule of every cell of the plan; the time of calibration is that of both orders together."""
    rows = []
    for key, cell in runs.groupby(["setting", "copies", "draws", "resamples"], sort=False):
        for rule in RULES:
            fdp, seconds = cell[f"fdp {rule}"], cell["seconds e-BH"].mean()
            seconds = {"one draw": seconds / key[2], "e-BH": seconds}.get(
                rule, seconds + cell["seconds calibration"].mean()
            )
            rows.append(
                {
                    **dict(zip(("setting", "copies", "draws", "resamples"), key, strict=True)),
                    "data_sets": len(cell),
                    "rule": rule,
                    "power": cell[f"power {rule}"].mean(),
                    "power_se": cell[f"power {rule}"].sem(),
                    "fdp": fdp.mean(),
                    "fdp_se": fdp.sem(),
                    "null_sum": cell[f"null sum {rule}"].mean(),
                    "null_sum_se": cell[f"null sum {rule}"].sem(),
                    "statistics": cell[f"statistics {rule}"].mean(),
                    "seconds": seconds if rule != "observed left out" else np.nan,
                }
            )
    return pd.DataFrame(rows).round(4)


def table(means: pd.DataFrame) -> str:
    """Power / FDP by rule, then what calibration computes and takes."""
    shown = [rule for rule in RULES if rule != "observed left out"]
    lines = [
        "| setting | copies | draws | data sets | " + " | ".join(shown) + " | statistics | seconds |",
        "|---" * (6 + len(shown)) + "|",
    ]
    for key, cell in means.groupby(["setting", "copies", "draws"], sort=False):
        by = cell.set_index("rule")
        cells = [f"{by.power[rule]:.2f} / {by.fdp[rule]:.2f}".removeprefix("nan / ") for rule in shown]
        last = by.loc["by W"]
        lines.append(
            "| " + " | ".join(map(str, key)) + f" | {last.data_sets} | " + " | ".join(cells)
            + f" | {last.statistics:,.0f} | {by.seconds['e-BH']:.3f} + {last.seconds - by.seconds['e-BH']:.1f} |"
        )  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=Path, default=Path("conditional-calibration.csv"))
    parser.add_argument("--data-sets", type=int, help="at most so many in each cell of the plan")
    parser.add_argument("--check", action="store_true", help="compare rotated rows with all rows")
    given = parser.parse_args()
    if given.check:
        check()
        return
    keys = [
        (name, copies, draws, seed, resamples)
        for name, copies, draws, data_sets, resamples in PLAN
        for seed in range(given.seed, given.seed + min(data_sets, given.data_sets or data_sets))
    ]
    means = summary(resumable.run(given.runs, COLUMNS, keys, one, jobs=1))
    means.to_csv(RESULTS / "conditional_calibration.csv", index=False)
    print(table(means))


if __name__ == "__main__":
    main()
