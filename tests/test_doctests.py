"""Examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import grip2

SOURCE = Path(grip2.__file__).parent


def modules_with_examples() -> list[str]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(SOURCE.parent).with_suffix("").parts
            found.append(".".join(part for part in parts if part != "__init__"))
    return found


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples(name):
    module = importlib.import_module(name)
    done = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert done.attempted > 0
    assert done.failed == 0
    assert "+SKIP" not in Path(str(module.__file__)).read_text(encoding="utf-8"), (
        "an example that is not run may be wrong"
    )


def test_the_package_itself_has_an_example():
    assert "grip2" in modules_with_examples()
