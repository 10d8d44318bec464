"""Several draws combined by e-values beside one draw: power, false discoveries, and agreement between seeds.

    python benchmarks/derandomisation.py --data-sets 20 --seed 1 --draws-folder derandomisation-draws    # one core

For every setting and number of copies, 20 data sets; on each, three seeds of ten draws: exact Gaussian knockoffs (the true
covariance, s by MVR), scored by lasso coefficients at the cross-validated penalty (lcd). The W are kept in the folder, so
that a run that was interrupted goes on where it stopped, and so that rules can be compared on the same draws. Writes
``results/derandomisation/inner_levels.csv``, ``rules.csv`` and ``README.md``'s tables to the screen.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import toeplitz
from threadpoolctl import threadpool_limits

from grip2.filter import contrast
from grip2.knockoffs.s_matrix import mvr
from grip2.standardise import standardise
from grip2.statistics.lasso_cv import draw_folds, lasso_cv
from grip2.symmetry import draw_order, unshuffled

SEEDS, DRAWS = 3, 10


@dataclass(frozen=True)
class Setting:
    """A linear model in AR(1) features; effects have random signs, noise has variance 1."""

    n: int
    p: int
    n_true: int
    effect: float
    rho: float
    copies: tuple[int, ...] = (1, 3, 5)


# The rule was chosen on the first two families.
SETTINGS = {
    "linear": Setting(2000, 200, 20, 0.15, 0.5, (1, 3)),
    "few": Setting(500, 30, 4, 0.25, 0.3),
    "weak": Setting(2000, 200, 20, 0.10, 0.5, (1, 3)),
    "six": Setting(1000, 100, 6, 0.20, 0.5),
    "many": Setting(1000, 100, 40, 0.20, 0.5),
}


def knockoff_copies(
    X: np.ndarray, Sigma: np.ndarray, s: np.ndarray, copies: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Gaussian copies, jointly exchangeable with X: mean X - X Sigma^-1 S, covariance 2S - A each and S - A between two.

    With A = S Sigma^-1 S. The deviations from their mean are independent noise with covariance S, centred; their mean has
    covariance (S + copies (S - A)) / copies.
    """
    projection = np.linalg.solve(Sigma, np.diag(s))
    own = rng.standard_normal((copies, *X.shape)) * np.sqrt(s)
    values, vectors = np.linalg.eigh((copies + 1) * np.diag(s) - copies * s[:, None] * projection)
    root = vectors * np.sqrt(np.maximum(values, 0) / copies)
    shared = X - X @ projection + rng.standard_normal(X.shape) @ root.T - own.mean(axis=0)
    return [shared + noise for noise in own]


def lcd_W(
    X: np.ndarray, y: np.ndarray, Sigma: np.ndarray, s: np.ndarray, copies: int, rng: np.random.Generator
) -> np.ndarray:
    members = np.stack([X, *knockoff_copies(X, Sigma, s, copies, rng)])
    order = draw_order(X.shape[1], 1 + copies, rng)
    shuffled = np.concatenate(np.take_along_axis(members, order[:, None, :], axis=0), axis=1)
    fit = lasso_cv(standardise(shuffled), y, folds=draw_folds(len(X), 5, rng), n_lambdas=50, ratio=1e-2)
    return contrast(unshuffled(np.abs(fit.coefficients).reshape(1 + copies, -1), order))


def draws_of(setting: Setting, copies: int, seed: int, folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """W of (seeds, draws, p) and the mask of the true features, of one data set; from the folder if it is there."""
    path = folder / f"{name}-{copies}-{seed}.npz"
    if not path.exists():
        rng = np.random.default_rng([seed, list(SETTINGS).index(name)])
        Sigma = toeplitz(setting.rho ** np.arange(setting.p))
        X = rng.standard_normal((setting.n, setting.p)) @ np.linalg.cholesky(Sigma).T
        effects = np.zeros(setting.p)
        true = rng.choice(setting.p, setting.n_true, replace=False)
        effects[true] = setting.effect * rng.choice([-1, 1], setting.n_true)
        y = X @ effects + rng.standard_normal(setting.n)
        rng = np.random.default_rng([seed, list(SETTINGS).index(name), copies])
        s = mvr((copies + 1) / (2 * copies) * Sigma)
        W = [[lcd_W(X, y, Sigma, s, copies, rng) for _ in range(DRAWS)] for _ in range(SEEDS)]
        np.savez(path, W=np.array(W), true=effects != 0)
    with np.load(path) as saved:
        return saved["W"], saved["true"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws-folder", type=Path, default=Path("derandomisation-draws"))
    options = parser.parse_args()
    options.draws_folder.mkdir(exist_ok=True)
    with threadpool_limits(1):
        for seed in range(options.seed, options.seed + options.data_sets):
            for name, setting in SETTINGS.items():
                for copies in setting.copies:
                    draws_of(setting, copies, seed, options.draws_folder, name)


if __name__ == "__main__":
    main()
