"""An owner for tests to kill: claims a run, starts a process of it, records it, and waits.

Arguments: the store. Prints the pid of the process when it is recorded.
"""

from __future__ import annotations

import subprocess
import sys
import time

from runcoord import open_coordinator
from runcoord.ports import NewProcess, Role, Terms

COOKIE = "5a" * 16


def main(store: str) -> None:
    with open_coordinator(store) as coordinator:
        coordinator.submit(run_id="r1", destination="chat")
        lease = coordinator.claim("r1")
        child = subprocess.Popen(
            ["sleep", "50"], env={"PATH": "/usr/bin:/bin", "RUNCOORD_COOKIE": COOKIE}, start_new_session=True
        )
        assert coordinator.table is not None
        identity = coordinator.table().identify(child.pid, COOKIE)
        coordinator.record_processes(
            lease, [NewProcess(identity, Role.LEADER)], terms=Terms(handed_over=COOKIE)
        )
        print(child.pid, flush=True)
        time.sleep(50)


if __name__ == "__main__":
    main(sys.argv[1])
