"""A program on the documented default store, to be killed at any moment.

``python killed_worker.py STORE FIRST`` accepts, works on, and ends runs from number FIRST on, one after the
other, and says on its standard output what it was told, each line after the call returned.
"""

from __future__ import annotations

import os
import sys

from runcoord import Message, open_coordinator


def said(*words: str) -> None:
    os.write(1, (" ".join(words) + "\n").encode())


def chat(message: Message) -> None:
    said("sent", message.event_id)


def main(path: str, first: int) -> None:
    with open_coordinator(path, destinations={"chat": chat}) as coordinator:
        coordinator.startup()
        number = first
        while True:
            run_id = f"r{number:06d}"
            coordinator.submit({"n": number}, run_id=run_id, destination="chat")
            said("accepted", run_id)
            lease = coordinator.claim(run_id)
            said("claimed", run_id)
            coordinator.start(lease)
            said("started", run_id)
            if number % 3 == 0:
                coordinator.stop(run_id, "enough")
                said("stopping", run_id)
            coordinator.complete(lease, "completed", result=f"result {number}")
            said("completed", run_id)
            coordinator.deliver()
            said("delivered", run_id)
            number += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
