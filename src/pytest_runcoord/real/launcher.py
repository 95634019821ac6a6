"""The launcher of the real tier: the library's own shim, with puppets for commands, and named moments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_runcoord.real.asked import HAS_ENDED, TORN_DOWN
from runcoord import ShimLauncher
from runcoord.ports import Ending, Launcher, LaunchOrder, Processes, ProcessIdentity, TeardownReport, Tree

GONE = "-that-is-gone"
"""Appended to the path of a program that cannot be executed in the end."""
HEARD_SECONDS = 5.0
"""Real time until a shim has said that its command, which has ended, has."""
Announce = Callable[..., Mapping[str, Any]]


class NamedLauncher:
    """Executes the puppet that the world names for a command, and scales what the shim waits for."""

    def __init__(self, processes: Processes, announce: Announce) -> None:
        self._inner: Launcher = ShimLauncher(processes)
        self._announce = announce

    def launch(self, order: LaunchOrder) -> Tree:
        """See :meth:`runcoord.ports.Launcher.launch`."""
        told = self._announce(
            "before-launch",
            program=order.argv[0],
            cookie=order.cookie,
            environment=dict(order.environment),
            scope=order.scope.value,
            grace=order.grace,
        )
        scale = told["scale"]
        played = replace(order, grace=order.grace * scale)
        if told["argv"]:
            played = replace(played, argv=tuple(told["argv"]), executable=sys.executable)
        else:
            played = replace(played, executable=order.executable + GONE)
        tree = self._inner.launch(played)
        self._announce("after-launch")
        return NamedTree(tree, order.cookie, self._announce, scale)


class NamedTree:
    """See :class:`runcoord.ports.Tree`."""

    def __init__(self, inner: Tree, cookie: str, announce: Announce, scale: float) -> None:
        self._inner, self._cookie, self._announce, self._scale = inner, cookie, announce, scale
        self._torn_down = False
        self.interruptions, self.wake, self.hurry = inner.interruptions, inner.wake, inner.hurry

    @property
    def shim(self) -> ProcessIdentity:
        return self._inner.shim

    @property
    def leader(self) -> ProcessIdentity:
        return self._inner.leader

    def open_gate(self) -> None:
        self._announce("before-gate")
        self._inner.open_gate()
        self._announce("after-gate", cookie=self._cookie)

    def wait(self, seconds: float) -> Ending | None:
        ended = self._announce(HAS_ENDED, cookie=self._cookie)["ended"]
        return self._inner.wait(HEARD_SECONDS if ended else seconds * self._scale)

    def tear_down(self, grace: float) -> TeardownReport:
        self._announce("before-teardown")
        report = self._inner.tear_down(grace * self._scale)
        if not self._torn_down:
            self._torn_down = True
            fates = sorted({each.fate.value for each in report.processes})
            self._announce(TORN_DOWN, cookie=self._cookie, grace=grace, fates=fates)
        return report

    def close(self, recorded: bool = True) -> None:
        self._inner.close(recorded)
