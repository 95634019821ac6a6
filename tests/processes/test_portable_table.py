"""The table of systems without process handles: with real processes here, and recorded ones of elsewhere."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from processes.recordings import INNER, OTHER, OUTER, RUN, Recording
from runcoord._core.identity import identity_from
from runcoord._processes.psutil_rows import PsutilRows, start_of
from runcoord._processes.system_ids import SystemIds, system_ids
from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone, SignalDenied
from runcoord.ports import Likeness, Membership, ProcessIdentity
from runcoord.testing import Can, ProcessesContract, ProcessMaker

LEADER, MEMBER, ESCAPED, ZOMBIE, HANDED_OVER, CLOSED = 80211, 80212, 80213, 80214, 80215, 80300

if sys.platform == "linux":
    from processes.making import RealMaker
    from runcoord._processes.portable import PortableProcesses

    class PsutilMaker(RealMaker):
        @property
        def lacks(self) -> Mapping[Can, str]:
            why = "psutil takes a process whose first thread ended for a zombie"
            return {**super().lacks, Can.THREADS: why}

    @pytest.mark.real
    class TestRealProcessesThroughPsutil(ProcessesContract):
        def make_processes(self) -> ProcessMaker:
            return PsutilMaker(PortableProcesses())


@pytest.fixture
def mac() -> Recording:
    return Recording("darwin")


@pytest.fixture
def windows() -> Recording:
    return Recording("win32")


def likeness(machine: Recording, record: ProcessIdentity) -> Likeness:
    return machine.table.open(record).look(record).likeness


def members(machine: Recording, clue: Membership) -> set[int]:
    scan = machine.table.scan(clue, 10.0)
    assert scan.complete
    return {each.identity.pid for each in scan.members}


# --- macOS -------------------------------------------------------------------------------------------


def test_a_mac_proves_a_process_by_its_cookie_alone(mac: Recording) -> None:
    record = mac.table.identify(LEADER, RUN)
    assert (record.start, record.handle, record.habitat.source) == (1760090000500001, "", "psutil-darwin")
    assert identity_from(record.document()) == record
    assert likeness(mac, record) is Likeness.SAME
    assert likeness(mac, mac.table.identify(LEADER)) is Likeness.UNKNOWN
    assert likeness(mac, replace(record, cookie=OTHER)) is Likeness.UNKNOWN
    assert likeness(mac, replace(record, start=record.start + 1)) is Likeness.DIFFERENT


def test_a_mac_after_another_boot_has_none_of_the_recorded_processes(mac: Recording) -> None:
    record = mac.table.identify(LEADER, RUN)
    later = Recording("darwin", boot="11111111-2222-3333-4444-555555555555")
    with pytest.raises(ProcessGone):
        later.table.open(record)


def test_a_closed_environment_is_unknown(mac: Recording) -> None:
    record = mac.table.identify(CLOSED, RUN)
    look = mac.table.open(record).look(record)
    assert (look.likeness, look.why) == (Likeness.UNKNOWN, "its environment cannot be read")


def test_members_are_found_on_a_mac(mac: Recording) -> None:
    assert members(mac, Membership(cookie=RUN)) == {LEADER, MEMBER, ESCAPED, HANDED_OVER}
    assert members(mac, Membership(group=LEADER)) == {LEADER, MEMBER}
    assert members(mac, Membership(session=LEADER)) == {LEADER, MEMBER}
    assert members(mac, Membership(cookie=OUTER)) == members(mac, Membership(cookie=INNER)) == {ESCAPED}
    scan = mac.table.scan(Membership(cookie=RUN, spared=RUN), 10.0)
    assert [each.identity.pid for each in scan.spared] == [HANDED_OVER]
    assert scan.unreadable == 1
    assert [each.state for each in scan.members if each.identity.pid == ESCAPED] == ["T"]


def test_a_zombie_on_a_mac_has_ended(mac: Recording) -> None:
    with pytest.raises(ProcessGone):
        mac.table.identify(ZOMBIE)
    assert mac.table.pin(Membership(group=ZOMBIE), ZOMBIE) is None


CHANGES: tuple[dict[str, Any], ...] = (
    {"start": 1760090000500002},
    {"environment": {"RUNCOORD_COOKIE": "OTHER"}},
    {"environment": None},
)


def test_a_signal_is_sent_only_while_start_and_cookie_are_those_that_were_proved(mac: Recording) -> None:
    record = mac.table.identify(LEADER, RUN)
    for change in CHANGES:
        held = mac.table.open(record)
        assert held.look(record).likeness is Likeness.SAME
        before = dict(mac.rows.processes[LEADER])
        mac.rows.processes[LEADER] = {**before, **change}
        with pytest.raises(ProcessGone):
            held.signal(signal.SIGKILL)
        mac.rows.processes[LEADER] = before
    assert mac.rows.sent == []
    held = mac.table.open(record)
    held.look(record)
    held.signal(signal.SIGTERM)
    assert mac.rows.sent == [(LEADER, signal.SIGTERM)]
    with pytest.raises(ProcessGone):
        held.signal(signal.SIGTERM)
    assert held.ended()


def test_a_member_is_signalled_only_while_it_is_one(mac: Recording) -> None:
    clue = Membership(cookie=RUN)
    for change in CHANGES:
        held = mac.table.pin(clue, ESCAPED)
        assert held is not None
        before = dict(mac.rows.processes[ESCAPED])
        mac.rows.processes[ESCAPED] = {**before, **change}
        with pytest.raises(ProcessGone):
            held.signal(signal.SIGKILL)
        mac.rows.processes[ESCAPED] = before
    assert mac.rows.sent == []


def test_a_signal_that_is_not_permitted_is_said_to_be_so(mac: Recording) -> None:
    held = mac.table.open(mac.table.identify(LEADER, RUN))
    mac.rows.denied.add(LEADER)
    with pytest.raises(SignalDenied):
        held.signal(signal.SIGTERM)
    assert not held.ended()


def test_groups_are_signalled_member_by_member_where_nothing_is_held(mac: Recording) -> None:
    promised = mac.table.guarantees()
    told = (promised.platform, promised.pinned, promised.durable_handle, promised.group_in_one_step)
    assert told == ("darwin", False, False, False)
    with pytest.raises(ProbeFailed):
        mac.table.signal_group(mac.table.open(mac.table.identify(LEADER)), signal.SIGKILL)
    assert mac.rows.sent == []


# --- Windows -----------------------------------------------------------------------------------------


def test_windows_names_no_boot_so_a_record_proves_nothing_there(windows: Recording) -> None:
    record = windows.table.identify(8120, RUN)
    with pytest.raises(ProbeFailed) as failed:
        windows.table.open(record)
    assert "not known" in failed.value.problem
    assert windows.rows.sent == []


def test_members_are_found_on_windows_by_cookie_and_parent(windows: Recording) -> None:
    clue = Membership(cookie=RUN)
    assert members(windows, clue) == {8120, 8124}
    scan = windows.table.scan(clue, 10.0)
    assert (scan.problem, scan.unreadable) == ("", 2)
    held = windows.table.pin(clue, 8124)
    assert held is not None
    held.signal(signal.SIGTERM)
    assert windows.rows.sent == [(8124, signal.SIGTERM)]
    assert windows.table.pin(clue, 9000) is None


# --- values of the system ------------------------------------------------------------------------------


class OfPsutil:
    """As a process of psutil 7.1 and newer: what it tells moves with the clock, what it keeps does not."""

    class _Inner:
        def create_time(self, monotonic: bool = False) -> float:
            return 1760090000.500001 if monotonic else 1760093600.500001

    _proc = _Inner()


class OfOldPsutil:
    class _Inner:
        def create_time(self) -> float:
            return 1760090000.500001

    _proc = _Inner()


@pytest.mark.parametrize("process", [OfPsutil(), OfOldPsutil()])
def test_the_start_value_does_not_move_with_the_clock(process: Any) -> None:
    assert start_of(process) == 1760090000500001


def test_a_psutil_that_keeps_no_start_value_proves_nothing() -> None:
    assert start_of(object()) == 0


def test_an_unknown_system_has_no_names_and_compares_nothing() -> None:
    assert system_ids("plan9") == SystemIds("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
def test_ids_of_another_system_are_unknown_and_raise_nothing_here() -> None:
    if sys.platform != "darwin":
        assert system_ids("darwin") == SystemIds("", "")
        assert system_ids("win32") == SystemIds("", "")


def test_what_psutil_cannot_find_is_gone() -> None:
    with pytest.raises(ProcessLookupError):
        PsutilRows().row(2**22)
    with pytest.raises(InvalidRequest):
        Recording("darwin").table.identify(2**22 + 1)
