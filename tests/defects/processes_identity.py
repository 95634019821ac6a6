"""Seeded defects of telling which process is meant."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.processes_mistaken import (
    Breaks,
    Look,
    for_ever,
    kills_by_number,
    sees_strangers_as,
    unknown_is,
    unknown_is_death,
)
from pytest_runcoord.processes import pinned, port
from runcoord import _probing
from runcoord._cleaning import Cleaner
from runcoord._core import identity as identities
from runcoord._core import process_rules
from runcoord._core.cleanup import Seen, Sight
from runcoord._core.decide import _RULES
from runcoord._core.identity import Habitat, Likeness, ProcessIdentity, UnknownIdentity
from runcoord._core.records import Identity
from runcoord._core.requests import RecordProcesses
from runcoord._probing import Probes
from runcoord._registration import Registration
from runcoord.errors import InvalidRequest
from runcoord.ports import Clock

PROGRAM = "agent"
"""What runs start, in the scenario about programs of one name."""


def _kills_by_name(patch: pytest.MonkeyPatch) -> None:
    kills_by_number(patch, lambda name: name == PROGRAM)


def _start_proves(patch: pytest.MonkeyPatch) -> None:
    """Equal pid and start value prove identity, as most programs have it."""

    def compare(recorded: ProcessIdentity, seen: ProcessIdentity, *, cookie_read: bool) -> Likeness:
        if recorded.handle and seen.handle:
            return identities.compare(recorded, seen, cookie_read=cookie_read)
        equal = (recorded.pid, recorded.start) == (seen.pid, seen.start)
        return Likeness.SAME if equal else Likeness.DIFFERENT

    patch.setattr(pinned, "compare", compare)


# --- values that drift ---------------------------------------------------------------------------


def _drifts(value: Callable[[int, Clock], object]) -> Breaks:
    """The identity is a value made from the start and something that can change: when it differs from what it
    was when the process was recorded, the process counts as replaced."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        recorded: dict[tuple[int | None, int], object] = {}
        clocks: list[Clock] = []
        right: Look = Probes.look
        record, rows, prepare = _RULES[RecordProcesses], Registration.rows, Registration.prepare

        def made(identity: Identity) -> tuple[tuple[int | None, int], object]:
            start = getattr(identity, "start", 0)
            return (identity.pid, start), value(start, clocks[-1])

        def recording(run: Any, request: Any, now: Any) -> Any:
            recorded.update(made(each.identity) for each in request.processes)
            return record(run, request, now)

        def registering(self: Registration, wall: float) -> Any:
            found = rows(self, wall)
            for each in found:
                recorded.setdefault(*made(each.identity))
            return found

        def with_clock(self: Registration) -> None:
            prepare(self)
            table: Any = self._table() if self._table is not None else None
            clocks.append(table.table.clock)

        def look(self: Probes, identity: Identity) -> Seen:
            seen = right(self, identity)
            key, now = made(identity)
            differs = seen.sight is Sight.SAME and recorded.get(key, now) != now
            return Seen(Sight.STRANGER) if differs else seen

        patch.setitem(_RULES, RecordProcesses, recording)
        patch.setattr(Registration, "rows", registering)
        patch.setattr(Registration, "prepare", with_clock)
        patch.setattr(Probes, "look", look)

    return breaks


def _local_text(start: int, clock: Clock) -> str:
    return time.strftime("%c", time.localtime(1_700_000_000 + start / 100))


def _since_the_epoch(start: int, clock: Clock) -> int:
    """The wall time of the start, by way of the boot time, as it is derived now."""
    return round(clock.wall() - clock.boottime() + start / 100)


# --- where it was recorded -----------------------------------------------------------------------


