"""``runcoord run``, killed by SIGKILL at a named moment of its life.

``python killed_runner.py MOMENT ARGUMENT...`` calls the command line with the arguments, with ports that kill
this process when the moment comes. Nothing of the program itself is changed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from runcoord import Ports
from runcoord._launching import ShimLauncher
from runcoord.cli.app import App
from runcoord.cli.session import Session
from runcoord.ports import Ending, LaunchOrder, ProcessIdentity, Store, TeardownReport, Tree

MOMENTS = (
    "before-launch",
    "after-launch",
    "before-begin",
    "begin-before-commit",
    "after-begin",
    "after-gate",
    "while-it-works",
    "before-teardown",
    "during-teardown",
    "after-teardown",
    "finish-before-commit",
    "after-finish",
    "after-close",
)

SELF = sys.argv[1] if len(sys.argv) > 1 else ""


def at(moment: str) -> None:
    if moment == SELF:
        os.kill(os.getpid(), signal.SIGKILL)


def _die_when(name: str) -> None:
    """From another thread, as soon as the command has made this file."""

    def wait() -> None:
        while not Path(name).exists():
            threading.Event().wait(0.005)
        at(SELF)

    threading.Thread(target=wait, daemon=True).start()


class KilledStore:
    """A store that ends this process around a transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def transaction(self, verb: str) -> AbstractContextManager[Any]:
        return self._around(verb)

    @contextmanager
    def _around(self, verb: str) -> Iterator[Any]:
        at(f"before-{verb}")
        with self._store.transaction(verb) as tx:
            yield tx
            at(f"{verb}-before-commit")
        at(f"after-{verb}")


class KilledTree:
    """A tree that ends this process between its steps."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @property
    def shim(self) -> ProcessIdentity:
        return self._tree.shim

    @property
    def leader(self) -> ProcessIdentity:
        return self._tree.leader

    def open_gate(self) -> None:
        if SELF == "while-it-works":
            _die_when("working")
        self._tree.open_gate()
        at("after-gate")

    def wait(self, seconds: float) -> Ending | None:
        return self._tree.wait(seconds)

    def interruptions(self) -> int:
        return self._tree.interruptions()

    def wake(self) -> None:
        self._tree.wake()

    def tear_down(self, grace: float) -> TeardownReport:
        at("before-teardown")
        if SELF == "during-teardown":
            _die_when("asked")
        report = self._tree.tear_down(grace)
        at("after-teardown")
        return report

    def hurry(self) -> None:
        self._tree.hurry()

    def close(self, recorded: bool = True) -> None:
        self._tree.close(recorded)
        at("after-close")


class KilledLauncher:
    def launch(self, order: LaunchOrder) -> Tree:
        at("before-launch")
        tree = KilledTree(ShimLauncher().launch(order))
        at("after-launch")
        return tree


if __name__ == "__main__":
    ports = Ports(launcher=KilledLauncher(), wrap_store=lambda store: KilledStore(store))
    App().main(sys.argv[2:], prog_name="runcoord", obj=Session(ports=ports))
