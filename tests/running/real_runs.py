"""Running the command line for real, and seeing what is left of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runcoord import Coordinator, Event, Run, open_coordinator

SECONDS = 60.0
"""Longest time that one process of a test may take; only a fault takes that long."""
MARK = "RUNCOORD_TEST_MARK"
"""In the environment of everything that one test starts, so that what is left of it can be seen."""
LIFE = 45
"""Seconds that a process of a test would live if nobody ended it."""


@dataclass(frozen=True)
class Done:
    """How one invocation ended, as ``subprocess`` says it, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> list[str]:
        """What runcoord itself said."""
        return [line for line in self.err.splitlines() if line.startswith("runcoord: ")]


@dataclass
class Place:
    """A directory with a store of its own, and an environment in which nothing of the outside decides."""

    directory: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.directory.mkdir(exist_ok=True)
        self.work.mkdir(exist_ok=True)

    @property
    def store(self) -> Path:
        return self.directory / "data" / "runs.db"

    @property
    def work(self) -> Path:
        """Where commands run."""
        return self.directory / "work"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {
            name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ
        }
        ours = {"PYTHONUTF8": "1", "RUNCOORD_STORE": str(self.store), MARK: self.mark}
        return {**kept, **ours, "TERM": "xterm", **more}

    def begin(
        self, *words: str, more: Mapping[str, str] | None = None, **popen: Any
    ) -> subprocess.Popen[str]:
        """``runcoord`` with these words, in a process that the caller owns."""
        given: dict[str, Any] = {
            "env": self.environment(**(more or {})),
            "cwd": self.work,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "preexec_fn": _heed_interrupts,
        }
        return subprocess.Popen(program(*words), **(given | popen))

    def __call__(self, *words: str, more: Mapping[str, str] | None = None, **popen: Any) -> Done:
        return finished(self.begin(*words, more=more, **popen))

    def run(self, *command: str, options: Sequence[str] = (), **more: Any) -> Done:
        """``runcoord run OPTIONS -- COMMAND``."""
        return self("run", *options, "--", *command, **more)

    # --- what is there afterwards ---

    def alive(self) -> dict[int, str]:
        """Living processes that this place started, directly or not, and what they are called."""
        return dict(marked(self.mark))

    def coordinator(self) -> Coordinator:
        return open_coordinator(self.store, create=False)

    def runs(self) -> list[Run]:
        with self.coordinator() as coordinator:
            return coordinator.runs().runs

    def only_run(self) -> Run:
        [run] = self.runs()
        return run

    def events(self) -> list[Event]:
        with self.coordinator() as coordinator:
            return coordinator.events().events

    @property
    def folders(self) -> list[Path]:
        """Directories of commands that were kept."""
        beside = self.store.with_name(f"{self.store.name}.snapshots")
        return sorted(beside.iterdir()) if beside.exists() else []


def _heed_interrupts() -> None:
    """A shell's background job ignores SIGINT, and so would everything that is started from it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def program(*words: str) -> list[str]:
    return [sys.executable, "-m", "runcoord", *words]


def finished(process: subprocess.Popen[str]) -> Done:
    """Wait for a process of ours, for a bounded time; it is killed when that is over."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return Done(process.returncode, out or "", err or "")


def marked(mark: str) -> Iterator[tuple[int, str]]:
    """Processes with the mark in their environment; zombies have none any more."""
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name), (entry / "comm").read_text().strip()
        except OSError:
            continue


def until(what: Callable[[], object], why: str = "it did not come to that in time") -> None:
    """Wait, for a bounded time, until something is so."""
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.01)


def report_of(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
