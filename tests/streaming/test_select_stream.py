"""Selections from files that are read block by block: those of the same table in memory, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from grip2 import KnockoffSelector, cli
from grip2.calibration.procedure import Procedure
from grip2.errors import Grip2Error
from grip2.knockoffs import CopulaKnockoffs
from grip2.result import SelectionResult
from grip2.statistics import EffectPosterior, LassoCoefficient, Staged
from grip2.streaming import memory, read_stream
from tests.streaming.tables import command, folder_of, long_frame, parquet, small_sizes


@pytest.fixture(autouse=True)
def small(monkeypatch):
    small_sizes(monkeypatch)


def effects(**more) -> KnockoffSelector:
    chosen = {"random_state": 0, "describe": False, **more}
    return KnockoffSelector(EffectPosterior(sweeps=80), CopulaKnockoffs(), **chosen)


def content(result: SelectionResult) -> dict:
    """All that does not depend on where the table lies."""
    return {name: value for name, value in result.to_dict().items() if name not in ("seconds", "streamed", "columns")}


@pytest.mark.parametrize("n_draws", [1, 2])
def test_file_folder_and_memory_agree(tmp_path, n_draws):
    frame = long_frame()
    selector = effects(n_draws=n_draws, copies=5)
    there = selector.fit(frame.drop(columns="y"), frame["y"]).result_
    assert there.streamed.source == "memory"
    assert set(there.selected) >= {"c0", "c4", "c8"}
    path = parquet(frame, tmp_path / "a.parquet")
    found = effects(n_draws=n_draws, copies=5).fit(read_stream(path, "y")).result_
    assert content(found) == content(there)
    assert (found.streamed.source, found.streamed.rows, found.streamed.sample_rows) == ("file", 4000, 600)
    folder = folder_of(frame, tmp_path / "folder")
    assert content(effects(n_draws=n_draws, copies=5).fit(read_stream(folder, "y")).result_) == content(there)
    assert SelectionResult.from_json(found.to_json()) == found


def test_a_selection_from_a_long_table_can_be_calibrated():
    """Simulated responses are those of the sample, which the fitted selector holds."""
    frame = long_frame(2000)
    selector = effects().fit(frame.drop(columns="y"), frame["y"])
    assert selector.result_.n_rows == 2000
    assert len(selector.response_) == len(selector.table_) == 600
    procedure = Procedure.of(selector, (0.1,), 0)
    _, response = procedure.simulate("linear", 3, 1.0, np.random.default_rng(0))
    assert len(procedure.select(response, np.random.default_rng(1)).W) == 12


def test_all_rows_count(tmp_path):
    """An effect that 600 rows of the sample cannot show."""
    rng = np.random.default_rng(0)
    frame = long_frame(20_000)
    frame["y"] = 0.06 * frame["c2"] + 0.06 * frame["c9"] + rng.standard_normal(20_000)
    selector = effects(copies=5).fit(frame.drop(columns="y"), frame["y"])
    assert set(selector.result_.selected) >= {"c2", "c9"}


def test_two_classes_of_text(tmp_path):
    frame = long_frame()
    frame["y"] = np.where(frame["y"] > frame["y"].median(), "ill", "well")
    found = effects().fit(read_stream(parquet(frame, tmp_path / "c.parquet"), "y"))
    assert found.result_.task == "classification"
    assert {"c0", "c4"} <= set(found.result_.selected)
    there = effects().fit(frame.drop(columns="y"), frame["y"]).result_
    assert content(found.result_) == content(there)


def test_staged_trains_on_the_sample(tmp_path):
    statistic = Staged().set_params(first__sweeps=80, network__steps=150)
    selector = KnockoffSelector(statistic, CopulaKnockoffs(), random_state=0)
    frame = long_frame()
    result = selector.fit(read_stream(parquet(frame, tmp_path / "s.parquet"), "y")).result_
    assert {"c0", "c4", "c8"} <= set(result.selected)
    first, network = result.facts.stages
    assert first.held_out_share > 0.5
    assert network.held_out_share < 0.3
    assert result.effects.n_rows == 600


def test_missing_groups_and_roles(tmp_path):
    frame = long_frame()
    rng = np.random.default_rng(1)
    frame.loc[rng.random(4000) < 0.05, "c4"] = np.nan
    frame["row"] = np.arange(4000)
    frame["one"] = 1.0
    frame["city"] = rng.choice(["Rome", "Oslo"], 4000)
    frame["flag"] = rng.random(4000) < 0.3
    path = parquet(frame, tmp_path / "m.parquet")
    with pytest.raises(Grip2Error, match=r"city holds .*string.*--as city=drop.*--stream never"):
        read_stream(path, "y")
    table = read_stream(path, "y", columns={"city": "drop"}, groups={"pair": ["c0", "c1"]})
    assert not table.complete
    roles = {variable.name: str(variable.role) for variable in table.table.variables}
    assert (roles["row"], roles["one"], roles["flag"]) == ("identifier", "constant", "0/1")
    selector = effects().fit(table)
    assert {"pair", "c4", "c8"} <= set(selector.result_.selected)
    assert selector.transform(frame[list(selector.feature_names_in_)]).shape[1] >= 4


def test_what_cannot_be_streamed_is_refused_with_a_remedy(tmp_path):
    frame = long_frame(1500)
    path = parquet(frame, tmp_path / "r.parquet")
    with pytest.raises(Grip2Error, match=r"LassoCoefficient needs all rows in memory: use Staged"):
        KnockoffSelector(LassoCoefficient()).fit(read_stream(path, "y"))
    with pytest.raises(Grip2Error, match="without y and clusters"):
        effects().fit(read_stream(path, "y"), frame["y"])
    with pytest.raises(Grip2Error, match="FixedXKnockoffs needs all rows"):
        KnockoffSelector("effects", "fixed").fit(read_stream(path, "y"))
    with pytest.raises(Grip2Error, match=r"did you mean 'c0'|columns are"):
        read_stream(path, "z")
    with pytest.raises(Grip2Error, match="missing='median' needs all rows in memory"):
        read_stream(path, "y", missing="median")
    bad = {
        "infinity in 1 rows": frame.assign(c3=frame["c3"].where(frame.index != 7, np.inf)),
        "target 'y' is missing in 1": frame.assign(y=frame["y"].where(frame.index != 7)),
        "beyond 2.53": frame.assign(c3=np.arange(1500) * 3 + 2**60),
        "rows must be independent": pd.concat([frame, frame[:400]]),
        "is a copy of y": frame.assign(c3=frame["y"] * 2),
        "at least 2 features": frame[["c0", "y"]],
    }
    for words, table in bad.items():
        with pytest.raises(Grip2Error, match=words):
            read_stream(parquet(table, tmp_path / "bad.parquet"), "y")


def test_counts_need_memory_in_files_and_are_not_streamed_in_memory(tmp_path):
    frame = long_frame(1500)
    frame["y"] = np.random.default_rng(0).poisson(np.exp(0.3 * frame["c0"]))
    with pytest.raises(Grip2Error, match=r"models of counts .*take a sample of the rows"):
        effects(task="counts").fit(read_stream(parquet(frame, tmp_path / "k.parquet"), "y"))
    assert effects(task="counts").fit(frame.drop(columns="y"), frame["y"]).result_.streamed is None


def test_command_line(tmp_path, capsys):
    path = parquet(long_frame(), tmp_path / "t.parquet")
    words = command(path)
    for stream in ("always", "never"):
        cli.main([*words, "--stream", stream, "--out", str(tmp_path / stream)])
    found = {name: json.loads((tmp_path / name / "selection.json").read_text()) for name in ("always", "never")}
    assert found["always"]["features"] == found["never"]["features"]
    assert found["always"]["streamed"]["source"] == "file"
    assert "read block by block: 4,000 rows" in capsys.readouterr().err
    for bad, code in (
        (["--stream", "sometimes"], "must be one of"),
        (["--stream", "always", "--cluster", "c0"], "--cluster"),
    ):
        with pytest.raises(SystemExit, match="2"):
            cli.main([*words, *bad, "--out", str(tmp_path / "bad")])
        assert code in " ".join(capsys.readouterr().err.split())


def test_tables_beyond_a_quarter_of_the_memory_are_streamed(tmp_path, monkeypatch):
    path = parquet(long_frame(1000), tmp_path / "t.parquet")
    assert not memory.streams(path, "auto")
    monkeypatch.setattr(memory, "memory_available", lambda: 4 * 1000 * 13 * 8 - 1)
    assert memory.streams(path, "auto")
    assert not memory.streams(path, "never")
    assert memory.streams(folder_of(long_frame(100), tmp_path / "f"), "auto")
    with pytest.raises(Grip2Error, match=r"only Parquet files can be read block by block, got t\.csv"):
        memory.streams(tmp_path / "t.csv", "always")
