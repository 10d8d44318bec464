"""How do I add a kind of response? Shares between 0 and 1, such as percentages, and a selection with them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from grip2 import EffectPosterior, Grip2Error, KnockoffSelector
from grip2.responses import register
from grip2.responses.base import LikelihoodResponse


@register  # from here on task="shares" is known
@dataclass(frozen=True, eq=False)
class Shares(LikelihoodResponse):
    """Numbers from 0 to 1; half the binomial deviance with a logistic link. The output of a model is the logit of the mean."""

    task: ClassVar[str] = "shares"
    noun: ClassVar[str] = "shares"

    @classmethod
    def recognises(cls, values, *, asked):
        return asked  # never guessed: a measurement may lie between 0 and 1, too

    @classmethod
    def encode(cls, values, who):
        y = np.asarray(values, dtype=float)
        if y.min() < 0 or y.max() > 1:
            raise Grip2Error(
                f"{who}: shares must lie in [0, 1], got values from {y.min():g} to {y.max():g}. Divide percentages by 100."
            )
        return cls(y)

    @staticmethod
    def loss(outputs, y, xp):
        """Zero where the mean is y. ``xp`` is numpy or jax.numpy: networks are trained with the same formula."""
        inside = xp.clip(y, 1e-12, 1 - 1e-12)
        perfect = -inside * xp.log(inside) - (1 - inside) * xp.log1p(-inside)
        return xp.mean(xp.logaddexp(outputs[:, 0], 0.0) - y * outputs[:, 0] - perfect)

    def constant_outputs(self, prior_rows=0.0):
        return np.array([logit((self.y.sum() + 0.5 * prior_rows) / (len(self.y) + prior_rows))])

    def mean_of(self, outputs):
        return expit(outputs)

    def curvature(self, outputs):
        return self.mean_of(outputs) * (1 - self.mean_of(outputs))

    def indicators(self):
        return self.y[:, None]

    def describe(self):
        return f"{self.noun}: from {self.y.min():g} to {self.y.max():g}, mean {self.y.mean():.3g}"


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20))
    mean = expit(X[:, 0] - X[:, 1] + X[:, 2] * X[:, 3])  # features 0 to 3 act
    y = rng.beta(3 * mean, 3 * (1 - mean))
    selector = KnockoffSelector(EffectPosterior(), task="shares", random_state=0).fit(X, y)
    print(selector.result_.response)
    print(selector.result_)


if __name__ == "__main__":
    main()
