"""What the harness drives: a subject, and what it can be asked for.

A subject is one class with :meth:`Subject.open`, which gives a session: one incarnation of a coordinator
on the world's store, clocks and ports. Each verb is a method of the session; a method that is missing is
a missing capability, and scenarios that need it are skipped by that name and counted. A verb that is
refused raises; :meth:`Subject.refusal` gives the harness's name for it.

Verbs answer with an :class:`Answer`: plain values by name, and (for a lease, a delivery, an execution)
the object itself, which the harness hands back to later verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pytest_runcoord.probed_ports import BoundedByWorld, Probe
from runcoord.ports import BadRow, Clock, Counters, Deadline, Homes, Launcher, Processes, Sleeper
from runcoord.values import field, record, value

CAPABILITIES: dict[str, str] = {
    "runs": "submit runs, claim them and complete them; claiming may be starting",
    "quiet": "opening and closing change nothing that is durable; what an owner holds stays held",
    "settings": "take the settings that a scenario states, by their names",
    "claim-next": "hand out whichever run is next, in the order of their submission",
    "starting": "a claim and the beginning of the work are two steps, and only what began can be interrupted",
    "leases": "a claim holds for a length of time that can be chosen, and expires by itself",
    "expiry": "a run whose lease ran out before its work began can be claimed by another, without a sweep",
    "renewal": "lengthen a lease that is held",
    "late-completion": "an owner whose lease ran out may complete a run that nobody took, and that is noted",
    "reacquire": "take an expired lease again, if nobody else did",
    "release": "give a claimed run back, whose work has not begun",
    "epochs": "number the acquisitions of each run, rising, and check the number at every write",
    "owners": "say who acquired a run last",
    "outcomes": "end a run as failed, or in another way than completed",
    "results": "keep the result of a run",
    "errors": "keep the error of a run, and say why one was interrupted",
    "keys": "know a repeated submission by its run or its idempotency key, and make ids of new runs",
    "descriptions": "keep what a run is in words: its task, its agent, what it belongs to",
    "groups": "sum up the ends of a group of runs in one event",
    "bounds": "keep to the documented limits: long texts are cut and marked, leases of other lengths refused",
    "progress": "record progress of a running run",
    "notes": "write events of a run while it works",
    "stop": "stop a run durably",
    "retry": "retry a run as a new, linked one, with the same inputs",
    "automatic-retry": "retry interrupted runs by itself, within a budget, and count the interruptions",
    "recovery": "deal with runs whose owner is gone, by a sweep: they end, or can be claimed again",
    "resumption": "an owner that starts again takes up or ends what it held before it died",
    "proof": "a sweep frees at once what an owner held whose process is provably gone",
    "interruption": "a run whose owner died after it began ends as interrupted, and never begins again",
    "outbox": "write the end of a run as an event with it, and deliver it to its destination",
    "event-bodies": "the body of an event is JSON with the documented fields",
    "attempts": "answer single attempts of a delivery: accepted, not now, refused",
    "replay": "hold what nobody accepts, also what has no destination, and send it again when asked",
    "digests": "tell an operator which events are held",
    "reports": "sweeps, submissions, stops and refusals answer with what they did and found",
    "counters": "count the rows that are written",
    "pruning": "remove finished, delivered runs of an age",
    "executor": "hold a lease for real work, with a heartbeat",
    "maintenance": "one start call, and timers that sweep and deliver",
    "processes": "record processes of a run, and deal with them in recovery",
    "launching": "start and end trees of processes through the world's launcher",
    "supervision": "run commands as runs, step by step: guarded, recorded, watched over, ended",
    "import": "turn run folders into runs, route their events, read their results",
    "ownership": "give files of the scenario to another user, which only root can",
    "threads": "make calls through a helper with a bound",
    "moments": "announce the named moments inside of a step, so that a crash there is honest",
    "ports": "reach the store through the world's port: its calls can fail, and its writes are counted",
    "sqlite": "keep everything in one SQLite file, as the reference does",
}


@value
class Answer:
    """What a verb gives back: plain values, and the object behind a handle."""

    values: dict[str, Any] = field(default_factory=dict)
    """By name; plain ones."""
    handle: Any = None
    """What later verbs are given: a lease, an execution, a delivery."""


@value(slots=False)  # no slots: every look makes some, from all of their fields at once
class RunSeen:
    """One run in a snapshot."""

    run_id: str
    """The id that it was submitted under."""
    state: str
    """Where it is in its life."""
    outcome: str | None = None
    """How it ended; None as long as it has not, and only then."""
    epoch: int = 0
    """Number of its newest acquisition, rising with each; 0 where that is not known."""
    owner: str = ""
    """Who acquired it last, as ``open`` was told; empty for nobody."""
    lease: Deadline | None = None
    """Until when somebody holds it; None where nobody does, or until it is ended. To be shown also where
    claims end after a time that nobody can choose."""
    stop_requested: bool = False
    """Whether a stop was noted on it."""
    result: str = ""
    """Its result."""
    error: str = ""
    """Its error, or why it was interrupted."""
    late: bool = False
    """Whether it was completed after its lease had run out."""
    destination: str = ""
    """Where its events go; empty for nowhere."""
    group: str = ""
    """The group that it is summed up with."""
    line: str = ""
    """The id of the first run of its line of retries."""
    retry_of: str = ""
    """The run that it retries."""
    retried_as: str = ""
    """The run that retries it."""
    progress: str = ""
    """What it last said of itself."""
    interruptions: int = 0
    """Interruptions along its line before it."""
    result_truncated: bool = False
    """Whether its result was cut at a limit."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Lengths of the bounded text fields, by name."""
    inputs: Any = None
    """What was asked for, apart from its group; equal for a run and its retry."""
    cleanup: str = ""
    """How far its processes are dealt with: ``pending``, ``done``, ``survived``; empty without processes."""
    survivors: tuple[int | None, ...] = ()
    """Pids that it names as perhaps still running; None for what has no pid."""
    survivors_unnamed: int = 0
    """Survivors that are counted only."""
    teardowns: tuple[Mapping[str, Any], ...] = ()
    """Reports on how its processes were ended, as JSON values, oldest first."""
    audits: tuple[tuple[str, str | None], ...] = ()
    """Rounds of signals by recovery: what was intended, and what came of it if that was written."""
    exit_status: int | None = None
    """How its command ended, where it had one."""
    git: Mapping[str, Any] | None = None
    """What is stored of its caller's git state: ``state``, ``directory``, ``report``; None without any."""
    source: Mapping[str, Any] | None = None
    """The folder that it was imported from, as plain values: ``root``, ``state`` (``open``, ``closed``,
    ``gone``), ``claims``, ``result``, ``notes``; None for a run that was not imported."""

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if isinstance(other, RunSeen) else NotImplemented


