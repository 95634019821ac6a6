"""How verbs find the incarnation and the handle they are about, and ask the subject."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.incarnation import Handle, Incarnation, Life
from pytest_runcoord.scenario import Step
from pytest_runcoord.vocabulary import Argument, Count, Either, Kind, Record, Text
from pytest_runcoord.world import ScenarioMistake, World

BIG_TEXT: Kind = Either(
    Text(may_be_empty=True),
    Record(
        Argument("repeat", Text(), "the text to repeat", required=True),
        Argument("times", Count(1, 1_000_000), "how often", required=True),
    ),
)
"""A text, or ``{repeat: x, times: 70000}`` for a long one."""


ANY_REFUSAL = "any"
"""What a step says that must be refused, whatever the refusal is called."""


def in_words(refusal: str) -> str:
    """The refusal that a step must meet, in words."""
    return "refused, whatever the name" if refusal == ANY_REFUSAL else f"refused as {refusal}"


def big_text(value: Any) -> str:
    """The text that a :data:`BIG_TEXT` value stands for."""
    if isinstance(value, str):
        return value
    repeated: str = value["repeat"] * value["times"]
    return repeated


def stated_args(step: Step) -> list[str]:
    """The arguments (not the options) that the file states."""
    return [name for name in step.stated if name in step.args]


def acting(world: World, step: Step) -> Incarnation:
    """Who does this step: ``by``, else the maker of the handle, else the only owner that is open."""
    name = step.options.get("by")
    if name is None and "with" in step.options:
        given = world.handles.get(step.options["with"])
        if given is None:
            raise ScenarioMistake(f"the step that should have given {step.options['with']!r} gave nothing")
        name = given.owner
    if name is None:
        alive = [each for each in world.owners.values() if each.life is Life.ALIVE]
        if len(alive) != 1:
            names = [each.owner for each in alive]
            raise ScenarioMistake(
                f"say 'by': {len(alive)} owners are open" + (f" ({', '.join(names)})" if alive else ""),
                f"Add 'by: {names[0]}', or whoever does this step."
                if alive
                else "Open an owner above this step.",
            )
        return alive[0]
    return world.owner(name)


def handle_for(world: World, step: Step, incarnation: Incarnation, kind: str) -> Handle:
    """The handle that a step is about: ``with``, else the owner's newest of this kind on the run."""
    name = step.options.get("with")
    run = step.args.get("run")
    if name is None:
        if run is None:
            raise ScenarioMistake(f"say 'run' or 'with': which {kind} is meant?")
        name = world.latest.get((incarnation.owner_id, run, kind))
        if name is None:
            raise ScenarioMistake(f"{incarnation.owner} has no {kind} on {run}", _how_to_get(kind))
    handle = world.handles.get(name)
    if handle is None:
        raise ScenarioMistake(f"the step that should have given {name!r} gave nothing")
    if handle.kind != kind:
        raise ScenarioMistake(
            f"{name!r} is {_one(handle.kind)}, and {step.name!r} needs {_one(kind)}", _how_to_get(kind)
        )
    if handle.incarnation != incarnation.number or handle.owner != incarnation.owner:
        raise ScenarioMistake(f"{name!r} belongs to an earlier start of {handle.owner}, whose memory is gone")
    return handle


GIVEN_BY = {
    "lease": "'claim'",
    "execution": "'execute'",
    "delivery": "'dispatch'",
    "tree": "'spawn' with 'shim: true'",
    "command": "'supervise'",
}
"""The step that gives a handle of each kind."""


def _how_to_get(kind: str) -> str:
    return f"{_one(kind).capitalize()} is given by {GIVEN_BY[kind]}: say that above, for this run and owner."


def _one(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def keep(
    world: World, step: Step, incarnation: Incarnation, kind: str, values: dict[str, Any], name: str
) -> None:
    """Remember what a step gave under ``name`` (its ``as``, or a name of our own)."""
    run = values.get("run") or step.args.get("run")
    handle = Handle(
        name,
        kind,
        incarnation.owner,
        incarnation.number,
        run,
        values.get("epoch"),
        values.get("event"),
        values.get("attempt"),
    )
    world.handles[name] = handle
    if run is not None:
        world.latest[incarnation.owner_id, run, kind] = name


def handle_name(step: Step, incarnation: Incarnation, kind: str) -> str:
    """The name under which a step's handle is kept: its ``as``, or one of our own."""
    chosen = step.options.get("as")
    return (
        chosen if chosen is not None else f"{incarnation.owner_id}/{kind}/{step.args.get('run')}/{step.line}"
    )


SAYS_WHAT_IT_IS = ("epoch", "run", "attempt", "event")
"""Values of an answer, one of which at least is there when something was acquired."""


def ask(
    world: World,
    step: Step,
    verb: str,
    args: dict[str, Any] | None = None,
    *,
    acquires: str = "",
    **said: Any,
) -> dict[str, Any]:
    """Ask the acting incarnation for ``verb``; with ``acquires`` its handle is kept as one of that kind."""
    incarnation = acting(world, step)
    name = handle_name(step, incarnation, acquires) if acquires else ""
    values = world.call(incarnation, verb, args or {}, keep=name, on=step.args.get("run"), **said)
    if acquires and any(values.get(name) is not None for name in SAYS_WHAT_IT_IS):
        keep(world, step, incarnation, acquires, values, name)
    return values


def ask_with(
    world: World,
    step: Step,
    verb: str,
    kind: str,
    args: dict[str, Any] | None = None,
    *,
    keeps: str = "",
    **said: Any,
) -> dict[str, Any]:
    """Ask for ``verb`` with a handle of ``kind``. With ``keeps`` what it gives is kept as that kind."""
    incarnation = acting(world, step)
    handle = handle_for(world, step, incarnation, kind)
    name = handle_name(step, incarnation, keeps) if keeps else ""
    values = world.call(
        incarnation,
        verb,
        args or {},
        given=handle.name,
        keep=name,
        on=handle.run,
        with_epoch=None if kind == "execution" else handle.epoch,  # it may have re-acquired by itself
        handle=handle.name,
        **said,
    )
    if verb in ("renew", "reacquire") and not keeps and values.get("epoch") is not None:
        handle.epoch = values["epoch"]
    if keeps:
        keep(world, step, incarnation, keeps, {**values, "run": handle.run}, name)
    return values
