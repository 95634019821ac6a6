"""The code blocks of README and documentation, and what the comments before them say about running them.

A comment stands in the lines right before a block, one each::

    <!-- file: worker.py -->            the block is the content of this file; later blocks may use it
    <!-- replaces: worker.py -->        these functions take the place of those of the same names in this file
    <!-- not run: needs the network --> nothing is done with it; the reason is for the reader of the source
    <!-- fails: 9 never refused -->     this scenario fails, at its 9th line, with this in the message
    <!-- exit: 1 -->                    the exit code of the last command
    <!-- terminal: one -->              the last command goes on, and what it shows is waited for
    <!-- own words -->                 this scenario has words of the page's own; only a command runs it
    <!-- goes on: one -->               this text is what the terminal shows next
    <!-- kills: one -->                 the command of this block ends the process in that terminal
    <!-- prints -->                     this text is what the Python blocks since the last one printed
    <!-- columns: 120 -->               the width of the terminal from here on
    <!-- prepared: a busy store -->     something is there already: see ``prepared.py``
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from source_tree import ROOT

DIRECTIVES = frozenset(
    {
        "columns",
        "exit",
        "fails",
        "file",
        "goes on",
        "kills",
        "not run",
        "own words",
        "prepared",
        "prints",
        "replaces",
        "terminal",
    }
)
LANGUAGES = frozenset({"console", "json", "python", "text", "toml", "yaml"})
MARKUP = frozenset({"{toctree}", "{note}"})
_FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1[ ]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!-- ([a-z][a-z ]*?)(?::(.*))? -->")


class UnreadableBlock(Exception):
    """A block, or a comment before one, that nothing can be done with."""


@dataclass(frozen=True)
class Block:
    """One fenced block. ``line`` is that of its first line of content, ``begin`` its place in the page."""

    page: str
    line: int
    begin: int
    language: str
    text: str
    says: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_scenario(self) -> bool:
        lines = [line for line in self.text.splitlines() if line and not line.startswith(("#", "---"))]
        return self.language == "yaml" and bool(lines) and lines[0].startswith("runcoord:")


def blocks(page: str, text: str) -> Iterator[Block]:
    """The blocks of a page in their order; raises :class:`UnreadableBlock`."""
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start(3)) + 1
        place = f"{page}:{line}"
        language = found[2].strip()
        if language in MARKUP:
            continue
        if language not in LANGUAGES:
            raise UnreadableBlock(
                f"{place}: a block is one of {', '.join(sorted(LANGUAGES))}, not {language!r}"
            )
        yield Block(page, line, found.start(3), language, found[3], _before(text[: found.start()], place))


def _before(text: str, place: str) -> dict[str, str]:
    says: dict[str, str] = {}
    for line in reversed(text.splitlines()):
        found = _COMMENT.fullmatch(line)
        if found is None:
            break
        if found[1] not in DIRECTIVES:
            raise UnreadableBlock(f"{place}: nothing is known about <!-- {found[1]}: … -->")
        says[found[1]] = (found[2] or "").strip()
    return says


def pages() -> list[str]:
    """README and everything below docs, as paths from the root of the project."""
    found = [path.relative_to(ROOT) for path in sorted((ROOT / "docs").rglob("*.md"))]
    return ["README.md", *(path.as_posix() for path in found if "_build" not in path.parts)]


OTHERS = "\n% Below: written by "
"""What follows this on a page is generated, and held by a test of its own."""


def blocks_of(page: str) -> list[Block]:
    return list(blocks(page, (ROOT / page).read_text("utf-8").partition(OTHERS)[0]))


@dataclass(frozen=True)
class Command:
    """One command of a console block, and the output that is shown below it (empty: none is)."""

    text: str
    shown: str
    begin: int
    """Where the shown output begins in the block."""


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    at = 0
    text, shown, begin = "", "", 0
    for line in [*block.text.splitlines(keepends=True), "$ "]:
        at += len(line)
        if line.startswith("$ "):
            if text:
                found.append(Command(text, shown, begin))
            elif shown:
                raise UnreadableBlock(f"{block.place}: a console block begins with '$ ' and a command")
            text, shown, begin = line[2:].strip(), "", at
        else:
            shown += line
    return found


def page_path(page: str) -> Path:
    return ROOT / page
