"""The table of Linux where things are short, closed, or not as usual."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("these are the processes of Linux", allow_module_level=True)

from processes.making import RealMaker
from processes.namespaces import HERE, PIDS, told_inside
from runcoord._processes import open_processes
from runcoord._processes.linux import LinuxProcesses
from runcoord._processes.pidfd import Abilities
from runcoord.errors import InvalidRequest, ProbeFailed
from runcoord.ports import Membership
from runcoord.testing import Start

pytestmark = pytest.mark.real

COOKIE = "c" * 32
MARKS = {"RUNCOORD_COOKIE": COOKIE}


@pytest.fixture
def maker() -> Iterator[RealMaker]:
    made = RealMaker(open_processes())
    yield made
    made.close()


# --- machine values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "step"),
    [
        ({"TZ": "Asia/Tokyo"}, 0.0),
        ({"TZ": "America/St_Johns", "LC_TIME": "C.UTF-8", "LC_ALL": "C.UTF-8"}, 0.0),
        ({"LANG": "tr_TR.UTF-8", "LC_TIME": "de_DE.UTF-8"}, 0.0),
        ({}, 3600.0),
        ({}, -3600.0),
        ({"TZ": "Pacific/Kiritimati"}, -1e9),
    ],
)
def test_zone_locale_and_wall_clock_do_not_touch_an_identity(
    maker: RealMaker, settings: dict[str, str], step: float
) -> None:
    pid = maker.start(Start(MARKS))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
    done = subprocess.run(
        [sys.executable, str(HERE / "identity_program.py"), str(pid), str(step)],
        env={**environment, **settings},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if "unsupported locale" in done.stderr:
        pytest.skip("this locale is not installed")
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == maker.table().identify(pid).document()


def test_a_fork_has_an_identity_and_own_numbers_of_its_own(maker: RealMaker) -> None:
    table = maker.table()
    parent = table.itself()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            told = {"itself": table.itself().document(), "own": sorted(table.own())}
            os.write(write, json.dumps(told).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        told = json.loads(pipe.read())
    os.waitpid(child, 0)
    own = {key: told["itself"][key] for key in ("start", "handle")}
    assert told["itself"] == {**parent.document(), **own, "pid": child}
    assert told["own"] == [1, child]
    assert table.itself() == parent


# --- short of file descriptors ------------------------------------------------------------------------


@contextlib.contextmanager
def no_more_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.open("/dev/null", os.O_RDONLY)
    os.close(spare)  # the lowest free number: all below it are taken
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_without_file_descriptors_nothing_is_known_and_nothing_is_signalled(maker: RealMaker) -> None:
    table = maker.table()
    pid = maker.start(Start(MARKS, new_group=True))
    record = table.identify(pid, COOKIE)
    clue = Membership(cookie=COOKIE, group=pid)
    with no_more_files():
        for call in (
            lambda: table.open(record),
            lambda: table.identify(pid),
            lambda: table.pin(clue, pid),
        ):
            with pytest.raises(ProbeFailed) as failed:
                call()
            assert "ulimit -n" in failed.value.remedy
        scan = table.scan(clue, 5.0)
        assert (scan.complete, scan.members) == (False, ())
        assert scan.problem
        with pytest.raises(ProbeFailed):
            LinuxProcesses().open(record)
    assert maker.alive(pid)
    assert [each.identity.pid for each in table.scan(clue, 5.0).members] == [pid]


def test_a_kernel_without_handles_needs_files_for_reading_alone(maker: RealMaker) -> None:
    table = LinuxProcesses(abilities=Abilities(pins=False, durable=False, groups=False))
    pid = maker.start(Start(MARKS))
    record = table.identify(pid, COOKIE)
    with no_more_files(), pytest.raises(ProbeFailed):
        table.open(record)
    assert maker.alive(pid)


# --- hidden processes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("hidepid", [1, 2])
def test_a_hidden_process_is_not_taken_for_gone(hidepid: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount /proc so, and look as somebody else")
    answer = told_inside(PIDS, "hidden_program.py", {"hidepid": hidepid})
    if "skip" in answer:
        pytest.skip(answer["skip"])
    assert answer["handles"] == "same, ended: False", answer
    assert answer["no handles"] in {"probe-failed", "unknown, ended: False"}, answer
    assert answer["no pins"] in {"probe-failed", "unknown, ended: False"}, answer
    for name in ("handles", "no handles", "no pins"):
        assert answer[f"{name}: scan"] == [0, True, True], answer
    assert answer["state"] == "S", answer


# --- ends -------------------------------------------------------------------------------------------------


def test_the_end_of_somebody_elses_child_is_told_with_its_status(maker: RealMaker) -> None:
    parent = maker.start(Start())
    for status in (0, 42):
        pid = maker.start(Start(MARKS), parent)
        held = maker.table().open(maker.table().identify(pid))
        maker.end(pid, status)
        assert held.exit_status() == status, "of a zombie"
        maker.reap(pid)
        assert held.exit_status() in {status, None}, "later, where the kernel keeps it"
        held.close()


def test_a_wait_ends_when_the_last_of_them_does(maker: RealMaker) -> None:
    table = maker.table()
    held = [table.open(table.identify(maker.start(Start(MARKS)))) for _ in range(3)]
    for each in held[:2]:
        each.signal(9)
    began = time.monotonic()
    table.wait(held, 0.05)
    assert time.monotonic() - began >= 0.05
    assert [each.ended() for each in held] == [True, True, False]
    held[2].signal(9)
    table.wait(held, 20.0)
    assert all(each.ended() for each in held)
    for each in held:
        each.close()


def test_a_process_pinned_by_another_table_is_refused() -> None:
    class Stranger:
        pass

    with pytest.raises(InvalidRequest):
        open_processes().wait([Stranger()], 1.0)  # type: ignore[list-item]


def test_the_own_session_is_no_clue_unless_we_lead_it() -> None:
    program = (
        "import os, sys\n"
        "from runcoord._processes import open_processes\n"
        "from runcoord.ports import Membership\n"
        "from runcoord.errors import InvalidRequest\n"
        "table = open_processes()\n"
        "if os.getsid(0) > 1:\n"
        "    try: table.scan(Membership(session=os.getsid(0)), 5.0); sys.exit('not refused')\n"
        "    except InvalidRequest: pass\n"
        "if os.fork(): sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "os.setsid()\n"
        "child = os.posix_spawn('/bin/sleep', ['sleep', '60'], {})\n"
        "seen = [each.identity.pid for each in table.scan(Membership(session=os.getpid()), 5.0).members]\n"
        "os.kill(child, 9)\n"
        "os._exit(0 if seen == [child] else 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]


def test_an_overwritten_environment_hides_nothing_that_its_thread_shows(maker: RealMaker) -> None:
    pid = maker.start(Start(MARKS))
    maker.end_first_thread(pid)
    threads = sorted(int(each.name) for each in Path(f"/proc/{pid}/task").iterdir())
    assert len(threads) == 2
    [sighting] = maker.table().scan(Membership(cookie=COOKIE), 5.0).members
    assert sighting.identity.pid == pid


def test_a_member_that_executes_all_the_time_is_seen_by_its_cookie_in_every_complete_scan() -> None:
    table = open_processes()
    loop = (
        "import os, sys, time\n"
        "if time.monotonic() < float(os.environ['UNTIL']):\n"
        "    os.execv(sys.executable, [sys.executable, *sys.argv[1:5], *sys.argv[1:]])\n"
    )
    words = ["-I", "-S", "-c", loop]
    environment = {"RUNCOORD_COOKIE": COOKIE, "UNTIL": str(time.monotonic() + 20.0)}
    process = subprocess.Popen([sys.executable, *words, *words], env=environment)
    try:
        select.select([], [], [], 0.1)
        scans = [table.scan(Membership(cookie=COOKIE), 5.0) for _ in range(60)]
        seen = [[each.identity.pid for each in scan.members] for scan in scans if scan.complete]
    finally:
        process.kill()
        process.wait()
    assert seen == [[process.pid]] * len(seen)
    assert len(seen) > 30, f"complete were {len(seen)} of 60"


def test_the_one_who_asks_is_no_member_and_nobody_below_it_is_when_its_parent_is_the_ancestor() -> None:
    program = (
        "import os, sys\n"
        "from runcoord._processes import open_processes\n"
        "from runcoord.ports import Membership\n"
        "if os.fork(): sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "table = open_processes()\n"
        "child = os.posix_spawn('/bin/sleep', ['sleep', '60'], {})\n"
        "seen = table.scan(Membership(ancestor=os.getppid()), 5.0)\n"
        "os.kill(child, 9)\n"
        "os._exit(0 if seen.complete and not seen.members else 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
