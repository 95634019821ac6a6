"""What looking at a folder costs, counted: calls of the system, and memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from homes.watching import watched
from runcoord._core.folders import CorruptFolder, read_state
from runcoord._core.layouts import RUN_FOLDERS
from runcoord._core.limits import MAX_STATE_FILE_BYTES
from runcoord._core.redaction import redacted
from runcoord._homes import open_homes

CHANGED, READ = 3, 10
"""Calls of the system for one folder: known and unchanged; new, with a state file and nothing else."""
MIB = 2**20


def made(home: Path, number: int) -> Path:
    for each in range(number):
        folder = home / "runs" / f"run-{each:05}"
        folder.mkdir(parents=True)
        (folder / "state.json").write_text(json.dumps({"id": folder.name}))
    return home


def test_a_known_folder_takes_three_calls_and_opens_nothing_to_read(tmp_path: Path) -> None:
    counts = []
    for number in (10, 40):
        home = made(tmp_path / str(number), number)
        with open_homes().open(str(home), "runs") as root:
            seen = {name: root.seen(name, "state.json") for name in root.names(1_000).names}
            marks = {name: each.mark for name, each in seen.items() if each is not None}
            assert len(marks) == number
            with watched() as watch:
                assert root.changed(marks, "state.json") == []
        assert watch.counts["read"] == 0
        counts.append(watch.calls)
    assert counts[0] == 10 * CHANGED
    assert counts[1] == 40 * CHANGED


def test_a_new_folder_takes_ten_calls(tmp_path: Path) -> None:
    home = made(tmp_path, 10)
    with open_homes().open(str(home), "runs") as root, watched() as watch:
        for name in root.names(1_000).names:
            with root.folder(name) as folder:
                assert folder.read("state.json", 1_000) is not None
                assert folder.read("tombstone.json", 1_000) is None
                assert folder.seen("result.txt") is None
    listing = 3  # opened, scanned, closed
    assert watch.calls == 10 * READ + listing
    assert (watch.counts["read"], watch.counts["open"]) == (10, 10 * 2 + 1)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize(("how", "each"), [("changed", CHANGED), ("read", READ)])
def test_the_system_counts_the_same(tmp_path: Path, how: str, each: int) -> None:
    totals = []
    for number in (20, 120):
        home = made(tmp_path / f"{how}-{number}", number)
        program = Path(__file__).with_name("looking_program.py")
        trace = tmp_path / "trace"
        ran = subprocess.run(
            ["strace", "-f", "-o", str(trace), sys.executable, str(program), str(home), how],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if ran.returncode != 0 and "ptrace" in ran.stderr:
            pytest.skip(f"nothing can be traced here: {ran.stderr.splitlines()[0]}")
        assert ran.returncode == 0, ran.stderr
        calls = Counter(
            line.split("(")[0].split()[-1] for line in trace.read_text("utf-8", "replace").splitlines()
        )
        for once in ("brk", "mmap", "munmap", "getdents64", "futex", "lseek"):
            del calls[once]
        totals.append(calls.total())
    assert (totals[1] - totals[0]) / 100 == pytest.approx(each, abs=0.2)


WORST = {
    "lists": b'{"id": [' + b"[]," * (MAX_STATE_FILE_BYTES // 3 - 6) + b"[]]}",
    "objects": b'{"id": [' + b"{}," * (MAX_STATE_FILE_BYTES // 3 - 6) + b"{}]}",
    "small objects": b'{"id": [' + b'{"":0},' * (MAX_STATE_FILE_BYTES // 7 - 6) + b"{}]}",
    "numbers": b'{"id": [' + b"9999," * (MAX_STATE_FILE_BYTES // 5 - 6) + b"1]}",
    "floats": b'{"id": [' + b"1e11," * (MAX_STATE_FILE_BYTES // 5 - 6) + b"1]}",
    "keys": b"{" + b",".join(b'"%d":0' % number for number in range(MAX_STATE_FILE_BYTES // 10)) + b"}",
    "text": b'{"id": "' + b"x" * (MAX_STATE_FILE_BYTES - 20) + b'"}',
    "escapes": b'{"id": "' + b"\\u4e2d" * (MAX_STATE_FILE_BYTES // 6 - 6) + b'"}',
}


@pytest.mark.parametrize("data", WORST.values(), ids=[kind.replace(" ", "-") for kind in WORST])
def test_the_worst_state_file_takes_less_than_48_mebibytes(tmp_path: Path, data: bytes) -> None:
    assert 0.5 * MIB < len(data) <= MAX_STATE_FILE_BYTES
    home = made(tmp_path, 1)
    (home / "runs" / "run-00000" / "state.json").write_bytes(data)
    tracemalloc.start()
    try:
        with open_homes().open(str(home), "runs") as root, root.folder("run-00000") as folder:
            read = folder.read("state.json", MAX_STATE_FILE_BYTES)
            assert read is not None
            with pytest.raises(CorruptFolder):
                read_state(read.data, "run-00000", RUN_FOLDERS, redacted, 1.8e9)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48 * MIB


def test_a_file_of_a_tebibyte_takes_no_memory(tmp_path: Path) -> None:
    home = made(tmp_path, 1)
    os.truncate(home / "runs" / "run-00000" / "state.json", 2**40)
    tracemalloc.start()
    try:
        with open_homes().open(str(home), "runs") as root, root.folder("run-00000") as folder:
            part = folder.read_beginning("state.json", 1_000)
            assert part is not None
            assert (len(part.data), part.truncated, part.seen.size) == (1_000, True, 2**40)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MIB


def test_a_root_of_many_names_is_listed_in_little_memory(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    for number in range(6_000):
        (root / f"{number:05}").touch()
    with open_homes().open(str(tmp_path), "runs") as opened:
        tracemalloc.start()
        try:
            page = opened.names(10, "02999")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert page.names == [f"{number:05}" for number in range(3_000, 3_010)]
    assert page.more
    assert peak < MIB // 4


def _memory_of_importing(tmp_path: Path, number: int) -> None:
    """``number`` mebibytes of hostile state files, in turns with good folders."""
    home = made(tmp_path / "home", 2 * number)
    (home / "empty" / "runs").mkdir(parents=True)
    worst = list(WORST.values())
    for each in range(number):
        (home / "runs" / f"run-{2 * each:05}" / "state.json").write_bytes(worst[each % len(worst)])
    program = Path(__file__).with_name("importing_program.py")
    ran = subprocess.run(
        [sys.executable, str(program), str(home), str(tmp_path / "store.db")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["imported"], told["corrupt"]) == (number, number)
    assert told["kib"] < 64 * 1024


def test_hostile_files_take_less_than_64_mebibytes_to_import(tmp_path: Path) -> None:
    _memory_of_importing(tmp_path, 16)


@pytest.mark.soak
def test_200_mebibytes_of_hostile_files_take_less_than_64_to_import(tmp_path: Path) -> None:
    _memory_of_importing(tmp_path, 200)
