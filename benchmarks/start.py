"""What starting costs: whole processes against a bare interpreter, which on this machine is the unit of time.

Bytecode is kept, as an installed package has it: with ``PYTHONDONTWRITEBYTECODE`` every start would compile.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import Ratio, compare

import runcoord

SOURCE = str(Path(runcoord.__file__).parents[1])
ROUNDS = 21
SECONDS = 60.0
"""Longest time of one process; only a fault takes that long."""


def measure(directory: Path) -> list[Ratio]:
    """The command line and the library, then the small process that a run hangs on."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        store = Path(place, "runs.db")
        opening = f"from runcoord import open_coordinator; open_coordinator({str(store)!r}).close()"
        _seconds(store, "-c", opening)
        cases = (
            ("import runcoord", 2.25, ("-c", "import runcoord")),
            ("import click, which every command needs", 5.0, ("-c", "import click")),
            ("runcoord --version", 5.5, ("-m", "runcoord", "--version")),
            ("opening a coordinator", 8.0, ("-c", opening)),
            ("runcoord runs --json, on an empty store", 10.0, ("-m", "runcoord", "runs", "--json")),
            ("runcoord run --no-git -- true", 8.0, ("-m", "runcoord", "run", "--no-git", "--", "true")),
        )
        found = [_against_bare(name, goal, store, arguments, ("-c", "1")) for name, goal, arguments in cases]
        isolated = ("-I", "-S", "-c")
        tending = f"import sys; sys.path.append({SOURCE!r}); import runcoord._shim.tending"
        found.append(
            _against_bare(
                "loading the shim, python -I -S", 4.0, store, (*isolated, tending), (*isolated, "1")
            )
        )
        return found


def _against_bare(
    name: str, goal: float, store: Path, arguments: tuple[str, ...], bare: tuple[str, ...]
) -> Ratio:
    return compare(
        name,
        lambda: _seconds(store, *arguments),
        lambda: _seconds(store, *bare),
        goal=goal,
        rounds=ROUNDS,
    )


def _seconds(store: Path, *arguments: str) -> float:
    """How long one process takes, from before it is started until it has ended."""
    environment = {**os.environ, "RUNCOORD_STORE": str(store)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{arguments} ended with {done.returncode}:\n{done.stderr.decode()[-1000:]}")
    return seconds
