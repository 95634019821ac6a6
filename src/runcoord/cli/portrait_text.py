"""One run as text for people."""

from __future__ import annotations

import json

from rich.text import Text

from runcoord import Run, State
from runcoord._core.sources import SourceState
from runcoord.cli.event_table import events_table
from runcoord.cli.output import json_text
from runcoord.cli.portrait import Portrait
from runcoord.cli.run_table import RUN_STYLES, flags_of
from runcoord.cli.tables import Facts
from runcoord.cli.wording import ago, counted, duration, local_time, printable

PREVIEW_CHARACTERS = 600
PREVIEW_LINES = 10
"""What is shown of a long text; one screen has room for the rest of the run beside it."""
_SHORT_JSON = 60
"""Inputs up to this length stay on one line."""
_LAID_OUT = 8_192
"""Inputs up to this length are laid out; of longer ones the beginning is shown, which needs no parsing."""


def portrait_lines(portrait: Portrait, width: int | None) -> list[Text | str]:
    """The run in parts: what it is, its life, who has it, how it ended, and its events."""
    run = portrait.run
    of_processes = portrait.records.facts(run)
    parts = [
        _asked(run, told=bool(portrait.events)),
        _life(portrait),
        _holder(portrait),
        _end(run),
        _folder(run),
        of_processes,
        _relations(portrait),
    ]
    names = [name for part in parts for name in part.values]
    lines: list[Text | str] = [_title(run)]
    for part in parts:
        if part.values:
            lines += ["", *part.lines(width, names)]
    lines.append("")
    if portrait.events:
        lines += events_table(portrait.events, portrait.now, width).lines(width)
        if portrait.more_events:
            lines.append(Text(f"Older events: runcoord events --oldest --run {printable(run.run_id)}", "dim"))
    else:
        lines.append(Text("No events yet.", "dim"))
    return lines


def _title(run: Run) -> Text:
    title = Text()
    title.append(printable(run.run_id), "bold")
    title.append("  ")
    title.append(run.state.value, RUN_STYLES[run.state.value])
    if run.outcome:
        title.append(": ")
        title.append(run.outcome.value, RUN_STYLES[run.outcome.value])
    for flag in flags_of(run):
        title.append(f", {flag}", "yellow")
    return title


def _asked(run: Run, *, told: bool) -> Facts:
    spec, facts = run.spec, Facts()
    facts.add("Task", printable(spec.task, keep="\n"))
    facts.add("Agent", printable(spec.agent))
    facts.add("Conversation", printable(spec.conversation_key))
    if told or run.source is None:  # of imported history nobody is told
        facts.add("Destination", printable(spec.destination) or "none: its terminal event is held")
    if run.source is None:  # of an imported one they are not known
        facts.add("Inputs", preview(_inputs(spec.payload)))
    return facts


def _inputs(payload: str) -> str:
    """Canonical JSON; a long object has one line for each of its names. What is no JSON stays as it is."""
    if len(payload) <= _SHORT_JSON or len(payload) > _LAID_OUT:
        return payload
    try:
        value = json.loads(payload)
        if not isinstance(value, dict):
            return payload
        return "\n".join(f"{printable(name)}: {json_text(each)}" for name, each in value.items())
    except (ValueError, RecursionError):
        return payload


def _life(portrait: Portrait) -> Facts:
    run, wall, facts = portrait.run, portrait.now.wall, Facts()

    def at(name: str, moment: float | None, remark: str = "") -> None:
        if moment is not None:
            facts.add(name, f"{local_time(moment)}  {remark or ago(wall - moment)}")

    at("Accepted", run.created_at)
    if run.started_at is not None:
        at("Started", run.started_at, _later(run.started_at - run.created_at))
    if run.stop_requested_at is not None:
        begin = run.started_at if run.started_at is not None else run.created_at
        remark = _later(run.stop_requested_at - begin)
        at("Stop asked", run.stop_requested_at, f"{remark}: {printable(run.stop_reason)}")
    if run.finished_at is not None:
        begin = run.started_at if run.started_at is not None else run.created_at
        at("Finished", run.finished_at, f"{_later(run.finished_at - begin)}, {ago(wall - run.finished_at)}")
    return facts


def _later(seconds: float) -> str:
    return (
        f"{duration(seconds)} later" if seconds >= 0 else f"{duration(-seconds)} earlier (the clock was set)"
    )


