"""The tables of ``docs/explanation/what-was-found.md``, made from what the examples list as known failures.

``python docs/what_was_found.py`` says whether the page is current, with exit code 1 if it is not;
``python docs/what_was_found.py --write`` writes its tables. A test asks the same. No library is needed.

An example accounts for a finding in the ``why`` of one entry: a sentence, then what was called, what the
library promises, what happens, and what its user should do, each begun by its label. Entries of other
scenarios that fail for the same reason say ``same: NAME.`` and how it looks there.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "explanation" / "what-was-found.md"
BEGIN = "<!-- The tables are written by `python docs/what_was_found.py --write`; a test compares. -->"
END = "<!-- End of the tables. -->"
SHOWN = {"calls": "Calls", "promised": "Promised", "happens": "Happens", "do": "What to do"}
LABELS = tuple(SHOWN)
_LABEL = re.compile(rf"^({'|'.join(LABELS)}):[ \t]*", re.MULTILINE)
_SAME = re.compile(r"same: ([\w.-]+)\.\s+\S")


class Unaccounted(Exception):
    """An entry that does not say what it must."""


@dataclass
class Finding:
    """One account, and every scenario that fails for it, the one with the account first."""

    headline: str
    parts: dict[str, str]
    scenarios: list[str] = field(default_factory=list)


@dataclass
class Library:
    """What was found in one example."""

    example: str
    version: str
    findings: list[Finding]


def libraries(examples: Path = EXAMPLES) -> list[Library]:
    return [library(each) for each in sorted(examples.glob("*/pyproject.toml"))]


def library(configuration: Path) -> Library:
    """Raises :class:`Unaccounted`."""
    name = configuration.parent.name
    entries = tomllib.loads(configuration.read_text("utf-8"))["tool"]["runcoord"].get("known_failures", [])
    versions = sorted({entry.get("revision", "") for entry in entries})
    if entries and (len(versions) != 1 or len(versions[0].split()) != 2):
        raise Unaccounted(f"{name}: one revision of the form 'library 1.2', not {versions}")
    accounts = {entry["scenario"]: account(name, entry) for entry in entries if not _same(entry)}
    for entry in entries:
        if same := _same(entry):
            if same not in accounts:
                raise Unaccounted(
                    f"{name}: {entry['scenario']} is the same as {same!r}, which accounts for nothing"
                )
            accounts[same].scenarios.append(entry["scenario"])
    return Library(name, "".join(versions), list(accounts.values()))


def _same(entry: dict[str, str]) -> str:
    found = _SAME.match(" ".join(entry["why"].split()))
    return found[1] if found else ""


def account(example: str, entry: dict[str, str]) -> Finding:
    headline, *rest = _LABEL.split(entry["why"].strip())
    parts = {label: " ".join(text.split()) for label, text in zip(rest[::2], rest[1::2], strict=True)}
    if not headline.strip() or tuple(rest[::2]) != LABELS or not all(parts.values()):
        raise Unaccounted(
            f"{example}: 'why' of {entry['scenario']} is a sentence, then lines that begin with "
            f"{', '.join(f'{label}:' for label in LABELS)}, in this order"
        )
    return Finding(" ".join(headline.split()), parts, [entry["scenario"]])


def tables(found: list[Library]) -> str:
    """An overview, then each finding with all that is to be said about it."""
    with_findings = [each for each in found if each.findings]
    overview: list[tuple[str, ...]] = [
        (each.version, finding.headline, _names(finding))
        for each in with_findings
        for finding in each.findings
    ]
    parts = [_table(("Library", "Finding", "Red in"), overview)]
    for each in with_findings:
        parts.append(f"### {each.version}")
        for finding in each.findings:
            rows: list[tuple[str, ...]] = [(SHOWN[label], finding.parts[label]) for label in LABELS]
            parts += [f"**{finding.headline}**", _table(("Red in", _names(finding)), rows)]
    return "\n\n".join(parts)


def _names(finding: Finding) -> str:
    return ", ".join(f"`{name}`" for name in finding.scenarios)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(text: str, found: list[Library]) -> str:
    """The page with its tables as they are to be. Raises :class:`Unaccounted` where they have no place."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise Unaccounted(f"{PAGE.name} lacks the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{tables(found)}\n\n{END}{after}"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--write"]):
        sys.stderr.write("usage: python docs/what_was_found.py [--write]\n")
        return 2
    is_now = PAGE.read_text("utf-8")
    try:
        to_be = page(is_now, libraries())
    except Unaccounted as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if is_now == to_be:
        return 0
    if arguments:
        PAGE.write_text(to_be, "utf-8")
    sys.stdout.write(f"{'wrote' if arguments else 'not current:'} {PAGE.relative_to(ROOT).as_posix()}\n")
    return 0 if arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