@value
class EventSeen:
    """One event of the outbox in a snapshot."""

    event_id: str
    """Its id, the same in every attempt."""
    run_id: str
    """The run that it is about; empty for one about several."""
    kind: str = "run.finished"
    """What it tells."""
    state: str = "pending"
    """How far it has come."""
    destination: str = ""
    """Where it goes."""
    attempt: int = 0
    """How many attempts were begun."""
    body: str = ""
    """What is sent, the same in every attempt."""
    reason: str = ""
    """Why the last attempt failed, or why it is held."""
    due: Deadline | None = None
    """When the next attempt is due; None where none is, or at once."""
    told: bool = False
    """Held, and the operator was told."""


@value
class RefusedSeen:
    """One run folder that is remembered because it was not imported."""

    root: str
    """The directory that it lies in."""
    folder: str
    """Its name, as it is shown."""
    kind: str
    """What kind of refusal it was."""
    reason: str
    """Why, in words."""


@value
class Snapshot:
    """What is durable now."""

    runs: dict[str, RunSeen]
    """Every run, by its id."""
    events: dict[str, EventSeen]
    """Every event, by its id; none for a subject without an outbox."""
    rows_written: int | None = None
    """From the beginning, where the subject can count."""
    bad: tuple[BadRow, ...] = ()
    """Rows that cannot be understood."""
    refused: tuple[RefusedSeen, ...] = ()
    """Run folders that were not imported."""


class Timer(Protocol):
    """A timer of an incarnation, fired by the world as its clocks advance."""

    def next_due(self) -> float | None: ...

    def tick(self) -> None: ...


def _nothing() -> None:
    """Nobody is told."""


@record
class SubjectWorld:
    """What the world offers to one incarnation of a subject."""

    directory: Path
    """The home of this scenario: the subject keeps its store in here."""
    clock: Clock
    """``wall()``, ``monotonic()``, ``boottime()``, ``boot_id()``: what time it is. Scenarios move them."""
    sleeper: Sleeper
    """``sleep(seconds)`` lets the time of the world pass."""
    probe: Probe
    """Tells the world of named moments, and asks it for faults and for the answers of destinations."""
    bounded: BoundedByWorld
    """``call(seconds, function)``: a call that may hang, with a bound in the time of the world."""
    new_id: Callable[[str], str]
    """``new_id(prefix)``: the next id. One with the prefix ``run`` is what the scenario calls the new run."""
    destinations: Mapping[str, str] | None
    """Configured destination names; ``None`` when this incarnation is to serve none."""
    settings: dict[str, Any]
    """What the scenario sets, by name."""
    shared: dict[str, Any]
    """Kept between the incarnations of one scenario, for a subject without a durable store."""
    processes: Processes | None = None
    """The table of processes, seen from this incarnation's own; None where the subject is to use the real
    one, or observes only."""
    launcher: Launcher | None = None
    """Starts trees of processes in the same table."""
    homes: Homes | None = None
    """Homes with run folders, seen from this incarnation; None where the subject is to use the real ones."""
    imports: tuple[Mapping[str, Any], ...] = ()
    """What it is to import by itself, in its sweeps: ``home``, ``root``, ``fallback``, ``prune_after``."""
    meanwhile: Callable[[], None] = _nothing
    """Tells the world that something goes on in the background of a call, whose doing that is not."""


class Session(Protocol):
    """One incarnation. Verbs are methods of this object; only these are always there."""

    def close(self) -> None: ...

    def abandon(self) -> None:
        """The process died: let go of its resources without writing anything."""

    def timers(self) -> list[tuple[str, Timer]]:
        """Timers that run now, by name: ``maintenance``, ``renew``."""

    def counters(self) -> Counters | None:
        """What this incarnation's store has done, if it counts; the same object for a shared store."""


class Subject(Protocol):
    """A coordinator under test."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[str]: ...

    def open(self, owner: str, world: SubjectWorld) -> Session: ...

    def refusal(self, error: BaseException) -> str | None:
        """The harness's name of a refusal; ``None`` when the error is none."""

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        """What is durable now, read without changing anything and past all faults."""

    def finish(self, world: SubjectWorld) -> None:
        """The scenario is over: let go of whatever the subject kept for snapshots."""
