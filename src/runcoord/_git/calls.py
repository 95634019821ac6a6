"""Git processes within bounds: absolute program, no standard input, captured output, a time limit.

Whether git succeeded is known only from its exit status. When that is lost, because SIGCHLD is ignored in
this process, the answer is unknown, where ``subprocess`` would say zero.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from runcoord._core import limits
from runcoord._core.values import field, record, value
from runcoord._git.environment import for_questions
from runcoord._keys import ALL_KEYS, held_back

#: What keeps a question from running programs of the repository's config: no hooks, no monitor of its files.
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=keep")


@value
class Answer:
    """What one git process said. ``status`` is None when it is not known how it ended: see ``problem``."""

    status: int | None
    output: bytes = b""
    says: str = ""
    problem: str = ""


@record
class _Call:
    """A git that was started, and what it has written so far."""

    process: subprocess.Popen[bytes]
    output: bytearray = field(default_factory=bytearray)
    complaint: bytearray = field(default_factory=bytearray)
    open_pipes: int = 2
    problem: str = ""


class Git:
    """Asks git in an environment of its own; one object for one snapshot, comparison or restoration.

    ``processes`` counts those that were started.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = for_questions(environ)
        program = shutil.which("git", path=environ.get("PATH", os.defpath))
        # A relative entry of PATH would look into whatever directory this process happens to be in.
        self._program = program if program and Path(program).is_absolute() else None
        self._end = time.monotonic() + limits.GIT_SECONDS
        self.processes = 0

    def config(self, file: str, *arguments: str) -> Answer:
        """``git config`` on one file, by its path alone: no repository is looked for."""
        return self._all([(["config", "--file", file, *arguments], {"GIT_DIR": os.devnull}, "/")])[0]

    def inside(self, questions: Sequence[tuple[str, Sequence[str]]]) -> list[Answer]:
        """One answer for each (directory, arguments), in that order; some run side by side."""
        return self._all([([*_QUIET, *arguments], {}, directory) for directory, arguments in questions])

    def _all(self, wanted: Sequence[tuple[list[str], dict[str, str], str]]) -> list[Answer]:
        answers: list[Answer] = []
        for begin in range(0, len(wanted), limits.GIT_CALLS_AT_ONCE):
            answers += self._together(wanted[begin : begin + limits.GIT_CALLS_AT_ONCE])
        return answers

    def _together(self, wanted: Sequence[tuple[list[str], dict[str, str], str]]) -> list[Answer]:
        deadline = min(time.monotonic() + limits.GIT_CALL_SECONDS, self._end)
        calls: list[_Call | Answer] = []
        try:
            for arguments, extra, directory in wanted:
                calls.append(self._begun(arguments, extra, directory))
            running = [call for call in calls if isinstance(call, _Call)]
            _read(running, deadline)
            return [_ended(call, deadline) if isinstance(call, _Call) else call for call in calls]
        finally:
            for call in calls:
                if isinstance(call, _Call):
                    _put_away(call)

    def _begun(self, arguments: list[str], extra: dict[str, str], directory: str) -> _Call | Answer:
        if self._program is None:
            return Answer(None, problem="git was not found")
        if time.monotonic() >= self._end:
            return Answer(None, problem=f"git was not asked: {limits.GIT_SECONDS:g} s were over")
        try:
            with held_back(ALL_KEYS):  # until it is in a session of its own, where no key reaches it
                process = subprocess.Popen(
                    [self._program, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=directory,
                    env=self._environ | extra,
                    start_new_session=True,  # so that its own children can be ended with it
                )
        except (OSError, ValueError) as error:
            return Answer(None, problem=f"git could not be started: {error}")
        self.processes += 1
        return _Call(process)


def _read(calls: list[_Call], deadline: float) -> None:
    """Until every pipe is at its end, the time is over, or a process says too much."""
    with selectors.DefaultSelector() as selector:
        for call in calls:
            for pipe, sink in ((call.process.stdout, call.output), (call.process.stderr, call.complaint)):
                if pipe is not None:
                    selector.register(pipe, selectors.EVENT_READ, (call, sink))
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            for key, _ in selector.select(left):
                call, sink = key.data
                piece = os.read(key.fd, 65536)
                sink += piece
                if not piece:
                    call.open_pipes -= 1
                    selector.unregister(key.fileobj)
                elif len(sink) > limits.GIT_OUTPUT_BYTES:
                    call.problem = f"git said more than {limits.GIT_OUTPUT_BYTES} bytes"
                    selector.unregister(key.fileobj)
                    _kill(call.process)


def _ended(call: _Call, deadline: float) -> Answer:
    if not call.problem and call.open_pipes:
        call.problem = f"git gave no answer within its time of {limits.GIT_CALL_SECONDS:g} s"
    if call.problem:
        _kill(call.process)
        return Answer(None, problem=call.problem)
    status = _status(call.process, deadline)
    lines = call.complaint.decode("utf-8", "replace").strip().splitlines()
    says = lines[0][: limits.GIT_SAYS_CHARACTERS] if lines else ""
    if status is None:
        return Answer(None, says=says, problem="the exit status of git is not known")
    return Answer(status, bytes(call.output), says)


def _status(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    """Its exit status; None when it was lost, or did not come in time."""
    pause = 0.0002
    while True:
        try:
            pid, status = os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            process.returncode = -signal.SIGKILL  # nobody can know it; what counts is that it is not zero
            return None
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
        if time.monotonic() >= deadline:
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it with its children, while its number is its own: it is our child, and was not reaped.

    Where SIGCHLD is ignored the kernel reaps, so the number proves nothing: then it is left to itself,
    without anybody to write to.
    """
    if process.returncode is not None or signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        return
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        os.killpg(process.pid, signal.SIGKILL)
    except (ChildProcessError, ProcessLookupError, PermissionError):
        return


def _put_away(call: _Call) -> None:
    for pipe in (call.process.stdout, call.process.stderr):
        if pipe is not None:
            pipe.close()
    if call.process.returncode is None:
        _kill(call.process)
        _status(call.process, time.monotonic() + limits.GIT_CALL_SECONDS)
