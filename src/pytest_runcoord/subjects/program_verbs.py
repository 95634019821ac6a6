"""The verbs that a program may be asked for, with their arguments, and the lines that ask."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_runcoord.subjects.base import CAPABILITY_METHODS
from pytest_runcoord.subjects.program_protocol import MAX_NAMES, NOW, OWN, SNAPSHOT, VALUES
from pytest_runcoord.subjects.shapes import (
    ANY_TABLE,
    ANYTHING,
    COUNT,
    NUMBER,
    TEXT,
    Field,
    ListOf,
    NumberOr,
    OrNull,
    Table,
    words,
)
from runcoord import Outcome

NO_ARGUMENTS = Table()
SENSELESS = {"inf": "infinite", "-inf": "infinite", "nan": "not-a-number"}
"""What a scenario may give as a length to be refused, and no number in JSON says."""


@dataclass(frozen=True)
class Verb:
    """One request. ``capability`` is empty for those that every program is asked for; ``holds`` names what
    the request has as ``with``, ``gives`` what its answer's handle is."""

    name: str
    says: str
    arguments: Table = NO_ARGUMENTS
    holds: str = ""
    gives: str = ""
    answer: Table = VALUES

    @property
    def capability(self) -> str:
        if self.name in BESIDE:
            return BESIDE[self.name]
        return next((name for name, needed in CAPABILITY_METHODS.items() if self.name in needed), "")


BESIDE = {"claim": "runs", "look": "sqlite"}
"""Verbs that go with a capability though they do not make it up."""

_RUN = Field("run", TEXT, "the run's id", True)
_LENGTH = NumberOr(NUMBER, words("a word", dict.fromkeys(SENSELESS.values())))
_LEASE = Field("lease", _LENGTH, "length in seconds, also a senseless one; without it, the program's own")
_REASON = Field("reason", TEXT, "why, in words")
_ENDING = (
    Field("outcome", words("an outcome", Outcome), "how it ended", True),
    Field("result", TEXT, "its result"),
    Field("error", TEXT, "its error"),
)

