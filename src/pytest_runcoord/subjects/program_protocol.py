"""The lines between the harness and a program that is a subject: every verb, field and word, in tables.

What is checked, the reference page and the JSON schema of the lines all come from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_runcoord.moments import MOMENTS, TRANSACTIONS
from pytest_runcoord.subject import CAPABILITIES
from pytest_runcoord.subjects.shapes import (
    ANY_TABLE,
    ANYTHING,
    COUNT,
    FLAG,
    NUMBER,
    SECONDS,
    TEXT,
    Constant,
    Either,
    Field,
    ListOf,
    OrNull,
    Table,
    TableOf,
    words,
)
from runcoord import EventKind, EventState, Outcome, State
from runcoord.errors import process_error_codes, refusal_codes, store_error_codes

PROTOCOL = 1
"""The version of the protocol, in the hello."""

OWN = "x_"
"""How the names begin that a project gives to values, verbs, capabilities and refusals of its own."""

MAX_TIMERS = 16
"""Timers of one program."""
MAX_ROWS = 10_000
"""Runs, and events, in one snapshot."""
MAX_DETAILS = 50
"""Details of one refusal."""
MAX_NAMES = 1_000
"""Entries of other lists in a line."""

IN_PROCESS = frozenset({"processes", "launching", "supervision", "import", "ownership", "threads", "proof"})
"""Capabilities that need ports which only a subject in the process of the harness can be given."""
BY_ITSELF = frozenset({"moments", "counters"})
"""Capabilities that follow from what a program does: it lists moments, it says how many rows it wrote."""
SENDING = ("before-send", "after-send")
"""Moments that are announced for a program that sends."""
REFUSALS = (*refusal_codes(), *store_error_codes(), *process_error_codes())
"""What a program may refuse with."""
READS = ("read-run", "read-recoverable", "read-due", "read-held", "read-prunable")
CALLS = (*TRANSACTIONS, *READS)
"""Calls to a store for which a program may ask whether they fail."""


def capabilities() -> tuple[str, ...]:
    """What a program may say that it can do."""
    return tuple(name for name in CAPABILITIES if name not in IN_PROCESS | BY_ITSELF)


# --- parts of lines -------------------------------------------------------------------------------

NOW = Table(
    Field("wall", NUMBER, "seconds since 1970; steps with the wall clock", True),
    Field("monotonic", NUMBER, "seconds; stands still while the machine sleeps", True),
    Field("boottime", NUMBER, "seconds since this boot; goes on while the machine sleeps", True),
    Field("boot_id", TEXT, "which boot it is", True),
    defined="now",
)
"""The time of a line of the harness."""

DEADLINE = Table(
    Field("wall", NUMBER, "on the wall clock; decides on another boot than the one of `boot_id`", True),
    Field("boottime", NUMBER, "on boottime; decides on the boot of `boot_id`"),
    Field("boot_id", TEXT, "the boot on which `boottime` was read; without it `wall` decides"),
    defined="deadline",
)

DETAILS = TableOf(ANYTHING, MAX_DETAILS)
NEXT_DUE = Either(OrNull(NUMBER), TableOf(OrNull(NUMBER), MAX_TIMERS))

VALUES = Table(
    Field("handle", ANYTHING, "what later verbs get as `with`; without it, these values themselves"),
    Field("run", OrNull(TEXT), "the run's id; null where `claim_next` or `execute_next` found nothing"),
    Field("state", words("a state of a run", State), "the run's state afterwards"),
    Field("outcome", OrNull(words("an outcome", Outcome)), "the run's outcome, if it has one"),
    Field("replayed", FLAG, "`submit`, `retry`: the same was asked for before, and this is its answer"),
    Field("epoch", OrNull(COUNT), "the epoch of the lease"),
    Field("owner", OrNull(TEXT), "who holds it"),
    Field("payload", ANYTHING, "`start`: the run's inputs"),
    Field("stop_requested", FLAG, "`renew`, `reacquire`, `hold`: somebody asked the run to stop"),
    Field("late", FLAG, "`complete`, `finish`: the lease had run out, and nobody else had the run"),
    Field("event", OrNull(TEXT), "the event's id; null where `dispatch` found nothing"),
    Field("attempt", OrNull(COUNT), "which attempt to deliver it this is, from 1"),
    Field("destination", OrNull(TEXT), "`replay`: where it goes"),
    Field("hold", TEXT, "`hold`: what the holder believes, such as `held` or `lost`"),
    Field("ended", TEXT, "`finish`: how the work ended"),
    Field("reports", ListOf(TEXT, MAX_NAMES), "`hold`: what its heartbeat reported"),
    Field("runs", COUNT, "`look`: how many runs it read"),
    Field("events", COUNT, "`look`: how many events it read"),
    Field("named", ListOf(TEXT, MAX_NAMES), "rows that it could not read"),
    *(
        Field(name, COUNT, f"a sweep or delivery: {says}")
        for name, says in {
            "interrupted": "runs that it ended as interrupted",
            "stopped": "runs that it ended as stopped",
            "retried": "interrupted runs that it retried",
            "recovered": "runs that it ended, in all",
            "proved_dead": "owners whose process was provably gone",
            "capped": "runs that were interrupted too often to be retried",
            "given_back": "runs that can be claimed again",
            "redelivered": "deliveries that it took over",
            "delivered": "events that were accepted",
            "postponed": "events to be sent again later",
            "held": "events that wait for the operator",
            "stale": "attempts that somebody else had overtaken",
            "pruned": "old runs that it removed",
            "bad": "rows that it could not read",
        }.items()
    ),
    Field("digest", FLAG, "a sweep: it told the operator which events are held"),
    Field("unfinished", FLAG, "a sweep or delivery: it stopped at its bound, and more is to be done"),
    own=OWN,
    defined="values",
)
"""What an answer may say, beside values of the program's own."""

