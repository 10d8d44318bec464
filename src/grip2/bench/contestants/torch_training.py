"""The same training steps in PyTorch: squared error, group penalty on the first layer, decay of the others, fused Adam."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from .networks import Network

EPSILON, A, LAMBDA = 1e-8, 0.5, 1e-3


def steps(*, compiled: bool, deep_l2: float = 0.0, **shape: int) -> Callable[[], dict[str, Any]]:
    """``compiled`` compiles loss and penalty with their gradients; Adam is PyTorch's fused one in both cases."""
    network = Network(**shape)
    x, y = (torch.from_numpy(part) for part in network.table())
    torch.manual_seed(0)
    torch.set_flush_denormal(True)  # otherwise weights that decay towards 0 make a step several times slower
    layers = [torch.nn.Linear(fan_in, fan_out) for fan_in, fan_out in itertools.pairwise(network.widths)]
    model = torch.nn.Sequential(
        *itertools.chain.from_iterable((layer, torch.nn.ReLU()) for layer in layers[:-1]), layers[-1]
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def objective(xb: Any, yb: Any) -> Any:
        loss = torch.mean((model(xb)[:, 0] - yb) ** 2)
        squared_norms = torch.sum(layers[0].weight ** 2, dim=0)
        penalty = LAMBDA * torch.sum((squared_norms + EPSILON) ** (0.5 * A))
        decay = sum(torch.sum(layer.weight**2) for layer in layers[1:])
        return loss + penalty + 0.5 * deep_l2 * decay

    evaluate = torch.compile(objective) if compiled else objective

    def call() -> dict[str, Any]:
        for _ in range(network.steps):
            xb, yb = x, y
            if network.batch:
                rows = torch.randint(network.rows, (network.batch,))
                xb, yb = x[rows], y[rows]
            optimiser.zero_grad(set_to_none=True)
            evaluate(xb, yb).backward()
            optimiser.step()
        return {"count": network.steps}

    return call
