"""The command of a report: the words that were typed, with the seed, into a folder that is not there yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from grip2.commands.again import same_again


@pytest.mark.parametrize(
    ("words", "out", "again"),
    [
        (["t.csv", "--target", "y"], "grip2-selection", "t.csv --target y --seed 0 --out grip2-selection-again"),
        (["t.csv", "--out", "new/a", "--seed", "3"], "new/a", "t.csv --seed 3 --out new/a-again"),
        (["t.csv", "--out=a", "--force", "--seed=3"], "a", "t.csv --seed=3 --out a-again"),
        (["-o", "my a", "a b.csv", "-t", "y"], "my a", "'a b.csv' -t y --seed 0 --out 'my a-again'"),
        (["t.csv", "-oa"], "a", "t.csv --seed 0 --out a-again"),
        (["t.csv", "--out", "."], ".", "t.csv --seed 0 --out grip2-again"),
        (["t.csv", "--out", ".."], "..", "t.csv --seed 0 --out grip2-again"),
        (["t.csv", "--out", "a/"], "a/", "t.csv --seed 0 --out a-again"),
    ],
)
def test_the_same_again_in_another_folder(words, out, again):
    assert same_again(["select", *words], Path(out), 0) == f"grip2 select {again}"
