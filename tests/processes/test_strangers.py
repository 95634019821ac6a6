"""What was there before a run, and is none of it, is read once in a teardown; nobody else is passed over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from processes.namespaces import PIDS, told_inside
from processes.recordings import OTHER, RUN, RecordedRows
from processes.trees import LIFE_SECONDS, PATIENCE_SECONDS, Grove, grove, linux_only
from runcoord._processes.elders import NOTED_AT_ONCE
from runcoord._processes.portable import PortableProcesses
from runcoord._processes.strangers import Strangers
from runcoord._processes.system_ids import SystemIds
from runcoord.ports import Membership

__all__ = ["grove"]

SHIM, LEADER, OLD, YOUNG, OLD_CLOSED = 500, 501, 300, 600, 301
SHIM_START = 1_000
ALWAYS = (1, SHIM, LEADER)
"""Init shows whether others are hidden, the shim's age decides who is older, and the command is a member."""


def process(
    pid: int, start: int, *, parent: int = 1, group: int | None = None, environment: Any = None, **more: Any
) -> dict[str, Any]:
    made = {
        "pid": pid,
        "status": "sleeping",
        "parent": parent,
        "group": pid if group is None else group,
        "session": pid,
        "start": start,
        "name": "sleep",
        "environment": {} if environment is None else environment,
    }
    return {**made, **more}


class Machine:
    """A run's shim and its command, and others, as plain data."""

    def __init__(self) -> None:
        others = [
            process(1, 1),
            process(OLD, 10, environment={"RUNCOORD_COOKIE": OTHER}),
            process(SHIM, SHIM_START),
            process(LEADER, SHIM_START + 1, parent=SHIM),
            process(YOUNG, SHIM_START + 2),
        ]
        self.rows = RecordedRows(1, {each["pid"]: each for each in others}, marked=True)
        self.table = PortableProcesses("darwin", self.rows, lambda _: SystemIds("host", "boot"))
        self.members = Membership(cookie=RUN, group=LEADER, ancestor=SHIM)

    def add(self, made: dict[str, Any]) -> None:
        self.rows.processes[made["pid"]] = made

    def note(self) -> None:
        """What a shim does while its command runs."""
        for _ in self.table.note_elders(self.members):
            pass

    def scan(self, members: Membership | None = None) -> tuple[set[int], set[int]]:
        """Who was found, and who was read for it."""
        self.rows.read.clear()
        scan = self.table.scan(members or self.members, 10.0)
        assert scan.complete, scan.problem
        return {each.identity.pid for each in scan.members}, set(self.rows.read)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_a_stranger_of_before_the_run_is_read_once_and_everybody_else_each_time(machine: Machine) -> None:
    assert machine.scan() == ({LEADER}, {1, OLD, SHIM, LEADER, YOUNG})
    assert machine.scan() == ({LEADER}, {*ALWAYS, YOUNG})


def test_a_stranger_that_is_younger_than_the_run_is_found_when_it_executes_something_of_it(
    machine: Machine,
) -> None:
    machine.scan()
    machine.rows.processes[YOUNG]["environment"] = {"RUNCOORD_COOKIE": RUN}
    assert machine.scan() == ({LEADER, YOUNG}, {*ALWAYS, YOUNG})


def test_who_has_the_number_of_a_stranger_now_is_read(machine: Machine) -> None:
    machine.scan()
    machine.add(process(OLD, SHIM_START + 5, environment={"RUNCOORD_COOKIE": RUN}))
    found, read = machine.scan()
    assert (found, OLD in read) == ({LEADER, OLD}, True)


def test_one_that_is_as_old_as_what_the_run_hangs_on_is_read_each_time(machine: Machine) -> None:
    """Start values are coarse: which of the two came first is not known."""
    machine.add(process(OLD, SHIM_START))
    assert OLD in machine.scan()[1]
    assert OLD in machine.scan()[1]


def test_a_process_whose_environment_is_closed_is_read_and_counted_each_time(machine: Machine) -> None:
    machine.add(process(OLD_CLOSED, 10))
    machine.rows.processes[OLD_CLOSED]["environment"] = None
    for _ in range(2):
        scan = machine.table.scan(machine.members, 10.0)
        assert (scan.complete, scan.unreadable) == (True, 1)
    assert OLD_CLOSED in machine.scan()[1]


def test_an_older_member_stays_one(machine: Machine) -> None:
    machine.add(process(OLD, 10, environment={"RUNCOORD_COOKIE": RUN}))
    for _ in range(2):
        assert machine.scan()[0] == {LEADER, OLD}


