"""What a shim loads, and when: its coordinator waits for it to be ready, and for nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import runcoord

SOURCE = str(Path(runcoord.__file__).parents[1])


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; sys.path.append({SOURCE!r}); {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_before_the_command_is_forked_next_to_nothing_is_loaded() -> None:
    loaded = loaded_by("import os, signal, runcoord._shim.gate")
    assert "runcoord._shim.gate" in loaded
    assert loaded & {"dataclasses", "inspect", "json", "re", "typing"} == set()
    ours = {name for name in loaded if name.startswith("runcoord")}
    assert ours <= {
        "runcoord",
        "runcoord._late",
        "runcoord._version",
        "runcoord._shim",
        "runcoord._shim.gate",
    }


def test_a_shim_loads_nothing_of_stores_or_of_the_command_line() -> None:
    loaded = loaded_by("import runcoord._shim.tending")
    assert "runcoord._teardown" in loaded
    assert (
        loaded & {"click", "hashlib", "logging", "pathlib", "psutil", "socket", "sqlite3", "subprocess"}
        == set()
    )
    parts = {name.split(".")[1] for name in loaded if name.startswith("runcoord.")}
    assert parts <= {
        *("_core", "_late", "_process_ports", "_processes", "_shim", "_teardown", "_version", "errors"),
    }
