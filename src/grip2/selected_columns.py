"""Passes on the columns of the selected units of a fitted selector, and decides what happens if there are none."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from grip2.errors import Grip2Error, NothingSelected
from grip2.result import SelectionResult
from grip2.selector_parameters import ERROR, KEEP_ALL, WARN
from grip2.tables import PreparedTable
from grip2.tables.sources import is_frame, take_columns
from grip2.user_warnings import warn_user


class SelectedColumns(SelectorMixin):
    """scikit-learn's ``get_support`` and ``transform``, from a result and its table."""

    result_: SelectionResult
    table_: PreparedTable
    threshold_: float
    fdr: float
    empty: str

    def set_fdr(self, fdr: float) -> Self:
        """Select at another ``fdr`` without fitting again: ``result_`` becomes ``result_.at(fdr)``, and the rest follows."""
        check_is_fitted(self)
        self.result_ = self.result_.at(fdr)
        self.fdr, self.threshold_ = fdr, self.result_.threshold
        return self

    def transform(self, X: Any) -> Any:
        """The selected columns of ``X``, with their names and types if ``set_output`` asks for frames of its library.

        If nothing is selected, the parameter ``empty`` decides what happens.
        """
        self._check_not_empty()
        wanted = _get_output_config("transform", estimator=self)["dense"]
        try:
            if wanted != "default" and is_frame(X):
                validate_data(self, X, reset=False, skip_check_array=True)
                chosen = take_columns(X, self.get_support(indices=True))
                if type(chosen).__module__.startswith(wanted):
                    return chosen
            return super().transform(X)
        except ValueError as error:  # scikit-learn's complaints about the columns
            who = type(self).__name__
            raise Grip2Error(
                f"{who}: {str(error).strip()} Pass the table that fit has seen, or new rows of it."
            ) from None

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        unit = self.table_.unit_of_variables()
        selected = self.result_.selected_mask
        if self.empty == KEEP_ALL and not selected.any():
            selected = np.ones_like(selected)
        return np.asarray((unit >= 0) & selected[unit])

    def _check_not_empty(self) -> None:
        check_is_fitted(self)
        if self.empty == WARN or self.result_.selected_mask.any():
            return
        who = type(self).__name__
        if self.empty == ERROR:
            raise NothingSelected(f"{who}: no column to pass on. {self.result_.reason}")
        warn_user(
            f"{who}: nothing was selected, and all {int(self._get_support_mask().sum())} columns are passed on "
            f"(empty={KEEP_ALL!r}); no error rate is controlled for them. {self.result_.reason}",
        )
