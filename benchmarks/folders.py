"""Importing run folders, against reading and parsing them and one transaction that inserts the same rows; and
a pass that finds nothing new, against one look at each folder.

Processor time, because the wall clock of a shared disk varies by more than what is looked for; with what
waiting for the disk adds for both sides in a line of its own.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring import Ratio, compare, timed

from runcoord import Coordinator, RunFolders, open_coordinator
from runcoord._stores.connections import Tuning

FOLDERS = 4_000
TASK = "Mend the parser so that it accepts trailing commas, and add the tests that were missing"


def measure(directory: Path) -> list[Ratio]:
    """The first import by processor time and by the clock, then what a second pass costs."""
    place = Path(tempfile.mkdtemp(dir=directory))
    try:
        home = _home(place, FOLDERS)
        bare = _Bare(place, home)
        numbers = itertools.count()
        found = []
        for name, watch in (("processor time", _processor), ("by the clock", timed)):

            def first(watch: Callable[[Callable[[], object]], float] = watch) -> float:
                with open_coordinator(place / f"{next(numbers)}.db") as coordinator:
                    return watch(lambda: _imported(coordinator, home, FOLDERS))

            def baseline(watch: Callable[[Callable[[], object]], float] = watch) -> float:
                with bare:
                    return watch(bare.read_and_insert)

            found.append(compare(f"importing {FOLDERS:,} folders, {name}", first, baseline, goal=3.0))
        with open_coordinator(place / "known.db") as coordinator:
            _imported(coordinator, home, FOLDERS)
            found.append(
                compare(
                    f"a pass over {FOLDERS:,} known folders, processor time",
                    lambda: _processor(lambda: _imported(coordinator, home, 0)),
                    lambda: _processor(bare.look),
                    goal=4.0,
                )
            )
        return found
    finally:
        shutil.rmtree(place)


def _imported(coordinator: Coordinator, home: Path, count: int) -> None:
    report = coordinator.import_folders(RunFolders(str(home)))
    assert (report.imported, report.problem, report.looked_at) == (count, None, FOLDERS), report


def _processor(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def _home(place: Path, count: int) -> Path:
    """Folders as an earlier program left them; every third has a result."""
    home = place / "home"
    for number in range(count):
        folder = home / "runs" / f"run-{number:05d}"
        folder.mkdir(parents=True)
        state = {
            "id": folder.name,
            "agent": "coder",
            "task": TASK,
            "conversation_key": f"c-{number}",
            "parent_session": "dashboard:main",
            "started": 1_700_000_000.0 + number,
            "updated_at": 1_700_000_100.0 + number,
            "pid": 4_242,
            "pid_recorded_at": 1_700_000_001.0 + number,
        }
        (folder / "state.json").write_text(json.dumps(state))
        if number % 3 == 0:
            (folder / "result.txt").write_text("done")
    return home


class _Bare:
    """The least that does it: no checks of what is read, no batches, rows that are made already."""

    def __init__(self, place: Path, home: Path) -> None:
        self._path, self._root = place / "bare.db", str(home / "runs")
        with open_coordinator(place / "model.db") as coordinator:
            _imported(coordinator, home, FOLDERS)
        with sqlite3.connect(place / "model.db") as model:
            self._schema = [text for (text,) in model.execute("SELECT sql FROM sqlite_master") if text]
            self._rows = {
                table: model.execute(f"SELECT * FROM {table}").fetchall() for table in ("runs", "events")
            }
        model.close()

    def __enter__(self) -> None:
        self._link = sqlite3.connect(self._path, isolation_level=None)
        tuning = Tuning()
        self._link.execute(f"PRAGMA journal_mode = {'wal' if tuning.wal else tuning.rollback_journal}")
        self._link.execute("PRAGMA synchronous = FULL")
        for text in self._schema:
            self._link.execute(text)

    def __exit__(self, *raised: object) -> None:
        self._link.close()
        self._path.unlink()

    def read_and_insert(self) -> None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        root = os.open(self._root, flags | os.O_DIRECTORY)
        for name in sorted(os.listdir(root)):  # noqa: PTH208 - by descriptor
            folder = os.open(name, flags | os.O_DIRECTORY, dir_fd=root)
            file = os.open("state.json", flags | os.O_NONBLOCK, dir_fd=folder)
            size = os.fstat(file).st_size
            json.loads(os.read(file, size + 1))
            os.close(file)
            os.close(folder)
        os.close(root)
        self._link.execute("BEGIN IMMEDIATE")
        for table, rows in self._rows.items():
            marks = ", ".join("?" * len(rows[0]))
            self._link.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        self._link.execute("COMMIT")

    def look(self) -> None:
        for number in range(FOLDERS):
            os.stat(f"{self._root}/run-{number:05d}")  # noqa: PTH116 - the cheapest look there is
