"""Do MALD, DeepSHAP and DeepPINK lose their power on HIV when 0/1 columns are left as they are? Ten trials, seven drugs.

GRIP2_DATA=... python benchmarks/hiv_raw_columns.py    # about five minutes on one core
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np

from grip2.experiments.plan import load_plan
from grip2.experiments.run import missing_tasks
from grip2.experiments.store import Store
from grip2.experiments.summary import average_over, summary_table
from grip2.experiments.trial import run_task
from grip2.standardise import standardise

METHODS = ["grip2", "mald", "shap", "deeppink"]


def raw(values: np.ndarray) -> np.ndarray:
    """Without centring and scaling."""
    return values


def main() -> None:
    home = os.environ.get("GRIP2_DATA")
    plan = load_plan("hiv").restricted(trials=10, methods=METHODS)
    for label, inputs in (("standardised columns", standardise), ("raw 0/1 columns", raw)):
        with (
            patch("grip2.symmetry.standardise", inputs),
            tempfile.TemporaryDirectory() as folder,
            Store(Path(folder)) as store,
        ):
            for task in missing_tasks(plan, store, data_home=None if home is None else Path(home)):
                result = run_task(task)
                store.write(result.rows, result.design)
            average = average_over(summary_table(plan, store), "drug")
        for row in average[average["target_fdr"] == 0.05].itertuples():
            print(f"{label:22s} {row.method:9s} power {row.power:.3f}, FDR {row.fdr:.3f}", flush=True)


if __name__ == "__main__":
    main()