RUN_SEEN = Table(
    Field("run_id", TEXT, "its id", True),
    Field("state", words("a state of a run", State), "where it is in its life", True),
    Field("outcome", OrNull(words("an outcome", Outcome)), "how it ended"),
    Field("epoch", COUNT, "how many times it was acquired; never falls"),
    Field("owner", TEXT, "who holds it; empty: nobody"),
    Field("lease", OrNull(DEADLINE), "when the lease ends; null without one"),
    Field("stop_requested", FLAG, "somebody asked it to stop"),
    Field("result", TEXT, "its result"),
    Field("error", TEXT, "its error"),
    Field("late", FLAG, "the outcome came after the lease had run out"),
    Field("destination", TEXT, "where its events go"),
    Field("group", TEXT, "the group that it is summed up with"),
    Field("line", TEXT, "the first run of its line of retries"),
    Field("retry_of", TEXT, "the run that it is a retry of"),
    Field("retried_as", TEXT, "the run that is its retry"),
    Field("progress", TEXT, "the last progress that was recorded"),
    Field("interruptions", COUNT, "interruptions along its line of retries"),
    Field("result_truncated", FLAG, "the result was longer than its bound"),
    Field("inputs", ANYTHING, "what was asked for; equal for a run and its retry"),
    defined="run",
)
EVENT_SEEN = Table(
    Field("event_id", TEXT, "its id", True),
    Field("run_id", TEXT, "the run that it tells of", True),
    Field("kind", words("a kind of event", EventKind), "what it tells; without it `run.finished`"),
    Field("state", words("a state of an event", EventState), "where it is; without it `pending`"),
    Field("destination", TEXT, "where it goes"),
    Field("attempt", COUNT, "how many attempts there were"),
    Field("body", TEXT, "its content, as it is sent"),
    Field("reason", TEXT, "why it is held, or why the last attempt failed"),
    Field("due", OrNull(DEADLINE), "when it may be sent again"),
    Field("told", FLAG, "held, and the operator was told"),
    defined="event",
)
SNAPSHOT = Table(
    Field("runs", ListOf(RUN_SEEN, MAX_ROWS), "every run", True),
    Field("events", ListOf(EVENT_SEEN, MAX_ROWS), "every event of the outbox", True),
)

# --- lines of the program -------------------------------------------------------------------------

HELLO = Table(
    Field("runcoord", Constant(PROTOCOL), "the version of the protocol", True),
    Field("name", TEXT, "what reports call the program", True),
    Field("version", TEXT, "which revision of it this is"),
    Field(
        "capabilities",
        ListOf(words("a capability that a program can have", capabilities(), OWN), MAX_NAMES),
        "what it can be asked for",
        True,
    ),
    Field(
        "moments",
        ListOf(words("a moment", MOMENTS), MAX_NAMES),
        "the moments that it announces, if it announces any",
    ),
    Field("counts", FLAG, "every answer of it has `rows_written`"),
)
"""The first line of a program, before it reads anything."""

