"""Sphinx settings of the documentation site; `make docs` builds it.

Pages are Markdown that also reads well in the repository: a link to a file outside docs/ is relative there, and becomes
an address of the repository, or a page of the gallery, on the site.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import grip2

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/grip2-developers/grip2"
# Folders and files of the repository to which pages link.
OUTSIDE = re.compile(r"\]\(\.\./(?P<path>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")

project = "grip2"
author = "The grip2 developers"
project_copyright = author
release = version = grip2.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/*.md5", "gallery/*.py", "gallery/*.ipynb", "gallery/*.json"]
default_role = "code"  # docstrings have names in single backquotes
nitpicky = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # types are in the docstrings, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# A reader without a network sees what others see: no address is asked for unless this is set.
linkcheck_ignore = [] if os.environ.get("GRIP2_DOCS_ONLINE") else [r"https?://.*"]
linkcheck_timeout = 20
linkcheck_workers = 4

html_theme = "pydata_sphinx_theme"
html_title = "grip2"
html_static_path = ["_static"]
html_css_files = ["grip2.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"start": [], "gallery/index": []}
html_theme_options: dict[str, Any] = {
    "logo": {"text": "grip2"},
    "github_url": REPOSITORY,
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_",),  # frames are shown, what plotting functions return is not
    "min_reported_time": 1,
    "thumbnail_size": (480, 300),
    "write_computation_times": False,
    "only_warn_on_example_error": True,  # a warning is an error of the build, and the other scripts are still run
}


def address_of(path: str, anchor: str = "") -> str:
    """Where a file of the repository outside docs/ is found by a reader of the site."""
    if path.startswith("examples/gallery/plot_"):
        return f"gallery/{Path(path).stem}.rst{anchor}"
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    return f"{REPOSITORY}/{kind}/main/{path}{anchor}"


def link_outside(app: Any, docname: str, source: list[str]) -> None:
    """Replace relative links that leave docs/."""
    if app.env.doc2path(docname).suffix == ".md":
        source[0] = OUTSIDE.sub(lambda found: f"]({address_of(found['path'], found['anchor'] or '')})", source[0])


def setup(app: Any) -> None:
    app.connect("source-read", link_outside)
