"""A tree of processes described by its words, and planted into a table.

The same words serve the fixture ``runcoord_process_tree`` and the step ``spawn`` of scenarios. A description
is a name, a list of descriptions, or a mapping of names to their words::

    {"server": {"children": ["worker", {"helper": {"ignores": ["TERM"], "setsid": True}}]}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_runcoord.processes.process import Disposition, Handled, Ignored, Life, SimProcess, signal_number
from pytest_runcoord.processes.table import SimTable
from runcoord.values import field, value

MAX_DESCRIBED = 2_000
"""Processes in one description."""


@value
class Plan:
    """One process and those below it. Each field but ``name`` is a word that a description may use."""

    name: str
    program: str = ""
    """What the system calls it; its name otherwise."""
    children: tuple[Plan, ...] = ()
    ignores: tuple[str, ...] = ()
    """Signals that do nothing to it, such as ``TERM``."""
    handles: Mapping[str, float] = field(default_factory=dict)
    """Signals that it handles, and the seconds after which it then ends with status 0."""
    stopped: bool = False
    """It is stopped, as after SIGSTOP."""
    own_group: bool = False
    """It leads a group of its own, as under ``timeout`` or as a job of a shell."""
    setsid: bool = False
    """It leads a session of its own."""
    double_fork: bool = False
    """It is a daemon: its parent's child in between has ended, and it leads a session of its own."""
    clears_environment: bool = False
    """It was executed with an empty environment."""
    handed_over: bool = False
    """It carries the marker that spares it from the teardown of its run."""
    ends_after: float | None = None
    """Seconds after which it ends by itself."""
    status: int = 0
    """How it ends then."""
    unkillable: bool = False
    """No signal has any effect, as in an uninterruptible wait."""
    closed: bool = False
    """Its environment cannot be read."""
    denies: tuple[str, ...] = ()
    """Signals that the system does not permit to send it; ``any`` is all of them."""
    forks_on_scan: int = 0
    """Children that it has, one behind the back of each scan."""
    first_thread_ended: bool = False
    """Its first thread has ended and another runs: it looks like a zombie."""
    never_reaps: bool = False
    """It does not ask how its children ended, which stay zombies."""


WORDS = frozenset(Plan.__match_args__) - {"name"}


def plans_from(description: object, where: str = "the description") -> list[Plan]:
    """The processes that a description means. Raises ``ValueError`` that says what is wrong, and where."""
    if isinstance(description, str):
        return [Plan(_name(description, where))]
    if isinstance(description, Mapping):
        return [_plan(name, words, where) for name, words in description.items()]
    if isinstance(description, Sequence):
        return [plan for each in description for plan in plans_from(each, where)]
    raise ValueError(f"{where} is {description!r:.60}, not a name, a list or a mapping of names to words")


def _plan(name: object, words: object, where: str) -> Plan:
    label = _name(name, where)
    at = f"process {label!r}"
    if words is None:
        return Plan(label)
    if not isinstance(words, Mapping):
        raise ValueError(f"{at} is described by {words!r:.60}, not by a mapping of words")
    values: dict[str, Any] = {}
    for word, said in words.items():
        if word not in WORDS:
            raise ValueError(f"{at} has the unknown word {word!r:.40}; known are {', '.join(sorted(WORDS))}")
        values[word] = plans_from(said, f"the children of {at}") if word == "children" else said
    return checked(Plan(label, **{word: _frozen(said) for word, said in values.items()}))


def _frozen(said: Any) -> Any:
    return tuple(said) if isinstance(said, list) else said


def _name(name: object, where: str) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"{where} has the name {name!r:.60}; a name is a text")
    return name


def checked(plan: Plan) -> Plan:
    """The same plan. ``ValueError`` for signals that do not exist and times that cannot be."""
    for name in (*plan.ignores, *plan.handles, *(each for each in plan.denies if each != "any")):
        signal_number(name)
    for seconds in (*plan.handles.values(), *([] if plan.ends_after is None else [plan.ends_after])):
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
            raise ValueError(f"process {plan.name!r} has the time {seconds!r:.40}; give seconds from 0")
    return plan


def plant(table: SimTable, plan: Plan, parent: SimProcess | None, **more: Any) -> SimProcess:
    """Start the process of a plan under ``parent``, and everything below it. ``more`` goes to the topmost."""
    _require_few(plan)
    return _start(table, plan, parent, more)


def _require_few(plan: Plan) -> None:
    waiting, count = [plan], 0
    while waiting:
        waiting += waiting.pop().children
        count += 1
        if count > MAX_DESCRIBED:
            raise ValueError(f"more than {MAX_DESCRIBED} processes are described")


def _start(table: SimTable, plan: Plan, parent: SimProcess | None, more: dict[str, Any]) -> SimProcess:
    between = None
    if plan.double_fork and parent is not None:
        between = parent = table.start(f"{plan.name}-between", parent=parent, **more)
        table.new_session(between)
    process = table.start(plan.name, parent=parent, **{"name": plan.program or plan.name, **more})
    become(table, process, plan)
    for child in plan.children:
        _start(table, child, process, {})
    if between is not None:
        table.exit(between)
    return process


def become(table: SimTable, process: SimProcess, plan: Plan, *, leads: bool = False) -> None:
    """A process that was just started takes on what its plan says, its children apart. ``leads``: it has a
    session of its own already."""
    if (plan.setsid or plan.double_fork) and not leads:
        table.new_session(process)
    elif plan.own_group and not leads:
        table.new_group(process)
    dispositions: dict[int, Disposition] = {signal_number(name): Ignored() for name in plan.ignores}
    dispositions |= {signal_number(name): Handled(seconds) for name, seconds in plan.handles.items()}
    process.dispositions = dispositions  # what a description does not say is not inherited
    if plan.clears_environment:
        process.environment = {}
    if plan.handed_over and process.cookies:
        process.environment["RUNCOORD_HANDED_OVER"] = process.cookies[-1]
    process.life = Life.STOPPED if plan.stopped else process.life
    process.unkillable, process.environment_closed = plan.unkillable, plan.closed
    process.denies = None if "any" in plan.denies else frozenset(map(signal_number, plan.denies))
    process.forks_on_scan = plan.forks_on_scan
    process.first_thread_ended = plan.first_thread_ended
    process.threads = 2 if plan.first_thread_ended else 1
    if plan.never_reaps:
        process.reaps_after = None
    if plan.ends_after is not None:
        table.later(plan.ends_after, lambda: table.exit(process, plan.status))
    table.changed(process)
