"""The reference page of subjects, from the code that authors build on and the guard that drives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType

from source_text import Symbol, constants, markdown, module_source

from pytest_runcoord.invariants import WATCHED
from pytest_runcoord.subject import CAPABILITIES
from pytest_runcoord.subjects import answers, bounded, calling, leaks, seen
from pytest_runcoord.subjects.base import CAPABILITY_METHODS
from pytest_runcoord.subjects.program_verbs import VERBS, Verb

TableMaker = Callable[[Iterable[str], Iterable[Iterable[str]]], str]
ASKED_OTHERWISE = ("open", "close", "snapshot", "tick")
"""Of the verbs of programs: what is no verb of a session here."""
UNITS = {"_SECONDS": "s", "_CHARACTERS": "characters"}
LIMITS = (
    "VERB_SECONDS",
    "MAX_VERB_SECONDS",
    "AFTER_A_HANG_SECONDS",
    "AGAIN_SECONDS",
    "THREAD_SECONDS",
    "CHILD_SECONDS",
    "MAX_NESTING",
)

OPENING = """\
What scenarios drive in place of the reference coordinator: `--runcoord-subject module:Class`,
`path/to/file.py:Class`, or `subject` in the [project's table](plugin-options.md). Everything that an
author needs is imported from `pytest_runcoord.subjects`; other modules may change. A guide with a whole
example: [write a subject](../how-to/write-a-subject.md)."""

ASYNC = """\
Every verb of a session, `close`, `tick` of a timer and `snapshot` may be `async`: they run in [an event loop
that lives in the world's time](../how-to/async-subject.md). A subject may also be a program in any
language: see [the protocol](program-protocol.md)."""

GIVES = (
    (
        "nothing",
        (
            "it was done; from `claim_next`, `execute_next` and `dispatch`: nothing was there to give. "
            "`claim` and "
            "`execute` must give something"
        ),
    ),
    (
        "a table (`dict`)",
        (
            "values by name, plain ones: texts, numbers, truth values, lists and tables of them. From a "
            "verb that "
            "acquires it is the handle too"
        ),
    ),
    ("`Answer(values, handle)`", "both, said apart"),
    (
        "any other object",
        (
            "from a verb that acquires: the handle, which later verbs are given as their first argument. "
            "From "
            "others it is not looked at"
        ),
    ),
    ("`True`, `False`", "a fault: nobody would look at it"),
)
OF_HANDLES = """\
Of a handle the attribute (or key) `epoch` is read, of one that `claim_next` gave also `run_id` or `run`,
which must say the run; of a delivery `event` and `attempt`."""

REFUSALS = """\
A refusal is an exception: one whose class is in `refusals` (the most specific one counts), `Refused(code,
message)`, or what `refusal` of the subject gives a name for. The names are those of the [scenario
language](scenario-language.md#refusals). A refusal must have changed nothing. Where nobody knows whether
it did, as after a reply that was lost, the error says so by `happened="maybe"` of `Refused`, and the
history calls the verb's end *unknown*."""

FAULTS = (
    (
        (
            "raises what is no refusal, also `SystemExit` and others beside `Exception`; "
            "`KeyboardInterrupt`, "
            "`pytest.skip`, `fail` and `exit` go past it"
        ),
        "`claim raised KeyError: 'r1'`",
    ),
    ("does not return", "`claim did not return within 30 s of real time`"),
    ("gives what no verb may give", "`complete gave False`"),
    (
        "promises epochs, and gives a lease without one",
        "`claim gave Job('r1') without an epoch, though epochs are promised`",
    ),
    (
        "has not the method of a capability",
        "`renew failed: the session has no method 'renew', though its capability is claimed`",
    ),
    (
        "takes other arguments than scenarios state",
        "`claim takes (job), which does not fit: missing a required argument: 'job'`",
    ),
    (
        (
            "has a method or an argument that is nearly one of a verb which it lacks; what is nobody's to "
            "call begins with `_`"
        ),
        "`session has the method 'claimnext', which is no verb`",
    ),
    ("opens what is no session", "`open gave None, which has no close and no abandon and …`"),
    ("shows what cannot be", "`snapshot has the run 'r1' with state = 'accpted'`"),
    ("has a timer that is none, or that raises", "`the timer 'renew' is due at 'soon'`"),
    (
        "calls an error by what is nearly a refusal's name",
        "`refusal gave 'lease_lost' for Lost('r1'), which is no refusal`",
    ),
    (
        "says of itself what cannot be: `name`, `version`, `capabilities`, …",
        "`capabilities has 'runz', which is none`",
    ),
    (
        "leaves a thread that is no daemon, or a process, after the end of the scenario",
        "`left the thread 'poller' running`",
    ),
    (
        "leaves another current directory, or other handlers of signals; they are put back",
        "`left handlers of its own for SIGINT`",
    ),
    ("leaves tasks of its event loop running, after `close`", "`close left the task 'poll' running …`"),
)
ON_FAULTS = """\
A fault ends its scenario as failed, at the line of the step, and the run goes on with the next one. It
reads *the subject NAME: VERB …*, and says the value or the error and, of an error, the line that raised
it."""
ON_BOUNDS = """\
Processes that were left are ended: only direct children of the process of pytest that came about in the
scenario, each held by a handle of the kernel. Helpers of `multiprocessing` that Python keeps are left
alone.

The bound in real time rests on the interval timer of the process (`SIGALRM`). An alarm of somebody else,
such as that of pytest-timeout, rings when it is due and is put back. There is no bound where the system
has no such timer, in another thread than the main one, and inside of native code that lets no signal
through, or after a call that sets that timer itself."""

PATCHED = """\
With `patches_time = True` the clocks of Python read those of the world while a call into the subject is
under way: `time.time`, `time.monotonic`, `time.perf_counter`, their `_ns` forms, `time.clock_gettime`,
`datetime.now`, `date.today` and what was imported of them under any name; `time.sleep` lets the world's
time pass. Local time is that of the zone which the scenario says. Between the calls, in other threads,
and for what waits in `subprocess`, `threading`, `asyncio` and their like, time is real. Out of reach is
time that native code reads, such as `CURRENT_TIMESTAMP` of SQLite."""

SEEN = """\
A snapshot has a `RunSeen` for each run and an `EventSeen` for each event, by their ids. It is asked for
before anything was opened, too, and must change nothing. Fields that have a default may be left out; what
is said must be right."""

ALWAYS = """\
Also read where it is there: `announces_writes`, false where the store changes without the world's ports
saying so (as it is unless `ports` is promised); `moments`, the names of those that its sessions announce
by `world.probe.reach(NAME)` under the promise `moments`: without it all, and with it a scenario that wants
another one is skipped. `send()` announces `before-send` and `after-send`. A whole example: [a crash inside a
step](../how-to/write-a-subject.md#a-crash-inside-a-step)."""

SESSIONS = """\
A timer has `next_due()`, the time on `world.clock.boottime()` at which it is due or None, and `tick()`. A
session that is a process may also have `pause()` and `resume()`, and one that needs a running event loop
to be made, an `async` `start_up()`."""

CAN = """\
What a session must have for each, and what it makes possible. `claim(lease)`: the verb takes an argument
of this name. Invariants are those that need the capability, with what else they need."""

ARGUMENTS = """\
Arguments that a scenario does not state are not given (`?`), and those of a capability that a subject
lacks never are; `payload`, `outcome` and `reason` may be left out of a method. A scenario that states a
payload runs then without it, and its history says `not_taken=payload`. What starts and ends
processes, runs commands, or imports folders goes through ports that are not described here: the session
of `pytest_runcoord.reference.Reference` shows them."""


def subject_page(page: Callable[..., str], table: TableMaker) -> str:
    """The whole page."""
    base, offered = module_source("pytest_runcoord.subjects.base"), module_source("pytest_runcoord.subject")
    everybody = _ids(each.id for each in WATCHED if not each.needs and not each.instead_of)
    return page(
        "Subjects",
        OPENING,
        "## The subject",
        *_class(table, base.symbols["SubjectBase"]),
        ALWAYS,
        "## A session",
        *_class(table, base.symbols["SessionBase"]),
        SESSIONS,
        ASYNC,
        "## Capabilities",
        CAN,
        table(("Capability", "Of a subject that can", "By", "Invariants"), _capabilities()),
        f"Every subject is held to {everybody}. {' '.join(_in_place_of())}",
        "## Verbs",
        ARGUMENTS,
        table(("Verb", "Asks to", "Given", "Acquires"), _verbs()),
        "## What verbs give",
        table(("A verb gives", "It means"), GIVES),
        OF_HANDLES,
        table(("Value", "Must be"), [[f"`{name}`", says] for name, (_, says) in answers.KNOWN.items()]),
        "## Refusals",
        REFUSALS,
        "## The world",
        markdown(offered.symbols["SubjectWorld"].doc),
        _fields(table, offered.symbols["SubjectWorld"]),
        *_functions(base.symbols, "deadline", "send", "capabilities_of", "Refused"),
        "## What is seen",
        SEEN,
        *_seen(table, offered.symbols),
        "## Patched time",
        PATCHED,
        "## Faults",
        ON_FAULTS,
        table(("What the subject does", "What it is called"), FAULTS),
        ON_BOUNDS,
        "## Limits",
        table(("Limit", "Value", "Unit", "Meaning and reason"), _limits(calling, bounded, leaks, answers)),
    )


def _class(table: TableMaker, found: Symbol) -> Iterator[str]:
    yield markdown(found.doc, paragraphs=True)
    if found.fields:
        yield _fields(table, found)
    yield "\n".join(
        f"- `{_plain(each.signature)}`: {markdown(each.doc)}"
        for name, each in found.methods.items()
        if not name.startswith("_")
    )


def _plain(signature: str) -> str:
    """A signature as its caller sees it; methods that take anything say so in their text."""
    return signature.replace("(*args: Any, **kwargs: Any) -> Any", "(…)")


def _fields(table: TableMaker, found: Symbol) -> str:
    rows = [
        [f"`{name}`", f"`{each.annotation}`", markdown(each.doc)]
        for name, each in found.fields.items()
        if not name.startswith("_")
    ]
    return table(("Name", "Type", "Meaning"), rows)


def _functions(symbols: dict[str, Symbol], *names: str) -> Iterator[str]:
    for name in names:
        found = symbols[name]
        signature = found.signature or found.methods["__init__"].signature.replace("__init__", name)
        yield f"### `{name}`"
        yield f"`{signature}`"
        yield markdown(found.doc, paragraphs=True)


def _ids(names: Iterable[str]) -> str:
    return ", ".join(f"[{each}](invariants.md#{each})" for each in dict.fromkeys(names))


def _capabilities() -> Iterator[list[str]]:
    for name, says in CAPABILITIES.items():
        methods = ", ".join(f"`{each}`" for each in CAPABILITY_METHODS.get(name, ()))
        yield [f"`{name}`", says, methods or "a promise", ", ".join(_invariants(name))]


def _in_place_of() -> Iterator[str]:
    """What a subject is held to in the place of something that asks for more."""
    for each in WATCHED:
        if each.instead_of:
            lacking = " or ".join(f"`{name}`" for name in sorted(each.instead_of))
            yield f"One without {lacking} is held to {_ids([each.id])} in this form: {each.says}"


def _invariants(capability: str) -> Iterator[str]:
    known = set()
    for each in WATCHED:
        if capability in each.needs and each.id not in known:
            known.add(each.id)
            others = ", ".join(sorted(each.needs - {capability}))
            yield f"[{each.id}](invariants.md#{each.id})" + (f" (with {others})" if others else "")


def _verbs() -> Iterator[list[str]]:
    for verb in VERBS.values():
        if verb.name not in ASKED_OTHERWISE:
            acquires = f"the {verb.gives}" if verb.gives else ""
            yield [f"`{verb.name}`", verb.says, ", ".join(_given(verb)), acquires]


def _given(verb: Verb) -> Iterator[str]:
    if verb.holds:
        yield f"the {verb.holds}"
    for each in verb.arguments.fields.values():
        yield f"`{each.name}`" + ("" if each.required else "?")


def _seen(table: TableMaker, symbols: dict[str, Symbol]) -> Iterator[str]:
    for name, checked in (("RunSeen", seen.RUN_FIELDS), ("EventSeen", seen.EVENT_FIELDS)):
        yield f"### `{name}`"
        words = {"state": seen.STATES, "outcome": seen.OUTCOMES}
        if name == "EventSeen":
            words = {"state": seen.EVENT_STATES, "kind": seen.KINDS}
        yield table(
            ("Field", "Must be", "Meaning"),
            [
                [
                    f"`{field}`",
                    _must_be(field, each.annotation, {k: v[1] for k, v in checked.items()}, words),
                    markdown(each.doc),
                ]
                for field, each in symbols[name].fields.items()
            ],
        )
    yield "### `Snapshot`"
    yield markdown(symbols["Snapshot"].doc)
    yield _fields(table, symbols["Snapshot"])


def _must_be(field: str, annotation: str, checked: dict[str, str], words: dict[str, dict[str, str]]) -> str:
    if field in words:
        return ", ".join(f"`{each}`" for each in words[field])
    return checked.get(field, f"`{annotation}`")


def _limits(*modules: ModuleType) -> Iterator[list[str]]:
    for module in modules:
        for members in constants(module).values():
            for name, doc in members.items():
                if name in LIMITS:
                    unit = next((unit for suffix, unit in UNITS.items() if name.endswith(suffix)), "")
                    yield [f"`{name}`", f"{getattr(module, name):g}", unit, markdown(doc)]
