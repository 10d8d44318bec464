"""The training run written out line by line in NumPy: forward, backward, penalty gradient, Adam. Slow and plain.

Each line of `Trainer` in which a bug could hide is a method of its own, so that a broken twin can contain that very bug.
"""

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


def loss_and_output_gradient(kind, outputs, y):
    n = len(y)
    if kind == "Measurement":
        residual = outputs[:, 0] - y
        return np.mean(residual**2), (2 * residual / n)[:, None]
    if kind == "TwoClasses":
        z = outputs[:, 0]
        value = np.mean(np.logaddexp(0, z) - y * z)
        return value, ((1 / (1 + np.exp(-z)) - y) / n)[:, None]
    assert kind == "SeveralClasses"
    shifted = outputs - outputs.max(axis=1, keepdims=True)
    probability = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    labels = y.astype(int)
    gradient = probability.copy()
    gradient[np.arange(n), labels] -= 1
    return -np.mean(np.log(probability[np.arange(n), labels])), gradient / n


def loss_gradient(kind, parameters, x, y):
    """Prediction loss and its gradient by hand-written backpropagation."""
    outputs, activations = relu_forward(parameters, x)
    value, delta = loss_and_output_gradient(kind, outputs, y)
    gradients = []
    for (weight, _), entering in zip(reversed(parameters), reversed(activations), strict=True):
        gradients.append([entering.T @ delta, delta.sum(axis=0)])
        delta = (delta @ weight.T) * (entering > 0)
    return value, gradients[::-1]


def columns_of_groups(n_inputs, groups):
    """The columns of every group, from the number of the group of every column; None: every column its own group."""
    numbers = list(range(n_inputs)) if groups is None else list(groups)
    return [[j for j in range(n_inputs) if numbers[j] == g] for g in range(max(numbers) + 1)]


def penalty_gradient(weight, lambda_, a, epsilon, groups=None):
    """d/dw lambda * sum_g sqrt(d_g) (||W_g||^2 + eps)^(a/2) = lambda * sqrt(d_g) * a * (||W_g||^2 + eps)^(a/2 - 1) * w_j."""
    gradient = np.zeros_like(weight)
    for columns in columns_of_groups(len(weight), groups):
        strength = lambda_ * np.sqrt(len(columns))
        gradient[columns] = strength * a * ((weight[columns] ** 2).sum() + epsilon) ** (a / 2 - 1) * weight[columns]
    return gradient


class Trainer:
    """Algorithm 1 with Adam (Kingma & Ba, Algorithm 1). After `run`: snapshots, losses, ratios and parameters."""

    def __init__(self, x, y, *, kind, config, parameters, regimes, row_numbers, groups=None):
        self.x, self.y, self.kind, self.config = x, y, kind, config
        self.regimes, self.row_numbers, self.groups = regimes, row_numbers, groups
        self.parameters = [[np.array(weight), np.array(bias)] for weight, bias in parameters]
        self.reset_adam()
        self.snapshots, self.losses, self.ratios = [], [], []
        self.recorded = set(regimes.snapshot_steps.tolist())

    def run(self):
        for t in range(len(self.regimes.lambda_)):
            self.step(t)
        self.snapshots, self.losses, self.ratios = map(np.array, (self.snapshots, self.losses, self.ratios))
        return self

    def step(self, t):
        self.update(t)
        if t in self.recorded:
            self.record()

    def record(self):
        self.snapshots.append(self.activities())
        self.ratios.append(np.linalg.norm(self.of_penalty) / (np.linalg.norm(self.of_loss) + 1e-12))

    def activities(self):
        """The norm of the weights of every group, over the root of its number of columns."""
        weight = self.parameters[0][0]
        groups = columns_of_groups(len(weight), self.groups)
        return np.array([np.sqrt((weight[columns] ** 2).sum() / len(columns)) for columns in groups])

    def update(self, t):
        value, gradients = loss_gradient(self.kind, self.parameters, *self.batch(t))
        self.losses.append(value)
        self.of_loss = gradients[0][0].copy()
        self.of_penalty = self.first_layer_penalty(*self.regime(t))
        gradients[0][0] = self.of_loss + self.of_penalty
        self.adam(self.clipped(self.with_decay(gradients)), t)

    def batch(self, t):
        return (
            (self.x, self.y) if self.row_numbers is None else (self.x[self.row_numbers[t]], self.y[self.row_numbers[t]])
        )

    def regime(self, t):
        return self.regimes.lambda_[t], self.regimes.a[t]

    def first_layer_penalty(self, lambda_, a):
        return penalty_gradient(self.parameters[0][0], lambda_, a, self.config.epsilon, self.groups)

    def with_decay(self, gradients):
        """gamma / 2 ||W||^2 on the weights of every layer but the first."""
        for layer in range(1, len(self.parameters)):
            gradients[layer][0] = gradients[layer][0] + self.config.deep_l2 * self.parameters[layer][0]
        return gradients

    def clipped(self, gradients):
        """One norm over all layers."""
        if self.config.clip_norm is None:
            return gradients
        norm = np.sqrt(sum((g**2).sum() for layer in gradients for g in layer))
        if norm <= self.config.clip_norm:
            return gradients
        return [[g * self.config.clip_norm / norm for g in layer] for layer in gradients]

    def reset_adam(self):
        self.first = [[np.zeros_like(v) for v in layer] for layer in self.parameters]
        self.second = [[np.zeros_like(v) for v in layer] for layer in self.parameters]

    def bias_correction(self, t):
        return 1 - 0.9 ** (t + 1), 1 - 0.999 ** (t + 1)

    def adam(self, gradients, t):
        of_first, of_second = self.bias_correction(t)
        for layer in range(len(self.parameters)):
            for part in range(2):
                g = gradients[layer][part]
                self.first[layer][part] = 0.9 * self.first[layer][part] + 0.1 * g
                self.second[layer][part] = 0.999 * self.second[layer][part] + 0.001 * g**2
                m, v = self.first[layer][part] / of_first, self.second[layer][part] / of_second
                self.parameters[layer][part] = self.parameters[layer][part] - self.config.learning_rate * m / (
                    np.sqrt(v) + 1e-8
                )
