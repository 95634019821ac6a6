"""The git state of the caller's checkout: snapshot before a run, restoration after a failed one.

taking          the snapshot
restoring       putting back and comparing
checkouts       finding the repository by files; whether it is still the same
observing       the state as it is now
configs         config files and their values
heads           HEAD
registrations   linked worktrees
behaving        how git behaves in a work tree
comparing       what differs, and what of it can be put back
putting_back    writing single things
locks           lock files left behind
manifest        a snapshot on disk
records         values to JSON and back
calls           git processes within bounds
environment     which variables bind git to a repository
entries         single files, looked at without being led astray
values          what is known at one moment
reports         what differs, and what was done about it
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from runcoord._git.environment import scrubbed
    from runcoord._git.manifest import load
    from runcoord._git.reports import (
        Agreement,
        Difference,
        DriftReport,
        Outcome,
        RestoreReport,
        Result,
        Step,
        What,
    )
    from runcoord._git.restoring import drift, restore
    from runcoord._git.taking import take
    from runcoord._git.values import Absence, GitSnapshot, NoSnapshot

else:  # outside of a checkout a command needs the environment alone
    from runcoord._late import LateNames

    _NAMES = LateNames(
        __name__,
        {
            "environment": ("scrubbed",),
            "manifest": ("load",),
            "reports": (
                "Agreement",
                "Difference",
                "DriftReport",
                "Outcome",
                "RestoreReport",
                "Result",
                "Step",
                "What",
            ),
            "restoring": (
                "drift",
                "restore",
            ),
            "taking": ("take",),
            "values": (
                "Absence",
                "GitSnapshot",
                "NoSnapshot",
            ),
        },
    )
    __getattr__ = _NAMES.find


__all__ = [
    "Absence",
    "Agreement",
    "Difference",
    "DriftReport",
    "GitSnapshot",
    "NoSnapshot",
    "Outcome",
    "RestoreReport",
    "Result",
    "Step",
    "What",
    "drift",
    "load",
    "restore",
    "scrubbed",
    "take",
]
