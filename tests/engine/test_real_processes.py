"""The real tier with processes: it bites, it agrees with the simulation, and it leaves nothing behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("namespaces of processes are those of Linux", allow_module_level=True)

from engine.running import run, run_all
from pytest_runcoord.real import stage
from pytest_runcoord.real.stage import SOCKET_PATH_BYTES, Stage, unavailable
from pytest_runcoord.verdict import FailureKind, Verdict
from pytest_runcoord.world_errors import CannotBeReal

pytestmark = pytest.mark.real

CRASHED = """
given: {machines: shared, destinations: {chat: accepts}}
steps:
  - open: gw1
  - submit: {run: r1, destination: chat}
  - claim: r1
  - spawn: {run: r1, process: child, SHIM, children: [helper, {process: away, setsid: true}]}
  - stranger: {process: bystander, program: child}
STEPS
expect:
EXPECT
axes: {tier: [TIERS]}
"""


@pytest.fixture(autouse=True)
def _namespaces(tmp_path: Path) -> None:
    if why := unavailable(tmp_path):
        pytest.skip(why)


def scenario(steps: str, expect: str, *, shim: str = "grace: 5s", tiers: str = "real") -> str:
    text = CRASHED.replace("SHIM", shim).replace("TIERS", tiers)
    return text.replace("STEPS", steps.strip("\n")).replace("EXPECT", expect.strip("\n"))


def test_what_a_killed_owner_left_running_is_really_killed_in_both_tiers() -> None:
    simulated, real = run_all(
        scenario(
            """
  - kill_shim: r1
  - crash: gw1
  - expect: [process: child, process: away]
  - open: gw2
  - recover
""",
            """
  - process: {id: child, is: gone, status: -15}
  - process: {id: away, is: gone}
  - process: bystander
  - signals: {to: bystander, count: 0}
  - signals: {to: child, by: gw2, signal: TERM, count: 1}
  - run: {id: r1, outcome: interrupted, epoch: 2}
""",
            shim="shim: keeper",
            tiers="sim, real",
        )
    )
    assert simulated.verdict is Verdict.PASSED, simulated.failure
    assert real.verdict is Verdict.PASSED, real.failure
    occasions = ("no-stranger-signalled", "audit-before-signal", "no-orphan-left", "outcome-after-quiescence")
    for invariant in occasions:
        assert real.exercised[invariant] > 0
        assert simulated.exercised[invariant] > 0


def test_an_expectation_of_a_real_process_that_is_not_so_fails() -> None:
    result = run(scenario("  - crash: gw1", "  - process: {id: child, is: gone}"))
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert result.failure.kind is FailureKind.EXPECTATION
    assert result.failure.seen == "lives"


def test_a_run_that_was_completed_over_a_living_tree_is_not_called_clean() -> None:
    result = run(scenario("  - complete: {run: r1}", "  - cleanup: {run: r1, is: done}"))
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert result.failure.seen == 'is "pending"'


def test_a_signal_that_a_puppet_reports_and_nobody_announced_is_counted() -> None:
    result = run(
        scenario(
            "  - tear_down: {run: r1, grace: 2s, outcome: failed}",
            """
  - signals: {to: child, by: keeper, signal: TERM, count: 1}
  - signals: {to: helper, by: keeper, signal: TERM, count: 1}
  - signals: {to: away, by: keeper, signal: TERM, count: 1}
  - signals: {to: bystander, count: 0}
""",
            shim="shim: keeper",
        )
    )
    assert result.verdict is Verdict.PASSED, result.failure


def test_a_recycled_pid_is_really_the_same_number() -> None:
    result = run(
        scenario(
            """
  - crash: gw1
  - recycle_pid: {of: child, to: healthy}
  - open: gw2
  - recover
