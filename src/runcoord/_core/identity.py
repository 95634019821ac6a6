"""Which process is meant: machine values, and what they prove.

A pid says nothing by itself: the kernel gives it to another process as soon as it is free. Pid and start
value prove nothing either: a recycled pid was measured to have the *same* start tick in 85 to 97 of 100
forced reuses, because a tick is 10 ms. What proves: the kernel's durable handle of a process (pidfs, never
reused in one boot), or the run's own random cookie found in the environment of the very
process that is pinned.

Comparing answers *same*, *different* or *unknown*. Only *same* authorises a signal, only *different* (or
gone) proves a death, and *unknown* does neither.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from runcoord._core.limits import MAX_PID
from runcoord._core.values import value

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
"""Number of the stored form. A record of another form is unknown, never different."""
UNREAD_FORMAT = 0
"""The form of a record that says that the identity could not be read."""


class Likeness(enum.StrEnum):
    """Whether a process that is there now is the recorded one."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


@value
class Habitat:
    """Where pids and start values mean something: they are comparable only within one of these."""

    host: str
    """The machine's own id, not its name, where it has one."""
    boot_id: str
    pid_namespace: str
    time_namespace: str
    """A time namespace shifts start values. Empty where a system has none."""
    source: str
    """Where start values come from, and in which unit: ``linux-proc`` (ticks since boot), or another."""


@value
class ProcessIdentity:
    """One process as it was recorded."""

    pid: int
    start: int
    """The start value, in the unit of the habitat's source. 0: could not be read; then nothing is proved."""
    habitat: Habitat
    handle: str = ""
    """The kernel's durable handle as hex text; empty where it gives none."""
    cookie: str = ""
    """The run's own cookie, in the environment of the process from its first instruction; empty if none."""

    def document(self) -> dict[str, Any]:
        """The stored form, of JSON types."""
        where = self.habitat
        return {
            "format": FORMAT,
            "pid": self.pid,
            "start": self.start,
            "host": where.host,
            "boot": where.boot_id,
            "pid_namespace": where.pid_namespace,
            "time_namespace": where.time_namespace,
            "source": where.source,
            "handle": self.handle,
            "cookie": self.cookie,
        }


@value
class UnknownIdentity:
    """A record that does not name a process: of an older or newer form, or out of range. Never a reason to
    signal anything, and never proof that a process is gone."""

    problem: str
    pid: int | None = None

    def document(self) -> dict[str, Any]:
        """The stored form, of JSON types: that it could not be read."""
        return {"format": UNREAD_FORMAT, "pid": self.pid, "problem": self.problem}


def identity_from(document: object) -> ProcessIdentity | UnknownIdentity:
    """The identity in a stored form; an :class:`UnknownIdentity` for anything else."""
    if not isinstance(document, Mapping):
        return UnknownIdentity(f"the record is {type(document).__name__}, not an object")
    found = document.get("format")
    pid = document.get("pid")
    number = pid if is_pid(pid) else None
    if found == UNREAD_FORMAT and not isinstance(found, bool):
        return UnknownIdentity(f"{document.get('problem')}", number)
    if found != FORMAT or isinstance(found, bool):
        return UnknownIdentity(f"the record has format {found!r:.20}, known is {FORMAT}", number)
    if number is None:
        return UnknownIdentity(f"{pid!r:.40} is no pid of a process that can be meant")
    start = document.get("start")
    if not isinstance(start, int) or isinstance(start, bool) or start < 0:
        return UnknownIdentity(f"the start value is {start!r:.40}", number)
    names = ("host", "boot", "pid_namespace", "time_namespace", "source", "handle", "cookie")
    texts = [document.get(name) for name in names]
    if not all(isinstance(text, str) for text in texts):
        return UnknownIdentity("a field of the record is not text", number)
    host, boot, pid_ns, time_ns, source, handle, cookie = (str(text) for text in texts)
    return ProcessIdentity(number, start, Habitat(host, boot, pid_ns, time_ns, source), handle, cookie)


def is_pid(value: object) -> bool:
    """Whether a value can be the pid of a process of a run: a whole number from 2 to the largest pid. 0 and
    negative numbers mean groups to ``kill``, and 1 is init (``killpg(1, s)`` was measured to signal every
    process there is)."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 < value <= MAX_PID


def same_place(recorded: Habitat, here: Habitat) -> Likeness:
    """Whether pids of a record mean something here.

    ``DIFFERENT``: the same machine after a reboot, so everything recorded is gone. ``UNKNOWN``: another
    machine, namespace or source, about which nothing can be said from here.
    """
    if (recorded.host, recorded.source) != (here.host, here.source) or not recorded.host:
        return Likeness.UNKNOWN
    if not recorded.boot_id or not here.boot_id:
        return Likeness.UNKNOWN
    if recorded.boot_id != here.boot_id:
        return Likeness.DIFFERENT
    if (recorded.pid_namespace, recorded.time_namespace) != (here.pid_namespace, here.time_namespace):
        return Likeness.UNKNOWN
    return Likeness.SAME


def compare(recorded: ProcessIdentity, seen: ProcessIdentity, *, cookie_read: bool) -> Likeness:
    """Whether the process ``seen`` at the recorded pid, pinned while it was read, is the recorded one.

    ``seen.cookie`` is the recorded cookie if it was found in the environment, else empty; ``cookie_read``
    says whether the environment could be read at all.
    """
    place = same_place(recorded.habitat, seen.habitat)
    if place is not Likeness.SAME:
        return place
    if recorded.pid != seen.pid:
        return Likeness.DIFFERENT
    if recorded.handle and seen.handle:
        return Likeness.SAME if recorded.handle == seen.handle else Likeness.DIFFERENT
    if not recorded.start or not seen.start:
        return Likeness.UNKNOWN
    if recorded.start != seen.start:
        return Likeness.DIFFERENT
    if recorded.cookie and cookie_read:
        # A process may clear its environment by exec, so that a missing cookie proves nothing.
        return Likeness.SAME if recorded.cookie == seen.cookie else Likeness.UNKNOWN
    return Likeness.UNKNOWN
