"""The best of every cell, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from grip2.experiments.against_best import against_best
from grip2.experiments.method_looks import MethodLooks
from grip2.experiments.plan import Method
from grip2.experiments.sources.family import SOURCE

LOOKS = MethodLooks([Method(name, name) for name in ("grip2", "lcd", "rf")])


# Parameters that are the same in all cells; tables of a page have them too.
FIXED = {"classes": 0, "rho": 0.5, "snr": 0.5}


def trials():
    powers = {
        ("linear", "grip2"): [0.5, 0.7, 0.6], ("linear", "lcd"): [0.6, 0.7, 0.8], ("linear", "rf"): [0.1, 0.2, 0.3],
        ("abs", "grip2"): [0.9, 0.9, 0.9], ("abs", "lcd"): [0.0, 0.0, 0.0], ("abs", "rf"): [0.2, 0.3],
        ("signs", "grip2"): [0.0, 0.0, 0.0], ("signs", "lcd"): [0.5, 0.5, 0.5],
        ("products", "grip2"): [0.1, 0.1, 0.1], ("products", "lcd"): [0.0, 0.0, 0.0],
    }  # fmt: skip
    return pd.DataFrame(
        [
            {"family": family, "n": 100, "method": method, "trial": k, "power": power, "fdp": 0.0, "ensemble": 1}
            for (family, method), found in powers.items()
            for k, power in enumerate(found)
        ]
    )


def test_cells_that_count_are_paired_trial_by_trial():
    found = against_best(trials(), "grip2", ["family", "n"]).set_index("family")
    assert list(found.index) == ["linear", "abs", "signs"], "nobody finds a fifth of the products"
    linear = found.loc["linear"]
    assert linear["best"] == "lcd"
    assert linear["difference"] == pytest.approx(-0.1)
    assert linear["error"] == pytest.approx(0.1 / 3**0.5)  # of -0.1, 0, -0.2
    assert linear["short"] == 0, "0.05 and one standard error cover 0.1"
    assert found.loc["abs", "best"] == "rf"
    assert found.loc["abs", "trials"] == 2, "trials that both have"
    assert found.loc["abs", "difference"] == pytest.approx(0.65)
    assert found.loc["signs", "short"] == pytest.approx(0.45)
    assert found.loc["abs", "best_power"] == pytest.approx(0.25)


def test_a_method_with_fewer_trials_is_compared_on_those():
    powers = {"grip2": [0.5, 0.5, 0.5, 1, 1], "lcd": [0.5, 0.5, 0.5, 1, 1], "few": [0.7, 0.7, 0.7]}
    rows = [{"n": 1, "method": m, "trial": k, "power": v} for m, found in powers.items() for k, v in enumerate(found)]
    found = against_best(pd.DataFrame(rows), "grip2", ["n"]).iloc[0]
    assert (found["best"], found["trials"], found["power"]) == ("few", 3, 0.5)
    assert found["short"] == pytest.approx(0.15)


def test_without_a_common_trial_nothing_is_said():
    rows = [{"n": 1, "method": m, "trial": k, "power": 0.9} for m, k in (("grip2", 0), ("lcd", 1), ("lcd", 2))]
    assert against_best(pd.DataFrame(rows), "grip2", ["n"]).empty


def test_the_report_says_how_many_cells_fall_short():
    single = trials().assign(target_fdr=0.1, **FIXED)
    means = single.groupby(["family", "n", "method", "ensemble", "target_fdr"], sort=False, as_index=False).agg(
        power=("power", "mean"), fdr=("fdp", "mean"), fdr_se=("fdp", "sem"), power_se=("power", "sem")
    )
    means = means.assign(**FIXED)
    means["fdr"] = means["fdr"].where(means["method"] != "lcd", 0.3)
    sections = {section.name: section for section in SOURCE.sections(means, single, LOOKS)}
    assert "3 of 4" in sections["best"].caption
    assert "in 2 of them, better in 1" in sections["best"].caption
    assert sections["best"].title.startswith("GRIP2 against the best"), "the method listed first"
    assert sections["best"].table["short by"].tolist() == ["", "", "0.45"]
    assert "More than two standard errors above 0.1: LCD (linear), LCD (abs)" in sections["fdr"].caption
    alone = means.assign(fdr_se=float("nan"))
    caption = next(section.caption for section in SOURCE.sections(alone, single, LOOKS) if section.name == "fdr")
    assert "Above 0.1 with too few trials to tell: LCD (linear)" in caption
    assert "None exceeds" not in caption


def test_ensembles_are_columns_of_their_own():
    single = trials().assign(target_fdr=0.1, **FIXED)
    single.loc[single["method"] == "lcd", "ensemble"] = 3
    means = single.groupby(["family", "n", "method", "ensemble", "target_fdr"], sort=False, as_index=False).agg(
        power=("power", "mean"), fdr=("fdp", "mean"), fdr_se=("fdp", "sem"), power_se=("power", "sem")
    )
    means = means.assign(**FIXED)
    cells = next(section.table for section in SOURCE.sections(means, single, LOOKS) if section.name == "cells")
    assert "LCD, K = 3" in cells.columns
