"""Reading /proc when it shows what it seldom shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from processes.planted import KERNEL_THREAD, PlantedProc
from runcoord.errors import ProbeFailed, ProcessGone
from runcoord.ports import Found, Likeness, Membership, Scan

if sys.platform != "linux":
    pytest.skip("this is the table of Linux", allow_module_level=True)

from runcoord._processes.habitat import read_habitat
from runcoord._processes.linux import LinuxProcesses
from runcoord._processes.pidfd import Abilities
from runcoord._processes.procfs import Procfs

RUN = "c" * 32
LINE = f"RUNCOORD_COOKIE={RUN}\0".encode()
HANDED_OVER = f"RUNCOORD_HANDED_OVER={RUN}\0".encode()
NO_PINS = Abilities(pins=False, durable=False, groups=False)


@pytest.fixture
def planted(tmp_path: Path) -> PlantedProc:
    return PlantedProc.at(tmp_path / "proc")


SCAN_SECONDS = 60.0
"""Real time for one scan, on a machine that is busy with other tests."""


def scan(planted: PlantedProc, members: Membership) -> Scan:
    return LinuxProcesses(str(planted.root), NO_PINS).scan(members, SCAN_SECONDS)


def pids(scan: Scan) -> list[int]:
    return [each.identity.pid for each in scan.members]


@pytest.mark.parametrize(
    "comm", [b") Z 1 1 1", b"(", b")", b"a b", b"a\nb", b"\xff\xfe", b"", b"x) S 1 900 900 0"]
)
def test_a_name_may_look_like_the_rest_of_the_line(planted: PlantedProc, comm: bytes) -> None:
    planted.process(500, comm=comm, group=900, parent=1, environment=LINE)
    row = Procfs(str(planted.root)).row(500)
    assert (row.state, row.parent, row.group, row.session) == ("S", 1, 900, 500)
    assert (row.threads, row.start) == (1, 77)
    [sighting] = scan(planted, Membership(group=900)).members
    assert sighting.name == comm.decode(errors="backslashreplace")


def test_threads_of_the_kernel_are_nobodys(planted: PlantedProc) -> None:
    planted.process(500, group=900, flags=KERNEL_THREAD, environment=LINE)
    assert pids(scan(planted, Membership(group=900, cookie=RUN, ancestor=1 + 899))) == []


def test_a_line_that_cannot_be_understood_is_counted_and_the_others_are_found(planted: PlantedProc) -> None:
    for pid, line in ((500, b""), (501, b"501 (x"), (502, b"502 (x) S one 2 3 4 5 6 7")):
        planted.process(pid).joinpath("stat").write_bytes(line)
    planted.process(503, environment=LINE)
    seen = scan(planted, Membership(cookie=RUN))
    assert (pids(seen), seen.complete) == ([503], True)
    assert seen.unreadable == 3


def test_a_process_that_ends_while_it_is_read_is_nobody(planted: PlantedProc) -> None:
    planted.process(500).joinpath("stat").unlink()
    planted.process(501, environment=None)
    seen = scan(planted, Membership(cookie=RUN))
    assert (seen.members, seen.unreadable, seen.complete) == ((), 0, True)


@pytest.mark.parametrize("before", [65_535, 65_536, 200_000, 3 * 65_536 - len(LINE)])
def test_the_cookie_is_found_at_the_end_of_a_large_environment(planted: PlantedProc, before: int) -> None:
    planted.process(500, environment=b"A=" + b"x" * (before - 3) + b"\0" + LINE)
    assert pids(scan(planted, Membership(cookie=RUN))) == [500]


def test_other_bytes_of_the_environment_do_not_matter(planted: PlantedProc) -> None:
    planted.process(500, environment=b"\xff\xfe=\x80\0\0\0no-equals-sign\0" + LINE + b"torn")
    assert pids(scan(planted, Membership(cookie=RUN))) == [500]


def test_another_thread_is_asked_when_the_first_one_has_ended(planted: PlantedProc) -> None:
    planted.process(500, state=b"Z", threads=2, environment=None)
    planted.thread(500, 500, b"")
    planted.thread(500, 501, LINE)
    planted.process(600, state=b"Z", threads=1, environment=None, group=500)
    seen = scan(planted, Membership(cookie=RUN))
    assert pids(seen) == [500]
    assert seen.members[0].found == {Found.COOKIE}
    assert pids(scan(planted, Membership(group=500))) == [500]


def test_what_is_read_after_a_pinned_process_is_gone_is_not_taken_for_its_own(planted: PlantedProc) -> None:
    plant_habitat(planted)
    child = subprocess.Popen(["/bin/sleep", "60"])
    try:
        stranger = planted.process(child.pid, start=77, environment=LINE)
        table = LinuxProcesses(str(planted.root), Abilities(pins=True, durable=False, groups=False))
        record = table.identify(child.pid, RUN)
        assert (record.start, stranger.is_dir()) == (77, True)
        held = table.open(record)
    finally:
        child.kill()
        child.wait()
    # The file is still there: a stranger has the number now.
    assert held.identity.start == 0
    look = held.look(record)
    assert (look.likeness, look.ended) == (Likeness.DIFFERENT, True)
    held.close()


def test_a_process_that_is_hidden_later_has_not_ended(planted: PlantedProc) -> None:
    plant_habitat(planted)
    child = subprocess.Popen(["/bin/sleep", "60"])
    try:
        folder = planted.process(child.pid, environment=LINE)
        table = LinuxProcesses(str(planted.root), NO_PINS)
        record = table.identify(child.pid, RUN)
        held = table.open(record)
        assert held.look(record).likeness is Likeness.SAME
        shutil.rmtree(folder)
        for call in (
            held.ended,
            lambda: held.look(record),
            lambda: held.signal(9),
            lambda: table.open(record),
        ):
            with pytest.raises(ProbeFailed):
                call()
        table.wait([held], 0.02)
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()
    assert held.ended()
    with pytest.raises(ProcessGone):
        table.open(record)


def test_a_process_in_the_middle_of_exec_is_not_overlooked(planted: PlantedProc) -> None:
    folder = planted.process(500, environment=b"")
    line = folder.joinpath("stat").read_bytes()
    folder.joinpath("stat").write_bytes(line.replace(b"140733", b"0"))
    seen = scan(planted, Membership(cookie=RUN))
    assert (seen.complete, seen.members) == (False, ())
    assert "[500]" in seen.problem
    assert pids(scan(planted, Membership(cookie=RUN, group=500))) == [500]
    folder.joinpath("stat").write_bytes(line)
    assert scan(planted, Membership(cookie=RUN)).complete


def test_a_circle_of_parents_ends(planted: PlantedProc) -> None:
    planted.process(500, parent=501, environment=LINE)
    planted.process(501, parent=500)
    table = LinuxProcesses(str(planted.root), NO_PINS)
    clue = Membership(cookie=RUN, spared=RUN, ancestor=700)
    assert pids(table.scan(clue, 10.0)) == [500, 501]
    planted.process(600, environment=LINE + HANDED_OVER, parent=601)
    planted.process(601, parent=600)
    assert {each.identity.pid for each in table.scan(clue, 10.0).spared} == {600, 601}
    assert table.pin(clue, 601) is None


def test_a_long_line_of_descendants_is_found(planted: PlantedProc) -> None:
    planted.process(1000, environment=LINE)
    for pid in range(1001, 1400):
        planted.process(pid, parent=pid - 1)
    assert pids(scan(planted, Membership(cookie=RUN))) == list(range(1000, 1400))


def test_a_table_that_cannot_be_read_is_no_empty_one(planted: PlantedProc, tmp_path: Path) -> None:
    absent = LinuxProcesses(str(tmp_path / "absent"), NO_PINS).scan(Membership(cookie=RUN), 10.0)
    assert (absent.complete, absent.members) == (False, ())
    assert "cannot be read" in absent.problem


def test_hidden_processes_are_told_of(planted: PlantedProc) -> None:
    assert scan(planted, Membership(cookie=RUN)).problem == ""
    planted.root.joinpath("1", "stat").unlink()
    planted.root.joinpath("1", "environ").unlink()
    planted.root.joinpath("1").rmdir()
    planted.process(500)
    seen = scan(planted, Membership(cookie=RUN))
    assert seen.complete
    assert "hidepid" in seen.problem


# --- where we are -----------------------------------------------------------------------------------

ID = "0123456789abcdef" * 2


def plant_habitat(planted: PlantedProc, *, pid_namespace: str = "4026531836") -> None:
    planted.text("sys/kernel/random/boot_id", "the-boot\n")
    planted.link("self/ns/pid", f"pid:[{pid_namespace}]")
    planted.link("self/ns/time", "time:[4026531834]")
    planted.text("self/timens_offsets", "monotonic           0         0\nboottime            0         0\n")


def host(planted: PlantedProc, *machine_ids: str) -> str:
    files = []
    for number, text in enumerate(machine_ids):
        path = planted.root.parent / f"machine-id-{number}"
        path.write_text(text)
        files.append(str(path))
    return read_habitat(Procfs(str(planted.root)), (str(planted.root / "absent"), *files)).host


def test_the_habitat_is_read_whole(planted: PlantedProc) -> None:
    plant_habitat(planted)
    here = read_habitat(Procfs(str(planted.root)), ())
    values = (here.boot_id, here.pid_namespace, here.time_namespace, here.source)
    assert values == ("the-boot", "4026531836", "4026531834", "linux-proc")


def test_the_machine_id_is_the_host_where_there_is_one(planted: PlantedProc) -> None:
    plant_habitat(planted)
    assert host(planted, f"{ID}\n") == ID
    assert host(planted, "uninitialized\n", f"{ID}\n") == ID


@pytest.mark.parametrize("text", ["", "uninitialized\n", "0" * 32, ID.upper(), ID[:-1], ID + "0", "é" * 16])
def test_the_boot_names_a_machine_without_an_id(planted: PlantedProc, text: str) -> None:
    plant_habitat(planted)
    assert host(planted, text) == "boot-the-boot"


def test_a_container_does_not_believe_the_machine_id_of_its_image(planted: PlantedProc) -> None:
    plant_habitat(planted, pid_namespace="4026532999")
    assert host(planted, f"{ID}\n") == "boot-the-boot"


def test_what_cannot_be_read_of_the_habitat_is_empty(tmp_path: Path) -> None:
    here = read_habitat(Procfs(str(tmp_path)), ())
    assert (here.host, here.boot_id, here.pid_namespace, here.time_namespace) == ("", "", "", "")
