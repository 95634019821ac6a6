"""Ending a run whose shim is gone."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from runcoord._core.teardown import WITHOUT_SHIM, Fate, Membership, TeardownReport
from runcoord._teardown import tear_down
from runcoord.errors import InvalidRequest, ProcessError
from runcoord.ports import LaunchOrder, PinnedProcess, Processes


def tear_down_without_shim(
    processes: Processes,
    order: LaunchOrder,
    pins: Mapping[int, PinnedProcess],
    pids: tuple[int, int] | None,
    grace: float,
    hurried: Callable[[], bool],
) -> TeardownReport:
    """End what can be found of a run by its command and by its cookie.

    Nobody keeps the numbers of its group and session from being used anew, so these are no clues here. What
    has cleared its environment, and lost its parent, is found only if it is in the command's group: that is
    killed last, through the pin of the command.
    """
    if pids is None:
        return TeardownReport(emptied=True)  # the command was never forked, or its gate closed with the shim
    shim, leader = (pins.get(pid) for pid in pids)
    if shim is not None:
        with contextlib.suppress(ProcessError):
            shim.signal(signal.SIGKILL)  # it does not answer; left alone it would tear down a second time
    membership = Membership(
        cookie=order.cookie,
        recorded=() if leader is None else (replace(leader.identity, cookie=order.cookie),),
        scope=order.scope,
        spared=order.cookie,
    )
    try:
        report = tear_down(processes, membership, grace=grace, clock=time, sleeper=time, hurried=hurried)
    except InvalidRequest as error:
        report = TeardownReport(emptied=False, problems=(error.problem,))
    if leader is not None and all(each.fate is not Fate.SPARED for each in report.processes):
        with contextlib.suppress(ProcessError, InvalidRequest):
            processes.signal_group(leader, signal.SIGKILL)
    return replace(report, problems=(WITHOUT_SHIM, *report.problems))
