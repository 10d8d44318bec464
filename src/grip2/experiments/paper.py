"""The paper's own numbers: its HIV tables (section 4.3, appendix A.2), the only ones it prints."""

from __future__ import annotations

from importlib import resources

import pandas as pd

# The paper's names of methods -> ours.
NAMES = {"GRIP2": "grip2", "LAPA": "lapa", "SHAP": "shap", "MALD": "mald", "DeepPINK": "deeppink"}
HIV_TARGET = 0.05


def hiv_tables() -> pd.DataFrame:
    """Columns drug ("average" is the mean over drugs), method, power, power_se, fdr, fdr_se, stability; 50 trials, q = 0.05."""
    with (resources.files("grip2.experiments") / "paper_hiv.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file)
    table["method"] = table["method"].map(NAMES)
    return table
