"""Renders HTML pages from the templates in ``grip2/templates``, and puts them into frames for notebooks."""

from __future__ import annotations

import html
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup, escape

from grip2.plain_text import short_name, visible, visible_line

# Longer names are shortened on pages, alone and in a list of names; files have them in full.
LONGEST_NAME, LONGEST_LISTED = 120, 48


def render_page(template: str, **values: Any) -> str:
    """A template filled with values. A missing value raises; other text is escaped, with control characters written out."""
    return _environment().get_template(template).render(**values)


def framed(page: str, *, height: int, title: str) -> str:
    """A page in a frame for a notebook, so that the styles of page and notebook do not affect each other.

    An empty ``sandbox`` forbids the page scripts, forms and everything else. A frame does not adapt to the height of its page,
    so the height (pixels) is given; longer pages scroll.
    """
    return (
        f'<iframe sandbox="" title="{html.escape(title)}" srcdoc="{html.escape(page)}" '
        f'style="width: 100%; height: {height}px; border: 0; background: transparent;"></iframe>'
    )


@cache
def _environment() -> jinja2.Environment:
    templates = resources.files("grip2") / "templates"
    loader = jinja2.FunctionLoader(lambda name: (templates / name).read_text(encoding="utf-8"))
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(name=page_name, names=_names, plural=_plural)
    return environment


def page_name(name: str, longest: int = LONGEST_NAME) -> Markup:
    """A name whose direction of writing does not affect its surroundings; a long one is shortened, and whole on hovering."""
    whole, shown = visible_line(name), short_name(name, longest)
    title = "" if shown == whole else f' title="{escape(whole[:1000])}"'
    return Markup(f"<bdi{title}>{escape(shown)}</bdi>")


def _names(names: list[str], most: int = 12) -> Markup:
    """Names with commas between them; of many names the first ones."""
    listed = Markup(", ").join(page_name(name, LONGEST_LISTED) for name in list(names)[:most])
    return listed if len(names) <= most else Markup(f"{listed} and {len(names) - most} more")


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _finalize(value: Any) -> Any:
    """What a template prints: texts from outside with control characters written out."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
