"""Pids used anew for real, and records that come from other namespaces."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("these are the processes of Linux", allow_module_level=True)

from processes.making import RealMaker
from processes.namespaces import HERE, PIDS, TIMES, run_inside, told_inside
from runcoord._processes import open_processes
from runcoord.testing import Start

pytestmark = pytest.mark.real

COOKIE = "c" * 32
WRONG = ("same", "signalled")


@pytest.fixture
def maker() -> Iterator[RealMaker]:
    made = RealMaker(open_processes())
    yield made
    made.close()


# --- the same pid for another process -------------------------------------------------------------


@pytest.mark.parametrize("tries", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_a_process_that_took_the_pid_of_a_recorded_one_is_never_signalled(tries: int) -> None:
    counts = told_inside(PIDS, "reuse_program.py", {"when": "before", "tries": tries})
    wrong = {what: count for what, count in counts.items() if what.partition(": ")[2] in WRONG}
    assert (counts["tries"], counts["bystanders hit"], wrong) == (tries, 0, {}), counts
    assert counts["handles, recorded: different"] == tries, counts
    if tries >= 200:  # so many that on any machine some were the hard case: pid and start value were equal
        assert counts["same tick"] >= 20, counts


@pytest.mark.parametrize("tries", [3, pytest.param(60, marks=pytest.mark.soak)])
def test_a_pid_used_anew_between_check_and_signal_gets_no_signal(tries: int) -> None:
    counts = told_inside(PIDS, "reuse_program.py", {"when": "after", "tries": tries})
    gone = {f"{way}: process-gone": counts["tries"] for way in ("signal", "member", "group")}
    assert counts == {"tries": 2 * tries, "bystanders hit": 0, **gone}


def test_the_contract_holds_where_pids_are_used_anew() -> None:
    done = run_inside(
        PIDS,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *(str(HERE / "test_linux_table.py"), "-k", "recycled or stranger or anew"),
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "pid namespace of our own" not in done.stdout, done.stdout


# --- records from elsewhere -----------------------------------------------------------------------


def test_nothing_is_said_of_a_process_of_another_pid_namespace(maker: RealMaker) -> None:
    pid = maker.start(Start({"RUNCOORD_COOKIE": COOKIE}))
    record = maker.table().identify(pid, COOKIE).document()
    answer = told_inside(PIDS, "elsewhere_program.py", {"record": record})
    assert answer["open"].startswith("probe-failed: nothing can be said"), answer
    assert answer["members"] == [], answer
    assert maker.alive(pid)


def test_nothing_is_said_between_two_pid_namespaces_of_one_boot() -> None:
    first = told_inside(PIDS, "elsewhere_program.py", {"self": True})
    order = {"self": True, "record": {**first["record"], "pid": first["pid"]}}
    second = told_inside(PIDS, "elsewhere_program.py", order)
    same = ("host", "boot", "source", "pid")
    assert [second["record"][key] for key in same] == [first["record"][key] for key in same]
    if second["record"]["pid_namespace"] == first["record"]["pid_namespace"]:
        pytest.skip("the kernel gave the second namespace the number of the first, which had ended")
    assert second["open"].startswith("probe-failed: nothing can be said"), second
    assert "pid namespace" in second["open"], second


def test_nothing_is_said_of_a_process_across_a_shift_of_start_values(maker: RealMaker) -> None:
    pid = maker.start(Start({"RUNCOORD_COOKIE": COOKIE}))
    identity = maker.table().identify(pid, COOKIE)
    order = {"record": identity.document(), "start of": pid}
    answer = told_inside(TIMES, "elsewhere_program.py", order)
    ticks = 1000 * os.sysconf("SC_CLK_TCK")
    assert answer["start"] == identity.start + ticks, "the start value was to look shifted"
    assert answer["open"].startswith("probe-failed: nothing can be said"), answer
    assert "time namespace" in answer["open"], answer
    assert answer["members"] == [], answer
    assert maker.alive(pid)


def test_the_offset_of_a_time_namespace_is_part_of_the_habitat() -> None:
    answers: list[Any] = [told_inside(TIMES, "elsewhere_program.py", {"self": True}) for _ in range(2)]
    for answer in answers:
        assert answer["record"]["time_namespace"].endswith("+1000.0"), answer


def test_a_proc_of_another_pid_namespace_is_not_believed() -> None:
    bare = tuple(flag for flag in PIDS if flag != "--mount-proc")
    answer = told_inside(bare, "elsewhere_program.py", {})
    assert answer["identify"].startswith("probe-failed: /proc shows the processes of another"), answer
    assert answer["scan"]["complete"] is False, answer
    assert "another pid namespace" in answer["scan"]["problem"], answer


def test_init_of_a_container_has_an_identity_that_proves_nothing() -> None:
    answer = told_inside(PIDS, "elsewhere_program.py", {"self": True}, as_init=True)
    assert answer["record"]["pid"] == 1, answer
    assert answer["identify"].startswith("invalid-request"), answer
