"""A fake ``/proc`` of plain files, written from a simulated table and kept as it is now.

``psutil`` reads it through ``psutil.PROCFS_PATH``; so does anything that can be told where ``/proc`` is.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pytest_runcoord.processes import Life, Place, SimProcess, SimTable

_STATES = {
    "S": "S (sleeping)",
    "T": "T (stopped)",
    "D": "D (disk sleep)",
    "Z": "Z (zombie)",
    "X": "X (dead)",
}
CLOSED = "\0closed"
"""Stands for the content of a file that nobody can open."""
_FIELDS_AFTER_START = 30
"""Fields of ``stat`` behind the start value, of which readers look at a few; all are 0."""


class FakeProc:
    """The files of one place of a table, below ``directory``."""

    def __init__(self, directory: Path, table: SimTable, place: Place) -> None:
        self.directory = directory
        self._table, self._place = table, place
        directory.mkdir(parents=True, exist_ok=True)
        self._root = str(directory)
        self._written: dict[str, str] = {}
        """What is in each file, so that only what changed is written."""
        self.write_all()
        table.change_watchers.append(self._changed)

    def close(self) -> None:
        """Follow the table no longer."""
        self._table.change_watchers.remove(self._changed)

    def write_times(self) -> None:
        """Write what tells the time, and which boot this is. Processes are written as they change."""
        clock = self._table.clock
        booted = int(clock.wall() - clock.boottime())
        self._write("stat", f"cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nbtime {booted}\n")
        self._write("uptime", f"{clock.boottime():.2f} 0.00\n")
        self._write("sys/kernel/random/boot_id", f"{self._table.boot_id}\n")

    def write_all(self) -> None:
        """Write what belongs to no process, and every process."""
        self.write_times()
        present = self._table.here(self._place)
        numbers = {str(process.pid) for process in present}
        for entry in self.directory.iterdir():
            if entry.name.isdigit() and entry.name not in numbers:
                self._remove(int(entry.name))
        for process in present:
            self._write_process(process)

    def _changed(self, process: SimProcess) -> None:
        if process.place.table != self._place.table:
            return
        holder = self._table.holder(self._place, process.pid)
        if holder is None:
            self._remove(process.pid)
        elif holder is process:
            self._write_process(process)
        parent = process.parent
        if parent is not None and self._table.holder(self._place, parent.pid) is parent:
            self._write_children(parent)

    def _write_process(self, process: SimProcess) -> None:
        at = f"{process.pid}"
        threads = max(1, process.threads)
        zombie = process.life is Life.ZOMBIE
        stat, status = _stat(process), _status(process)
        self._write(f"{at}/stat", stat)
        self._write(f"{at}/status", status)
        self._write(f"{at}/comm", f"{_comm(process)}\n")
        unseen = zombie or process.first_thread_ended
        self._write(f"{at}/cmdline", "" if unseen else _joined(process.argv))
        environment = _joined(f"{name}={value}" for name, value in process.environment.items())
        self._write_environment(f"{at}/environ", process, "" if unseen else environment)
        self._write(f"{at}/statm", "0 0 0 0 0 0 0\n")
        if not unseen and f"{at}/exe" not in self._written:
            (self.directory / at / "fd").mkdir()
            self._link(f"{at}/exe", f"/usr/bin/{process.name}")
            self._link(f"{at}/cwd", "/")
        for number in range(threads):
            thread = f"{at}/task/{process.pid + number}"
            gone = zombie or (number == 0 and process.first_thread_ended)
            self._write(f"{thread}/stat", stat if number == 0 else stat.replace(") Z ", ") S ", 1))
            self._write(f"{thread}/status", status)
            self._write(f"{thread}/comm", f"{_comm(process)}\n")
            self._write_environment(f"{thread}/environ", process, "" if gone else environment)
        self._write_children(process)

    def _write_children(self, process: SimProcess) -> None:
        children = " ".join(str(each.pid) for each in process.children if each.life is not Life.REAPED)
        self._write(f"{process.pid}/task/{process.pid}/children", f"{children} " if children else "")

    def _write_environment(self, name: str, process: SimProcess, text: str) -> None:
        """One that may not be read is a link to itself: opening it fails for everybody, root too."""
        if not process.environment_closed:
            if self._written.get(name) == CLOSED:
                (self.directory / name).unlink()
            self._write(name, text)
        elif self._written.get(name) != CLOSED:
            if name in self._written:
                (self.directory / name).unlink()
            self._link(name, name.rpartition("/")[2])
            self._written[name] = CLOSED

    def _link(self, name: str, target: str) -> None:
        if name not in self._written:
            self._written[name] = target
            (self.directory / name).symlink_to(target)

    def _write(self, name: str, text: str) -> None:
        if self._written.get(name) == text:
            return
        self._written[name] = text
        path = f"{self._root}/{name}"
        data = text.encode("utf-8", "surrogateescape")
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        except FileNotFoundError:
            Path(path).parent.mkdir(parents=True)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(file, data)
        finally:
            os.close(file)

    def _remove(self, pid: int) -> None:
        start = f"{pid}/"
        for name in [name for name in self._written if name.startswith(start)]:
            del self._written[name]
        shutil.rmtree(f"{self._root}/{pid}", ignore_errors=True)


def _comm(process: SimProcess) -> str:
    return process.name[:15]


def _joined(parts: object) -> str:
    return "".join(f"{part}\0" for part in parts)  # type: ignore[attr-defined]


def _stat(process: SimProcess) -> str:
    parent = process.parent.pid if process.parent is not None else 0
    shift = round(process.place.time_offset * 100)
    head = f"{process.pid} ({_comm(process)}) {process.state} {parent} {process.group} {process.session}"
    return f"{head} 0 -1 0 0 0 0 0 0 0 0 0 20 0 {process.threads} 0 {process.start + shift}" + (
        " 0" * _FIELDS_AFTER_START + "\n"
    )


def _status(process: SimProcess) -> str:
    parent = process.parent.pid if process.parent is not None else 0
    ignored = sum(1 << (n - 1) for n, each in process.dispositions.items() if not hasattr(each, "status"))
    caught = sum(1 << (n - 1) for n, each in process.dispositions.items() if hasattr(each, "status"))
    pending = sum(1 << (number - 1) for number in process.pending)
    user = process.user
    return (
        f"Name:\t{_comm(process)}\nState:\t{_STATES[process.state]}\nTgid:\t{process.pid}\nNgid:\t0\n"
        f"Pid:\t{process.pid}\nPPid:\t{parent}\nTracerPid:\t0\nUid:\t{user}\t{user}\t{user}\t{user}\n"
        f"Gid:\t{user}\t{user}\t{user}\t{user}\nThreads:\t{process.threads}\nShdPnd:\t{pending:016x}\n"
        f"SigIgn:\t{ignored:016x}\nSigCgt:\t{caught:016x}\n"
        "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n"
    )
