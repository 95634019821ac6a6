"""The processes of one run, seen and ended from outside: what recovery does to them, within bounds."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial

from runcoord._core import limits
from runcoord._core.cleanup import Found, membership, same
from runcoord._core.events import canonical_json
from runcoord._core.identity import Likeness, ProcessIdentity, same_place
from runcoord._core.last_words import LastWords
from runcoord._core.records import Role
from runcoord._core.teardown import LEFT, Scan, TeardownReport
from runcoord._core.texts import message_of
from runcoord._launching import read_last_words
from runcoord._probing import Probes
from runcoord._teardown import tear_down
from runcoord.errors import RuncoordError
from runcoord.ports import Clock, PinnedProcess, Processes, Sleeper


class Trees:
    """Trees of processes that were recorded by somebody else."""

    def __init__(self, probes: Probes, clock: Clock, sleeper: Sleeper) -> None:
        self._probes, self._clock, self._sleeper = probes, clock, sleeper

    def scan(self, found: Sequence[Found]) -> Scan | None:
        """Who belongs to the run, besides those that are recorded; ``None`` when nothing can be seen of it
        from here: it was recorded before this boot, or on another machine, or no clue is left."""
        members = membership(found)
        try:
            if not self._is_here(found) or not (members.cookie or members.ancestor or members.recorded):
                return None
            return self._probes.search(
                limits.SEARCH_SECONDS, lambda table: table.scan(members, limits.SCAN_SECONDS)
            )
        except Exception as error:  # noqa: BLE001 - a table that fails shows nothing, and stops no other run
            return Scan(complete=False, problem=message_of(error))

    def _is_here(self, found: Sequence[Found]) -> bool:
        here = self._probes.call(limits.PROBE_SECONDS, lambda table: table.habitat())
        return any(
            isinstance(each.process.identity, ProcessIdentity)
            and same_place(each.process.identity.habitat, here) is Likeness.SAME
            for each in found
        )

    def wait_for(self, identities: Sequence[ProcessIdentity], seconds: float) -> None:
        """Wait until these processes have ended, or ``seconds`` are over. Whoever calls looks again."""
        with contextlib.suppress(RuncoordError, OSError):
            self._probes.call(seconds + limits.PROBE_SECONDS, lambda table: _wait(table, identities, seconds))

    def tear_down(self, found: Sequence[Found]) -> TeardownReport:
        """End whoever belongs to the run, and say what became of each. Nobody is signalled while an earlier
        search hangs. Never raises."""
        members = membership(found)
        grace = min([float(limits.GRACE_SECONDS), *(each.process.terms.grace for each in found)])
        ending = partial(tear_down, membership=members, grace=grace, clock=self._clock, sleeper=self._sleeper)
        try:
            return self._probes.search(limits.CLEANUP_TEARDOWN_SECONDS, ending)
        except Exception as error:  # noqa: BLE001 - then it is unknown what was signalled, and said so
            return TeardownReport(False, problems=(message_of(error),))

    def last_words(self, found: Sequence[Found]) -> LastWords | None:
        """What the run's shim wrote at its end, if it is of this run."""
        cookies = {
            each.process.identity.cookie
            for each in found
            if isinstance(each.process.identity, ProcessIdentity) and each.process.role is Role.SHIM
        }
        path = last_words_of(found)
        return read_last_words(path, cookies.pop()) if path and len(cookies) == 1 else None


def last_words_of(found: Sequence[Found]) -> str:
    """The file for the last words of the run's shim; empty when none was named."""
    return next((each.process.terms.last_words for each in found if each.process.terms.last_words), "")


def _wait(table: Processes, identities: Sequence[ProcessIdentity], seconds: float) -> None:
    pinned: list[PinnedProcess] = []
    try:
        for identity in identities:
            with contextlib.suppress(RuncoordError):
                pinned.append(table.open(identity))
        table.wait(pinned, seconds)
    finally:
        for each in pinned:
            each.close()


# --- audits --------------------------------------------------------------------------------------


def intent_of(found: Sequence[Found], attempt: int, owner: str) -> str:
    """What is about to be signalled, as JSON text: the clues, and the processes that are known already."""
    members = membership(found)
    known = same(found)
    return canonical_json(
        {
            "attempt": attempt,
            "by": owner,
            "cookie": bool(members.cookie),
            "ancestor": members.ancestor,
            "scope": members.scope.value,
            "processes": [_named(each) for each in known[: limits.SURVIVORS_NAMED]],
            "counted": len(known),
        }
    )


def _named(identity: ProcessIdentity) -> dict[str, object]:
    return {"pid": identity.pid, "start": identity.start, "handle": identity.handle}


def result_of(report: TeardownReport) -> str:
    """What came of it, as JSON text: counts, and who is left."""
    fates: dict[str, int] = {}
    for each in report.processes:
        fates[each.fate.value] = fates.get(each.fate.value, 0) + 1
    left = [each.pid for each in report.processes if each.fate in LEFT]
    return canonical_json(
        {
            "emptied": report.emptied,
            "fates": fates,
            "left": left[: limits.SURVIVORS_NAMED],
            "problems": [each[: limits.MAX_SURVIVOR_CHARACTERS] for each in report.problems[:5]],
        }
    )
