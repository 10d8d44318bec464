"""Do MALD, DeepSHAP and DeepPINK lose their power on HIV when 0/1 columns are left as they are? Ten trials, seven drugs.

GRIP2_DATA=... python benchmarks/hiv_raw_columns.py    # about five minutes on one core
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from grip2.experiments.plan import load_plan
from grip2.experiments.run import missing_tasks
from grip2.experiments.store import Store
from grip2.experiments.summary import average_over, summary_table
from grip2.experiments.trial import run_task
from grip2.statistics import deeppink, network_attribution, network_runs

METHODS = ["grip2", "mald", "shap", "deeppink"]


def raw(X: np.ndarray, Xk: np.ndarray, dtype: type = np.float64) -> np.ndarray:
    """[X, Xk] without centring and scaling."""
    return np.hstack([X, Xk]).astype(dtype)


def main() -> None:
    home = os.environ.get("GRIP2_DATA")
    plan = load_plan("hiv").restricted(trials=10, methods=METHODS)
    standardised = network_attribution.augmented_columns
    for label, inputs in (("standardised columns", standardised), ("raw 0/1 columns", raw)):
        for module in (network_attribution, deeppink, network_runs):
            module.augmented_columns = inputs  # type: ignore[attr-defined]
        with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
            for task in missing_tasks(plan, store, data_home=None if home is None else Path(home)):
                result = run_task(task)
                store.write(result.rows, result.design)
            average = average_over(summary_table(plan, store), "drug")
        for row in average[average["target_fdr"] == 0.05].itertuples():
            print(f"{label:22s} {row.method:9s} power {row.power:.3f}, FDR {row.fdr:.3f}", flush=True)


if __name__ == "__main__":
    main()
