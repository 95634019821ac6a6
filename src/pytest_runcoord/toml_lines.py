"""On which line of a TOML file a key stands, which the standard library's parser does not tell.

A reader of lines, not of TOML: it knows headers, keys and texts over several lines. Where it is wrong a
message names the line of the table instead, or none; nothing depends on it.
"""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?\Z")
_KEY = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_LONG_TEXTS = ('"""', "'''")


def lines_of(text: str, table: str) -> dict[str, int]:
    """Lines of the keys below ``table`` (empty: of the whole file), from 1, by their dotted names.

    The n-th table of an array is ``name[n]``, counted from 0; the first place counts.
    """
    prefix = f"{table}." if table else ""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    header, until = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if until:
            until = "" if until in line else until
            continue
        until = _left_open(line)
        if head := _HEADER.match(line):
            header = _plain(head[2])
            if len(head[1]) > 1:
                counts[header] = counts.get(header, -1) + 1
                header = f"{header}[{counts[header]}]"
            names = [header]
        elif key := _KEY.match(line):
            dotted = _plain(key[1])
            names = [f"{header}.{dotted}" if header else dotted]
        else:
            continue
        for name in names:
            if name == table or name.startswith(prefix):
                found.setdefault(name.removeprefix(prefix), number)
    for name in [each for each in found if "[" in each]:
        found.setdefault(name.partition("[")[0], found[name])
    return found


def _left_open(line: str) -> str:
    """The mark by which a text over several lines begins here without ending."""
    begins = [(line.find(mark), mark) for mark in _LONG_TEXTS if mark in line]
    if not begins or line.lstrip().startswith("#"):
        return ""
    _, mark = min(begins)
    return mark if line.count(mark) % 2 else ""


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
