"""The documentation holds together: every page is reachable, every link leads somewhere, every public name is listed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib

import pytest

import grip2
from grip2 import datasets, knockoffs, statistics
from tests.documents import ALL, DOCS, GALLERY, PAGES, ROOT, anchors, blocks, headings, links, prose

SCRIPTS = sorted(GALLERY.glob("plot_*.py"))
# Which package of the extra "docs" brings an extension.
BROUGHT_BY = {
    "myst_parser": "myst-parser",
    "numpydoc": "numpydoc",
    "sphinx": "sphinx",
    "sphinx_design": "sphinx-design",
    "sphinx_gallery": "sphinx-gallery",
    "pydata_sphinx_theme": "pydata-sphinx-theme",
}


def load(name):
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def conf():
    return load("conf")


def listed_pages():
    """What the tables of contents list, with repetitions."""
    for page in PAGES:
        for block in blocks(page):
            if block.language == "{toctree}":
                yield from (line for line in block.text.split() if not line.startswith(":"))


def test_every_page_is_listed_once():
    listed = [name for name in listed_pages() if name != "gallery/index"]
    expected = [page.stem for page in (*PAGES, DOCS / "api.rst") if page.stem != "index"]
    assert sorted(listed) == sorted(expected)
    assert "gallery/index" in listed_pages()


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, place = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or ROOT not in (target, *target.parents):
            broken.append(f"{link}: no such file")
        elif place and target.suffix == ".md" and place not in anchors(target):
            broken.append(f"{link}: {sorted(anchors(target))}")
    assert not broken


@pytest.mark.parametrize("page", [page for page in ALL if page.name not in ("contributing.md", "changelog.md")])
def test_a_page_has_one_title(page):
    assert len([line for line in prose(page) if line.startswith("# ")]) == 1
    assert prose(page)[0].startswith("# ")


def test_included_files_are_found():
    for name in ("contributing.md", "changelog.md"):
        (block,) = blocks(DOCS / name)
        assert (DOCS / re.fullmatch(r"\{include\} (\S+)", block.language)[1]).is_file()


def test_no_two_headings_of_a_page_have_one_anchor():
    for page in PAGES:
        assert len(anchors(page)) == len(headings(page)), page.name


def test_the_api_page_lists_every_public_name():
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (?:\w+\.)*(\w+)$", text, re.M))
    public = {
        name
        for module in (grip2, statistics, knockoffs, datasets)
        for name in module.__all__
        if not name.startswith("__")
    }
    assert public <= listed, sorted(public - listed)


def test_every_name_of_the_api_page_exists():
    module = None
    for line in (DOCS / "api.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = importlib.import_module(line.split()[-1])
        elif re.fullmatch(r"   [\w.]+", line):
            *inner, name = line.split(".")
            owner = importlib.import_module(".".join([module.__name__, *(part.strip() for part in inner)]))
            assert hasattr(owner, name.strip()), line


def test_settings_name_only_what_the_extra_installs(conf):
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installed = {re.match(r"[\w-]+", requirement)[0] for requirement in extra["docs"]}
    assert all(">=" in requirement for requirement in extra["docs"])
    used = {BROUGHT_BY[name.partition(".")[0]] for name in (*conf.extensions, conf.html_theme)}
    assert used | {"sphinx"} == installed


def test_links_out_of_docs_become_addresses(conf):
    assert conf.address_of("src/grip2/filter.py") == f"{conf.REPOSITORY}/blob/main/src/grip2/filter.py"
    assert conf.address_of("results/hiv") == f"{conf.REPOSITORY}/tree/main/results/hiv"
    assert conf.address_of("examples/gallery/plot_03_copies.py") == "gallery/plot_03_copies.rst"
    found = conf.OUTSIDE.findall("[a](../results/few/README.md#b) [c](fdr.md) [d](../CHANGELOG.md)")
    assert found == [("results/few/README.md", "#b"), ("CHANGELOG.md", "")]


def test_the_checker_of_links_finds_what_is_broken(tmp_path):
    checker = load("check_links")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text('<h1 id="top">x</h1><a href="../one.html#place">y</a>')
    one = '<p id="place"></p><a href="sub/#top">a</a><a href="https://example.org/none">b</a><img src="none.png">'
    (tmp_path / "one.html").write_text(one + '<a href="#nowhere">c</a><a href="sub/index.html#none">d</a>')
    assert list(checker.broken_links(tmp_path)) == [
        "one.html: none.png: no such file",
        "one.html: #nowhere: no such place on the page",
        "one.html: sub/index.html#none: no such place on the page",
    ]
    with pytest.raises(SystemExit):
        checker.main(str(tmp_path))


def test_the_gallery_has_questions():
    assert len(SCRIPTS) >= 10
    for script in SCRIPTS:
        title, rule, *_ = script.read_text(encoding="utf-8").split('"""')[1].strip().splitlines()
        assert title.endswith("?"), script.name
        assert rule == "=" * len(title), script.name
        assert "fetch_" not in script.read_text(encoding="utf-8"), f"{script.name}: the gallery downloads nothing"


def test_the_pictures_of_the_readme_are_those_that_are_made():
    shown = re.findall(r"docs/images/gallery/(\w+)\.png", (ROOT / "README.md").read_text(encoding="utf-8"))
    made = re.search(r"SHOWN = \((.*?)\)", (DOCS / "make_images.py").read_text(encoding="utf-8"), re.S)[1]
    assert shown == [*re.findall(r'"(\w+)"', made), "plot_13_surface"]
    assert sum(path.stat().st_size for path in (DOCS / "images").rglob("*.png")) < 300_000


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_gallery_scripts_run(script, monkeypatch):
    """As `make docs` runs them, each in its own process and within a minute, warnings as errors."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    command = [sys.executable, "-W", "error::UserWarning", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout
