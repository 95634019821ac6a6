"""What recovery does with the processes of a run, and what is known of them in the end.

An attempt looks at every recorded process, and then:

    a living shim        wait, a bounded time: it ends the run's tree by itself when its coordinator is gone;
                         one that was promised more time is left alone that long, once
    the same process     kill it, and whoever else is found to belong to the run
    gone, or a stranger  nothing to do; a stranger is not touched
    unknown              never signalled; try again later, a bounded number of times, then name it
    survived, denied     the same

So each run ends after a bounded time, whatever its processes do.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence

from runcoord._core.evolving import evolved
from runcoord._core.identity import ProcessIdentity, is_pid
from runcoord._core.limits import (
    CLEANUP_ATTEMPTS,
    CLEANUP_BACKOFF_SECONDS,
    MAX_CLEANUP_BACKOFF_SECONDS,
    MAX_SURVIVOR_CHARACTERS,
    SURVIVORS_NAMED,
)
from runcoord._core.model import Cleanup, CleanupState, Instant, Survivor
from runcoord._core.records import RecordedProcess, Role, Teardown
from runcoord._core.teardown import LEFT, Fate, Membership, ProcessReport, Scan, Scope, TeardownReport
from runcoord._core.texts import storable
from runcoord._core.values import replace, value

UNSEEN = "what else the run has started cannot be seen from here"


class Sight(enum.StrEnum):
    """What a look at a recorded process showed."""

    SAME = "same"
    """It is alive, and proved to be the recorded one."""
    GONE = "gone"
    STRANGER = "stranger"
    """Another process has its pid: the recorded one is gone."""
    UNKNOWN = "unknown"


@value
class Seen:
    """One look."""

    sight: Sight
    name: str = ""
    state: str = ""
    why: str = ""
    """In words, why it is unknown."""


@value
class Found:
    """A recorded process and what a look at it showed."""

    process: RecordedProcess
    seen: Seen


class Step(enum.StrEnum):
    WAIT = "wait"
    KILL = "kill"
    FINISH = "finish"
    DEFER = "defer"
    GIVE_UP = "give up"


@value
class Plan:
    """What to do next. ``seconds``: how long to wait, or to defer."""

    step: Step
    seconds: float = 0.0


def plan(
    found: Sequence[Found],
    attempt: int,
    *,
    patience: float = 0.0,
    promised: float = 0.0,
    scan: Scan | None = None,
    report: TeardownReport | None = None,
    hidden: bool = False,
) -> Plan:
    """The next step of the attempt with this number (from 1).

    ``patience``: seconds to wait for a living shim now. ``promised``: what its own teardown may take beyond
    that. ``scan``: who else belongs to the run, where
    that can be seen from here. ``report``: of the teardown, once there was one. ``hidden``: records of the
    run cannot be read, so that there may be a process that nobody knows.
    """
    if report is None:
        if patience > 0 and shims(found):
            return Plan(Step.WAIT, patience)
        if promised > 0 and attempt == 1 and shims(found):
            return Plan(Step.DEFER, promised)
        if same(found) or (scan is not None and (scan.members or not scan.complete)):
            return Plan(Step.KILL)
    left = report is not None and bool(report.left or not report.emptied)
    if not left and not hidden and not any(each.seen.sight is Sight.UNKNOWN for each in found):
        return Plan(Step.FINISH)
    if attempt < CLEANUP_ATTEMPTS:
        return Plan(Step.DEFER, backoff(attempt))
    return Plan(Step.GIVE_UP)


def backoff(attempt: int) -> float:
    """Seconds between an attempt that failed (from 1) and the next one."""
    exponent = min(max(attempt, 1) - 1, 30)
    return min(CLEANUP_BACKOFF_SECONDS * 2.0**exponent, MAX_CLEANUP_BACKOFF_SECONDS)


def same(found: Sequence[Found]) -> tuple[ProcessIdentity, ...]:
    """Those that are proved to be alive: the only recorded ones that may be signalled."""
    return tuple(
        each.process.identity
        for each in found
        if each.seen.sight is Sight.SAME and isinstance(each.process.identity, ProcessIdentity)
    )


def shims(found: Sequence[Found]) -> tuple[ProcessIdentity, ...]:
    """Those that are alive and end their tree by themselves."""
    return same([each for each in found if each.process.role is Role.SHIM])


def membership(found: Sequence[Found]) -> Membership:
    """Who belongs to the run, as far as it can be said without doubt."""
    known = [each.process.identity for each in found if isinstance(each.process.identity, ProcessIdentity)]
    cookies = {each.cookie for each in known if each.cookie}
    living = shims(found)
    terms = [each.process.terms for each in found]
    whole = not terms or any(each.scope is Scope.TREE for each in terms)
    leaders = [] if whole else [each for each in found if each.process.role is Role.LEADER]
    return Membership(
        # Processes of one run have one cookie; where records differ none of them is believed.
        cookie=cookies.pop() if len(cookies) == 1 else "",
        ancestor=living[-1].pid if whole and living else 0,
        recorded=same(found),
        scope=Scope.TREE if whole else Scope.GROUP,
        # A command leads its group. Who keeps its number from being used anew is unknown here.
        former_group=next((pid for each in leaders if is_pid(pid := each.process.identity.pid or 0)), 0),
        spared=next((each.handed_over for each in terms if each.handed_over), ""),
    )


def summed_up(
    found: Sequence[Found], report: TeardownReport | None, problems: Sequence[str], *, searched: bool = True
) -> TeardownReport:
    """The whole of an attempt: what the teardown did, if there was one, and what became of the recorded
    processes that it was not about. ``searched``: it was seen who else belongs to the run. If not, and one of
    the recorded ones may live, whatever that one has started may live too, and nobody knows its name."""
    told = {each.pid for each in report.processes} if report is not None else set[int]()
    others = [_fate_of(each) for each in found if each.process.identity.pid not in told]
    left = [each for each in others if each.fate is Fate.UNKNOWN]
    if left and report is None and not searched and any(_may_have_more(each) for each in found):
        left.append(ProcessReport(0, Fate.UNKNOWN, why=UNSEEN))
    base = report or TeardownReport(emptied=not problems)
    return replace(
        base,
        emptied=base.emptied and not left and not problems,
        processes=(*left, *base.processes, *(each for each in others if each.fate is not Fate.UNKNOWN)),
        counted=base.counted + len(others),
        problems=(*base.problems, *problems),
    )


def _may_have_more(found: Found) -> bool:
    in_group = found.process.role is not Role.SHIM  # the shim is in another one
    return found.seen.sight is Sight.UNKNOWN and (in_group or found.process.terms.scope is Scope.TREE)


def handed_on(report: TeardownReport | None, told: TeardownReport, gone: Collection[int]) -> TeardownReport:
    """What is known when the run's shim has told its own teardown: whom it had to leave is left still, unless
    this attempt told what became of them, or they are ``gone`` (pids). Nobody is signalled for what it told,
    which the run could have written itself."""
    if report is None:
        ended = tuple(each for each in told.processes if each.fate not in LEFT or each.pid in gone)
        report = replace(
            told,
            emptied=told.emptied or bool(told.left),  # with nobody to name it is not known who is left
            processes=tuple(
                replace(each, fate=Fate.ENDED, why="") if each.fate in LEFT else each for each in ended
            ),
        )
    known = {each.pid for each in report.processes} - {0}
    left = [each for each in told.left if each.pid not in known and each.pid not in gone]
    return replace(
        report,
        emptied=report.emptied and not left,
        processes=(*left, *report.processes),
        counted=max(report.counted, told.counted),
    )


def corrected(report: TeardownReport, found: Sequence[Found]) -> TeardownReport:
    """The report of a teardown after another look at the recorded processes: one that is seen to be gone, or
    whose pid somebody else has, is not left, whatever was unclear while it went."""
    gone = {
        each.process.identity.pid: _FATES[each.seen.sight]
        for each in found
        if each.seen.sight in (Sight.GONE, Sight.STRANGER)
    }
    processes = tuple(
        replace(each, fate=gone[each.pid], why="") if each.fate in LEFT and each.pid in gone else each
        for each in report.processes
    )
    return replace(report, processes=processes)


_FATES = {
    Sight.SAME: Fate.SURVIVED,
    Sight.GONE: Fate.ENDED,
    Sight.STRANGER: Fate.STRANGER,
    Sight.UNKNOWN: Fate.UNKNOWN,
}


def _fate_of(found: Found) -> ProcessReport:
    identity, seen = found.process.identity, found.seen
    start = identity.start if isinstance(identity, ProcessIdentity) else 0
    name = "" if seen.sight is Sight.STRANGER else seen.name  # what a stranger is called is not our business
    return ProcessReport(
        identity.pid or 0, _FATES[seen.sight], ("recorded",), (), name, seen.state, start, seen.why
    )


def with_fates(found: Sequence[Found], report: TeardownReport) -> tuple[RecordedProcess, ...]:
    """The recorded processes with what became of them, those of which it is news."""
    fates = {each.pid: each.fate for each in report.processes}
    after = [replace(each.process, fate=fates.get(each.process.identity.pid or 0)) for each in found]
    return tuple(new for new, each in zip(after, found, strict=True) if new.fate is not each.process.fate)


# --- what is known in the end --------------------------------------------------------------------


def settled(cleanup: Cleanup, report: TeardownReport) -> Cleanup:
    """What is known after this teardown, by which the run's processes count as dealt with."""
    left = report.left
    survivors = [
        Survivor(each.pid or None, _short(each.name), each.fate.value, _short(each.why)) for each in left
    ]
    if not survivors and not report.emptied:
        why = "; ".join(report.problems) or "it could not be seen that nothing is left"
        survivors = [Survivor(None, "", Fate.UNKNOWN.value, _short(why))]
    return evolved(
        cleanup,
        state=CleanupState.SURVIVED if survivors else CleanupState.DONE,
        teardowns=cleanup.teardowns + 1,
        due=None,
        survivors=tuple(survivors[:SURVIVORS_NAMED]),
        unnamed=max(0, len(survivors) - SURVIVORS_NAMED),
    )


def torn_down(run_id: str, after: Cleanup, report: TeardownReport, now: Instant) -> Teardown:
    """The row that keeps the report."""
    return Teardown(run_id, after.teardowns, report, now.wall)


def _short(text: str) -> str:
    return storable(text)[:MAX_SURVIVOR_CHARACTERS]
