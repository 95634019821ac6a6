"""What processes do that makes them hard to end, hard to see, or easy to take for others."""

from __future__ import annotations

from dataclasses import replace

from pytest_runcoord.process_world import ProcessWorld
from pytest_runcoord.processes import Handled, Ignored, NumberTaken, SimProcess, signal_number
from pytest_runcoord.scenario import Given, Step
from pytest_runcoord.verbs.process_words import (
    ANY,
    ANY_PROCESS,
    CHILDREN,
    DENIED,
    PROCESS,
    SIGNAL,
    WORDS,
    plan_of,
)
from pytest_runcoord.verbs.processes import hide
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Duration,
    Either,
    Flag,
    ListOf,
    Mapping,
    Name,
    Registry,
)
from pytest_runcoord.world import ScenarioMistake, World, WorldPlan

STARTS = {
    "same-tick": "in the same clock tick as the process before, so that pid and start value are equal",
    "later": "later, with another start value",
}
SIGHTS = {
    "plain": "it can be looked at",
    "nothing": "its identity cannot be read",
    "denied": "the system does not permit it",
    "hangs": "the look never returns",
}
NAMESPACES = {
    "pid": "another pid namespace, as after a container was started anew",
    "time": "another time namespace, in which start values are shifted",
    "host": "another machine",
}
TIME_SHIFT_SECONDS = 1_000.0
"""By how much another time namespace shifts start values."""


def register(registry: Registry) -> None:
    """Register the verbs of faults, and what ``given`` says about machines."""
    _register_machines(registry)
    _register_numbers(registry)
    _register_signals(registry)
    _register_escapes(registry)
    _register_sights(registry)


def _register_machines(registry: Registry) -> None:
    @registry.given(
        "machines",
        group="processes",
        says="Where owners live: all on one machine (shared), or by name; each on one of its own otherwise.",
        value=Either(
            Choice({"shared": "everybody is on one machine"}),
            Mapping(Name("machine", free=True), Name("owner", free=True)),
        ),
        example="machines: shared",
    )
    def machines(plan: WorldPlan, given: Given) -> None:
        plan.machines = given.args["value"]

    @registry.given(
        "kernel",
        group="processes",
        says="What the kernel of every machine can do.",
        arguments=(
            Argument("handles", Flag(), "whether it gives durable handles of processes", default=True),
        ),
        example="kernel: {handles: false}",
    )
    def kernel(plan: WorldPlan, given: Given) -> None:
        plan.kernel_handles = given.args["handles"]

    @registry.step(
        "foreign_namespace",
        group="processes",
        says="From its next start an owner lives in another namespace, or on another machine.",
        arguments=(
            Argument("owner", Name("owner", free=True), "which owner", required=True),
            Argument("is", Choice(NAMESPACES), "what is another one", default="pid"),
        ),
        example="foreign_namespace: {owner: gw2, is: time}",
    )
    def foreign_namespace(world: World, step: Step) -> None:
        owner, kind = step.args["owner"], step.args["is"]
        place = world.processes.place_of(owner)
        if kind == "pid":
            place = replace(place, pid_namespace=f"{place.pid_namespace}'")
        elif kind == "time":
            shifted = place.time_offset + TIME_SHIFT_SECONDS
            place = replace(place, time_namespace=f"{place.time_namespace}'", time_offset=shifted)
        else:
            place = replace(place, host=f"{place.host}'")
        world.processes.places[owner] = place
        world.history.add("world", owner, f"lives in another {kind} namespace" if kind != "host" else "moves")


