"""Plans that were cut, edited or mixed up: read, or refused with a place; no traceback and no hang."""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grip2.errors import Grip2Error
from grip2.experiments.methods import check_methods
from grip2.experiments.plan import load_plan
from tests.fuzz.examples import bounded, changed
from tests.fuzz.make_corpus import CORPUS, PLAN

FILES = sorted((CORPUS / "plans").iterdir())
CONTENTS = [path.read_bytes() for path in FILES if len(path.read_bytes()) < 2000]
PIECES = [
    b"=", b"[", b"]", b"{", b"}", b'"', b"\n", b"#", b"nan", b"-1", b"0", b"1e400", b"true", b"[[data]]", b"[[method]]",
    b"trials = 0", b"copies = [1, 0]", b'knockoffs = "exact"', b'source = "hiv"', b"settings = { a = { b = { c = 1 } } }",
    b"10" * 30, b"[" * 300, b'name = ""', b"grouped = true", b"'''", b"1979-05-27", b"\xff",
]  # fmt: skip
GOOD = {"plain.toml"}


def read(path: Path) -> None:
    check_methods(load_plan(path))


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_the_kept_files(path):
    if path.name in GOOD:
        assert load_plan(path).designs
        read(path)
        return
    with pytest.raises(Grip2Error, match=re.escape(path.name)):
        read(path)


def check(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        path.write_bytes(content)
        with suppress(Grip2Error):
            read(path)


@given(changed(CONTENTS, PIECES))
@bounded(100)
def test_changed_plans(content):
    check(content)


VALUES = st.one_of(
    st.integers(-(10**30), 10**30).map(str),
    st.floats().map(lambda x: repr(x)),
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\'), max_size=5).map(
        lambda x: f'"{x}"'
    ),
    st.sampled_from(["true", "[]", "{}", "[1, 'a']", "[[1]]", "{ a = 1 }", "1979-05-27", "07:32:00", "[0.1, 0.1]"]),
)
KEYS = [line.partition(" =")[0] for line in PLAN.splitlines() if " = " in line]


@given(st.sampled_from([*KEYS, "copies", "grouped", "s", "center", "setting", "batch", "about", "label"]), VALUES)
@bounded(100)
def test_any_value_of_any_key(key, value):
    lines = [line for line in PLAN.splitlines() if line.partition(" =")[0] != key]
    for place in ("name = ", "source = ", "[[method]]"):
        at = next((k for k, line in enumerate(lines) if line.startswith(place)), len(lines) - 1)
        check("\n".join([*lines[: at + 1], f"{key} = {value}", *lines[at + 1 :]]).encode())
