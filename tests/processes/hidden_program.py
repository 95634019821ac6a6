"""Runs as root in a pid namespace of its own: looks as nobody at a process that /proc hides from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from processes.making import NOBODY, state_of
from runcoord._processes.linux import LinuxProcesses
from runcoord._processes.pidfd import Abilities
from runcoord.errors import RuncoordError
from runcoord.ports import Membership, ProcessIdentity

COOKIE = "c" * 32


def seen(table: LinuxProcesses, record: ProcessIdentity) -> str:
    try:
        process = table.open(record)
    except RuncoordError as error:
        return error.code
    try:
        look = process.look(record)
        return f"{look.likeness}, ended: {look.ended}"
    except RuncoordError as error:
        return error.code
    finally:
        process.close()


def main() -> None:
    hidepid = json.load(sys.stdin)["hidepid"]
    child = os.posix_spawn("/bin/sleep", ["sleep", "60"], {"RUNCOORD_COOKIE": COOKIE}, setpgroup=0)
    tables = {
        "handles": LinuxProcesses(),
        "no handles": LinuxProcesses(abilities=Abilities(pins=True, durable=False, groups=False)),
        "no pins": LinuxProcesses(abilities=Abilities(pins=False, durable=False, groups=False)),
    }
    record = next(iter(tables.values())).identify(child, COOKIE)
    bare = ProcessIdentity(record.pid, record.start, record.habitat, "", COOKIE)
    for table in tables.values():
        table.habitat()
    options = ["-o", f"remount,hidepid={hidepid}", "/proc"]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True)
    if mounted.returncode:
        print(json.dumps({"skip": f"mount {options}: {mounted.stderr.strip()}"}))
        return
    answer: dict[str, object] = {}
    os.setgroups([])  # the group of root sees everything
    os.setresgid(NOBODY, NOBODY, 0)
    os.setresuid(NOBODY, NOBODY, 0)
    for name, table in tables.items():
        answer[name] = seen(table, record if name == "handles" else bare)
        scan = table.scan(Membership(cookie=COOKIE, group=child), 5.0)
        answer[f"{name}: scan"] = [len(scan.members), scan.complete, bool(scan.problem or scan.unreadable)]
    os.setresuid(0, 0, 0)
    answer["state"] = state_of(child)[0]
    os.kill(child, 9)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
