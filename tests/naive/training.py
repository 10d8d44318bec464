"""The training run written out line by line in NumPy: forward, backward, penalty gradient, Adam. Slow and plain."""

from __future__ import annotations

import numpy as np


def relu_forward(parameters, x):
    """Outputs and the activations entering every layer."""
    activations = [x]
    for weight, bias in parameters[:-1]:
        x = np.maximum(x @ weight + bias, 0.0)
        activations.append(x)
    weight, bias = parameters[-1]
    return x @ weight + bias, activations


def loss_and_output_gradient(loss_name, outputs, y):
    n = len(y)
    if loss_name == "mean_squared_error":
        residual = outputs[:, 0] - y
        return np.mean(residual**2), (2 * residual / n)[:, None]
    if loss_name == "logistic":
        z = outputs[:, 0]
        value = np.mean(np.logaddexp(0, z) - y * z)
        return value, ((1 / (1 + np.exp(-z)) - y) / n)[:, None]
    shifted = outputs - outputs.max(axis=1, keepdims=True)
    probability = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    labels = y.astype(int)
    gradient = probability.copy()
    gradient[np.arange(n), labels] -= 1
    return -np.mean(np.log(probability[np.arange(n), labels])), gradient / n


def loss_gradient(loss_name, parameters, x, y):
    """Prediction loss and its gradient by hand-written backpropagation."""
    outputs, activations = relu_forward(parameters, x)
    value, delta = loss_and_output_gradient(loss_name, outputs, y)
    gradients = []
    for (weight, _), entering in zip(reversed(parameters), reversed(activations), strict=True):
        gradients.append([entering.T @ delta, delta.sum(axis=0)])
        delta = (delta @ weight.T) * (entering > 0)
    return value, gradients[::-1]


def penalty_gradient(weight, lambda_, a, epsilon):
    """d/dw lambda * sum (||w_j||^2 + eps)^(a/2) = lambda * a * (||w_j||^2 + eps)^(a/2 - 1) * w_j."""
    squared = (weight**2).sum(axis=1, keepdims=True)
    return lambda_ * a * (squared + epsilon) ** (a / 2 - 1) * weight


def train(x, y, *, loss_name, config, parameters, regimes, rows):
    """Algorithm 1 with Adam (Kingma & Ba, Algorithm 1); returns snapshots, losses and gradient ratios."""
    parameters = [[np.array(weight), np.array(bias)] for weight, bias in parameters]
    first = [[np.zeros_like(v) for v in layer] for layer in parameters]
    second = [[np.zeros_like(v) for v in layer] for layer in parameters]
    snapshots, losses, ratios = [], [], []
    recorded = set(regimes.snapshot_steps.tolist())
    for t in range(len(regimes.lambda_)):
        xb, yb = (x, y) if rows is None else (x[rows[t]], y[rows[t]])
        value, gradients = loss_gradient(loss_name, parameters, xb, yb)
        losses.append(value)
        of_loss = gradients[0][0].copy()
        of_penalty = penalty_gradient(parameters[0][0], regimes.lambda_[t], regimes.a[t], config.epsilon)
        gradients[0][0] = of_loss + of_penalty
        for layer in range(1, len(parameters)):
            gradients[layer][0] = gradients[layer][0] + config.deep_l2 * parameters[layer][0]
        if config.clip_norm is not None:
            norm = np.sqrt(sum((g**2).sum() for layer in gradients for g in layer))
            if norm > config.clip_norm:
                gradients = [[g * config.clip_norm / norm for g in layer] for layer in gradients]
        for layer in range(len(parameters)):
            for part in range(2):
                g = gradients[layer][part]
                first[layer][part] = 0.9 * first[layer][part] + 0.1 * g
                second[layer][part] = 0.999 * second[layer][part] + 0.001 * g**2
                m = first[layer][part] / (1 - 0.9 ** (t + 1))
                v = second[layer][part] / (1 - 0.999 ** (t + 1))
                parameters[layer][part] = parameters[layer][part] - config.learning_rate * m / (np.sqrt(v) + 1e-8)
        if t in recorded:
            snapshots.append(np.sqrt((parameters[0][0] ** 2).sum(axis=1)))
            ratios.append(np.linalg.norm(of_penalty) / (np.linalg.norm(of_loss) + 1e-12))
    return np.array(snapshots), np.array(losses), np.array(ratios), parameters
