"""HTML pages: one jinja environment, the templates in ``grip2/templates``, and frames for notebooks."""

from __future__ import annotations

import html
from functools import cache
from importlib import resources
from typing import Any

import jinja2


def render_page(template: str, **values: Any) -> str:
    """A template filled with values; a value that is missing raises, text from outside is escaped."""
    return _environment().get_template(template).render(**values)


def framed(page: str, *, height: int, title: str) -> str:
    """A page in a frame for a notebook: neither does its style reach the notebook nor that of the notebook the page.

    ``sandbox`` without a word forbids scripts, forms and everything else to the page. A frame does not know how high its page
    is, so the height (pixels) is given; longer pages scroll.
    """
    return (
        f'<iframe sandbox="" title="{html.escape(title)}" srcdoc="{html.escape(page)}" '
        f'style="width: 100%; height: {height}px; border: 0; background: transparent;"></iframe>'
    )


@cache
def _environment() -> jinja2.Environment:
    templates = resources.files("grip2") / "templates"
    loader = jinja2.FunctionLoader(lambda name: (templates / name).read_text(encoding="utf-8"))
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
