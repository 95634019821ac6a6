"""What may differ between a page and a run of it: times, versions, places, identities, lengths of rules."""

from __future__ import annotations

import re
import socket

from source_tree import ROOT

ANY = "..."
"""A line of this alone stands for any lines."""

_EVERYWHERE = [
    (re.compile(r"^([=_-])\1{2,}", re.MULTILINE), r"\1\1\1"),
    (re.compile(r"([=_-])\1{2,}$", re.MULTILINE), r"\1\1\1"),
    (re.compile(r"^platform .*$", re.MULTILINE), "platform"),
    (re.compile(r"^(rootdir|plugins|cachedir): .*$", re.MULTILINE), r"\1"),
    (re.compile(r" in [0-9.]+s\b"), " in some time"),
    (re.compile(r"\b[0-9]+\.[0-9]+\.[0-9]+(\.dev[0-9]+)?\b"), "VERSION"),
    (re.compile(r"^(\S+ [.FsxXE]+) +(\[ *[0-9]+%\])$", re.MULTILINE), r"\1 \2"),
    (re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+ ?([+-][0-9:]+|Z)?"), "TIME"),
    (re.compile(r"\b(run|held)-[0-9a-f]{20}\b"), r"\1-ID"),
    (re.compile(r"\bgw:[0-9]+(:[0-9a-f]{16})?"), "OWNER"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]
#: Tables of the command line: ages and what is left of leases, and columns as wide as these make them.
_IN_TABLES = [
    (re.compile(r"(?<![\w.-])[0-9]+(\.[0-9]+)?(ms|s|m|h|d)([0-9]+(s|m|h))?(?![\w-])"), "AGE"),
    (re.compile(r"(?<=\S)[ ]{2,}"), " "),
]


def scrubbed(output: str, directory: str, pids: dict[int, str]) -> str:
    """Output as a page may show it: nothing of this machine is in it."""
    text = output.replace(directory, "/home/you/try").replace(str(ROOT), "/home/you/runcoord")
    text = re.sub(rf"\b{re.escape(socket.gethostname())}(?=:[0-9]+)", "gw", text)
    for pid, shown in pids.items():
        text = re.sub(rf"\b{pid}\b", shown, text)
    return text


def normal(text: str, *, tables: bool) -> list[str]:
    for pattern, instead in [*_EVERYWHERE, *(_IN_TABLES if tables else [])]:
        text = pattern.sub(instead, text)
    return text.strip("\n").split("\n")


def agree(shown: str, output: str, *, tables: bool = False) -> bool:
    """Whether the output of a run is what a page shows of it."""
    wanted, lines = normal(shown, tables=tables), normal(output, tables=tables)
    pattern = "".join("(?:.*\n)*?" if line == ANY else re.escape(line) + "\n" for line in wanted)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None
