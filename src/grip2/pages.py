"""HTML pages: one jinja environment, and the templates in ``grip2/templates`` that extend its ``base.html``."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import jinja2


def render_page(template: str, **values: Any) -> str:
    """A template filled with values; a value that is missing raises, text from outside is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> jinja2.Environment:
    templates = resources.files("grip2") / "templates"
    loader = jinja2.FunctionLoader(lambda name: (templates / name).read_text(encoding="utf-8"))
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