_ALWAYS = (
    Verb(
        "open",
        "The first request. An owner starts; nothing of its store may change but that it is made.",
        Table(
            Field("directory", TEXT, "where to keep the store; the same for all owners of a scenario", True),
            Field("owner", OrNull(TEXT), "the owner's id, unique to this start; null: it only looks", True),
            Field("destinations", OrNull(ListOf(TEXT, MAX_NAMES)), "their names", True),
            Field("settings", ANY_TABLE, "what the scenario sets, such as `lease`: a length as there", True),
        ),
    ),
    Verb("close", "The owner ends in good order; what it holds stays held. The last request."),
    Verb("snapshot", "What is durable now, read without changing anything.", answer=SNAPSHOT),
    Verb(
        "tick",
        "A moment has come that it named as `next_due`.",
        Table(Field("timer", TEXT, "which timer, where it named several by name")),
    ),
)
_RUNS = (
    Verb(
        "submit",
        "Accept work durably, under an id and an idempotency key.",
        Table(
            Field("run", TEXT, "the id it is to have; empty: the program makes one", True),
            Field("destination", TEXT, "where its events go; without it nowhere"),
            Field("payload", ANYTHING, "its inputs"),
            Field("key", TEXT, "the idempotency key; without it the run's id"),
            Field("task", TEXT, "what it is, in words"),
            Field("agent", TEXT, "who does it"),
            Field("conversation_key", TEXT, "what it belongs to"),
            Field("group", TEXT, "the group that it is summed up with"),
            Field("group_size", COUNT, "how many members the group has"),
            Field("interruption_budget", COUNT, "automatic retries after interruptions"),
        ),
    ),
    Verb("claim", "Acquire a run that waits.", Table(_RUN, _LEASE), gives="lease"),
    Verb("claim_next", "Acquire the oldest run that can be claimed.", Table(_LEASE), gives="lease"),
    Verb("start", "The work begins, durably.", holds="lease"),
    Verb("renew", "Lengthen a lease. A new handle takes the place of the old.", holds="lease", gives="lease"),
    Verb("reacquire", "Take an expired lease again, if nobody did since.", holds="lease", gives="lease"),
    Verb("release", "Give back a run whose work has not begun.", holds="lease"),
    Verb(
        "progress",
        "Record progress.",
        Table(Field("text", TEXT, "what to record", True)),
        holds="lease",
    ),
    Verb(
        "publish",
        "Write an event to the run's destination.",
        Table(Field("body", ANYTHING, "its content", True)),
        holds="lease",
    ),
    Verb("complete", "Record how the run ended, with its event.", Table(*_ENDING), holds="lease"),
    Verb("stop", "Ask a run to stop, durably.", Table(_RUN, _REASON)),
    Verb("retry", "Retry a run as a new one, linked to it.", Table(_RUN)),
    Verb("look", "Read everything; change nothing."),
)
_SWEEPS = (
    Verb("recover", "One sweep: end what nobody owns any more, deliver what is due."),
    Verb("startup", "The start call; from now on the program's own timers run too."),
)
_OUTBOX = (
    Verb("deliver", "Send every event that is due."),
    Verb(
        "dispatch",
        "Claim one due event, to be sent by hand.",
        Table(Field("run", OrNull(TEXT), "whose event; null: the first", True)),
        gives="delivery",
    ),
    Verb("acknowledge", "The destination accepted that attempt.", holds="delivery"),
    Verb("postpone", "That attempt failed, and is worth another.", Table(_REASON), holds="delivery"),
    Verb("refuse", "The destination refused that attempt for good.", Table(_REASON), holds="delivery"),
    Verb(
        "replay",
        "Send a held event again.",
        Table(
            Field("event", TEXT, "the event's id", True),
            Field("destination", TEXT, "where to; empty: its own", True),
        ),
    ),
)
_EXECUTOR = (
    Verb("execute", "Claim and start a run; a heartbeat renews its lease.", Table(_RUN), gives="execution"),
    Verb("execute_next", "The same with the oldest that can be claimed.", gives="execution"),
    Verb("effect", "The work is about to have an effect, and asks whether it may.", holds="execution"),
    Verb("finish", "The work ends: record it, and deliver its event.", Table(*_ENDING), holds="execution"),
    Verb("hold", "What the holder believes; read without changing anything.", holds="execution"),
)
VERBS: Mapping[str, Verb] = {each.name: each for each in (*_ALWAYS, *_RUNS, *_SWEEPS, *_OUTBOX, *_EXECUTOR)}
"""In the order of the reference page."""


OWN_VERB = Verb(f"{OWN}…", "What a step of the project's own asks for.")
"""Stands for every verb of a project's own words."""


def verb_named(name: str) -> Verb | None:
    """The verb of this name; ``None`` where there is none."""
    return OWN_VERB if name.startswith(OWN) else VERBS.get(name)


def request_of(verb: Verb) -> Table:
    """The line that asks for a verb."""
    fields = [
        Field("id", COUNT, "the id of the request; rises with each", True),
        Field("verb", words("a verb", [verb.name]), "what is asked for", True),
        Field("args", verb.arguments, "the arguments; what the scenario leaves out is left out", True),
    ]
    if verb is OWN_VERB:
        fields[1:] = [
            Field("verb", words("a verb", [], OWN), "what is asked for", True),
            Field("args", ANY_TABLE, "the arguments", True),
            Field("with", ANYTHING, "the handle that it is about, if it is about one"),
        ]
    elif verb.holds:
        fields.append(Field("with", ANYTHING, f"the handle of the {verb.holds}, as it was given", True))
    return Table(*fields, Field("now", NOW, "what time it is", True))


def asked_of(capabilities: Iterable[str]) -> list[str]:
    """The verbs that a program with these capabilities is asked for."""
    able = {"", *capabilities}
    return [verb.name for verb in VERBS.values() if verb.capability in able]


def carried(value: Any) -> Any:
    """Arguments as a line can have them."""
    if isinstance(value, Mapping):
        return {name: carried(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [carried(each) for each in value]
    return SENSELESS[repr(value)] if isinstance(value, float) and not math.isfinite(value) else value
