"""The one append-only record of a scenario. Invariants, reports and timelines are views of it."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.verdict import Line, Moment
from pytest_runcoord.world_errors import printable
from runcoord.ports import Clock
from runcoord.values import field, record

MAX_ENTRIES = 50_000
"""Entries of one scenario; far beyond what a readable scenario makes, so reaching it means a loop."""


class HistoryFull(BaseException):
    """The scenario made more entries than its bound. Not an error that code under test may swallow."""


@record
class Entry:
    """One thing that happened. ``data`` holds plain values, by name.

    Kinds: ``verb`` (a subject was asked for something), ``moment`` (a named effect was reached),
    ``tick`` (a timer's, which left something else durable than it found; where writes are announced the
    moments say that), ``message`` (a destination was offered an event), ``signal`` (a process was sent one),
    ``world`` (clocks, crashes, faults).
    """

    number: int
    kind: str
    actor: str
    what: str
    status: str
    data: dict[str, Any]
    wall: float
    monotonic: float
    boottime: float
    step: int
    changed: bool | None = None
    """Whether it left another durable state than it found; ``None`` where that was not looked at."""


@record
class History:
    """Entries in the order in which they happened, with every clock at that moment."""

    clock: Clock
    entries: list[Entry] = field(default_factory=list)
    completed: list[Entry] = field(default_factory=list)
    """The same entries in the order in which they ended; what is under way is not in it."""
    step: int = 0
    """Line of the step under way."""

    def add(self, kind: str, actor: str, what: str, status: str = "", **data: Any) -> Entry:
        """Record something that is over."""
        entry = self.enter(kind, actor, what, status, data)
        self.completed.append(entry)
        return entry

    def record(self, kind: str, actor: str, what: str, status: str, data: dict[str, Any]) -> Entry:
        """The same, with data that are the entry's own from now on."""
        entry = self.enter(kind, actor, what, status, data)
        self.completed.append(entry)
        return entry

    def end(self, entry: Entry, status: str) -> None:
        """What was begun has ended."""
        entry.status = status
        self.completed.append(entry)

    def begin(self, kind: str, actor: str, what: str, status: str = "", **data: Any) -> Entry:
        """Record that something begins; :meth:`end` must follow."""
        return self.enter(kind, actor, what, status, data)

    def enter(self, kind: str, actor: str, what: str, status: str, data: dict[str, Any]) -> Entry:
        """The same, with data that are the entry's own from now on."""
        entries = self.entries
        number = len(entries) + 1
        if number > MAX_ENTRIES:
            raise HistoryFull(f"more than {MAX_ENTRIES} things happened")
        clock = self.clock
        entry = Entry(
            number,
            kind,
            actor,
            what,
            status,
            data,
            clock.wall(),
            clock.monotonic(),
            clock.boottime(),
            self.step,
        )
        entries.append(entry)
        return entry

    def lines(self) -> list[Line]:
        """The entries as a report shows them, times counted from the first one."""
        if not self.entries:
            return []
        first = self.entries[0]
        return [
            Line(
                entry.number,
                entry.actor,
                f"{entry.what}" if entry.kind != "moment" else f"· {entry.what}",
                entry.status,
                _detail(entry.data),
                Moment(
                    round(entry.wall - first.wall, 6),
                    round(entry.monotonic - first.monotonic, 6),
                    round(entry.boottime - first.boottime, 6),
                ),
                entry.step,
            )
            for entry in self.entries
        ]


OF_THE_CALL = frozenset({"start", "on", "with_epoch", "reported", "given", "handle", "code"})
"""What the harness says of a call, and invariants go by; values of an answer are not taken for it."""
HIDDEN = frozenset({"body", "payload", "handle", "serial", "depth_name", "maximum_name", "of_runs"})
MAX_DETAIL_CHARACTERS = 160
"""Characters of detail in one line of a report."""


def _detail(data: dict[str, Any]) -> str:
    """What a report shows of an entry: a count of nothing, a flag that is off and no text say nothing."""
    shown = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in data.items()
        if name not in HIDDEN and value
    ]
    text = printable(" ".join(shown))
    return text if len(text) <= MAX_DETAIL_CHARACTERS else text[: MAX_DETAIL_CHARACTERS - 1] + "…"