def test_a_stranger_to_one_run_is_read_for_another(machine: Machine) -> None:
    machine.scan()
    other = Membership(cookie=OTHER, group=LEADER, ancestor=SHIM)
    assert machine.scan(other) == ({LEADER, OLD}, {1, OLD, SHIM, LEADER, YOUNG})


def test_without_what_the_run_hangs_on_everybody_is_read_each_time(machine: Machine) -> None:
    del machine.rows.processes[SHIM]
    everybody = {1, OLD, LEADER, YOUNG}
    assert [machine.scan() for _ in range(2)] == [({LEADER}, everybody)] * 2


def test_where_processes_have_no_marks_everybody_is_read_each_time(machine: Machine) -> None:
    machine.rows.marked = False
    assert [machine.scan()[1] for _ in range(2)] == [{1, OLD, SHIM, LEADER, YOUNG}] * 2


def test_a_stranger_is_read_anew_after_a_while(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runcoord._processes.strangers.STRANGER_SECONDS", 0.0)
    assert [machine.scan()[1] for _ in range(2)] == [{1, OLD, SHIM, LEADER, YOUNG}] * 2


def test_seeing_more_strangers_does_not_put_off_when_the_first_are_read_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr("runcoord._processes.strangers.time.monotonic", lambda: now)
    strangers, members = Strangers(), Membership(group=LEADER)
    assert strangers.known(members, {}) == {}
    strangers.add({OLD: 1})
    now = 109.0
    strangers.add({YOUNG: 2})
    assert strangers.known(members, {}) == {OLD: 1, YOUNG: 2}
    now = 110.0
    assert strangers.known(members, {}) == {}


class TestElders:
    """Those that were noted while the run went on: their environment is read, and nothing else."""

    def test_the_environment_alone_is_read_of_an_elder_and_only_once(self, machine: Machine) -> None:
        machine.note()
        assert machine.scan() == ({LEADER}, {*ALWAYS, YOUNG})
        assert machine.rows.asked == [OLD]
        assert machine.scan() == ({LEADER}, {*ALWAYS, YOUNG})
        assert machine.rows.asked == [OLD]

    def test_an_elder_that_executes_something_of_the_run_is_found_and_so_is_who_is_below_it(
        self, machine: Machine
    ) -> None:
        below, further = 302, 299
        other = {"RUNCOORD_COOKIE": OTHER}
        first = process(further, 12, parent=below, environment=other)  # and passed over before it is known
        machine.rows.processes = {further: first, **machine.rows.processes}
        machine.add(process(below, 11, parent=OLD, environment=other))
        machine.note()
        machine.rows.processes[OLD]["environment"] = {"RUNCOORD_COOKIE": RUN}
        for _ in range(2):
            assert machine.scan()[0] == {LEADER, OLD, below, further}

    def test_who_has_the_number_of_an_elder_now_is_read(self, machine: Machine) -> None:
        machine.note()
        machine.add(process(OLD, SHIM_START + 5, parent=LEADER))
        assert machine.scan() == ({LEADER, OLD}, {*ALWAYS, OLD, YOUNG})

    def test_an_elder_whose_environment_is_closed_is_read_and_counted(self, machine: Machine) -> None:
        machine.note()
        machine.rows.processes[OLD]["environment"] = None
        for _ in range(2):
            scan = machine.table.scan(machine.members, 10.0)
            assert (scan.complete, scan.unreadable) == (True, 1)

    @pytest.mark.parametrize("changes", [{"session": SHIM}, {"group": LEADER}, {"start": SHIM_START}])
    def test_who_may_come_to_be_a_member_by_more_than_its_environment_is_no_elder(
        self, machine: Machine, changes: dict[str, Any]
    ) -> None:
        machine.rows.processes[OLD].update(changes)
        machine.note()
        assert OLD in machine.scan()[1]
        assert machine.rows.asked == []

    def test_an_elder_of_one_run_is_read_for_another(self, machine: Machine) -> None:
        machine.note()
        other = Membership(cookie=OTHER, group=LEADER, ancestor=SHIM)
        assert machine.scan(other) == ({LEADER, OLD}, {1, OLD, SHIM, LEADER, YOUNG})

    def test_noting_may_be_left_at_any_step_and_goes_a_few_at_a_time(self, machine: Machine) -> None:
        for pid in range(1_000, 1_000 + 2 * NOTED_AT_ONCE):
            machine.add(process(pid, 20))
        steps = machine.table.note_elders(machine.members)
        machine.rows.read.clear()
        next(steps)
        assert len(machine.rows.read) <= NOTED_AT_ONCE + 1  # and the one that the run hangs on
        machine.add(process(OLD, 10, environment={"RUNCOORD_COOKIE": RUN}))
        assert machine.scan()[0] == {LEADER, OLD}

    def test_without_what_the_run_hangs_on_nobody_is_noted(self, machine: Machine) -> None:
        del machine.rows.processes[SHIM]
        machine.note()
        assert machine.scan() == ({LEADER}, {1, OLD, LEADER, YOUNG})
        assert machine.rows.asked == []

    def test_where_processes_have_no_marks_nobody_is_noted(self, machine: Machine) -> None:
        machine.rows.marked = False
        machine.note()
        assert machine.scan()[1] == {1, OLD, SHIM, LEADER, YOUNG}
        assert machine.rows.asked == []


@pytest.mark.real
@pytest.mark.skipif(sys.platform != "linux", reason="the marks of Linux")
class TestMarksOfLinux:
    """For real: a number that is given to another process has another mark, however often."""

    @pytest.fixture
    def sleeper(self) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen(["sleep", "60"]) as started:
            yield started
            started.kill()

    def test_a_process_keeps_its_mark_also_when_it_executes_something_and_as_a_zombie(
        self, sleeper: subprocess.Popen[bytes]
    ) -> None:
        from runcoord._processes.procfs import Procfs

        mark = Procfs().marks()[sleeper.pid]
        assert mark > 0
        assert mark != Procfs().marks()[os.getpid()]
        sleeper.kill()
        os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
        assert Procfs().marks()[sleeper.pid] == mark

    def test_files_that_look_like_proc_have_no_marks(self, tmp_path: Any) -> None:
        from runcoord._processes.procfs import Procfs

        (tmp_path / "700").mkdir()
        assert Procfs(str(tmp_path)).marks() == {700: 0}

    def test_a_number_that_is_given_away_again_and_again_never_has_the_same_mark(self) -> None:
        marks = told_inside(PIDS, "marks_program.py", {"tries": 100})
        assert len(set(marks)) == len(marks) == 100
        assert 0 not in marks


@pytest.mark.real
@linux_only
class TestEldersOfAShim:
    """For real: a shim notes who was there before it as soon as its command runs."""

    @pytest.fixture
    def elders(self) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Each waits for a cookie, and sleeps with it; the second one below the first."""
        script = f"sleep {LIFE_SECONDS} & read cookie; RUNCOORD_COOKIE=$cookie exec sleep {LIFE_SECONDS}"
        with (
            subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True) as joining,
            subprocess.Popen(["sleep", str(LIFE_SECONDS)]) as staying,
        ):
            yield [joining, staying]
            for each in (joining, staying):
                each.kill()

    def test_an_elder_that_joins_the_run_later_is_ended_with_it_and_so_is_who_is_below_it(
        self, grove: Grove, elders: list[subprocess.Popen[bytes]]
    ) -> None:
        joining, staying = elders
        below = self._until(lambda: self._children(joining.pid))[0]
        tree = grove.shell(f'echo up $$ >"$EARS"; exec sleep {LIFE_SECONDS}', "up")
        self._until(lambda: self._waits(tree.shim.pid))
        assert joining.stdin is not None
        joining.stdin.write(grove.cookies[-1].encode() + b"\n")
        joining.stdin.close()
        self._until(lambda: Path(f"/proc/{joining.pid}/comm").read_text() == "sleep\n")
        report = tree.tear_down(0)
        found = {each.pid: each.found for each in report.processes}
        assert report.emptied
        assert found == {
            tree.leader.pid: ("cookie", "descendant", "group", "session"),
            joining.pid: ("cookie",),
            below: ("descendant",),
        }
        assert joining.wait(PATIENCE_SECONDS) == -signal.SIGKILL
        assert staying.poll() is None

    def _until(self, told: Any) -> Any:
        until = time.monotonic() + PATIENCE_SECONDS
        while not (found := told()):
            assert time.monotonic() < until
        return found

    def _children(self, pid: int) -> list[int]:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def _waits(self, pid: int) -> bool:
        """Sleeping twice in a row, with the same number of switches: it has nothing left to do."""
        seen = [Path(f"/proc/{pid}/status").read_text() for _ in range(20)]
        return "State:\tS" in seen[0] and len(set(seen)) == 1
