"""Directories that are full or cannot be written, for root too: real mounts in a private namespace."""

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


@functools.cache
def _unshare() -> tuple[str, ...]:
    """How to get a private mount namespace here; empty when there is no way."""
    program = shutil.which("unshare")
    for flags in (("-m",), ("-rm",)):
        if program is None:
            break
        probe = [program, *flags, "mount", "-t", "tmpfs", "probe", "/mnt"]
        if subprocess.run(probe, capture_output=True, timeout=30, check=False).returncode == 0:
            return (program, *flags)
    return ()


def run_mounted(mount: str, script: str, *arguments: Path) -> Any:
    """Run ``mount`` (shell) and then ``script`` (Python, prints JSON) where nobody else sees the mount.

    ``$1``, ``$2``, … and ``sys.argv`` are the arguments. Skips the test where mounting is not permitted.
    """
    if not _unshare():
        pytest.skip("no private mount namespace can be made here (unshare -m, unshare -rm)")
    shell = f'set -e\n{mount}\nexec "$0" -c "$SCRIPT" "$@"'
    done = subprocess.run(
        [*_unshare(), "sh", "-c", shell, sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "SCRIPT": script},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