def _places_alike(*, boot: bool = False, namespaces: bool = False, host: bool = False) -> Breaks:
    """Something of where a record was made is not compared."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        right = identities.same_place

        def same_place(recorded: Habitat, here: Habitat) -> Likeness:
            if boot:
                recorded = replace(recorded, boot_id=here.boot_id)
            if namespaces:
                recorded = replace(
                    recorded, pid_namespace=here.pid_namespace, time_namespace=here.time_namespace
                )
            if host:
                recorded = replace(recorded, host=here.host)
            return right(recorded, here)

        for module in (_probing, port, pinned, identities):
            patch.setattr(module, "same_place", same_place)
        patch.setattr("runcoord._ending_trees.same_place", same_place)

    return breaks


def _boot_tells_nothing(patch: pytest.MonkeyPatch) -> None:
    """A record of an earlier boot is only unknown, for ever."""
    right = identities.same_place

    def same_place(recorded: Habitat, here: Habitat) -> Likeness:
        place = right(recorded, here)
        return Likeness.UNKNOWN if place is Likeness.DIFFERENT else place

    patch.setattr(_probing, "same_place", same_place)


def _accepts_any_number(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(process_rules, "require_recordable", lambda identity: None)


def _refuses_the_unread(patch: pytest.MonkeyPatch) -> None:
    """A process without an identity is not recorded, and its run fails."""
    right = process_rules.require_recordable

    def require(identity: Identity) -> None:
        if isinstance(identity, UnknownIdentity):
            raise InvalidRequest("an owned process needs its start", remedy="Give it.")
        right(identity)

    patch.setattr(process_rules, "require_recordable", require)


def _number_overflows(patch: pytest.MonkeyPatch) -> None:
    """A number that is no pid reaches the system call, which raises what nobody expects."""
    right = Probes.look

    def look(self: Probes, identity: Identity) -> Seen:
        if isinstance(identity, UnknownIdentity):
            raise OverflowError("signed integer is greater than maximum")
        return right(self, identity)

    patch.setattr(Probes, "look", look)


def _first_bad_number_ends_the_round(patch: pytest.MonkeyPatch) -> None:
    """One run that cannot be dealt with ends the clean-up of all that come after it."""
    clean = Cleaner.clean

    def until_the_first(self: Cleaner, due: dict[str, str], *more: Any) -> Any:
        return clean(self, dict(sorted(due.items(), key=lambda each: each[0] == "good")[:1]), *more)

    patch.setattr(Cleaner, "clean", until_the_first)


IDENTITY = [
    Defect(
        "pid-reused",
        "Whoever has the recorded pid is killed.",
        "no-stranger-signalled",
        kills_by_number,
    ),
    Defect(
        "pid-reused",
        "Equal pid and start value prove which process it is.",
        "no-stranger-signalled",
        _start_proves,
        name="start-proves",
        scenario="pid-reused-without-handles",
    ),
    Defect(
        "pid-reused",
        "A pid that is a stranger's is a reason to try again, for ever.",
        "converges",
        for_ever(sees_strangers_as(Sight.UNKNOWN)),
        name="wedged",
        scenario="pid-reused-under-timers",
    ),
    Defect(
        "same-program-at-the-pid",
        "The process at the pid is killed because the program is the same.",
        "no-stranger-signalled",
        _kills_by_name,
    ),
    Defect(
        "tz-and-locale-drift",
        "The start is compared as local text, so that the live child counts as replaced.",
        "outcome-after-quiescence",
        _drifts(_local_text),
    ),
    Defect(
        "tz-and-locale-drift",
        "The start of an owner is compared as local text, so that the live owner counts as dead.",
        "live-lease-kept",
        _drifts(_local_text),
        name="owner",
        scenario="live-owner-in-another-zone",
    ),
    Defect(
        "tz-and-locale-drift",
        "A start of the old text form counts as different.",
        "outcome-after-quiescence",
        unknown_is(Sight.STRANGER),
        name="text-differs",
        scenario="start-as-local-text",
    ),
    Defect(
        "wall-clock-step-identity",
        "The start is kept as wall time, which moves with the clock.",
        "outcome-after-quiescence",
        _drifts(_since_the_epoch),
    ),
    Defect(
        "wall-clock-step-identity",
        "The start of an owner is kept as wall time, so that the live owner counts as dead after a step.",
        "live-lease-kept",
        _drifts(_since_the_epoch),
        name="owner",
        scenario="live-owner-after-a-step",
    ),
    Defect(
        "reboot-aliases-identity",
        "The boot is not compared, so that a process of this boot is taken for one of the last.",
        "no-stranger-signalled",
        _places_alike(boot=True),
    ),
    Defect(
        "reboot-aliases-identity",
        "Of a record of the last boot nothing is concluded, so that its run waits.",
        "answer",
        _boot_tells_nothing,
        name="tells-nothing",
    ),
    Defect(
        "foreign-namespace",
        "Records of another pid namespace are read as of this one, and a live owner counts as dead.",
        "live-lease-kept",
        _places_alike(namespaces=True),
    ),
    Defect(
        "foreign-namespace",
        "Records of another time namespace are read as of this one.",
        "live-lease-kept",
        _places_alike(namespaces=True),
        name="time",
        scenario="foreign-time-namespace",
    ),
    Defect(
        "foreign-namespace",
        "The pid of a record of another machine is signalled here.",
        "no-stranger-signalled",
        kills_by_number,
        name="host",
        scenario="foreign-host",
    ),
    Defect(
        "foreign-namespace",
        "That nothing can be told of an owner counts as proof of its death.",
        "live-lease-kept",
        unknown_is_death,
        name="unknown-is-death",
    ),
    Defect(
        "identity-unreadable-at-spawn",
        "A process whose identity cannot be read is refused, and its run gets no further.",
        "spawn",
        _refuses_the_unread,
    ),
    Defect(
        "identity-unreadable-at-spawn",
        "The pid alone gives authority to kill where the identity could not be read.",
        "no-stranger-signalled",
        kills_by_number,
        name="pid-is-authority",
        scenario="unread-identity-is-no-authority",
    ),
    Defect(
        "pid-out-of-range",
        "Whatever number is given is recorded.",
        "refused",
        _accepts_any_number,
    ),
    Defect(
        "pid-out-of-range",
        "A stored number that is no pid ends the sweep for every run.",
        "recover",
        _number_overflows,
        name="ends-the-sweep",
        scenario="pid-out-of-range-found-stored",
    ),
    Defect(
        "pid-out-of-range",
        "A run whose number is no pid keeps those after it from being dealt with.",
        "one-bad-apple",
        _first_bad_number_ends_the_round,
        name="ends-the-round",
        scenario="pid-out-of-range-found-stored",
    ),
    Defect(
        "pid-out-of-range",
        "A stored record that means the sweeping process makes it signal itself.",
        "no-stranger-signalled",
        kills_by_number,
        name="itself",
        scenario="own-process-found-stored",
    ),
    Defect(
        "identity-format-changes",
        "A record of another format counts as different, so that a live child looks replaced.",
        "outcome-after-quiescence",
        unknown_is(Sight.STRANGER),
    ),
    Defect(
        "identity-format-changes",
        "A record of another format never matches, and its run is tried for ever.",
        "converges",
        for_ever(unknown_is(Sight.UNKNOWN)),
        name="wedged",
        scenario="other-format-under-timers",
    ),
    Defect(
        "identity-format-changes",
        "Of a record of another format the pid is believed.",
        "no-stranger-signalled",
        kills_by_number,
        name="pid-is-believed",
        scenario="other-format-under-timers",
    ),
]
