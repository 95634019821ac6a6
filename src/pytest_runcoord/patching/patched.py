"""Puts a simulated table, or the guard alone, in the place of the system's functions for a while."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_runcoord.patching.guard import KillGuard
from pytest_runcoord.patching.popen import Programs, popen_over
from pytest_runcoord.patching.procfs import FakeProc
from pytest_runcoord.patching.real_signals import RealSignals, listen, unlisten
from pytest_runcoord.patching.simulated_os import SimulatedOs, clock_functions

UNTOUCHED = ("_pytest.", "pytest_runcoord.", "runcoord.", "pluggy.", "xdist.", "execnet.")
"""Modules whose own names are left alone: the machinery that runs the test lives in real time."""


class _Patches:
    """Attributes that are replaced, and put back in the opposite order."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def set(self, owner: object, name: str, value: object) -> None:
        before = getattr(owner, name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before))

    def then(self, undo: Callable[[], None]) -> None:
        """Something else to do when everything is put back."""
        self._undo.append(undo)

    def everywhere(self, replaced: dict[object, object]) -> None:
        """Also in the modules of the code under test, which may have bound the names at their import."""
        by_id = {id(before): (before, after) for before, after in replaced.items()}
        for module_name, module in list(sys.modules.items()):
            if module is None or _is_left_alone(module_name):
                continue
            for name, value in list(vars(module).items()):
                found = by_id.get(id(value))
                if found is not None and found[0] is value:
                    self.set(module, name, found[1])

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()


def _is_left_alone(module: str) -> bool:
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top == "pytest" or f"{module}.".startswith(UNTOUCHED)


@contextmanager
def guarded(guard: KillGuard) -> Iterator[KillGuard]:
    """Real functions with the guard in front; what was refused fails the block when it ends."""
    signals, patches = RealSignals(guard), _Patches()
    replaced: dict[object, object] = {}
    send = getattr(signal, "pidfd_send_signal", None)
    if send is not None:
        system_send = send

        def pidfd_send_signal(pidfd: int, sig: int, siginfo: None = None, flags: int = 0, /) -> None:
            signals.through_descriptor(pidfd, int(sig))
            system_send(pidfd, sig, siginfo, flags)

        replaced[send] = pidfd_send_signal
    replaced |= {os.kill: signals.kill, os.killpg: signals.killpg}
    patches.set(os, "kill", signals.kill)
    patches.set(os, "killpg", signals.killpg)
    if send is not None:
        patches.set(signal, "pidfd_send_signal", replaced[send])
    patches.everywhere(replaced)
    listen(signals)
    try:
        yield guard
    finally:
        unlisten(signals)
        patches.undo()


@contextmanager
def simulated(system: SimulatedOs, programs: Programs, proc: Path) -> Iterator[FakeProc]:
    """Functions of the simulation, programs that are plans, and a fake ``/proc`` that psutil reads."""
    patches = _Patches()
    functions: list[tuple[Any, str, object]] = [
        (os, name, getattr(system, name))
        for name in ("kill", "killpg", "getpgid", "getsid", "waitpid", "pidfd_open")
        if hasattr(os, name)
    ]
    if hasattr(signal, "pidfd_send_signal"):
        functions.append((signal, "pidfd_send_signal", system.pidfd_send_signal))
    if hasattr(select, "poll"):
        functions.append((select, "poll", system.poll))
    functions.append((subprocess, "Popen", popen_over(system, programs)))
    functions += [(time, name, each) for name, each in clock_functions(system.clock, system.sleep).items()]
    replaced = {getattr(owner, name): value for owner, name, value in functions}
    files = FakeProc(proc, system.table, system.own.place)
    for owner, name, value in functions:
        patches.set(owner, name, value)
    patches.everywhere(replaced)
    _point_psutil(patches, proc)
    listen(system.real)
    try:
        yield files
    finally:
        unlisten(system.real)
        patches.undo()
        files.close()


def _point_psutil(patches: _Patches, proc: Path) -> None:
    import psutil

    patches.set(psutil, "PROCFS_PATH", str(proc))
    linux = getattr(psutil, "_pslinux", None)
    if hasattr(linux, "BOOT_TIME"):  # older versions read the time of the boot once
        patches.set(linux, "BOOT_TIME", None)
    # Kept between calls, and of another /proc: pids that were started, and children that were seen.
    clear = getattr(psutil.process_iter, "cache_clear", None)
    if clear is not None:
        clear()
        patches.then(clear)