def _holder(portrait: Portrait) -> Facts:
    run, facts = portrait.run, Facts()
    if run.epoch:
        owner = printable(run.owner) or "nobody"
        facts.add("Last owner" if run.state is State.FINISHED else "Owner", f"{owner}, epoch {run.epoch}")
    if run.lease is not None:
        left = run.lease.remaining(portrait.now)
        until = local_time(portrait.now.wall + left)
        if left > 0:
            facts.add("Lease", f"{duration(left)} left of {duration(run.lease_seconds)}, until {until}")
        else:
            work = "recovery ends it" if run.state is State.RUNNING else "it can be claimed again"
            facts.add("Lease", Text(f"ran out {ago(-left)}, at {until}; {work}", "bold red"))
    facts.add("Progress", preview(run.progress))
    return facts


def _end(run: Run) -> Facts:
    facts = Facts()
    if run.outcome and run.reported and run.reported is not run.outcome:
        facts.add("Reported", f"{run.reported.value}, which the stop overruled")
    if run.late:
        facts.add("Late", "completed after its lease had run out, while nobody else had acquired it")
    facts.add("Error", preview(run.error), "red")
    if run.result:
        size = counted(len(run.result), "character")
        facts.add("Result", f"{size}{', the rest was cut off' if run.result_truncated else ''}")
        facts.add("", preview(run.result, f"runcoord show {printable(run.run_id)} --result"))
    return facts


def _folder(run: Run) -> Facts:
    """Where an imported run comes from, and what its folder says that nobody acts on."""
    source, facts = run.source, Facts()
    if source is None:
        return facts
    state = {
        SourceState.OPEN: "it gets its tombstone once its event is delivered",
        SourceState.CLOSED: "it has a tombstone",
        SourceState.GONE: "it is not there any more",
    }[source.state]
    where = f"{printable(source.root)}/{printable(run.run_id)}"
    facts.add("Imported from", f"{where}\n{local_time(source.imported_at)}; {state}")
    if source.result is not None:
        size = counted(source.result.size, "byte")
        name, whole = printable(source.result.file), f"runcoord show {printable(run.run_id)} --result"
        facts.add("Result", f"{size}, kept in {name}: {whole}")
    claims = source.claims
    claimed = [
        f"{what} {printable(str(said))}, {but}"
        for what, said, but in (
            ("destination", claims.destination, "not believed"),
            ("conversation", claims.conversation_key, "not believed"),
            ("process", claims.pid, "never signalled"),
        )
        if said not in {None, ""}
    ]
    facts.add("Claimed", "\n".join(claimed))
    facts.add("Left out", "\n".join(printable(note) for note in source.notes))
    return facts


def _relations(portrait: Portrait) -> Facts:
    run, facts = portrait.run, Facts()
    facts.add("Retry of", printable(run.retry_of))
    facts.add("Retried as", printable(run.retried_as))
    if run.line not in {run.run_id, run.retry_of}:
        facts.add("First of line", printable(run.line))
    budget = run.spec.interruption_budget
    if run.interruptions or budget:
        allowed = counted(budget, "automatic retry", "automatic retries")
        facts.add("Interruptions", f"{run.interruptions} before this run, {allowed} allowed")
    group = portrait.group
    if group is not None:
        ended = {
            "completed": group.completed,
            "failed": group.failed,
            "stopped": group.stopped,
            "interrupted": group.interrupted,
        }
        told = ", ".join(f"{number} {name}" for name, number in ended.items() if number)
        facts.add(
            "Group",
            f"{printable(group.group_id)}: {group.ended} of {group.size} ended{f' ({told})' if told else ''}",
        )
    elif run.spec.group:
        facts.add("Group", f"{printable(run.spec.group)} (cannot be read)", "yellow")
    return facts


def preview(text: str, whole: str = "") -> str:
    """The beginning of a text, printable, with a remark on what is left out and how to see the ``whole``."""
    lines = text[:PREVIEW_CHARACTERS].split("\n")[:PREVIEW_LINES]
    shown = "\n".join(lines)
    left = len(text) - len(shown)
    shown = printable(shown, keep="\n")
    if left <= 1:  # nothing, or the line break at the end
        return shown.removesuffix("\n")
    how = f": {whole}" if whole else ""
    return f"{shown}\n… {counted(left, 'character')} more{how}"