""",
            "  - process: healthy\n  - report: {run: r1, fates: {healthy: stranger}}",
        )
    )
    assert result.verdict is Verdict.PASSED, result.failure


def test_what_cannot_be_made_real_is_skipped_and_says_what() -> None:
    result = run(scenario("  - setsid: {process: helper, orphan: true}", "  - process: helper"))
    assert result.verdict is Verdict.SKIPPED
    assert result.skipped == "no process can leave its parent; let one in between end"


def test_a_directory_whose_path_no_socket_can_have_is_named_with_what_to_do(tmp_path: Path) -> None:
    long = tmp_path / ("x" * (SOCKET_PATH_BYTES - len(str(tmp_path)) - len("//stage-100")))
    with pytest.raises(CannotBeReal, match=r"has 1[0-9]{2} bytes, at most 107 fit: give TMPDIR"):
        Stage(long / "longer")


LEFT = """\
runcoord: 1
scenario: stays
says: A scenario in the middle of which pytest is killed.
given: {machines: shared}
steps:
  - open: gw1
  - submit: r1
  - claim: r1
  - spawn: {run: r1, process: child, shim: true, children: [{process: away, double_fork: true}]}
expect:
  - process: child
axes: {tier: [real]}
"""
STAND_STILL = """
import os, time
from pytest_runcoord import runner

def stand_still(*_):
    os.write(int(os.environ["TOLD"]), b"here")
    time.sleep(60)

runner._scratch = lambda: None  # the directory for temporary files, which the test can look into
runner.heal = stand_still  # between the last expectation and the end
"""
DEADLINE_SECONDS = 60


def _inodes() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), str((entry / "ns" / "pid").readlink())
            except OSError:
                continue


def test_nothing_of_a_scenario_lives_when_pytest_itself_was_killed(tmp_path: Path) -> None:
    (tmp_path / "stays.runcoord.yaml").write_text(LEFT)
    (tmp_path / "conftest.py").write_text(STAND_STILL)
    ours = str(Path("/proc/self/ns/pid").readlink())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    told, teller = os.pipe()
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
            env={**os.environ, "TOLD": str(teller), "TMPDIR": str(scratch)},
            pass_fds=(teller,),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
        ) as running:
            try:
                assert select.select([told], [], [], DEADLINE_SECONDS)[0]
                assert len(list(scratch.iterdir())) == 1
                mine = _descendants(running.pid)
                in_namespaces = {pid for pid, namespace in _inodes() if pid in mine and namespace != ours}
                assert len(in_namespaces) >= 5  # init, owner, shim, command, and its daemon
                held = [os.pidfd_open(pid) for pid in mine]
            finally:
                running.send_signal(signal.SIGKILL)
        try:
            for each in held:
                assert select.select([each], [], [], DEADLINE_SECONDS)[0], "a process lives on"
            assert not list(scratch.iterdir())
        finally:
            for each in held:
                os.close(each)
    finally:
        os.close(told)
        os.close(teller)


def _descendants(top: int) -> list[int]:
    """Everybody below a process, whoever is in between: children of init of a namespace are its."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text(errors="replace")
            except OSError:
                continue
            parents[int(entry.name)] = int(text[text.rindex(")") + 2 :].split()[1])
    found: list[int] = []
    for pid in parents:
        at, steps = pid, 0
        while at in parents and at != top and steps < 64:
            at, steps = parents[at], steps + 1
        if at == top and pid != top:
            found.append(pid)
    return found


def test_the_reason_is_told_where_the_system_permits_no_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impossible(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(stage, "_the_zygote", impossible)
    assert "Operation not permitted" in unavailable(tmp_path)
    launches = """
steps:
  - open: gw1
  - submit: r1
  - claim: r1
  - spawn: {run: r1, process: child, shim: true}
axes: {tier: [real]}
"""
    for text in (scenario("  - crash: gw1", "  - process: child"), launches):
        result = run(text)
        assert result.verdict is Verdict.SKIPPED, result.failure
        assert "Operation not permitted" in (result.skipped or "")
