"""One of several processes that work on one store: claims, renews and completes until nothing is left.

``python eight_processes_worker.py STORE`` waits for a line on its standard input, works, and writes a line of
JSON: the runs that it completed, and the errors that it met.
"""

from __future__ import annotations

import json
import sys

from runcoord import open_coordinator
from runcoord.errors import RuncoordError


def main(path: str) -> None:
    done: list[str] = []
    errors: list[str] = []
    with open_coordinator(path) as coordinator:
        sys.stdin.readline()
        while True:
            try:
                lease = coordinator.claim_next()
                if lease is None:
                    break
                coordinator.start(lease)
                lease = coordinator.renew(lease).lease
                coordinator.complete(lease, "completed", result=coordinator.owner)
            except RuncoordError as error:
                errors.append(f"{error.code}: {error}")
                break
            done.append(lease.run_id)
        json.dump({"owner": coordinator.owner, "done": done, "errors": errors}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
