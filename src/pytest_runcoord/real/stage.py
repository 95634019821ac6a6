"""A stage of the real tier, seen from the world: a private pid namespace, and the init in it."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_runcoord.real.passing import Hung, pair, put, take
from pytest_runcoord.world_errors import CannotBeReal

START_SECONDS = 60.0
"""Real time for the first stage: an interpreter loads everything, on a loaded machine."""
ANSWER_SECONDS = 40.0
"""Real time for one answer of an init, which itself waits for less."""
CLOSE_SECONDS = 10.0
"""Real time for the end of a stage."""
SOCKET_PATH_BYTES = 107
"""Bytes of the path of a socket, by ``unix(7)``; the 108th ends it."""

_numbers = itertools.count(1)


class StageFailed(Exception):
    """An init did not do what it was asked for."""


class _Zygote:
    """The process that forks stages; one for this process, started at first use."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        ours, theirs = pair()
        with theirs:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "pytest_runcoord.real.zygote", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._end = ours
        ours.settimeout(START_SECONDS)
        take(ours)

    def fork_stage(self, control: socket.socket, path: str, scratch: str) -> None:
        put(self._end, {"path": path, "scratch": scratch}, [control.fileno()])

    def alive(self) -> bool:
        return self.pid == os.getpid() and self._child.poll() is None

    def close(self) -> None:
        """It ends when its socket does; nothing needs to be sent."""
        self._end.close()
        if self.pid == os.getpid():
            self._child.wait(CLOSE_SECONDS)


_zygote: _Zygote | None = None


def _the_zygote() -> _Zygote:
    global _zygote
    if _zygote is None or not _zygote.alive():
        import atexit

        if _zygote is None:
            atexit.register(_close_zygote)
        _zygote = _Zygote()
    return _zygote


def _close_zygote() -> None:
    global _zygote
    if _zygote is not None:
        zygote, _zygote = _zygote, None
        zygote.close()


class Stage:
    """One namespace. Raises :class:`CannotBeReal` where the system does not permit it.

    Nothing of it outlives this process: its init ends when this side of the socket does. ``scratch``: the
    directory is removed as well, should this process not come to it.
    """

    def __init__(self, directory: Path, *, scratch: bool = False) -> None:
        self.path = str(directory / f"stage-{next(_numbers)}")
        if sys.platform != "linux":
            raise CannotBeReal("processes in namespaces of their own need Linux")
        length = len(os.fsencode(self.path))
        if length > SOCKET_PATH_BYTES:
            raise CannotBeReal(
                f"the path of a socket, {self.path}, has {length} bytes, at most {SOCKET_PATH_BYTES} fit: "
                "give TMPDIR a shorter one"
            )
        ours, theirs = pair()
        self._end = ours
        ours.settimeout(ANSWER_SECONDS)
        try:
            with theirs:
                _the_zygote().fork_stage(theirs, self.path, str(directory) if scratch else "")
            said = take(ours).value
        except (Hung, TimeoutError, OSError) as error:
            ours.close()
            raise CannotBeReal(f"no namespace could be made: {error}") from error
        if "impossible" in said:
            ours.close()
            raise CannotBeReal(f"this system permits no private pid namespace ({said['impossible']})")

    def ask(self, do: str, *, files: Sequence[int] = (), **more: Any) -> dict[str, Any]:
        """Have the init do something. Raises :class:`StageFailed`."""
        try:
            put(self._end, {"do": do, **more}, files)
            answer = take(self._end).value
        except (Hung, TimeoutError) as error:
            raise StageFailed(f"the init of the namespace did not answer to {do!r}: {error}") from error
        if "failed" in answer:
            raise StageFailed(str(answer["failed"]))
        return answer

    def members(self, wait: float = 0.0) -> list[dict[str, Any]]:
        """What is true of every process that belongs to the scenario."""
        found: list[dict[str, Any]] = self.ask("look", wait=wait)["members"]
        return found

    def incarnate(
        self, label: str, wire: int, complaints: int, environment: Mapping[str, str], shift: int = 0
    ) -> dict[str, Any]:
        """Start the process of an incarnation; gives what is true of it."""
        found: dict[str, Any] = self.ask(
            "incarnate",
            files=[wire, complaints],
            label=label,
            environment=dict(environment),
            directory=str(Path.cwd()),
            shift=shift,
        )["member"]
        return found

    def close(self) -> None:
        """End everything in it, and wait for that: the kernel closes the other end last of all."""
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_WR)
        with contextlib.suppress(Hung, TimeoutError):
            take(self._end)
        self._end.close()


def unavailable(directory: Path) -> str:
    """Why no stage can be made here; empty when one can."""
    try:
        stage = Stage(directory)
    except CannotBeReal as why:
        return str(why)
    stage.close()
    return ""
