"""Runs in a pid namespace of its own: gives the pid of a recorded process to a bystander, again and again.

It counts what the table says of it, and what it would have signalled."""

from __future__ import annotations

import collections
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace

from processes.making import LAST_PID, can_choose_pids, state_of
from runcoord._core.identity import Likeness, ProcessIdentity
from runcoord._processes.linux import LinuxProcesses
from runcoord._processes.pidfd import Abilities
from runcoord.errors import ProcessError
from runcoord.ports import Membership, Processes

COOKIE = "c" * 32
SLEEP = ("/bin/sleep", ["sleep", "60"])


def spawn(cookie: str = "") -> int:
    return os.posix_spawn(*SLEEP, {"RUNCOORD_COOKIE": cookie} if cookie else {}, setpgroup=0)


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def spawn_as(pid: int) -> None:
    """A bystander with this number."""
    for _ in range(50):
        LAST_PID.write_text(str(pid - 1))
        child = spawn()
        if child == pid:
            return
        end(child)
    raise AssertionError(f"the number {pid} could not be had")


def kill_recorded(table: Processes, record: ProcessIdentity) -> str:
    """As recovery does it: only what is proved to be the recorded process gets the signal."""
    try:
        process = table.open(record)
    except ProcessError as error:
        return error.code
    try:
        look = process.look(record)
        if look.likeness is Likeness.SAME:
            process.signal(signal.SIGKILL)
        return f"{look.likeness}"
    except ProcessError as error:
        return error.code
    finally:
        process.close()


def kill_member(table: Processes, record: ProcessIdentity, clue: Membership) -> str:
    """As teardown does it: only what is a member while it is pinned gets the signal."""
    process = table.pin(clue, record.pid)
    if process is None:
        return "no member"
    process.signal(signal.SIGKILL)
    process.close()
    return "signalled"


def reuse_before_the_pin(tries: int) -> dict[str, object]:
    """The pid is recycled after the record (and the scan) was made."""
    counts: collections.Counter[str] = collections.Counter()
    tables = {
        "handles": LinuxProcesses(),
        "no-handles": LinuxProcesses(abilities=Abilities(pins=True, durable=False, groups=False)),
        "no-pins": LinuxProcesses(abilities=Abilities(pins=False, durable=False, groups=False)),
    }
    clue = Membership(cookie=COOKIE, spared=COOKIE)
    for number in range(tries):
        victim = spawn(COOKIE)
        record = tables["handles"].identify(victim, COOKIE)
        bare = replace(record, handle="", cookie="")
        # One of them only: start values are equal within a hundredth of a second, and scans take time.
        list(tables.values())[number % len(tables)].scan(replace(clue, recorded=(record,)), 5.0)
        end(victim)
        spawn_as(victim)
        counts["same tick"] += tables["handles"].identify(victim).start == record.start
        for name, table in tables.items():
            counts[f"{name}, recorded: {kill_recorded(table, record)}"] += 1
            counts[f"{name}, cookie: {kill_recorded(table, replace(record, handle=''))}"] += 1
            counts[f"{name}, bare: {kill_recorded(table, bare)}"] += 1
            recorded = replace(clue, recorded=(record, bare))
            counts[f"{name}, member: {kill_member(table, record, recorded)}"] += 1
        counts["bystanders hit"] += state_of(victim)[0] in "ZX"
        end(victim)
    return {"tries": tries, **counts}


def reuse_after_the_check(tries: int) -> dict[str, object]:
    """The pid is recycled between the check, made through a pin, and the signal."""
    counts: collections.Counter[str] = collections.Counter()
    for durable in (True, False):
        table = LinuxProcesses(abilities=Abilities(pins=True, durable=durable, groups=True))
        for _ in range(tries):
            victim = spawn(COOKIE)
            record = table.identify(victim, COOKIE)
            clue = Membership(cookie=COOKIE, group=victim)
            opened, member = table.open(record), table.pin(clue, victim)
            assert opened.look(record).likeness is Likeness.SAME
            assert member is not None
            end(victim)
            spawn_as(victim)
            calls: dict[str, Callable[[], object]] = {
                "signal": lambda opened=opened: opened.signal(9),  # type: ignore[misc]
                "member": lambda member=member: member.signal(9),  # type: ignore[misc]
                "group": lambda table=table, opened=opened: table.signal_group(opened, 9),  # type: ignore[misc]
            }
            for name, call in calls.items():
                try:
                    call()
                    counts[f"{name}: sent"] += 1
                except ProcessError as error:
                    counts[f"{name}: {error.code}"] += 1
            counts["bystanders hit"] += state_of(victim)[0] in "ZX"
            opened.close()
            member.close()
            end(victim)
    return {"tries": 2 * tries, **counts}


def main() -> None:
    order = json.load(sys.stdin)
    assert can_choose_pids(), f"{LAST_PID} cannot be written"
    programs = {"before": reuse_before_the_pin, "after": reuse_after_the_check}
    print(json.dumps(programs[order["when"]](order["tries"])))


if __name__ == "__main__":
    main()