def _register_numbers(registry: Registry) -> None:
    @registry.step(
        "recycle_pid",
        group="processes",
        says="A process ends, if it has not, and is reaped; its pid goes to another one, which is nobody's. "
        "After a reboot, with the same tick, its durable handle too: both are given out anew with each boot.",
        arguments=(
            Argument("of", ANY_PROCESS, "whose pid, of a process or an owner", required=True),
            Argument("to", Name("process", defines=True), "the name of the other one", required=True),
            Argument("start", Choice(STARTS), "when that began", default="same-tick"),
            *WORDS,
            CHILDREN,
        ),
        example="recycle_pid: {of: child, to: stranger, start: same-tick}",
    )
    def recycle_pid(world: World, step: Step) -> None:
        processes = world.processes
        before, label = processes.find(step.args["of"]), step.args["to"]
        earlier_boot = not world.real and before not in processes.table.everyone
        _require_reapable(processes, before)
        processes.table.exit(before, 0)
        processes.table.reap(before)
        same = step.args["start"] == "same-tick"
        start = before.start if same else max(before.start + 1, processes.table.ticks())
        try:
            stranger = processes.plant(
                plan_of(step.args, label),
                None,
                place=before.place,
                pid=before.pid,
                start=start,
            )
        except NumberTaken as taken:
            raise ScenarioMistake(
                str(taken), "End the members of its group and session first; the kernel keeps the number."
            ) from None
        if earlier_boot and same:
            stranger.serial = before.serial  # a kernel counts its handles from the beginning after each boot
        world.history.add("world", label, "gets the pid", of=before.label, pid=stranger.pid)

    @registry.step(
        "no_reap",
        group="processes",
        says="A process, or every init, asks for the end of its children late or never: they stay zombies.",
        arguments=(
            Argument("process", Name("process"), "which process; every init otherwise", shorthand=True),
            Argument("until", Duration(), "after so long it does ask"),
        ),
        example="no_reap: {until: 2s}",
    )
    def no_reap(world: World, step: Step) -> None:
        until = step.args["until"]
        if step.args["process"] is not None:
            world.processes.find(step.args["process"]).reaps_after = until
        else:
            world.processes.table.set_init_reaping(until)


def _require_reapable(processes: ProcessWorld, process: SimProcess) -> None:
    """A shim reaps the command that it leads last: before that the kernel gives its pid to nobody."""
    from pytest_runcoord.processes.shim import SimShim

    for shim in processes.shims():
        if isinstance(shim, SimShim) and process is shim.leader and shim.alive:
            raise ScenarioMistake(
                f"{process.label} is kept by its shim until that ends", "Kill the shim first: kill_shim."
            )


def _register_signals(registry: Registry) -> None:
    @registry.step(
        "ignore",
        group="processes",
        says="From now on signals do nothing to a process.",
        arguments=(PROCESS, Argument("signals", ListOf(SIGNAL, min=1), "which", default=("TERM",))),
        example="ignore: {process: helper, signals: [TERM, INT]}",
    )
    def ignore(world: World, step: Step) -> None:
        process = world.processes.find(step.args["process"])
        process.dispositions |= {signal_number(name): Ignored() for name in step.args["signals"]}

    @registry.step(
        "handle",
        group="processes",
        says="From now on a process handles a signal: it cleans up, and then ends.",
        arguments=(
            PROCESS,
            Argument("signal", SIGNAL, "which", default="TERM"),
            Argument("for", Duration(), "how long it takes", default=1.0),
            Argument("status", Count(0, 255), "how it ends then", default=0),
        ),
        example="handle: {process: child, signal: TERM, for: 2s}",
    )
    def handle(world: World, step: Step) -> None:
        process = world.processes.find(step.args["process"])
        handled = Handled(step.args["for"], step.args["status"])
        process.dispositions[signal_number(step.args["signal"])] = handled

    @registry.step(
        "deny_signal",
        group="processes",
        says="From now on the system does not permit to signal a process, as when it became another user's.",
        arguments=(PROCESS, Argument("signals", DENIED, "which", default=(ANY,))),
        example="deny_signal: helper",
    )
    def deny_signal(world: World, step: Step) -> None:
        process, names = world.processes.find(step.args["process"]), step.args["signals"]
        process.denies = None if ANY in names else frozenset(map(signal_number, names))

    def stops(verb: str, number: str, says: str) -> None:
        @registry.step(verb, group="processes", says=says, arguments=(PROCESS,), example=f"{verb}: helper")
        def stop(world: World, step: Step) -> None:
            process = world.processes.find(step.args["process"])
            world.processes.table.send_quietly(process, signal_number(number))
            world.history.add("world", process.label, verb, pid=process.pid)

    stops("stop_process", "STOP", "A process is stopped, by somebody who is not part of this.")
    stops("continue_process", "CONT", "A stopped process goes on.")


