"""``python one_life_after_the_other.py STORE LIVES COMMITS``: whole lives, then bare commits of one row.

Run under strace, to count how often either asks the disk to write.
"""

from __future__ import annotations

import sys

from runcoord import Message, open_coordinator


def chat(message: Message) -> None:
    """Takes everything."""


def main(path: str, lives: int, commits: int) -> None:
    with open_coordinator(path, destinations={"chat": chat}) as coordinator:
        coordinator.submit(run_id="warm", destination="chat")
        held = coordinator.claim("warm")
        coordinator.start(held)
        for number in range(lives):
            run_id = f"r{number}"
            coordinator.submit(run_id=run_id, destination="chat")
            lease = coordinator.claim(run_id)
            coordinator.start(lease)
            made = coordinator.complete(lease, "completed").delivery
            assert made is not None
            coordinator.acknowledge(made)
        for number in range(commits):
            coordinator.progress(held, f"step {number}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
