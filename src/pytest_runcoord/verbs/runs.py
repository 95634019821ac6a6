"""The life of a run: submit, claim, hold, complete, stop, retry, recover."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import BIG_TEXT, acting, ask, ask_with, big_text, stated_args
from pytest_runcoord.verbs.lengths import LeaseLength
from pytest_runcoord.vocabulary import Argument, Choice, Count, Duration, Flag, Json, Name, Registry
from pytest_runcoord.world import World

OUTCOMES = {
    "completed": "the work succeeded",
    "failed": "the work failed",
    "stopped": "the work ended because it was asked to stop",
    "interrupted": "the work was cut short",
}
RUN = Argument("run", Name("run"), "which run", required=True, shorthand=True)
HELD_RUN = Argument("run", Name("run"), "which run; not needed with 'with'", shorthand=True)
LEASE = Argument("lease", LeaseLength(), "length of the lease; the setting otherwise", needs="leases")
ENDING = (
    HELD_RUN,
    Argument("outcome", Choice(OUTCOMES), "how it ended", default="completed", needs="outcomes"),
    Argument("result", BIG_TEXT, "its result", needs="results"),
    Argument("error", BIG_TEXT, "its error", needs="errors"),
)
"""Arguments of the verbs that end a run."""
ASKED = ("by", "refused", "may_refuse", "crash_at")
HELD = ("by", "with", "refused", "may_refuse", "crash_at")
ACQUIRING = ("by", "as", "refused", "may_refuse", "crash_at")

SUBMITTED = (
    Argument("run", Name("run", defines=True), "its id", required=True, shorthand=True),
    Argument("destination", Name("destination"), "where its events go; nowhere otherwise", needs="outbox"),
    Argument("payload", Json(), "its inputs"),
    Argument("key", Name("key", free=True), "idempotency key; the run's id otherwise", needs="keys"),
    Argument("task", BIG_TEXT, "what it is, in words", needs="descriptions"),
    Argument("agent", BIG_TEXT, "who does it", needs="descriptions"),
    Argument("conversation_key", BIG_TEXT, "what it belongs to", needs="descriptions"),
    Argument("group", Name("group", free=True), "the group that it is summed up with", needs="groups"),
    Argument("group_size", Count(1, 10_000), "how many members the group has", needs="groups"),
    Argument(
        "interruption_budget",
        Count(0, 1_000),
        "automatic retries after interruptions",
        needs="automatic-retry",
    ),
)

MADE_ID = Argument(
    "made_id",
    Flag(),
    "the coordinator makes the id; a new run gets the one named here",
    default=False,
    needs="keys",
)


def register(registry: Registry) -> None:
    """Register the verbs of this group."""
    _register_accepting(registry)
    _register_owning(registry)
    _register_holding(registry)
    _register_ending(registry)


NOT_FIELDS = frozenset({"patience", "cancel", "made_id"})


def submitted(step: Step) -> dict[str, Any]:
    """The arguments of a submission, as the subject takes them."""
    fields = {name: step.args[name] for name in stated_args(step) if name not in NOT_FIELDS}
    for name in ("task", "agent", "conversation_key"):
        if name in fields:
            fields[name] = big_text(fields[name])
    return fields


def _register_accepting(registry: Registry) -> None:
    @registry.step(
        "submit",
        group="runs",
        says="Work is submitted and accepted durably.",
        capability="runs",
        arguments=(*SUBMITTED, MADE_ID),
        options=ASKED,
        example="submit: {run: r1, destination: chat}",
    )
    def submit(world: World, step: Step) -> None:
        fields = submitted(step)
        if step.args["made_id"]:
            world.new_ids.append(fields["run"])
            fields["run"] = ""
        try:
            world.answers["submit"] = ask(world, step, "submit", fields)
        finally:
            world.new_ids.clear()

    @registry.step(
        "submit_through_thread",
        group="runs",
        says="Work is submitted from asyncio through the thread helper, which waits a bounded (real) time.",
        capability="threads",
        arguments=(
            *SUBMITTED,
            Argument("patience", Duration(), "how long the caller waits, in real time", default=0.05),
            Argument("cancel", Flag(), "the caller is cancelled while it waits", default=False),
        ),
        options=ASKED,
        example="submit_through_thread: {run: r1, by: gw1, patience: 50ms}",
    )
    def submit_through_thread(world: World, step: Step) -> None:
        fields = submitted(step) | {"patience": step.args["patience"], "cancel": step.args["cancel"]}
        world.answers[step.name] = ask(world, step, "submit_through_thread", fields)

    @registry.step(
        "drain_calls",
        group="runs",
        says="Wait, for a bounded real time, until calls through the thread helper have returned.",
        capability="threads",
        arguments=(Argument("patience", Duration(), "how long", default=0.05),),
        options=("by",),
        example="drain_calls: {by: gw1}",
    )
    def drain_calls(world: World, step: Step) -> None:
        world.answers[step.name] = ask(world, step, "drain_calls", {"patience": step.args["patience"]})

    @registry.step(
        "retry",
        group="runs",
        says="A failed or interrupted run is retried: a new run with the same inputs, linked to it.",
        capability="retry",
        arguments=(RUN, Argument("to", Name("run", defines=True), "id of the new run", required=True)),
        options=ASKED,
        example="retry: {run: r1, to: r2, by: gw1}",
    )
    def retry(world: World, step: Step) -> None:
        world.new_ids.append(step.args["to"])
        try:
            world.answers["retry"] = ask(world, step, "retry", {"run": step.args["run"]})
        finally:
            world.new_ids.clear()


def _register_owning(registry: Registry) -> None:
    @registry.step(
        "claim",
        group="leases",
        says="An owner acquires a run that waits, for the length of a lease.",
        capability="runs",
        arguments=(RUN, LEASE),
        options=ACQUIRING,
        example="claim: {run: r1, by: gw1, as: first}",
    )
    def claim(world: World, step: Step) -> None:
        args = {name: step.args[name] for name in stated_args(step)}
        world.answers["claim"] = ask(world, step, "claim", args, acquires="lease")

    @registry.step(
        "claim_next",
        group="leases",
        says="An owner acquires the oldest run that can be claimed, if there is one.",
        capability="claim-next",
        arguments=(LEASE,),
        options=ACQUIRING,
        example="claim_next: {by: gw1, as: next}",
    )
    def claim_next(world: World, step: Step) -> None:
        args = {name: step.args[name] for name in stated_args(step)}
        world.answers["claim_next"] = ask(world, step, "claim_next", args, acquires="lease")


def _register_holding(registry: Registry) -> None:
    def with_lease(
        verb: str,
        says: str,
        capability: str,
        *more: Argument,
        options: tuple[str, ...] = HELD,
        refusal_needs: str = "",
    ) -> None:
        @registry.step(
            verb,
            group="leases",
            says=says,
            capability=capability,
            arguments=(HELD_RUN, *more),
            options=options,
            example=f"{verb}: {{run: r1, by: gw1}}",
            refusal_needs=refusal_needs,
        )
        def hold(world: World, step: Step) -> None:
            args = {each.name: step.args[each.name] for each in more if step.args[each.name] is not None}
            if "text" in args:
                args["text"] = big_text(args["text"])
            keeps = "lease" if "as" in step.options else ""
            world.answers[verb] = ask_with(world, step, verb, "lease", args, keeps=keeps)

    with_lease("start", "The work begins, durably.", "runs", refusal_needs="starting")
    with_lease("renew", "A lease is lengthened.", "renewal")
    with_lease(
        "reacquire",
        "An expired lease is taken again, if nobody acquired the run since. 'as' keeps the older handle.",
        "reacquire",
        options=(*HELD, "as"),
    )
    with_lease("release", "A run whose work has not begun is given back.", "release")
    with_lease(
        "progress",
        "Progress of the work is recorded.",
        "progress",
        Argument("text", BIG_TEXT, "what to record", default="under way"),
    )
    with_lease(
        "publish",
        "The owner writes an event to the run's destination while the work goes on.",
        "notes",
        Argument("body", Json(), "its content", default="note"),
    )


def end(world: World, step: Step, verb: str, kind: str) -> None:
    """Ask for a verb that ends a run, with a handle of ``kind``."""
    args = {"outcome": step.args["outcome"]}
    for name in ("result", "error"):
        if step.args[name] is not None:
            args[name] = big_text(step.args[name])
    told = {"result": args.get("result"), "error": args.get("error"), "reported": args["outcome"]}
    world.answers[verb] = ask_with(world, step, verb, kind, args, **told)


def _register_ending(registry: Registry) -> None:
    @registry.step(
        "complete",
        group="runs",
        says="The owner records how the run ended, together with its event.",
        capability="runs",
        arguments=ENDING,
        options=HELD,
        example="complete: {run: r1, by: gw1, outcome: failed, error: boom}",
    )
    def complete(world: World, step: Step) -> None:
        end(world, step, "complete", "lease")

    @registry.step(
        "stop",
        group="runs",
        says="The user asks a run to stop.",
        capability="stop",
        arguments=(RUN, Argument("reason", BIG_TEXT, "why", default="stopped by its user")),
        options=ASKED,
        example="stop: {run: r1, by: gw1}",
    )
    def stop(world: World, step: Step) -> None:
        args = {"run": step.args["run"], "reason": big_text(step.args["reason"])}
        world.answers["stop"] = ask(world, step, "stop", args)

    def sweep(verb: str, says: str, capability: str) -> None:
        @registry.step(
            verb,
            group="recovery",
            says=says,
            capability=capability,
            options=ASKED,
            example=f"{verb}: {{by: gw2}}",
        )
        def sweeping(world: World, step: Step) -> None:
            incarnation = acting(world, step)
            world.answers[verb] = world.sweep(incarnation, verb)

    sweep("recover", "One recovery sweep: end what nobody owns any more, deliver what is due.", "recovery")
    sweep("startup", "The documented start call; from now on the owner's own timers fire too.", "maintenance")
