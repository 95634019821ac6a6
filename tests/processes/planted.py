"""Files that look like ``/proc``: what a real one shows only now and then."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KERNEL_THREAD = 0x00200000


@dataclass(frozen=True)
class PlantedProc:
    root: Path

    @classmethod
    def at(cls, root: Path) -> PlantedProc:
        planted = cls(root)
        planted.process(1, comm=b"init", parent=0, group=1, session=1)
        return planted

    def process(
        self,
        pid: int,
        *,
        comm: bytes = b"sleep",
        state: bytes = b"S",
        parent: int = 1,
        group: int = 0,
        session: int = 0,
        flags: int = 0,
        threads: int = 1,
        start: int = 77,
        environment: bytes | None = b"LANG=C\0",
    ) -> Path:
        """A process; ``environment`` None: it has no file of it."""
        fields = [b"0"] * 50
        fields[:4] = [state, b"%d" % parent, b"%d" % (group or pid), b"%d" % (session or pid)]
        fields[6], fields[17], fields[19] = b"%d" % flags, b"%d" % threads, b"%d" % start
        fields[47:49] = [b"140722", b"140733"]
        folder = self.root / str(pid)
        folder.mkdir(parents=True)
        folder.joinpath("stat").write_bytes(b"%d (%s) %s\n" % (pid, comm, b" ".join(fields)))
        if environment is not None:
            folder.joinpath("environ").write_bytes(environment)
        return folder

    def thread(self, pid: int, tid: int, environment: bytes) -> None:
        folder = self.root / str(pid) / "task" / str(tid)
        folder.mkdir(parents=True)
        folder.joinpath("environ").write_bytes(environment)

    def text(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, name: str, target: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
