"""Knockoff statistics: how important is each feature, and its knockoff, for predicting the response?"""

from grip2.statistics.base import Statistic
from grip2.statistics.grip import GRIP1, GRIP2, GRIP1a, GroupLasso
from grip2.statistics.lasso import LassoCoefficient

__all__ = ["GRIP1", "GRIP2", "GRIP1a", "GroupLasso", "LassoCoefficient", "Statistic"]
