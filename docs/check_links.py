"""Follow every internal link of a built site: the file must exist, and so must the place in it. Needs no network.

python docs/check_links.py docs/_build/html
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse


class Page(HTMLParser):
    """The links of a page and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places.update(value for name in ("id", "name") if (value := given.get(name)))
        self.links += [value for name in ("href", "src") if (value := given.get(name)) is not None]


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def pages_of(site: Path) -> list[Path]:
    """All pages but those in _static, which are templates of the theme."""
    return sorted(page for page in site.rglob("*.html") if "_static" not in page.relative_to(site).parts)


def broken_links(site: Path) -> Iterator[str]:
    """A sentence for every internal link that leads nowhere."""
    for page in pages_of(site):
        for link in dict.fromkeys(read(page).links):
            if problem := problem_of(link, page):
                yield f"{page.relative_to(site)}: {link}: {problem}"


def problem_of(link: str, page: Path) -> str:
    address, place = urldefrag(link)
    if urlparse(address).scheme or address.startswith("//"):
        return ""  # another site
    target = page if not address else page.parent / unquote(urlparse(address).path)
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "no such file"
    if place and target.suffix == ".html" and unquote(place) not in read(target).places:
        return "no such place on the page"
    return ""


def main(folder: str) -> None:
    site = Path(folder)
    problems = list(broken_links(site))
    print(*problems, sep="\n")
    pages = len(pages_of(site))
    print(f"{pages} pages, {len(problems)} broken links")
    if problems or not pages:
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1])
