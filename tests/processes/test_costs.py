"""What the table costs, in system calls and in modules: counted, not timed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("this is the table of Linux", allow_module_level=True)

from processes.namespaces import HERE
from runcoord._processes import open_processes

pytestmark = pytest.mark.real

MARK = re.compile(r'access\("/(begin|end)/([^"]+)"|faccessat2?\(AT_FDCWD, "/(begin|end)/([^"]+)"')


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The system calls of each marked step; of a step that was made twice, those of the second."""
    if shutil.which("strace") is None:
        pytest.skip("there is no strace here")
    if not open_processes().guarantees().durable_handle:
        pytest.skip("this kernel has no durable handles")
    folder = tmp_path_factory.mktemp("strace")
    trace, answer = folder / "trace", folder / "answer"
    command = ["strace", "-o", str(trace), sys.executable, str(HERE / "counted_program.py"), str(answer)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip(f"strace may not trace here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(answer.read_text()) == {"likeness": "same", "ended": True}
    steps: dict[str, list[str]] = {}
    step = ""
    for line in trace.read_text().splitlines():
        mark = MARK.match(line)
        if mark:
            begins, name = (mark[1] or mark[3]) == "begin", mark[2] or mark[4]
            step = name if begins else ""
            if begins:
                steps[name] = []
        # One that was frozen for a moment goes on with the call that it was in.
        elif step and not line.startswith(("---", "+++", "restart_syscall(")):
            steps[step].append(line)
    return steps


def test_a_signal_by_the_durable_handle_takes_at_most_ten_system_calls(calls: dict[str, list[str]]) -> None:
    assert 5 <= len(calls["look and signal"]) <= 10, "\n".join(calls["look and signal"])
    assert len(calls["signal"]) <= 6, "\n".join(calls["signal"])
    assert sum(call.startswith("pidfd_send_signal") for call in calls["look and signal"]) == 1


def test_an_end_is_told_by_the_system_and_not_asked_for_again_and_again(calls: dict[str, list[str]]) -> None:
    assert [call.partition("(")[0] for call in calls["wait"]] == ["poll"], "\n".join(calls["wait"])


def test_the_table_loads_little_more_than_the_ports() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import runcoord._process_ports, runcoord._core.lineage;"
        "before = set(sys.modules); import runcoord._processes.linux;"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('runcoord._pro')))"
    )
    source = HERE.parent.parent / "src"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(source)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    cheap = {"select", "_signal", "signal", "struct", "_struct", "errno", "time"}
    cheap |= {"os", "os.path", "posixpath", "genericpath", "stat", "_stat"}  # what a shim has loaded before
    assert set(done.stdout.split()) <= cheap


def test_files_are_not_left_open(tmp_path: Path) -> None:
    table = open_processes()

    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    table.itself()
    before = count()
    for _ in range(5):
        table.identify(table.itself().pid)
        process = table.open(table.itself())
        process.look(table.itself())
        process.exit_status()
        process.close()
    assert count() == before
