"""Terminals of a reader: commands that end, and programs that go on while other commands are given."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from docs.normal import normal

COMMAND_SECONDS = 120.0
"""Longest time for one command; only a fault takes that long."""
SHOWN_SECONDS = 60.0
"""Longest wait until a program in a terminal has shown what the page says."""
LOOK_SECONDS = 0.02


class Finished:
    """A command that has ended."""

    def __init__(self, code: int, output: str) -> None:
        self.code, self.output = code, output


def piped(command: str, directory: Path, environment: Mapping[str, str]) -> Finished:
    """What a command gives when nobody looks; both streams together."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    return Finished(done.returncode, done.stdout.decode("utf-8", "replace"))


def on_a_terminal(command: str, directory: Path, environment: Mapping[str, str], columns: int) -> Finished:
    """What a person sees of a command in a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=directory, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    received, deadline = bytearray(), time.monotonic() + COMMAND_SECONDS
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], LOOK_SECONDS)[0]:
                continue
            try:
                some = os.read(ours, 65_536)
            except OSError:  # the other side is closed
                break
            if not some:
                break
            received += some
        code = process.wait(timeout=COMMAND_SECONDS)
    finally:
        os.close(ours)
        if process.poll() is None:
            process.kill()
            process.wait()
    return Finished(code, received.decode("utf-8", "replace").replace("\r\n", "\n"))


class Terminal:
    """A program that goes on. What it shows is waited for, in order; :meth:`end` ends this very process."""

    def __init__(self, command: str, directory: Path, environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: list[str] = []
        self._shown = 0
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()

    def shows(self, shown: str) -> str:
        """Wait for as many lines as the page shows; gives those that came, which may be fewer or others."""
        count = len(normal(shown, tables=False))
        with self._changed:
            wanted = self._shown + count
            self._changed.wait_for(lambda: len(self._lines) >= wanted, timeout=SHOWN_SECONDS)
            came = self._lines[self._shown : wanted]
            self._shown += len(came)
        return "".join(came)

    def end(self) -> None:
        """Kill the process, as ``kill -9`` would. Ending it twice changes nothing."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(SHOWN_SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()
