"""Trainers that each contain the one bug they are named after; the comparison with the engine must notice every one."""

from __future__ import annotations

import numpy as np

from tests.naive.training import Trainer, columns_of_groups, penalty_gradient


class PenaltyOfDetachedWeights(Trainer):
    """The penalty is part of the objective, but its gradient does not reach the weights."""

    def first_layer_penalty(self, lambda_, a):
        return np.zeros_like(self.parameters[0][0])


class PenaltyOfStartingWeights(Trainer):
    """The penalty's gradient is taken at the weights that the run began with."""

    def first_layer_penalty(self, lambda_, a):
        if not hasattr(self, "beginning"):
            self.beginning = self.parameters[0][0].copy()
        return penalty_gradient(self.beginning, lambda_, a, self.config.epsilon)


class PenaltyOnSingleWeights(Trainer):
    """(|w|^2 + eps)^(a/2) of every weight, not of every group."""

    def first_layer_penalty(self, lambda_, a):
        weight = self.parameters[0][0]
        return lambda_ * a * (weight**2 + self.config.epsilon) ** (a / 2 - 1) * weight


class PenaltyOnOutgoingGroups(Trainer):
    """Groups of hidden units in place of groups of input columns: the transposed weight matrix."""

    def first_layer_penalty(self, lambda_, a):
        return penalty_gradient(self.parameters[0][0].T, lambda_, a, self.config.epsilon).T


class PenaltyOnDeepLayersToo(Trainer):
    """The group penalty acts on every layer."""

    def with_decay(self, gradients):
        gradients = super().with_decay(gradients)
        lambda_, a = self.regime(len(self.losses) - 1)
        for layer in range(1, len(self.parameters)):
            own = penalty_gradient(self.parameters[layer][0], lambda_, a, self.config.epsilon)
            gradients[layer][0] = gradients[layer][0] + own
        return gradients


class DecayOnFirstLayerToo(Trainer):
    """gamma acts on all weights, those of the first layer included."""

    def with_decay(self, gradients):
        gradients = super().with_decay(gradients)
        gradients[0][0] = gradients[0][0] + self.config.deep_l2 * self.parameters[0][0]
        return gradients


class DecayOnBiasesToo(Trainer):
    """gamma acts on the biases of the deeper layers as well."""

    def with_decay(self, gradients):
        gradients = super().with_decay(gradients)
        for layer in range(1, len(self.parameters)):
            gradients[layer][1] = gradients[layer][1] + self.config.deep_l2 * self.parameters[layer][1]
        return gradients


class NoDecay(Trainer):
    """gamma is forgotten."""

    def with_decay(self, gradients):
        return gradients


class SnapshotBeforeTheUpdate(Trainer):
    """Group norms are read before the last step of a block, not after it."""

    def step(self, t):
        if t in self.recorded:
            self.record()
        self.update(t)


class RegimeNotRedrawnAtBlockEnds(Trainer):
    """The first block's (lambda, a) rules the whole run."""

    def regime(self, t):
        return super().regime(min(t, self.config.schedule.warmup))


class RegimeOneStepLate(Trainer):
    """(lambda, a) changes after the first step of a block."""

    def regime(self, t):
        return super().regime(max(0, t - 1))


class PenaltyDuringWarmup(Trainer):
    """Unpenalised steps before the first block already have its penalty."""

    def regime(self, t):
        return super().regime(max(t, self.config.schedule.warmup))


class AdamResetAtBlockEnds(Trainer):
    """The moments of Adam are forgotten whenever the regime changes; its count of steps goes on."""

    def step(self, t):
        super().step(t)
        if t in self.recorded:
            self.reset_adam()


class NoBiasCorrection(Trainer):
    """Adam's moments are used as they are, though they start at zero."""

    def bias_correction(self, t):
        return 1.0, 1.0


class EveryStepTheSameMinibatch(Trainer):
    """The minibatch of the first step is used throughout."""

    def batch(self, t):
        return super().batch(0)


class ClippingLayerByLayer(Trainer):
    """Every array is clipped by its own norm."""

    def clipped(self, gradients):
        most = self.config.clip_norm
        return [[g * min(1.0, most / max(np.linalg.norm(g), 1e-300)) for g in layer] for layer in gradients]


class ClippingWithoutThePenalty(Trainer):
    """The gradient of the loss is clipped, then the penalty's is added."""

    def clipped(self, gradients):
        gradients[0][0] = gradients[0][0] - self.of_penalty
        gradients = super().clipped(gradients)
        gradients[0][0] = gradients[0][0] + self.of_penalty
        return gradients


class NoFactorForGroupSize(Trainer):
    """(||W_g||^2 + eps)^(a/2) whatever the number of columns."""

    def first_layer_penalty(self, lambda_, a):
        gradient, weight = np.zeros_like(self.parameters[0][0]), self.parameters[0][0]
        for columns in columns_of_groups(len(weight), self.groups):
            squared = (weight[columns] ** 2).sum()
            gradient[columns] = lambda_ * a * (squared + self.config.epsilon) ** (a / 2 - 1) * weight[columns]
        return gradient


class PenaltyOfColumnsWithoutGroups(Trainer):
    """Norms of groups are recorded, but every column is penalised by itself."""

    def first_layer_penalty(self, lambda_, a):
        return penalty_gradient(self.parameters[0][0], lambda_, a, self.config.epsilon)


class NormsThatGrowWithTheGroup(Trainer):
    """Norms of groups are recorded, whatever the number of their columns."""

    def activities(self):
        weight = self.parameters[0][0]
        return np.array([np.sqrt((weight[c] ** 2).sum()) for c in columns_of_groups(len(weight), self.groups)])


NEED_GROUPS = (NoFactorForGroupSize, PenaltyOfColumnsWithoutGroups, NormsThatGrowWithTheGroup)
NEED_CLIPPING = (ClippingLayerByLayer, ClippingWithoutThePenalty)
BROKEN = Trainer.__subclasses__()
