"""Knockoffs drawn unit after unit from fitted conditional distributions.

``sampler`` is the public class; ``chain`` learns and draws; ``parts`` decides which model a column gets; ``tilt``,
``multinomial`` and ``residuals`` are the models; ``boosted`` adds a prediction by trees; ``completion`` fills in missing values.
"""

from grip2.knockoffs.sequential.sampler import SequentialKnockoffs as SequentialKnockoffs
