"""``subprocess.Popen`` over a simulated table: programs are plans, and nothing is executed."""

from __future__ import annotations

import errno
import io
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO, Any, ClassVar, Self

from pytest_runcoord.patching.simulated_os import SimulatedOs
from pytest_runcoord.processes import SimProcess
from pytest_runcoord.processes.plans import Plan, become, plant

OWNED = "test"
"""What a process of the test belongs to; strangers belong to nobody."""
_setsid, _setpgrp = os.setsid, os.setpgrp


@dataclass(frozen=True, slots=True)
class Program:
    """What happens when a command of this name is started."""

    plan: Plan
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(slots=True)
class Programs:
    """The commands that exist in a simulation."""

    by_name: dict[str, Program] = field(default_factory=dict)

    def find(self, command: str) -> Program:
        """Raises ``FileNotFoundError`` for a command that was not declared."""
        found = self.by_name.get(command) or self.by_name.get(PurePath(command).name)
        if found is None:
            known = ", ".join(sorted(self.by_name)) or "none"
            raise FileNotFoundError(
                errno.ENOENT, f"no such program in this simulation (declared: {known})", command
            )
        return found


class SimulatedPopen:
    """A started program. Waiting costs time of the simulation only.

    Streams that are ``PIPE`` hold what the program was declared to write; what is written to it goes nowhere.
    ``preexec_fn`` cannot be called in a process that does not exist: ``os.setsid`` and ``os.setpgrp`` are
    understood, anything else raises ``ValueError``.
    """

    system: ClassVar[SimulatedOs]
    programs: ClassVar[Programs]

    def __init__(
        self,
        args: str | bytes | os.PathLike[str] | Sequence[Any],
        bufsize: int = -1,
        executable: Any = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        preexec_fn: Any = None,
        close_fds: bool = True,
        shell: bool = False,
        cwd: Any = None,
        env: Mapping[str, str] | None = None,
        universal_newlines: bool | None = None,
        *_positional: Any,
        start_new_session: bool = False,
        process_group: int | None = None,
        text: bool | None = None,
        encoding: str | None = None,
        errors: str | None = None,
        **_others: Any,
    ) -> None:
        self.args, self.returncode = args, None
        argv = _argv(args, shell)
        program = self.programs.find(os.fspath(executable or argv[0]))
        own_session = start_new_session or preexec_fn is _setsid
        own_group = process_group == 0 or preexec_fn is _setpgrp
        if preexec_fn is not None and not (own_session or own_group):
            raise ValueError("preexec_fn cannot be called in a simulated process; use start_new_session")
        self._process = self._started(program.plan, argv, env, own_session, own_group)
        self.pid = self._process.pid
        as_text = bool(text or universal_newlines or encoding or errors)
        self._encoding = (encoding or "utf-8", errors or "strict") if as_text else None
        self.stdin = self._stream(b"") if stdin == subprocess.PIPE else None
        merged = program.stdout + (program.stderr if stderr == subprocess.STDOUT else b"")
        self.stdout = self._stream(merged) if stdout == subprocess.PIPE else None
        self.stderr = self._stream(program.stderr) if stderr == subprocess.PIPE else None

    returncode: int | None

    def _started(
        self, plan: Plan, argv: list[str], env: Mapping[str, str] | None, session: bool, group: bool
    ) -> SimProcess:
        system = self.system
        process = system.table.start(
            plan.name,
            parent=system.own,
            run=OWNED,
            name=plan.program or plan.name,
            argv=tuple(argv),
            environment=dict(os.environ if env is None else env),
        )
        if session:
            system.table.new_session(process)
        elif group:
            system.table.new_group(process)
        become(system.table, process, plan, leads=session)
        for child in plan.children:
            plant(system.table, child, process)
        return process

    def _stream(self, data: bytes) -> IO[Any]:
        raw = io.BytesIO(data)
        return raw if self._encoding is None else io.TextIOWrapper(raw, *self._encoding)

    # --- how it goes ---

    def poll(self) -> int | None:
        self.system.table.settle()
        if self.returncode is None and self._process.ended:
            self.returncode = self.system.table.reap(self._process)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        clock = self.system.clock
        end = None if timeout is None else clock.monotonic() + timeout
        while (found := self.poll()) is None:
            if end is not None and clock.monotonic() >= end:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self.system.pass_until(end, "Popen.wait")
        return found

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:  # noqa: A002
        self.wait(timeout)
        return tuple(None if each is None else each.read() for each in (self.stdout, self.stderr))  # type: ignore[return-value]

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            self.system.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(15)

    def kill(self) -> None:
        self.send_signal(9)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()

    def __repr__(self) -> str:
        return f"<Popen: returncode: {self.returncode} args: {self.args!r}>"

    def __class_getitem__(cls, item: object) -> type[SimulatedPopen]:
        return cls


def _argv(args: Any, shell: bool) -> list[str]:
    if isinstance(args, str | bytes | os.PathLike):
        text = os.fsdecode(args)
        return text.split() if shell and text.split() else [text]
    argv = [os.fsdecode(each) for each in args]
    if not argv:
        raise ValueError("no command was given")
    return argv[0].split() if shell else argv


def popen_over(system: SimulatedOs, programs: Programs) -> type[SimulatedPopen]:
    """A class of its own for one simulation."""
    return type("Popen", (SimulatedPopen,), {"system": system, "programs": programs})
