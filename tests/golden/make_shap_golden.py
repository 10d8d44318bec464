"""Make ``shap_values.npz``: SHAP values of small ReLU networks by shap's DeepExplainer.

Runs in an environment of its own, since neither package is a dependency of this library:

    python -m venv /path/to/env
    /path/to/env/bin/pip install torch==2.13.0 shap==0.51.0
    /path/to/env/bin/python tests/golden/make_shap_golden.py
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import shap
import torch

# name: (inputs, hidden, depth, outputs)
NETWORKS = {"shallow": (6, 5, 1, 1), "deep": (10, 16, 3, 1), "classes": (8, 12, 2, 3)}
ROWS, BACKGROUND = 7, 15


def build(sizes: list[int], rng: np.random.Generator) -> tuple[torch.nn.Sequential, list[np.ndarray]]:
    """A torch network with weights drawn by NumPy; the same as (inputs, outputs) matrices and biases."""
    modules: list[torch.nn.Module] = []
    arrays: list[np.ndarray] = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        weight = rng.standard_normal((fan_in, fan_out)) * np.sqrt(2.0 / fan_in)
        bias = 0.3 * rng.standard_normal(fan_out)
        linear = torch.nn.Linear(fan_in, fan_out, dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.as_tensor(weight.T))
            linear.bias.copy_(torch.as_tensor(bias))
        modules += [linear, torch.nn.ReLU()]
        arrays += [weight, bias]
    return torch.nn.Sequential(*modules[:-1]), arrays


def main() -> None:
    content: dict[str, np.ndarray] = {"versions": np.array([shap.__version__, torch.__version__])}
    for number, (name, (inputs, hidden, depth, outputs)) in enumerate(NETWORKS.items()):
        rng = np.random.default_rng([20, number])
        network, arrays = build([inputs, *([hidden] * depth), outputs], rng)
        x, background = rng.standard_normal((ROWS, inputs)), rng.standard_normal((BACKGROUND, inputs))
        explainer = shap.DeepExplainer(network, torch.as_tensor(background))
        values = np.asarray(explainer.shap_values(torch.as_tensor(x)))  # (rows, inputs, outputs)
        for k, array in enumerate(arrays):
            content[f"{name}_{k}"] = array
        content[f"{name}_x"], content[f"{name}_background"] = x, background
        content[f"{name}_shap"] = np.moveaxis(values.reshape(ROWS, inputs, outputs), -1, 0)
    np.savez_compressed(Path(__file__).with_name("shap_values.npz"), **content)


if __name__ == "__main__":
    main()
