"""A durable run coordinator: fenced leases, idempotent commands, crash recovery and an outbox.

The general layout: :mod:`runcoord.errors` (what can be refused, what can fail), :mod:`runcoord.ports`
(the edges as protocols, and the values that cross them), :mod:`runcoord.testing` (contract suite, manual
clock, memory store), and the names below. Everything with an underscore is private.
"""

from __future__ import annotations

from runcoord._version import __version__

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from runcoord._answers import Completion, EventList, Receipt, Renewal, RunList, StopReceipt
    from runcoord._assembly import Coordinator, open_coordinator
    from runcoord._async_calls import AsyncCalls, Drained
    from runcoord._bounded import ThreadBounded
    from runcoord._core.layouts import RUN_FOLDERS, Layout
    from runcoord._core.model import (
        Deadline,
        Delivery,
        Event,
        EventKind,
        EventState,
        Instant,
        Lease,
        Outcome,
        Run,
        Spec,
        State,
    )
    from runcoord._core.run_folders import RunFolders
    from runcoord._core.settings import Settings
    from runcoord._executor import Ended, Execution, ExecutionReport
    from runcoord._folder_verbs import Result
    from runcoord._heartbeat import Hold, HoldReport
    from runcoord._homes import open_homes
    from runcoord._importer import ImportReport
    from runcoord._launching import ShimLauncher
    from runcoord._launching.orphans import Orphans
    from runcoord._outbox import DrainReport
    from runcoord._processes import open_processes
    from runcoord._recoverer import SweepReport
    from runcoord._supervisor.accepting import Intake
    from runcoord._supervisor.command import CommandRun
    from runcoord._supervisor.git_state import GitReport
    from runcoord._supervisor.preparing import CommandOrder, VariableNames
    from runcoord._supervisor.report import Cause, CommandReport
    from runcoord._teardown import tear_down
    from runcoord.errors import DestinationRefused, Happened, Refused, RuncoordError, StoreError
    from runcoord.ports import BadRow, Message, Ports

else:  # unseen by type checkers, to which any name would be one that is found late
    from runcoord._late import LateNames

    _NAMES = LateNames(
        __name__,
        {
            "_answers": ("Completion", "EventList", "Receipt", "Renewal", "RunList", "StopReceipt"),
            "_assembly": ("Coordinator", "open_coordinator"),
            "_async_calls": ("AsyncCalls", "Drained"),
            "_bounded": ("ThreadBounded",),
            "_core.model": (
                "Deadline",
                "Delivery",
                "Event",
                "EventKind",
                "EventState",
                "Instant",
                "Lease",
                "Outcome",
                "Run",
                "Spec",
                "State",
            ),
            "_core.layouts": ("RUN_FOLDERS", "Layout"),
            "_core.run_folders": ("RunFolders",),
            "_core.settings": ("Settings",),
            "_executor": ("Ended", "Execution", "ExecutionReport"),
            "_folder_verbs": ("Result",),
            "_heartbeat": ("Hold", "HoldReport"),
            "_homes": ("open_homes",),
            "_importer": ("ImportReport",),
            "_launching": ("ShimLauncher",),
            "_launching.orphans": ("Orphans",),
            "_outbox": ("DrainReport",),
            "_processes": ("open_processes",),
            "_recoverer": ("SweepReport",),
            "_supervisor.accepting": ("Intake",),
            "_supervisor.command": ("CommandRun",),
            "_supervisor.git_state": ("GitReport",),
            "_supervisor.preparing": ("CommandOrder", "VariableNames"),
            "_supervisor.report": ("Cause", "CommandReport"),
            "_teardown": ("tear_down",),
            "errors": ("DestinationRefused", "Happened", "Refused", "RuncoordError", "StoreError"),
            "ports": ("BadRow", "Message", "Ports"),
        },
        modules=("errors", "ports"),
    )
    __getattr__ = _NAMES.find

    def __dir__() -> list[str]:
        return sorted({*globals(), *_NAMES.names()})


__all__ = [
    "RUN_FOLDERS",
    "AsyncCalls",
    "BadRow",
    "Cause",
    "CommandOrder",
    "CommandReport",
    "CommandRun",
    "Completion",
    "Coordinator",
    "Deadline",
    "Delivery",
    "DestinationRefused",
    "DrainReport",
    "Drained",
    "Ended",
    "Event",
    "EventKind",
    "EventList",
    "EventState",
    "Execution",
    "ExecutionReport",
    "GitReport",
    "Happened",
    "Hold",
    "HoldReport",
    "ImportReport",
    "Instant",
    "Intake",
    "Layout",
    "Lease",
    "Message",
    "Orphans",
    "Outcome",
    "Ports",
    "Receipt",
    "Refused",
    "Renewal",
    "Result",
    "Run",
    "RunFolders",
    "RunList",
    "RuncoordError",
    "Settings",
    "ShimLauncher",
    "Spec",
    "State",
    "StopReceipt",
    "StoreError",
    "SweepReport",
    "ThreadBounded",
    "VariableNames",
    "__version__",
    "open_coordinator",
    "open_homes",
    "open_processes",
    "tear_down",
]


def pytest_configure(config: object) -> None:
    """Stops ``pytest -p runcoord`` when the plugin is missing and pytest took this library for it.

    pytest falls back to importing a module of the plugin's name. It registers this module only then, and
    without this hook the run would pass with no scenario collected.
    """
    import pytest

    raise pytest.UsageError(
        "-p runcoord loaded the library, not its pytest plugin: the plugin's entry point is not installed. "
        "Install the distribution in this environment (pip install 'runcoord[pytest]')."
    )
