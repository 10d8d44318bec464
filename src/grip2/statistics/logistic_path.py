"""L1-penalised logistic regression of labels 0/1: the likelihood of `penalised_path`, and its cross-validation."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from grip2.errors import Grip2Error
from grip2.statistics.lasso_cv import Folds, gram_fits, moments_by_fold
from grip2.statistics.penalised_path import Likelihood, PenalisedFit, PenalisedPath, least_cv_loss, without_folds


class LogisticLikelihood(Likelihood):
    """``log(1 + exp(eta)) - y eta`` for labels y of 0 and 1."""

    def __init__(self, y: np.ndarray) -> None:
        self.y = y

    def constant(self, rows: np.ndarray) -> float:
        share = self.share(rows)
        if not 0 < share < 1:
            raise Grip2Error("l1-logistic regression: both classes must be present in every training fold.")
        return float(np.log(share / (1 - share)))

    def mean_loss(self, predictor: np.ndarray, rows: np.ndarray) -> float:
        return float(rows @ (np.logaddexp(0.0, predictor) - self.y * predictor)) / float(rows.sum())

    def slopes(self, predictor: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows * (self.y - expit(predictor)))

    def weights(self, predictor: np.ndarray, rows: np.ndarray) -> np.ndarray:
        probability = expit(predictor)
        return np.asarray(rows * (probability * (1 - probability)))

    def share(self, rows: np.ndarray) -> float:
        """Of the label 1."""
        return float(rows @ self.y) / float(rows.sum())


class LogisticPath(PenalisedPath):
    """The path of ``mean_i [log(1 + exp(eta_i)) - y_i eta_i] + lambda ||b||_1``.

    ``gram``, the centred Gram matrix per fitted row, saves forming it: all rows weigh alike at the start.
    """

    def __init__(
        self,
        Z: np.ndarray,
        y: np.ndarray,
        rows: np.ndarray | None = None,
        *,
        gram: np.ndarray | None = None,
        tolerance: float = 1e-5,
    ) -> None:
        likelihood = LogisticLikelihood(y)
        share = likelihood.share(np.ones(len(y)) if rows is None else rows.astype(float))
        weighted = None if gram is None else share * (1 - share) * gram
        super().__init__(Z, likelihood, rows, start_gram=weighted, tolerance=tolerance)


def logistic_cv(
    Z: np.ndarray,
    y: np.ndarray,
    *,
    folds: Folds,
    n_lambdas: int = 50,
    ratio: float = 1e-3,
    whole_path: bool = False,
) -> PenalisedFit:
    """The l1-logistic regression of labels 0/1 at the penalty of least held-out deviance."""
    Z, y = np.asarray(Z, dtype=float), np.asarray(y, dtype=float)
    whole_gram, fold_grams = _grams(Z, y, folds) if gram_fits(Z.shape[1]) else (None, [None] * len(folds))
    whole = LogisticPath(Z, y, gram=whole_gram)
    masks = without_folds(len(y), folds)
    paths: list[PenalisedPath] = [
        LogisticPath(Z, y, mask, gram=gram) for mask, gram in zip(masks, fold_grams, strict=True)
    ]
    return least_cv_loss(whole, paths, n_lambdas=n_lambdas, ratio=ratio, whole_path=whole_path)


def _grams(Z: np.ndarray, y: np.ndarray, folds: Folds) -> tuple[np.ndarray, list[np.ndarray]]:
    """Centred Gram matrices of all rows and of the training rows of every fold."""
    all_rows, parts = moments_by_fold(Z, y, folds)
    return all_rows.gram, [part.training.gram for part in parts]
