"""The settings of the paper's three experiments (appendix "Training Configuration"), and our choices where it is silent.

``"synthetic"``: "depth 3 and hidden width 512, trained for 5,000 optimization steps", log10 lambda uniform on [-4, -1],
a_min = 0.1, "block size M = 25". ``"semireal"``: "We increase the training budget to 10,000 steps. The regularization strength
range is shifted to [1, 100] [...] The deeper-layer l2 coefficient is set to 1e-7. Block size is set to M = 25. Other settings
are kept the same." ``"hiv"``: "a lightweight MLP (depth 1, hidden width 1) with batch size equal to the number of samples [...]
deeper-layer l2 coefficient is set to 1e-2 [...] lambda in [1e-3, 4e-2]. Block size is set to M = 50". All: Adam with
"learning rate 1e-3".

Ours, where the paper is silent: batch size 256 and no clipping for the first two ("global gradient clipping (maximum norm 1.0)
in the more challenging regimes" does not say which), gamma = 0 for the synthetic one, 5,000 steps for HIV (the table of
baselines says so for every network), epsilon = 1e-8, no warm-up, columns of [X, Xk] and y standardised in all three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grip2.errors import Grip2Error, did_you_mean

PAPER_SETTINGS: dict[str, dict[str, Any]] = {
    "synthetic": {
        "omega": (1e-4, 1e-1), "a_min": 0.1, "block_size": 25, "steps": 5000, "hidden": 512, "depth": 3,
        "batch_size": 256, "learning_rate": 1e-3, "deep_l2": 0.0, "epsilon": 1e-8,
    },
    "semireal": {
        "omega": (1.0, 100.0), "a_min": 0.1, "block_size": 25, "steps": 10_000, "hidden": 512, "depth": 3,
        "batch_size": 256, "learning_rate": 1e-3, "deep_l2": 1e-7, "epsilon": 1e-8,
    },
    "hiv": {
        "omega": (1e-3, 4e-2), "a_min": 0.1, "block_size": 50, "steps": 5000, "hidden": 1, "depth": 1,
        "batch_size": None, "learning_rate": 1e-3, "deep_l2": 1e-2, "epsilon": 1e-8,
    },
}  # fmt: skip

# What the networks of all methods share in the paper's table of baselines.
SHARED_BUDGET = ("steps", "hidden", "depth", "batch_size", "learning_rate")
ALL = tuple(PAPER_SETTINGS["synthetic"])


def paper_settings(setting: str, names: Sequence[str], *, who: str) -> dict[str, Any]:
    """The named settings of one of the paper's experiments: "synthetic", "semireal" or "hiv"."""
    if setting not in PAPER_SETTINGS:
        raise Grip2Error(
            f"{who}.paper: setting must be one of {sorted(PAPER_SETTINGS)}, got {setting!r}."
            f"{did_you_mean(setting, PAPER_SETTINGS)}"
        )
    return {name: PAPER_SETTINGS[setting][name] for name in names}
