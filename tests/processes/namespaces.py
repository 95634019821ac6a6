"""Running a program of this directory in namespaces of its own: nobody else is there to be harmed."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from processes.making import PRIVATE

PIDS = ("-p", "-f", "--mount-proc", "--kill-child")
TIMES = ("-T", "-f", "--kill-child", "--boottime", "1000")
HERE = Path(__file__).parent
DEADLINE_SECONDS = 240


@functools.cache
def why_not(flags: tuple[str, ...]) -> str:
    """Why these namespaces cannot be had; empty when they can."""
    if shutil.which("unshare") is None:
        return "there is no unshare here"
    tried = subprocess.run([*_unshare(flags), "true"], capture_output=True, text=True, timeout=30)
    return "" if tried.returncode == 0 else f"unshare {' '.join(flags)}: {tried.stderr.strip()[:200]}"


def _unshare(flags: tuple[str, ...]) -> list[str]:
    return ["unshare", *([] if os.geteuid() == 0 else ["-U", "-r"]), *flags]


def run_inside(
    flags: tuple[str, ...], *words: str, stdin: str = "", as_init: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run ``python WORDS`` there; skips the test where it cannot be. Unless ``as_init``, a shell is init."""
    reason = why_not(flags)
    if reason:
        pytest.skip(reason)
    command = [sys.executable, *words]
    if not as_init:
        command = ["/bin/sh", "-c", '"$@"; exit $?', "sh", *command]
    path = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [*_unshare(flags), *command],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        cwd=HERE.parent.parent,
        env={**os.environ, PRIVATE: "1", "PYTHONPATH": os.pathsep.join(path)},
    )


def told_inside(flags: tuple[str, ...], program: str, order: Any, *, as_init: bool = False) -> Any:
    """What a program of this directory makes of ``order``: JSON in, JSON out."""
    done = run_inside(flags, str(HERE / program), stdin=json.dumps(order), as_init=as_init)
    assert done.returncode == 0, f"{program} ended with {done.returncode}\n{done.stderr[-3000:]}"
    return json.loads(done.stdout)
