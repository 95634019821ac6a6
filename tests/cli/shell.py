"""Calling the command line as a user does: in this process, in one of its own, and in a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from runcoord import Ports
from runcoord.cli import contributed
from runcoord.cli.app import App
from runcoord.cli.session import Session

PROCESS_SECONDS = 60.0
"""Longest time that a process of a test may take; only a fault takes that long."""


@dataclass(frozen=True)
class Answer:
    """What one invocation gave."""

    code: int
    out: str
    err: str = ""

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The one JSON error on standard error."""
        [line] = self.err.splitlines()
        return json.loads(line)


def no_commands() -> Sequence[contributed.Named]:
    """An environment without commands of other packages."""
    return ()


@dataclass
class Shell:
    """The command line in this process, on one store, with the test's clock."""

    store: Path
    ports: Ports | None = None
    source: contributed.Source = no_commands

    def __call__(self, *args: str, env: Mapping[str, str | None] | None = None) -> Answer:
        environment = {"RUNCOORD_STORE": str(self.store), "NO_COLOR": None, **(env or {})}
        result = CliRunner().invoke(
            App(self.source),
            list(args),
            prog_name="runcoord",
            obj=Session(ports=self.ports),
            env=environment,
            catch_exceptions=False,
        )
        return Answer(result.exit_code, result.stdout, result.stderr)


def environment(store: Path, **more: str) -> dict[str, str]:
    """The environment of a process of its own: nothing of the outside decides about its output."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL") if name in os.environ}
    return {**kept, "PYTHONUTF8": "1", "TERM": "xterm", "RUNCOORD_STORE": str(store), **more}


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "runcoord", *args]


def in_a_process(store: Path, *args: str, **more: str) -> Answer:
    """The command line in a process of its own, its output going to pipes."""
    done = subprocess.run(
        command(*args),
        env=environment(store, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PROCESS_SECONDS,
        check=False,
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_a_terminal(store: Path, columns: int, *args: str, **more: str) -> Answer:
    """The command line in a terminal of that width; both streams are what the terminal receives."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        command(*args), env=environment(store, **more), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    received = bytearray()
    deadline = time.monotonic() + PROCESS_SECONDS
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                some = os.read(ours, 65_536)
            except OSError:  # the other side is closed
                break
            if not some:
                break
            received += some
        code = process.wait(timeout=PROCESS_SECONDS)
    finally:
        os.close(ours)
        if process.poll() is None:
            process.kill()
            process.wait()
    return Answer(code, received.decode().replace("\r\n", "\n"))


# --- that nothing changed ------------------------------------------------------------------------


def stored(path: Path) -> list[str]:
    """Everything that is in a store, as SQL."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


_WORKING_FILES = ("-journal", "-wal", "-shm")


def files(folder: Path) -> list[str]:
    """The files below a folder, apart from those that SQLite keeps beside a database while it works."""
    return sorted(str(path) for path in folder.rglob("*") if not path.name.endswith(_WORKING_FILES))


@contextlib.contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """The store, and the folder that it is in, are afterwards what they were before."""
    before = files(path.parent), stored(path)
    yield
    assert (files(path.parent), stored(path)) == before
