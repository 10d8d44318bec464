"""grip2: feature selection with a controlled false discovery rate, for nonlinear signals and correlated features.

>>> import numpy as np
>>> from grip2 import KnockoffSelector
>>> from grip2.statistics import LassoCoefficient
>>> rng = np.random.default_rng(1)
>>> X = rng.standard_normal((400, 30))
>>> y = X[:, :12].sum(axis=1) + rng.standard_normal(400)  # depends on the first 12 of 30 features
>>> selector = KnockoffSelector(LassoCoefficient(), fdr=0.1, random_state=0).fit(X, y)
>>> selector.get_support(indices=True)
array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11])

Without an argument, `KnockoffSelector` uses its default statistic, which also finds nonlinear effects and interactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grip2.registry import lazy_exports

__version__ = "0.1.0"

if TYPE_CHECKING:
    from grip2.calibration import CalibrationStudy, calibrate
    from grip2.comparison import Comparison, compare
    from grip2.errors import Grip2Error, NothingSelected
    from grip2.result import Importance, SelectionResult
    from grip2.selector import KnockoffSelector, select
    from grip2.statistics.effects import EffectPosterior
    from grip2.statistics.grip import GRIP2
    from grip2.statistics.staged import Staged

__all__ = [
    "GRIP2",
    "CalibrationStudy",
    "Comparison",
    "EffectPosterior",
    "Grip2Error",
    "Importance",
    "KnockoffSelector",
    "NothingSelected",
    "SelectionResult",
    "Staged",
    "__version__",
    "calibrate",
    "compare",
    "select",
]

# Imported when first used, so that `grip2 --help` does not wait for JAX and scikit-learn.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "CalibrationStudy": "grip2.calibration",
        "Comparison": "grip2.comparison",
        "EffectPosterior": "grip2.statistics.effects",
        "GRIP2": "grip2.statistics.grip",
        "Grip2Error": "grip2.errors",
        "Importance": "grip2.result",
        "KnockoffSelector": "grip2.selector",
        "NothingSelected": "grip2.errors",
        "SelectionResult": "grip2.result",
        "Staged": "grip2.statistics.staged",
        "__version__": __name__,
        "calibrate": "grip2.calibration",
        "compare": "grip2.comparison",
        "select": "grip2.selector",
    },
)
