"""The reference page of the program protocol, from the tables that lines are checked by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType

from source_text import constants, markdown

from pytest_runcoord.probed_ports import FAULTS
from pytest_runcoord.subjects import conversation, lines, program_protocol
from pytest_runcoord.subjects.program_protocol import (
    ANSWERS,
    BY_ITSELF,
    CALLS,
    DEADLINE,
    EVENT_SEEN,
    HELLO,
    IN_PROCESS,
    MESSAGE,
    NOW,
    OWN,
    PROTOCOL,
    QUESTIONS,
    RUN_SEEN,
    VALUES,
    capabilities,
)
from pytest_runcoord.subjects.program_verbs import VERBS, Verb
from pytest_runcoord.subjects.shapes import Table

TableMaker = Callable[[Iterable[str], Iterable[Iterable[str]]], str]
NOT_BOUNDS = frozenset({"READ_BYTES", "SHOWN_NAME", "MAX_READS"})
UNITS = {"_SECONDS": "s", "_BYTES": "bytes"}

OPENING = f"""\
Any program, in any language, can be a subject: `--runcoord-subject "program: python worker.py"`, or
`subject = "program: python worker.py"` in the [project's table](plugin-options.md#in-the-projects-table).
The words are split as a shell does it, and no shell reads them. Names of files count from where pytest
was started, or from the project for a subject that its table names. A guide with a whole example: [a
program as a subject](../how-to/program-subject.md).

This is version {PROTOCOL} of the protocol. Its lines are also described by a [JSON
schema](program-lines.schema.json) (draft-07), which has each kind of line under `definitions`. `runcoord
speak -- COMMAND` talks to a program and says what is wrong."""

LINES = """\
The program reads requests from standard input and writes to standard output: one JSON object in each
line, in UTF-8, ended by a line feed, and flushed. A name stands in an object once; `NaN` and `Infinity`
are no numbers. Standard output is for these lines alone. Standard error is for people: the end of it is
shown where something is wrong."""

LIFE = """\
1. It is started, in a session and a process group of its own, with the environment of pytest.
2. It writes its [hello](#hello), before it reads anything.
3. It reads `open`, and answers. Several processes of it live at once: one for each owner of the scenario,
   and one with the owner `null`, which is only asked for `snapshot` and closed with the scenario. What
   they share is the store in `directory`.
4. It answers requests, one at a time and in their order. Before an answer it may ask
   [questions](#questions).
5. After its answer to `close`, or at the end of standard input, it ends with exit status 0 and leaves no
   process behind.

`crash` of an owner, and a crash at a moment, is SIGKILL to its process, and to no other. `pause` is
SIGSTOP, and `resume` SIGCONT. Its process group is ended when the scenario is over. What a program says
in its hello is asked once at the beginning, by a process that is then killed; it has to be the same each
time."""

WRONG = """\
Each of these ends the scenario as a fault of the subject, at the line of the step, with what was read,
how the process ended and the end of its standard error. The process is killed, and the next scenario
runs.

- It cannot be executed, ends by itself, or closes its standard output and lives on.
- It does not answer in time, asks without end, or writes more than its bound to standard error.
- It writes a line that is too long, no UTF-8, no JSON, no object, or half of one.
- It writes a line with an unknown field, moment, refusal or capability, with a value of another type, or
  with another version of the protocol.
- It answers another request than the last, answers twice, or writes a line that nobody asked for.
- It answers `error`.
- After `close` it lives on, has another exit status than 0, writes another line, or leaves a process of
  its group."""

TIME = """\
Time is the scenario's. Each line of the harness has it as `now`; a program that reads the real clock is
not tested for what happens as time passes. It has four parts:"""

DUE = """\
An answer may say `next_due`: the boottime at which the program wants `tick`, or a table of such times by
the names of several timers, with which `stall: {what: renew}` can hold one up. When the scenario's clocks
have come there, `tick` is asked for, and that timer is due again when an answer says so. A program that
waits within a request asks `wait`."""

SEND = """\
A destination that does not answer costs the `patience` on the scenario's clocks and is then `later`.
Without `patience` the program would wait for ever, which fails the scenario as `never-returns`; so does a
fault `hang` of the store without `bound`."""


def program_page(page: Callable[..., str], table: TableMaker) -> str:
    """The whole page."""
    return page(
        "Program protocol",
        OPENING,
        "## Lines",
        LINES,
        "## The life of a process",
        LIFE,
        "## Hello",
        _fields(table, HELLO),
        *_capabilities(),
        "## Requests",
        _request(table),
        *_verbs(table),
        "## Answers",
        *_answers(table),
        "## Questions",
        *_questions(table),
        "## Time",
        TIME,
        _fields(table, NOW),
        DUE,
        "## Snapshots",
        "What is durable, and nothing else, is what invariants and expectations look at.",
        "### A run",
        _fields(table, RUN_SEEN),
        "### An event",
        _fields(table, EVENT_SEEN),
        "### The end of a lease",
        _fields(table, DEADLINE),
        "## Bounds",
        "All of real time; waiting for a scenario's other steps at a moment is not counted.",
        _bounds(table, conversation, lines, program_protocol),
        "## What is a fault of the program",
        WRONG,
        "## What is not carried",
        *_not_carried(),
    )


def _fields(table: TableMaker, shape: Table) -> str:
    rows = [
        [f"`{each.name}`", each.says + ("" if each.required else " *(optional)*"), each.shape.says]
        for each in shape.fields.values()
    ]
    return table(("Field", "Meaning", "Value"), rows)


def _capabilities() -> Iterator[str]:
    names = ", ".join(f"`{each}`" for each in capabilities())
    yield (
        f"Capabilities that a program can have: {names}. What each means is said in the "
        "[scenario language](scenario-language.md#capabilities). "
        + " and ".join(f"`{each}`" for each in sorted(BY_ITSELF))
        + " follow from `counts` and `moments`. A scenario that needs what is not named is skipped, and says "
        "what it lacks."
    )


def _request(table: TableMaker) -> str:
    rows = [
        ["`id`", "a number that rises with each request; the answer has the same"],
        ["`verb`", "one of the verbs below"],
        ["`args`", "its arguments; what a scenario does not say is left out"],
        ["`with`", "the handle that the verb is about, as the program gave it; only where the table says so"],
        ["`now`", "[what time it is](#time)"],
    ]
    example = (
        '```json\n{"id": 4, "verb": "complete", "args": {"outcome": "completed"}, "with": ["r1", 1],\n'
        ' "now": {"wall": 1700000000.0, "monotonic": 1000.0, "boottime": 1000.0, "boot_id": "boot-1"}}\n```'
    )
    return table(("Field", "Meaning"), rows) + "\n\n" + example


def _verbs(table: TableMaker) -> Iterator[str]:
    yield "### Verbs"
    yield "Asked of a program that has the capability; the first four of every program."
    rows = [
        [
            f"`{verb.name}`",
            f"`{verb.capability}`" if verb.capability else "",
            verb.says,
            _one(verb.holds) if verb.holds else "",
            _one(verb.gives) if verb.gives else "",
        ]
        for verb in VERBS.values()
    ]
    yield table(("Verb", "Capability", "Asks to", "`with`", "Gives"), rows)
    yield (
        "A step of the [project's own](../how-to/extend-the-harness.md) may ask for any verb that begins "
        f"with `{OWN}`, with arguments of its own. Capabilities, refusals and values of a project's own "
        f"begin with `{OWN}` too."
    )
    yield "### Arguments"
    yield table(("Verb", "Argument", "Meaning", "Value"), _arguments())


def _one(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _arguments() -> Iterator[list[str]]:
    for verb in _by_arguments():
        first = ", ".join(f"`{each}`" for each in verb[0])
        for each in verb[1].arguments.fields.values():
            says = each.says + ("" if each.required else " *(optional)*")
            yield [first, f"`{each.name}`", says, each.shape.says]
            first = ""


def _by_arguments() -> Iterator[tuple[list[str], Verb]]:
    """Verbs that have arguments, those with the same ones together."""
    known: dict[tuple[int, ...], tuple[list[str], Verb]] = {}
    for verb in VERBS.values():
        if verb.arguments.fields:
            key = tuple(map(id, verb.arguments.fields.values()))
            known.setdefault(key, ([], verb))[0].append(verb.name)
    yield from known.values()


def _answers(table: TableMaker) -> Iterator[str]:
    yield "One of these, with the `id` of the request."
    for kind, shape in ANSWERS.items():
        yield f"### `{kind}`"
        yield _fields(table, shape)
    yield "### What `ok` may say"
    yield "Each is optional. Of an answer to `snapshot` see [snapshots](#snapshots)."
    yield _fields(table, VALUES)


def _questions(table: TableMaker) -> Iterator[str]:
    yield (
        "Before its answer a program may write any of these, and then reads one line: the reply. Each reply "
        "has `now` too."
    )
    for each in QUESTIONS.values():
        yield f"### `{each.name}`"
        yield each.says
        yield f"```text\n{each.example}\n{each.reply}\n```"
        yield _fields(table, each.line)
        replies = [
            [f"`{field.name}`", field.says, field.shape.says]
            for reply in each.replies
            for field in reply.fields.values()
            if field.name != "now"
        ]
        yield table(("Reply", "Meaning", "Value"), replies)
        if each.name == "send":
            yield "The event:"
            yield _fields(table, MESSAGE)
            yield SEND
        if each.name == "moment":
            yield "The names are those of the [scenario language](scenario-language.md#moments)."
        if each.name == "fault":
            yield f"Calls: {', '.join(f'`{call}`' for call in CALLS)}."
            rows = [[f"`{fault}`", says] for fault, says in FAULTS.items()]
            yield "What may happen, beside faults of a project's own:"
            yield table(("Fault", "Meaning"), rows)


def _bounds(table: TableMaker, *modules: ModuleType) -> str:
    rows = []
    for module in modules:
        for members in constants(module).values():
            for name, doc in members.items():
                value = getattr(module, name)
                if isinstance(value, int | float) and name not in NOT_BOUNDS and name != "PROTOCOL":
                    unit = next((unit for suffix, unit in UNITS.items() if name.endswith(suffix)), "")
                    rows.append(
                        [
                            f"`{name}`",
                            f"{value:,}" if isinstance(value, int) else f"{value:g}",
                            unit,
                            markdown(doc),
                        ]
                    )
    return table(("Limit", "Value", "Unit", "Meaning and reason"), rows)


def _not_carried() -> Iterator[str]:
    names = ", ".join(f"`{each}`" for each in sorted(IN_PROCESS))
    yield (
        f"The capabilities {names} need what only a subject in the process of pytest can be given: the "
        "scenario's table of processes, its homes with run folders, its threads. A program answers one "
        "request at a time, so a scenario that asks an owner for something in the middle of its own step is "
        "skipped, with that reason. The program is killed with what it has in memory; what it wrote to its "
        "files is there, since the machine goes on."
    )
