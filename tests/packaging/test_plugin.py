"""Another package adds a statistic and a sampler by entry points; grip2 uses both by name."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd


def test_help_lists_the_newcomers_and_where_they_come_from(installed):
    listed = [line.split(maxsplit=1) for line in installed.run("grip2", "select", "--help").stdout.splitlines()]
    assert ["correlation", "from the package grip2-example-plugin"] in listed
    assert ["permuted", "from the package grip2-example-plugin"] in listed
    assert [name for name, *_ in filter(None, listed)].index("grip2") < [
        name for name, *_ in filter(None, listed)
    ].index("correlation")


def test_select_uses_a_statistic_and_a_sampler_of_another_package(installed):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20))
    y = X[:, :10].sum(axis=1) + rng.standard_normal(500)
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(installed.work / "table.csv", index=False)
    words = ["--statistic", "correlation", "--knockoffs", "permuted", "--set", "power=2", "--set", "knockoffs.passes=3"]
    installed.run("grip2", "select", "table.csv", "--target", "y", "--fdr", "0.2", "--out", "own", *words)
    found = json.loads((installed.work / "own" / "selection.json").read_text())
    assert {f"x{j}" for j in range(10)} <= set(found["selected"])
    assert found["settings"]["statistic"] == {"name": "Correlation", "power": 2}
    assert found["settings"]["knockoffs"] == {"name": "PermutedKnockoffs", "passes": 3}
    assert "The columns are independent." in " ".join(found["assumptions"])
