"""A program that imports a home, delivers, and writes tombstones, and kills itself at one effect.

``python killed_importer.py STORE HOME AT PRUNE`` dies just before or after effect number AT (from 0); without
dying it prints how many effects there were.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from importing.watched_homes import WatchedHomes
from runcoord import Message, RunFolders, open_coordinator
from runcoord.ports import Ports, Store

EFFECTS = ("create", "remove")


class Death:
    """Counts effects, each with a moment before and one after it, and dies at one."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def moment(self) -> None:
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


class _DyingStore:
    def __init__(self, store: Store, moment: Callable[[], None]) -> None:
        self._store, self._moment = store, moment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def transaction(self, verb: str) -> Any:
        if verb != "import":
            with self._store.transaction(verb) as tx:
                yield tx
            return
        self._moment()
        with self._store.transaction(verb) as tx:
            yield tx
            self._moment()
        self._moment()


def main(store: str, home: str, at: int, prune: float) -> None:
    death, homes = Death(at), WatchedHomes()
    homes.before = homes.after = lambda kind, folder: death.moment() if kind in EFFECTS else None
    told = Path(f"{store}.told")

    def chat(message: Message) -> None:
        with told.open("a") as file:
            file.write(f"{message.run_id}\n")

    ports = Ports(homes=homes, wrap_store=lambda inner: _DyingStore(inner, death.moment))  # type: ignore[arg-type, return-value]
    folders = RunFolders(home, fallback="chat", prune_after=prune or None)
    with open_coordinator(store, destinations={"chat": chat}, ports=ports) as coordinator:
        for _ in range(3):
            coordinator.import_folders(folders)
            coordinator.deliver()
    print(death.count)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
