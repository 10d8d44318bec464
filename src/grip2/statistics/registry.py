"""All statistics by name: the only such list, used by the package, the command line, the figures and the contract tests."""

from __future__ import annotations

from grip2.registry import Entry, Registry

_HERE = "grip2.statistics"

STATISTICS = Registry(
    "statistic",
    base=f"{_HERE}.base:Statistic",
    group=_HERE,
    entries=[
        Entry("staged", f"{_HERE}.staged:Staged", "model of single effects and pairs, then a network; the default", "Staged"),
        Entry("grip2", f"{_HERE}.grip:GRIP2", "a network under a group penalty of moving strength and geometry", "GRIP2"),
        Entry("grip1", f"{_HERE}.grip:GRIP1", "ablation of grip2: strength moves, geometry fixed", "GRIP1"),
        Entry("grip1a", f"{_HERE}.grip:GRIP1a", "ablation of grip2: geometry moves, strength fixed", "GRIP1a"),
        Entry("gr", f"{_HERE}.grip:GroupLasso", "group lasso network at one strength", "GR"),
        Entry("effects", f"{_HERE}.effects:EffectPosterior", "Bayesian model of single effects and pairs", "Effects"),
        Entry("lasso-curves", f"{_HERE}.lasso_curves:LassoCurves", "lassos on the columns and on their curves", "Lasso curves"),
        Entry("deeppink", f"{_HERE}.deeppink:DeepPINK", "network with a filter for every feature (Lu et al. 2018)", "DeepPINK"),
        Entry("mald", f"{_HERE}.mald:MALD", "mean absolute local derivative of a network", "MALD"),
        Entry("shap", f"{_HERE}.deepshap:DeepSHAP", "mean absolute SHAP value of a network", "SHAP"),
        Entry("lapa", f"{_HERE}.lasso_path:LassoPath", "penalty at which a feature enters the lasso path", "LAPA"),
        Entry("lcd", f"{_HERE}.lasso_coefficient:LassoCoefficient", "coefficient of the cross-validated lasso", "LCD"),
        Entry("rf", f"{_HERE}.random_forest:RandomForest", "impurity decrease in a random forest", "Random forest"),
        Entry("random", f"{_HERE}.random_scores:RandomScores", "random scores: the floor of every comparison", "Random"),
        Entry("glcd", f"{_HERE}.group_lasso_coefficient:GroupLassoCoefficient", "norm of a unit in the group lasso", "Group LCD"),
    ],
)  # fmt: skip

# Public statistics that wrap a model and so cannot be made from a name alone.
WRAPPERS = {"Ensemble": f"{_HERE}.ensemble", "FromEstimator": f"{_HERE}.from_estimator"}
