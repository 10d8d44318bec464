"""Cross-validated lasso: our time over that of scikit-learn's LassoCV; same rows, folds and grid, one run.

python benchmarks/bench_lasso.py                      # n = 20,000, p = 500 (1,000 columns with knockoffs)
python benchmarks/bench_lasso.py --n 2000 --p 100
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.linear_model import LassoCV

from grip2.datasets.synthetic import make_ar1
from grip2.knockoffs import GaussianKnockoffs
from grip2.responses import Measurement
from grip2.statistics.lasso_cv import draw_folds, lasso_cv
from grip2.symmetry import Members
from grip2.units import Units


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--p", type=int, default=500)
    parser.add_argument("--rho", type=float, default=0.8)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    table = make_ar1(arguments.n, arguments.p, arguments.rho, random_state=arguments.seed)
    sampler = GaussianKnockoffs(np.zeros(arguments.p), table.covariance, s="equi").fit(table.X)
    Xk = sampler.sample(table.X, rng=np.random.default_rng(arguments.seed))
    Z = Members((table.X, Xk), Units.single(arguments.p)).standardised()
    y = Measurement.encode(table.y, "bench_lasso").y
    folds = draw_folds(len(y), arguments.folds, np.random.default_rng(arguments.seed))
    splits = [(np.setdiff1d(np.arange(len(y)), rows), rows) for rows in folds]
    print(f"n = {arguments.n}, {Z.shape[1]} columns, {arguments.folds} folds, 100 penalties")

    seconds = {}
    began = time.perf_counter()
    theirs = LassoCV(cv=splits).fit(Z, y)
    seconds["scikit-learn LassoCV"] = time.perf_counter() - began
    for name, whole_path in (("ours", False), ("ours, whole path", True)):
        began = time.perf_counter()
        fit = lasso_cv(Z, y, folds=folds, whole_path=whole_path)
        seconds[name] = time.perf_counter() - began
        same = np.isclose(fit.lambda_, theirs.alpha_, rtol=1e-9)
        gap = np.max(np.abs(fit.coefficients - theirs.coef_)) / np.max(np.abs(theirs.coef_))
        print(
            f"{name}: lambda {fit.lambda_:.6g} ({'the same' if same else f'theirs {theirs.alpha_:.6g}'}), "
            f"largest difference of coefficients {gap:.1e} of the largest coefficient, "
            f"{len(fit.lambdas)} penalties visited"
        )
    base = seconds["scikit-learn LassoCV"]
    for name, value in seconds.items():
        print(f"{name:24s} {value:8.2f} s   ratio {value / base:.2f}")


if __name__ == "__main__":
    main()
