"""The shape of the package: who may import whom, and that help does not wait for heavy libraries."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import grip2

SOURCE = Path(grip2.__file__).parent

# A module may import from its own layer and from those before it.
LAYERS = [
    {
        "callbacks",
        "errors",
        "spelling",
        "progress",
        "stopping",
        "user_cache",
        "user_warnings",
        "orphans",
        "blas_threads",
        "standardise",
        "units",
        "registry",
        "settings",
        "_random",
        "_version",
        "_output",
        "figure_style",
        "notebook_figure",
        "pages",
        "plain_text",
    },
    {"engine"},
    {"facts", "feature_effects", "result", "result_views", "filter", "symmetry", "responses", "_validation", "rows"},
    {"knockoffs", "statistics", "grouping", "groups", "copies"},
    {
        "derandomize",
        "decision",
        "rethreshold",
        "explain",
        "empty_selection",
        "draws",
        "tables",
        "level_contrasts",
        "describe",
        "lasso_beside",
        "knockoff_quality",
        "selection_record",
        "selector_parameters",
    },
    {"streaming"},
    {"sampler_fit", "selected_columns", "selection_input", "selector"},
    {"metrics", "comparison", "datasets"},
    {"experiments"},
    {"calibration"},
    {"report"},
    {"bench"},
    {"commands"},
    {"cli", "__init__", "__main__"},
]


def layer_of(module: str) -> int:
    for number, names in enumerate(LAYERS):
        if module in names:
            return number
    raise AssertionError(f"{module} belongs to no layer; add it to LAYERS")


def imports(path: Path) -> set[str]:
    """First-level grip2 modules imported by a file, wherever in the file; type-checking blocks excepted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


FILES = sorted(SOURCE.rglob("*.py"))


# A result's methods for people need the layers above it, which are imported when a method is called.
UPWARDS = {"result_views": {"grip2.rethreshold", "grip2.report"}}


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_import_direction(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for module in imports(path):
        parts = module.split(".")
        if ".".join(parts[:2]) in UPWARDS.get(own, ()):
            continue
        if parts[0] == "grip2" and len(parts) > 1:
            assert layer_of(parts[1]) <= layer_of(own), f"{path} must not import {module}"
        if parts[0] in ("jax", "optax"):
            assert own == "engine", f"{path} imports {module}; only grip2.engine may"


def test_imports_upwards_wait_for_a_call():
    for own in UPWARDS:
        tree = ast.parse((SOURCE / f"{own}.py").read_text(encoding="utf-8"))
        at_once = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert not [module for module in at_once if module.startswith("grip2")], own


def test_engine_knows_nothing_of_knockoffs():
    for path in (SOURCE / "engine").rglob("*.py"):
        for module in imports(path):
            assert not module.startswith("grip2.") or module.startswith(
                ("grip2.engine", "grip2.errors", "grip2.progress", "grip2.user_cache")
            ), path


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from grip2.cli import app; "
        "heavy = {'jax', 'sklearn', 'pandas', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_selector_is_imported_without_compilers():
    code = (
        "import sys; from grip2 import KnockoffSelector; "
        "heavy = {'jax', 'optax', 'numba', 'matplotlib'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_suite_of_measurements_runs_in_a_light_process():
    """The peak of a measurement would begin at that of the process that starts it."""
    code = (
        "import sys; import grip2.bench.run, grip2.bench.suite, grip2.bench.page, grip2.bench.figure; "
        "heavy = {'jax', 'numba', 'sklearn', 'scipy', 'pandas', 'numpy'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