_ID = Field("id", COUNT, "the id of the request", True)
_DUE = Field("next_due", NEXT_DUE, "when it wants `tick`, on boottime; without it, as it said before")
_ROWS = Field("rows_written", COUNT, "rows that this process has written to its store so far")
ANSWERS: Mapping[str, Table] = {
    "ok": Table(_ID, Field("ok", ANY_TABLE, "what the verb gives", True), _DUE, _ROWS),
    "refused": Table(
        _ID,
        Field("refused", words("a refusal", REFUSALS, OWN), "why, as scenarios name it", True),
        Field("message", TEXT, "the same in words"),
        Field("details", DETAILS, "the values that were in the way, by name: what `answer` can be asked for"),
        Field("happened", words("no or maybe", ("no", "maybe")), "whether anything was changed; else `no`"),
        _DUE,
        _ROWS,
    ),
    "error": Table(_ID, Field("error", TEXT, "what it could not handle: a fault of its own", True)),
}
"""The answers to a request, by the field that tells which it is."""

MESSAGE = Table(
    Field("event", TEXT, "the event's id, the same for every copy", True),
    Field("run", TEXT, "the run that it tells of", True),
    Field("destination", TEXT, "where it goes", True),
    Field("body", TEXT, "its content, the same for every copy", True),
    Field("attempt", COUNT, "which attempt this is, from 1", True),
    Field("kind", words("a kind of event", EventKind), "what it tells; without it `run.finished`"),
    defined="message",
)


@dataclass(frozen=True)
class Question:
    """What a program may say before it answers, and what it then reads."""

    name: str
    says: str
    line: Table
    replies: tuple[Table, ...]
    example: str
    reply: str


_GO = Field("go", Constant(True), "go on", True)
_NOW = Field("now", NOW, "what time it is by now", True)
QUESTIONS: Mapping[str, Question] = {
    each.name: each
    for each in (
        Question(
            "moment",
            "It has come to a named moment. It reads the reply before it goes on: there may be none, because "
            "it is killed there and then.",
            Table(
                Field("moment", words("a moment", MOMENTS), "which", True),
                Field("run", TEXT, "the run that it is about, for the history"),
            ),
            (Table(_GO, _NOW),),
            '{"moment": "after-commit", "run": "r1"}',
            '{"go": true, "now": {…}}',
        ),
        Question(
            "send",
            "It offers an event to a destination, which is the scenario's. The moments `before-send` and "
            "`after-send` are announced for it.",
            Table(
                Field("send", MESSAGE, "the event", True),
                Field("patience", SECONDS, "seconds that it waits for the destination; without it, for ever"),
            ),
            (
                Table(Field("accepted", Constant(True), "the destination has it", True), _NOW),
                Table(Field("refused", TEXT, "refused for good, and why", True), _NOW),
                Table(Field("later", TEXT, "not now, and why: worth another attempt", True), _NOW),
            ),
            '{"send": {"event": "e1", "run": "r1", "destination": "chat", "body": "{}", "attempt": 1}}',
            '{"accepted": true, "now": {…}}',
        ),
        Question(
            "wait",
            "It waits. Time passes in the scenario, for others too; nobody waits for real.",
            Table(Field("wait", SECONDS, "seconds", True)),
            (Table(_GO, _NOW),),
            '{"wait": 0.5}',
            '{"go": true, "now": {…}}',
        ),
        Question(
            "fault",
            "It is about to call its store, and asks whether that call fails. It must then do what it would "
            "do if its store had failed so.",
            Table(
                Field("fault", words("a call to a store", CALLS), "which call", True),
                Field("bound", SECONDS, "seconds that it waits for its store; without it, for ever"),
            ),
            (
                Table(
                    Field("fault", OrNull(TEXT), "what happens to the call; null: nothing", True),
                    _NOW,
                ),
            ),
            '{"fault": "claim", "bound": 5}',
            '{"fault": "locked", "now": {…}}',
        ),
        Question(
            "new_id",
            "It needs an id for something new. One that makes its own ids need not ask, but then a scenario "
            "cannot say what a retry is called.",
            Table(Field("new_id", TEXT, "what for: `run`, or a word of its own", True)),
            (Table(Field("new_id", TEXT, "the id", True), _NOW),),
            '{"new_id": "run"}',
            '{"new_id": "r2", "now": {…}}',
        ),
    )
}
"""By the field that tells which it is."""


def kind_of(line: Mapping[str, Any], kinds: Mapping[str, Any]) -> str | None:
    """Which of some kinds of line this is, by the field that tells."""
    return next((name for name in kinds if name in line), None)
