"""What is stored of a run's processes and its git state: for people, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from runcoord import BadRow, Run
from runcoord._core.limits import MAX_LIST
from runcoord._core.values import value
from runcoord.cli.wording import counted, iso_time, printable
from runcoord.ports import (
    Audit,
    Cleanup,
    CleanupState,
    RecordedProcess,
    Snapshot,
    SnapshotState,
    Teardown,
    View,
)

if TYPE_CHECKING:
    from runcoord.cli.tables import Facts

NAMED = 5
"""Processes that are left, named in lines for people; the document has all that are stored."""
FATES = {
    "ended": "ended by itself",
    "asked": "asked to end",
    "killed": "killed",
    "survived": "survived",
    "spared": "handed over",
    "stranger": "replaced by a stranger",
    "unknown": "not to be told",
    "denied": "not to be signalled",
}


@value
class ProcessRecords:
    """The records of one run."""

    processes: tuple[RecordedProcess, ...] = ()
    teardowns: tuple[Teardown, ...] = ()
    audits: tuple[Audit, ...] = ()
    snapshot: Snapshot | None = None

    @classmethod
    def of(cls, view: View, run: Run, bad: list[BadRow]) -> ProcessRecords:
        """Read them; most runs have none."""
        if run.cleanup is None:
            return cls()
        snapshots = view.records(Snapshot, run.run_id, limit=1, bad=bad)
        return cls(
            tuple(view.records(RecordedProcess, run.run_id, limit=MAX_LIST, bad=bad)),
            tuple(view.records(Teardown, run.run_id, limit=MAX_LIST, bad=bad)),
            tuple(view.records(Audit, run.run_id, limit=MAX_LIST, bad=bad)),
            snapshots[0] if snapshots else None,
        )

    def document(self, run: Run) -> dict[str, Any]:
        return {
            "exit_status": run.exit_status,
            "lineage": run.lineage,
            "depth": run.depth,
            "cleanup": None if run.cleanup is None else _cleanup_document(run.cleanup),
            "processes": [_process_document(each) for each in self.processes],
            "teardowns": [{"at": iso_time(each.at), **each.report.document()} for each in self.teardowns],
            "audits": [
                {"round": each.round, "at": iso_time(each.at), "intent": each.intent, "result": each.result}
                for each in self.audits
            ],
            "snapshot": None if self.snapshot is None else _snapshot_document(self.snapshot),
        }

    def facts(self, run: Run) -> Facts:
        """For people."""
        from runcoord.cli.tables import Facts

        facts = Facts()
        if run.exit_status is not None:
            facts.add("Exit status", str(run.exit_status))
        if run.depth:
            facts.add("Depth", f"{run.depth}, of lineage {printable(run.lineage)}")
        if self.teardowns:
            facts.add("Processes", _told(self.teardowns[-1]))
        elif run.cleanup is not None:
            facts.add("Processes", counted(run.cleanup.processes, "process", "processes") + " recorded")
        if run.cleanup is not None:
            self._add_cleanup(facts, run.cleanup)
        if self.snapshot is not None:
            facts.add("Git", _git(self.snapshot))
        return facts

    def _add_cleanup(self, facts: Facts, cleanup: Cleanup) -> None:
        if cleanup.attempts:
            rounds = counted(cleanup.rounds, "round of signals", "rounds of signals")
            facts.add("Recovery", f"{counted(cleanup.attempts, 'attempt')}, {rounds}")
        if cleanup.state is CleanupState.SURVIVED:
            named = [_survivor(each.pid, each.name, each.why) for each in cleanup.survivors[:NAMED]]
            more = len(cleanup.survivors) - len(named) + cleanup.unnamed
            lines = "\n".join([*named, *([f"and {more} more"] if more else [])])
            facts.add("May be alive", lines, "bold red")


def _told(teardown: Teardown) -> str:
    report = teardown.report
    unseen = f"; {printable('; '.join(report.problems))}" if report.problems else ""
    if report.emptied and not report.counted:
        return f"none was {'seen' if unseen else 'left'} when it ended{unseen}"
    fates = Counter(FATES[each.fate.value] for each in report.processes)
    parts = ", ".join(f"{number} {fate}" for fate, number in fates.items())
    seen = counted(report.counted, "process", "processes")
    end = f"; none is {'seen any more' if unseen else 'left'}" if report.emptied and not report.left else ""
    return f"{seen} ended with it{f': {parts}' if parts else ''}{end}{unseen}"


def _survivor(pid: int | None, name: str, why: str) -> str:
    who = f"pid {pid}" if pid is not None else "somebody"
    return f"{who}{f' ({printable(name)})' if name else ''}{f': {printable(why)}' if why else ''}"


def _git(snapshot: Snapshot) -> str:
    where = printable(snapshot.directory)
    if snapshot.state is SnapshotState.TAKEN:
        return f"written down in {where}"
    put_back, others = _differing(snapshot.report)
    if snapshot.state is SnapshotState.REFUSED:
        return f"not as before{_listed(': ', others)}; what was written down is in {where}"
    if put_back:
        return f"put back{_listed(': ', put_back)}"
    return f"works as before; changed: {_listed('', others)}" if others else "as before"


def _differing(report: str) -> tuple[list[str], list[str]]:
    """What was put back and what was not, by name; nothing where the stored report is of another form."""
    try:
        said = json.loads(report)
        put_back = [_named(each) for each in said.get("steps", ()) if each["result"] == "done"]
        others = [_named(each) for each in said.get("steps", ()) if each["result"] != "done"]
        others += [_named(each) for each in said.get("differences", ())]
    except (ValueError, TypeError, KeyError, AttributeError):
        return [], []
    return put_back, others


def _named(difference: dict[str, Any]) -> str:
    """What differs: a key of git's configuration, a worktree, or what git itself answers."""
    name = str(difference["key"] or difference["what"])
    return "what git answers" if name == "git" else name


def _listed(before: str, names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{before}{', '.join(printable(each) for each in names[:NAMED])}{more}" if names else ""


def _cleanup_document(cleanup: Cleanup) -> dict[str, Any]:
    return {
        "state": cleanup.state.value,
        "attempts": cleanup.attempts,
        "rounds": cleanup.rounds,
        "survivors": [
            {"pid": each.pid, "name": each.name, "fate": each.fate, "why": each.why}
            for each in cleanup.survivors
        ],
        "survivors_unnamed": cleanup.unnamed,
    }


def _process_document(process: RecordedProcess) -> dict[str, Any]:
    fate = process.fate
    return {
        "number": process.number,
        "role": process.role.value,
        "epoch": process.epoch,
        "pid": process.identity.pid,
        "recorded_at": iso_time(process.recorded_at),
        "fate": fate.value if fate is not None else None,
    }


def _snapshot_document(snapshot: Snapshot) -> dict[str, Any]:
    try:
        report = json.loads(snapshot.report)
    except ValueError:
        report = None
    return {"directory": snapshot.directory, "state": snapshot.state.value, "report": report}
