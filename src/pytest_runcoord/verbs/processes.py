"""Processes of runs: they are started and recorded, they escape, end, and are confused with others."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.processes import NumberTaken, SimProcess
from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import acting, ask_with, handle_for
from pytest_runcoord.verbs.process_words import ANY_PROCESS, CHILDREN, NEW_PROCESS, PROCESS, WORDS, plan_of
from pytest_runcoord.verbs.runs import HELD_RUN, OUTCOMES
from pytest_runcoord.vocabulary import Argument, Choice, Count, Duration, Either, Flag, Name, Registry
from pytest_runcoord.world import ScenarioMistake, World

SCOPES = {"tree": "everything that can be found of the run", "group": "the group of its first process alone"}
SHIM = Either(Flag(), Name("process", defines=True))
GRACE = Argument("grace", Duration(), "time between asking and killing; the documented default otherwise")
HELD = ("by", "with", "as", "refused", "crash_at")


def register(registry: Registry) -> None:
    """Register the verbs that start, record and end processes."""
    _register_starting(registry)
    _register_others(registry)
    _register_recording(registry)
    _register_ending(registry)


def _register_starting(registry: Registry) -> None:
    @registry.step(
        "spawn",
        group="processes",
        says="The owner of a run starts a process for it and records it; with 'shim' it hangs on a shim.",
        capability="processes",
        arguments=(
            HELD_RUN,
            NEW_PROCESS,
            *WORDS,
            CHILDREN,
            Argument(
                "shim",
                SHIM,
                "started behind a gate by a shim, of this name",
                default=False,
                needs="launching",
            ),
            Argument("recorded", Flag(), "whether the owner comes to record it", default=True),
            Argument("hidden", Flag(), "its identity cannot be read", default=False),
            Argument("under", Name("process"), "a process of another run that starts it: a run in a run"),
            Argument("scope", Choice(SCOPES), "how far a teardown reaches", default="tree"),
            GRACE,
        ),
        options=HELD,
        example="spawn: {run: r1, by: gw1, process: child, children: [helper]}",
    )
    def spawn(world: World, step: Step) -> None:
        incarnation = acting(world, step)
        run = handle_for(world, step, incarnation, "lease").run or ""
        label = step.args["process"]
        line = _line(world, run, step.args["under"])
        terms = {name: step.args[name] for name in ("grace", "scope") if step.args[name] is not None}
        plan = plan_of(step.args, label)
        if step.args["shim"]:
            world.processes.seat(incarnation)  # says when nobody can be started here
            world.processes.programs[label] = plan
            if isinstance(step.args["shim"], str):
                world.processes.shim_names[label] = step.args["shim"]
            args = {"program": label, "line": line, **terms}
            world.answers["spawn"] = ask_with(world, step, "launch", "lease", args, keeps="tree")
            return
        parent = _starter(world, incarnation, step.args["under"])
        process = world.processes.plant(plan, parent, run=run, environment={"RUNCOORD_COOKIE": line})
        if step.args["hidden"]:
            hide(process, "nothing")
        world.history.add("world", incarnation.owner, f"spawn {label}", pid=process.pid, run=run)
        if step.args["recorded"]:
            args = {"pid": process.pid, "cookie": line.rpartition(":")[2], **terms}
            world.answers["spawn"] = ask_with(world, step, "record_process", "lease", args)


def _register_others(registry: Registry) -> None:
    @registry.step(
        "fork",
        group="processes",
        says="A process starts another one, which has its group, its session and its environment.",
        arguments=(
            Argument("of", Name("process"), "who starts it", required=True),
            NEW_PROCESS,
            *WORDS,
            CHILDREN,
        ),
        example="fork: {of: child, process: daemon, double_fork: true}",
    )
    def fork(world: World, step: Step) -> None:
        parent, label = world.processes.find(step.args["of"]), step.args["process"]
        if parent.ended:
            raise ScenarioMistake(f"{parent.label} has ended, and starts nobody", "Name one that lives.")
        child = world.processes.plant(plan_of(step.args, label), parent)
        world.history.add("world", parent.label, f"fork {label}", pid=child.pid)

    @registry.step(
        "stranger",
        group="processes",
        says="A process that belongs to no run starts on the machine of an owner.",
        arguments=(
            NEW_PROCESS,
            Argument("near", Name("owner"), "whose machine; that of the only one there is otherwise"),
            Argument("child_of_owner", Flag(), "it is a child of that owner", default=False),
            Argument("pid_of", Name("process"), "it gets the pid of this one, if the kernel can give that"),
            *WORDS,
            CHILDREN,
        ),
        example="stranger: {process: postgres, program: child}",
    )
    def stranger(world: World, step: Step) -> None:
        owner, label = step.args["near"], step.args["process"]
        plan = plan_of(step.args, label)
        if step.args["child_of_owner"]:
            incarnation = world.owner(owner) if owner else acting(world, step)
            parent = world.processes.seat(incarnation).processes.process
            process = world.processes.plant(plan, parent)
        else:
            place = world.processes.place_of(owner or next(iter(world.owners), ""))
            pid = 0 if step.args["pid_of"] is None else world.processes.find(step.args["pid_of"]).pid
            try:
                process = world.processes.plant(plan, None, place=place, pid=pid)
            except NumberTaken:  # a process, a zombie, a group or a session has it: the kernel takes another
                process = world.processes.plant(plan, None, place=place)
        world.history.add("world", label, "starts", pid=process.pid)


def _register_recording(registry: Registry) -> None:
    @registry.step(
        "record_process",
        group="processes",
        says="The owner of a run records a process that runs already, or whatever number it was given.",
        capability="processes",
        arguments=(
            HELD_RUN,
            Argument("process", ANY_PROCESS, "which process, or owner"),
            Argument("pid", Count(-(2**31), 2**63), "a number instead"),
            Argument("scope", Choice(SCOPES), "how far a teardown reaches", default="tree"),
            GRACE,
        ),
        options=("by", "with", "refused", "crash_at"),
        example="record_process: {run: r1, by: gw1, pid: 2147483648, refused: invalid-request}",
    )
    def record_process(world: World, step: Step) -> None:
        incarnation = acting(world, step)
        run = handle_for(world, step, incarnation, "lease").run or ""
        named = step.args["process"]
        pid = step.args["pid"] if named is None else world.processes.find(named).pid
        args: dict[str, Any] = {"pid": pid, "cookie": world.processes.cookie_of(run)}
        args |= {name: step.args[name] for name in ("grace", "scope") if step.args[name] is not None}
        world.answers["record_process"] = ask_with(world, step, "record_process", "lease", args)


def _register_ending(registry: Registry) -> None:
    @registry.step(
        "tear_down",
        group="processes",
        says="The owner ends the tree that it spawned with 'shim', and records the report; with 'outcome' "
        "the end too.",
        capability="launching",
        arguments=(
            HELD_RUN,
            GRACE,
            Argument("outcome", Choice(OUTCOMES), "the run ends so, in the same commit"),
        ),
        options=("by", "with", "refused", "crash_at"),
        example="tear_down: {run: r1, by: gw1, grace: 2s, outcome: failed}",
    )
    def tear_down(world: World, step: Step) -> None:
        args = {name: step.args[name] for name in ("grace", "outcome") if step.args[name] is not None}
        world.answers["tear_down"] = ask_with(world, step, "tear_down", "tree", args)

    @registry.step(
        "exit",
        group="processes",
        says="A process ends by itself.",
        arguments=(PROCESS, Argument("status", Count(0, 255), "with this status", default=0)),
        example="exit: {process: child, status: 3}",
    )
    def exit_(world: World, step: Step) -> None:
        process = world.processes.find(step.args["process"])
        world.history.add("world", process.label, "exit", exit_status=step.args["status"], pid=process.pid)
        world.processes.table.exit(process, step.args["status"])

    @registry.step(
        "kill_shim",
        group="processes",
        says="The shim of a run is killed from outside, and with it its promise to end the run's tree.",
        arguments=(Argument("run", Name("run"), "whose shim", required=True, shorthand=True),),
        example="kill_shim: r1",
    )
    def kill_shim(world: World, step: Step) -> None:
        shim = world.processes.shim_of(step.args["run"])
        world.history.add("world", shim.process.label, "killed", pid=shim.process.pid)
        world.processes.table.exit(shim.process, -9)


def hide(process: SimProcess, how: str) -> None:
    """From now on looking at a process gives nothing, is denied, hangs, or works again (``plain``)."""
    process.sight = type(process.sight)(how)


def _line(world: World, run: str, under: str | None) -> str:
    """The line of cookies of a run, which may have been started in another one."""
    own = world.processes.cookie_of(run)
    if under is None:
        return own
    outer = world.processes.find(under)
    world.processes.inside[run] = outer.run
    return ":".join((*outer.cookies, own))


def _starter(world: World, incarnation: Incarnation, under: str | None) -> SimProcess:
    if under is not None:
        return world.processes.find(under)
    return world.processes.seat(incarnation).processes.process
