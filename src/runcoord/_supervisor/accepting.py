"""The run of a command enters the store in one commit: accepted, claimed, started, its processes recorded.

So there is no moment at which somebody else could claim a command that is already behind its gate, and a
crash leaves either nothing or a run that recovery can end.
"""

from __future__ import annotations

from runcoord._coordinator import RunVerbs, instant, lease_of
from runcoord._core import limits, requests, submission
from runcoord._core.decide import decide
from runcoord._core.model import Command, Lease, Run, State
from runcoord._core.records import NewProcess, RecordedProcess, Role, Snapshot, Terms
from runcoord._core.values import value
from runcoord._lookups import present
from runcoord.errors import RuncoordError, VersionConflict
from runcoord.ports import BadRow, Change

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

    from runcoord._supervisor.starting import Launched


@value
class Intake:
    """What the run of a command is accepted with; see :meth:`runcoord.Coordinator.submit`."""

    run_id: str = ""
    key: str = ""
    destination: str = ""
    agent: str = ""
    task: str = ""
    conversation_key: str = ""
    max_live_runs: int | None = None
    """Unfinished runs of its lineage, with itself, beyond which it is refused; ``None``: the default."""
    git: bool = True
    """Whether the caller's git state is written down, restored and compared."""
    interactive: bool = False
    """The interrupt key is the command's own: it ends the run only if the command ends by it."""


@value
class Beginning:
    """What is known of a command that is about to begin."""

    payload: dict[str, Any]
    run_id: str
    """The id of its run, unless its key has one already."""
    lineage: str
    depth: int
    processes: tuple[NewProcess, ...]
    terms: Terms
    snapshot: str
    """Directory of the git state before; empty where there is none."""


@value
class Begun:
    """A run that is under way in the store."""

    run: Run
    lease: Lease


def begin(verbs: RunVerbs, beginning: Beginning, intake: Intake) -> Begun:
    """Put the run into the store, under way. Raises what :meth:`submit` and :meth:`claim` raise; then nothing
    was changed, or (``happened`` says so) it is not known."""
    cap = limits.LIVE_RUNS if intake.max_live_runs is None else intake.max_live_runs
    line = submission.make_line(beginning.lineage, beginning.depth, cap)
    spec = submission.make_spec(
        beginning.payload,
        destination=intake.destination,
        agent=intake.agent,
        task=intake.task,
        conversation_key=intake.conversation_key,
        group="",
        group_size=0,
        interruption_budget=0,  # a command is never executed again by itself
    )
    asked_id = submission.require_id("run_id", intake.run_id) if intake.run_id else ""
    key = submission.require_id("key", intake.key or beginning.run_id)
    digest = submission.content_hash(spec, asked_id, None)
    verbs.registration.prepare()
    sent = verbs.clock.boottime()
    try:
        with verbs.store.transaction("begin") as tx:
            now = instant(verbs.clock)
            known = tx.command(key)
            if known is not None:
                submission.require_same_content(known, digest)
                before: Run | None = present(tx, known.run_id, "commands", key)
                command = None
            else:
                submission.require_room(tx.count_unfinished(beginning.lineage), line)
                before, command = None, Command(key, beginning.run_id, digest, now.wall)
            run = before or submission.accepted(beginning.run_id, spec, now, line)
            claimed = decide(run, requests.Claim(verbs.owner, verbs.settings.lease), now)
            lease = lease_of(claimed.run, sent)
            taken = Snapshot(run.run_id, beginning.snapshot) if beginning.snapshot else None
            asked = requests.RecordProcesses(lease, beginning.processes, beginning.terms, taken)
            decided = decide(claimed.run, asked, now)
            records = verbs.registered(decided.recording(*claimed.records, *decided.records), now).records
            tx.save([Change(before, decided.run, command=command, records=records)])
    except VersionConflict as error:
        # The key was seen to be free, under the lock: it is the run that is there already.
        raise submission.taken(beginning.run_id, key) from error
    verbs.registration.written()
    return Begun(decided.run, lease)


def begun_after_all(verbs: RunVerbs, launched: Launched, intake: Intake, sent: float) -> Begun | None:
    """The run of a :func:`begin`, called at ``sent`` (boottime), that something was thrown into: if it got
    into the store it is under way there, this owner's, and this command is recorded for it. ``None`` also
    where the store does not tell."""
    bad: list[BadRow] = []
    try:
        with verbs.store.view("read-run") as view:
            known = view.command(intake.key or launched.run_id)
            run = view.run(known.run_id) if known is not None else None
            if run is None or run.owner != verbs.owner or run.state is not State.RUNNING or run.lease is None:
                return None
            recorded = view.records(RecordedProcess, run.run_id, limit=len(Role), bad=bad)
    except RuncoordError:
        return None
    ours = {each.terms.handed_over for each in recorded} == {launched.prepared.line.own}
    return Begun(run, lease_of(run, sent)) if ours else None
