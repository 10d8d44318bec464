"""The pages of README and docs as the tests read them: blocks of code, commands, headings, links. No Sphinx needed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GALLERY = ROOT / "examples" / "gallery"
PAGES = tuple(sorted(DOCS.glob("*.md")))
ALL = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *PAGES)

_FENCE = re.compile(r"^(```|:{3,})(.*)$")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ASSIGNMENT = re.compile(r"^[A-Z][A-Z0-9_]*=")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int  # of its first line of content, from 1
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command of a shell block, without the variables before it and the comment after it."""

    place: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.words)


def blocks(page: Path) -> list[Block]:
    """All blocks fenced by three backquotes, directives among them."""
    found, opened, language, content = [], 0, "", list[str]()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("```"):
            if opened:
                content.append(line)
        elif not opened:
            opened, language, content = number + 1, line[3:].strip(), []
        else:
            found.append(Block(page, opened, language, "\n".join(content) + "\n"))
            opened = 0
    assert not opened, f"{page}: the block that begins in line {opened - 1} is not closed"
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a shell block; one that goes on in the next line ends in a backslash."""
    found = []
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:]
        if words:
            found.append(Command(block.place, tuple(words)))
    return found


def prose(page: Path) -> list[str]:
    """The lines outside of blocks."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside and not _FENCE.match(line):
            lines.append(line)
    return lines


def headings(page: Path) -> list[str]:
    return [line.lstrip("#").strip() for line in prose(page) if re.match(r"#{1,4} ", line)]


def anchors(page: Path) -> set[str]:
    """The names of a page's headings in links, by GitHub's rule, which the site follows."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(page)}


def links(page: Path) -> Iterator[str]:
    """The targets of all links and pictures of a page."""
    for line in prose(page):
        yield from _LINK.findall(re.sub(r"`[^`]*`", "", line))