def _register_escapes(registry: Registry) -> None:
    @registry.step(
        "setsid",
        group="processes",
        says="A process leaves its group and session for its own; with 'orphan' its line of parents too.",
        arguments=(PROCESS, Argument("orphan", Flag(), "it is a child of nobody of the run", default=False)),
        example="setsid: {process: helper, orphan: true}",
    )
    def setsid(world: World, step: Step) -> None:
        process = world.processes.find(step.args["process"])
        try:
            world.processes.table.new_session(process)
        except NumberTaken as taken:
            raise ScenarioMistake(str(taken), "The leader of a group cannot; fork first.") from None
        if step.args["orphan"]:
            world.processes.table.orphan(process)

    @registry.step(
        "fork_on_scan",
        group="processes",
        says="A process has a child behind the back of each of the next scans, which does the same.",
        arguments=(
            PROCESS,
            Argument("times", Count(1, 1_000), "how many scans", default=1),
            Argument("takes", Duration(), "how long each takes, as where processes flood", default=0.001),
            Argument(
                "ends", Flag(), "it ends itself with that, so that the scan sees neither", default=False
            ),
        ),
        example="fork_on_scan: {process: helper, times: 3}",
    )
    def fork_on_scan(world: World, step: Step) -> None:
        process = world.processes.find(step.args["process"])
        process.forks_on_scan = step.args["times"]
        if step.args["ends"]:
            process.ends_on_scan = True
        world.processes.table.forked_scan_seconds = step.args["takes"]

    @registry.step(
        "clear_environment",
        group="processes",
        says="A process executes a program with an empty environment: its cookie is gone.",
        arguments=(PROCESS,),
        example="clear_environment: helper",
    )
    def clear_environment(world: World, step: Step) -> None:
        world.processes.table.execute(world.processes.find(step.args["process"]), environment={})

    @registry.step(
        "unkillable",
        group="processes",
        says="A process comes into an uninterruptible wait, or out of it: only then do signals take effect.",
        arguments=(PROCESS, Argument("ends", Flag(), "the wait is over", default=False)),
        example="unkillable: helper",
    )
    def unkillable(world: World, step: Step) -> None:
        process = world.processes.find(step.args["process"])
        if step.args["ends"]:
            world.processes.table.release(process)
        else:
            process.unkillable = True


def _register_sights(registry: Registry) -> None:
    @registry.step(
        "probe",
        group="processes",
        says="What comes of looking at a process, or at the whole table, from now on.",
        arguments=(
            Argument("of", ANY_PROCESS, "which process, or owner; the whole table otherwise", shorthand=True),
            Argument("is", Choice(SIGHTS), "what comes of it", default="nothing"),
        ),
        example="probe: {of: child, is: hangs}",
    )
    def probe(world: World, step: Step) -> None:
        named, sight = step.args["of"], step.args["is"]
        if named is not None:
            hide(world.processes.find(named), sight)
        else:
            world.processes.table.scan_fault = "" if sight == "plain" else sight

    @registry.step(
        "hide_identity",
        group="processes",
        says="The identity, and the environment, of a process cannot be read any more.",
        arguments=(PROCESS,),
        example="hide_identity: child",
    )
    def hide_identity(world: World, step: Step) -> None:
        process: SimProcess = world.processes.find(step.args["process"])
        process.environment_closed = True
        hide(process, "nothing")
