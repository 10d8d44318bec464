"""What makes two calibrations the same: the table, the response and every setting. A folder holds one of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from grip2 import __version__
from grip2.calibration.plan import CalibrationPlan
from grip2.calibration.procedure import Procedure
from grip2.calibration.trial import EXPERIMENT
from grip2.errors import Grip2Error
from grip2.experiments.store import FILE, Store, StoreError
from grip2.selector import DEFAULT_KNOCKOFFS, KnockoffSelector

# Named as they are; of all others both values are shown.
CONTENTS = ("table", "response", "units", "clusters")
_OF_SELECTOR = ("fdr", "copies", "n_draws", "offset", "task", "missing")

Identity = Mapping[str, Any]


@dataclass(frozen=True)
class Stored:
    """What a folder holds already."""

    identity: Identity
    seed: int


def settings_of(selector: KnockoffSelector, plan: CalibrationPlan, seed: int | None) -> dict[str, Any]:
    """Everything that is known before the table is read."""
    return {
        "grip2": __version__,
        **{name: _plain(getattr(selector, name)) for name in _OF_SELECTOR},
        **_described("statistic", selector.statistic, "default"),
        **_described("knockoffs", selector.knockoffs, DEFAULT_KNOCKOFFS),
        "true": plan.n_true,
        "strength": plan.strength,
        "seed": seed,
    }


def contents_of(procedure: Procedure) -> dict[str, str]:
    """Digests of the data; roles of columns and groups are in them."""
    response, rows = procedure.response, procedure.one_row_each
    return {
        "table": _digest(procedure.X),
        "response": _digest(response.y, response.loss_input),
        "units": _digest(procedure.units.units.of_column) + _digest(np.array(procedure.units.names, dtype=np.str_)),
        "clusters": "" if rows is None else _digest(rows.of_row),
    }


def stored_in(folder: Path) -> Stored | None:
    """The calibration of a folder; None where there is none, an error where there is something else."""
    if not (folder / FILE).is_file():
        return None
    with Store(folder, create=False) as store:
        try:
            text, options = store.last_run()
        except StoreError:  # stopped before the first trial
            return None
        found = json.loads(text) if options.get("kind") == EXPERIMENT else None
    if found is None:
        raise Grip2Error(f"{folder}: holds the trials of an experiment, not of a calibration. Give another --out.")
    return Stored(found, int(options["seed"]))


def check_same(stored: Stored | None, identity: Identity, folder: Path) -> None:
    """Refuse to go on with other settings; ``identity`` may hold a part of them only."""
    if stored is None:
        return
    different = [
        f"{name} (other values)" if name in CONTENTS else f"{name} ({_shown(before)} there, {_shown(now)} now)"
        for name, before, now in (
            (name, stored.identity.get(name), identity.get(name))
            for name in (*identity, *(name for name in stored.identity if name not in (*identity, *CONTENTS)))
        )
        if before != now
    ]
    if different:
        raise Grip2Error(
            f"{folder}: holds a calibration that differs in {', '.join(different)}. Repeat its settings to go on with it, "
            "give another --out, or --force to begin again there (in Python out= and force=True)."
        )


def text_of(identity: Identity) -> str:
    return json.dumps(identity, indent=2)


def _described(what: str, given: BaseEstimator | str | None, default: str) -> dict[str, Any]:
    """The class and all settings, nested ones by dotted names."""
    if given is None or isinstance(given, str):
        return {what: given or default}
    settings = {
        f"{what}.{name.replace('__', '.')}": _plain(value) for name, value in sorted(given.get_params().items())
    }
    return {what: type(given).__name__, **settings}


def _plain(value: Any) -> Any:
    """A value as JSON holds it, so that it compares equal after it was stored."""
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, np.ndarray):
        return _digest(value)
    if isinstance(value, BaseEstimator):
        return type(value).__name__
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _digest(*arrays: np.ndarray) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
