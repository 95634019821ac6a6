"""``runcoord speak``: talk to a program that is to be a subject, and say what is wrong with what it says.

It is asked for its hello, and then for one life of a run with a crash in it, as a scenario would ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_text, variants
from pytest_runcoord.subjects.program import ProgramSubject
from pytest_runcoord.subjects.program_errors import ProgramFault
from pytest_runcoord.subjects.program_protocol import PROTOCOL
from pytest_runcoord.subjects.program_verbs import asked_of
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import Failure, FailureKind

MAX_LINES = 5_000
"""Lines of the conversation that are kept: far more than one life needs."""
LAST_LINES = 12
"""Lines of the conversation that are shown where something is wrong."""
SHOWN_CHARACTERS = 400
"""Characters that are shown of one line."""
ARROWS = {"asked": ">", "answered": "<"}

HEAD = "runcoord: 1\nscenario: one-life\nsays: A run is worked off, and what was accepted outlives a crash.\n"


@dataclass
class Conversed:
    """What came of talking to a program."""

    name: str
    version: str = ""
    capabilities: list[str] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)
    verbs: list[str] = field(default_factory=list)
    did: list[tuple[str, str]] = field(default_factory=list)
    """What was done, and what came of it, in order."""
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Who (``asked``: the harness, ``answered``: the program), and the line."""
    problem: str = ""
    expected: str = ""
    remedy: str = ""
    stderr: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        return not self.problem

    def document(self) -> dict[str, Any]:
        """The same in plain JSON types."""
        steps = [{"what": what, "status": status} for what, status in self.did]
        lines = [{"who": who, "line": line} for who, line in self.lines]
        fault = {
            "problem": self.problem,
            "expected": self.expected,
            "remedy": self.remedy,
            "stderr": self.stderr,
        }
        return {
            "protocol": PROTOCOL,
            "name": self.name,
            "version": self.version,
            "capabilities": self.capabilities,
            "moments": self.moments,
            "verbs": self.verbs,
            "steps": steps,
            "fault": None if self.is_right else fault,
            "lines": lines,
        }

    def text(self, whole: bool) -> Iterator[str]:
        """What a reader is told, line by line; with ``whole`` the conversation too."""
        if self.capabilities or self.is_right:
            yield f"{self.version or self.name} speaks version {PROTOCOL} of the protocol"
            for label, names in (("can", self.capabilities), ("announces", self.moments)):
                yield f"  {label + ':':11}{', '.join(names) or 'nothing'}"
            yield f"  {'is asked:':11}{', '.join(self.verbs)}"
            yield ""
        for what, status in self.did:
            yield f"{status:9} {what}"
        shown = self.lines if whole else [] if self.is_right else self.lines[-LAST_LINES:]
        if shown:
            if self.did:
                yield ""
            yield "The conversation:" if whole else "The last lines (> asked, < answered):"
            for who, line in shown:
                yield f"  {ARROWS[who]} {_cut(line)}"
        if self.capabilities or self.did or shown:
            yield ""
        if self.is_right:
            yield "It keeps to the protocol."
            return
        yield f"WRONG: {self.problem}"
        for label, words in (("expected", self.expected), ("remedy", self.remedy)):
            if words:
                yield f"  {label}: {words}"
        if self.stderr:
            yield "  the end of its standard error:"
            yield from (f"    {each}" for each in self.stderr)


def converse(command: Iterable[str], directory: Path) -> Conversed:
    """Talk to a program. What is wrong with it is in the result."""
    lines: list[tuple[str, str]] = []

    def told(who: str, line: bytes) -> None:
        if len(lines) < MAX_LINES:
            lines.append((who, line.decode("utf-8", "backslashreplace")))

    subject = ProgramSubject(command, directory, told)
    said = Conversed(str(subject.command), lines=lines)
    known = subject.introduction()
    if isinstance(known, ProgramFault):
        _note(said, known)
        return said
    said.name, said.version = known.name, known.version
    said.capabilities, said.moments = sorted(known.capabilities), sorted(known.moments)
    said.verbs = asked_of(known.capabilities)
    lines.clear()
    text = one_life(known.capabilities)
    [scenario] = load_text(text, default_registry(), "one life").scenarios
    assert isinstance(scenario, Scenario)
    [variant] = variants(scenario)
    worlds: list[Any] = []
    result = run_variant(scenario, variant, subject=subject, attach=worlds.append)
    for world in worlds:
        said.did += [
            (_what(entry), entry.status or "ok")
            for entry in world.history.entries
            if entry.kind in ("verb", "message", "world") and not entry.what.startswith("at ")
        ]
    if result.failure is not None:
        said.stderr = list(subject.last_words)
        _fail(said, result.failure)
    elif result.skipped:
        said.problem = result.skipped
    return said


def one_life(capabilities: Iterable[str]) -> str:
    """The scenario that a program with these capabilities is tried with."""
    able = set(capabilities)
    if "runs" not in able:
        return f"{HEAD}steps:\n  - open: gw1\n  - crash: gw1\n  - open: gw2\n  - close: gw2\nheal: none\n"
    to = ", destination: chat" if "outbox" in able else ""
    steps = [
        "open: gw1",
        f"submit: {{run: r1{to}}}",
        "claim: {run: r1, as: first}",
        *(["start: {with: first}"] if "starting" in able else []),
        *(["renew: {with: first}"] if "renewal" in able else []),
        "complete: {with: first}",
        *(["deliver: {by: gw1}"] if to else []),
        f"submit: {{run: r2{to}}}",
        "crash: gw1",
        "open: gw2",
        "claim: {run: r2, by: gw2}",
        "close: gw2",
    ]
    expected = ["run: {id: r1, outcome: completed}"] + (["delivered: {run: r1, to: chat}"] if to else [])
    given = "given: {destinations: {chat: accepts}}\n" if to else ""
    listed = "".join(f"  - {each}\n" for each in steps)
    return (
        f"{HEAD}{given}steps:\n{listed}expect:\n"
        + "".join(f"  - {each}\n" for each in expected)
        + "heal: none\n"
    )


def _what(entry: Any) -> str:
    about = entry.data.get("on") or entry.data.get("run") or ""
    return f"{entry.actor}: {entry.what} {about}".rstrip()


def _note(said: Conversed, fault: ProgramFault) -> None:
    said.problem, said.expected, said.remedy = str(fault), fault.expected, fault.remedy
    said.stderr = list(fault.stderr)


def _fail(said: Conversed, failure: Failure) -> None:
    said.problem, said.expected, said.remedy = failure.problem, failure.expected, failure.remedy
    if failure.seen and failure.kind is not FailureKind.SUBJECT:
        said.problem += f" (seen: {failure.seen})"


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"
