"""The examples of docs/python.md run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_result import make_result

PAGE = Path(__file__).parents[1] / "docs" / "python.md"


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "selection.json").write_text(make_result([3.0, 2.0, -1.0]).to_json())
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert capsys.readouterr().out.startswith("0.05 ['x")
    assert all(len(each) == 3 for each in names["scores"].values())
    assert set(names["comparison"].selected_by_all) >= {"x0", "x1", "x2", "x3", "x4"}
