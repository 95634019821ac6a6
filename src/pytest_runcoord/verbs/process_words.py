"""The words that describe a process, the same for every step that starts one."""

from __future__ import annotations

import signal
from collections.abc import Mapping as Mapped
from typing import TYPE_CHECKING, Any

from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Duration,
    Either,
    Flag,
    Kind,
    ListOf,
    Mapping,
    Name,
    Record,
    Text,
)

if TYPE_CHECKING:
    from pytest_runcoord.processes.plans import Plan

SIGNALS = {
    name.removeprefix("SIG"): f"the signal {name}"
    for name in (
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGKILL",
        "SIGUSR1",
        "SIGUSR2",
        "SIGTERM",
        "SIGCONT",
        "SIGSTOP",
    )
    if hasattr(signal, name)
}
SIGNAL = Choice(SIGNALS)
ANY = "any"
DENIED = ListOf(Choice({**SIGNALS, ANY: "every signal"}), min=1)

ANY_PROCESS = Name("process", also="owner")
"""A process of a run, a bystander, or an owner's own."""
PROCESS = Argument("process", ANY_PROCESS, "which process, or owner", required=True, shorthand=True)
NEW_PROCESS = Argument("process", Name("process", defines=True), "its name", required=True)

WORDS = (
    Argument("program", Text(max_length=60), "what the system calls it; its name otherwise"),
    Argument("ignores", ListOf(SIGNAL, min=1), "signals that do nothing to it"),
    Argument("handles", Mapping(Duration(), SIGNAL), "signals that end it, after this time, with status 0"),
    Argument("stopped", Flag(), "it is stopped", default=False),
    Argument("own_group", Flag(), "it leads a group of its own, as under timeout", default=False),
    Argument("setsid", Flag(), "it leads a session of its own", default=False),
    Argument("double_fork", Flag(), "it is a daemon: its line of parents is cut", default=False),
    Argument("clears_environment", Flag(), "it was executed with an empty environment", default=False),
    Argument("handed_over", Flag(), "it carries the marker that spares it", default=False),
    Argument("ends_after", Duration(), "it ends by itself, after this time"),
    Argument("status", Count(0, 255), "how it ends then", default=0),
    Argument("unkillable", Flag(), "no signal has any effect, as in an uninterruptible wait", default=False),
    Argument("closed", Flag(), "its environment cannot be read", default=False),
    Argument("denies", DENIED, "signals that the system does not permit to send it"),
    Argument("forks_on_scan", Count(1, 1_000), "it has a child behind the back of each of so many scans"),
    Argument("first_thread_ended", Flag(), "its first thread has ended, another runs", default=False),
    Argument("never_reaps", Flag(), "it never asks how its children ended", default=False),
)
"""Words of a process; the fields of :class:`~pytest_runcoord.processes.plans.Plan`."""

CHILD: Kind = Either(Name("process", defines=True), Record(NEW_PROCESS, *WORDS))
CHILDREN = Argument("children", ListOf(CHILD, min=1), "processes that it has started")


def plan_of(values: Mapped[str, Any], name: str) -> Plan:
    """The plan that the words of a step or of a child say."""
    from pytest_runcoord.processes.plans import Plan

    said = {
        word.name: values[word.name]
        for word in WORDS
        if word.name in values and values[word.name] is not None and values[word.name] is not False
    }
    children = [
        each if isinstance(each, dict) else {"process": each} for each in values.get("children") or ()
    ]
    return Plan(name, children=tuple(plan_of(each, each["process"]) for each in children), **said)
