"""A system whose processes are plain data: what psutil tells on machines that we do not have."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runcoord._processes.portable import PortableProcesses
from runcoord._processes.psutil_rows import LETTERS
from runcoord._processes.rows import Row
from runcoord._processes.system_ids import SystemIds

RECORDED = Path(__file__).parent / "recorded"
OUTER, RUN, INNER, OTHER = ("0" * 31 + digit for digit in "1234")
COOKIES = {"OUTER": OUTER, "RUN": RUN, "INNER": INNER, "OTHER": OTHER}


@dataclass
class RecordedRows:
    """See :class:`runcoord._processes.rows.Rows`. ``denied`` are those that may not be signalled."""

    init: int
    processes: dict[int, dict[str, Any]]
    root: str = "the recording"
    sent: list[tuple[int, int]] = field(default_factory=list)
    denied: set[int] = field(default_factory=set)

    marked: bool = False
    """Each process has a mark of its own, which it gets with its number."""
    read: list[int] = field(default_factory=list)
    """Pids of the rows that were read, in order."""
    asked: list[int] = field(default_factory=list)
    """Pids of those whose environment alone was read."""

    def marks(self) -> dict[int, int]:
        return {pid: id(each) if self.marked else 0 for pid, each in self.processes.items()}

    def _process(self, pid: int) -> dict[str, Any]:
        if pid not in self.processes:
            raise ProcessLookupError(errno.ESRCH, "no such process")
        return self.processes[pid]

    def row(self, pid: int) -> Row:
        seen = self._process(pid)
        self.read.append(pid)
        return Row(
            pid=pid,
            state=LETTERS[seen["status"]],
            parent=seen["parent"],
            group=seen["group"],
            session=seen["session"],
            kernel=False,
            threads=0,
            start=seen["start"],
            comm=seen["name"].encode(),
        )

    def first_block(self, pid: int) -> bytes:
        self.asked.append(pid)
        if pid not in self.processes or self.processes[pid]["status"] == "zombie":
            return b""
        return self._block(pid) or b""

    def environment(self, row: Row) -> bytes | None:
        return self._block(row.pid)

    def _block(self, pid: int) -> bytes | None:
        found = self._process(pid)["environment"]
        if found is None:
            return None
        lines = [f"{name}={self._cookies(value)}\0" for name, value in found.items()]
        return "".join(lines).encode()

    def _cookies(self, value: str) -> str:
        return ":".join(COOKIES.get(word, word) for word in value.split(":"))

    def exit_code(self, pid: int) -> int | None:
        return None

    def waiting_in(self, pid: int) -> str:
        return ""

    def is_there(self, pid: int) -> bool:
        return pid in self.processes

    def send(self, pid: int, number: int) -> None:
        self._process(pid)
        if pid in self.denied:
            raise PermissionError(errno.EPERM, "not permitted")
        self.sent.append((pid, number))
        del self.processes[pid]


@dataclass
class Recording:
    """A recorded machine, and a table on it."""

    name: str
    boot: str = "as recorded"
    rows: RecordedRows = field(init=False)
    table: PortableProcesses = field(init=False)

    def __post_init__(self) -> None:
        told = json.loads((RECORDED / f"{self.name}.json").read_text())
        self.rows = RecordedRows(told["init"], {each["pid"]: each for each in told["processes"]})
        ids = SystemIds(told["host"], told["boot"] if self.boot == "as recorded" else self.boot)
        self.table = PortableProcesses(told["platform"], self.rows, lambda _: ids)
