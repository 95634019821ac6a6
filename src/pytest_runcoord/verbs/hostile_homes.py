"""What untrusted writers do to run folders, and systems on which importing is harder."""

from __future__ import annotations

from pytest_runcoord.homes.shapes import SHAPES
from pytest_runcoord.homes.words import CALLS, ERRORS, HOME_FAULTS, MISSING, ODD, PARTS, TARGETS
from pytest_runcoord.incarnation import Fault
from pytest_runcoord.moments import HOMES
from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import acting
from pytest_runcoord.verbs.homes import IN, home_of
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Either,
    Flag,
    Kind,
    ListOf,
    Name,
    Registry,
    Text,
)
from pytest_runcoord.world import ScenarioMistake, World
from pytest_runcoord.world_errors import CannotBeReal

OF = Argument("of", Name("run"), "whose folder; the root otherwise")
PART = Argument("part", Choice(PARTS), "what of it", default="folder")
FILE = Argument(
    "part", Choice({k: v for k, v in PARTS.items() if k != "folder"}), "what of it", default="state"
)
TARGET: Kind = Either(Choice(TARGETS), Name("run"))


def register(registry: Registry) -> None:
    """Register the verbs of this group."""
    _register_links(registry)
    _register_roots(registry)
    _register_odd(registry)
    _register_permissions(registry)
    _register_systems(registry)
    _register_faults(registry)


def _register_links(registry: Registry) -> None:
    @registry.step(
        "link",
        group="homes",
        says="A symbolic link is put in the place of a folder, of a file in it, or of the whole root.",
        arguments=(
            OF,
            PART,
            Argument("to", TARGET, "where it leads: outside, or to another run's", default="outside"),
            Argument("relative", Flag(), "by a path that begins with ..", default=False),
            Argument("keep", Flag(), "what was there is moved aside, not removed", default=True),
            IN,
        ),
        example="link: {of: r1, part: result, to: outside}",
    )
    def link(world: World, step: Step) -> None:
        args, home = step.args, home_of(world, step.args)
        run = args["of"]
        if run is None:
            if args["to"] not in TARGETS:
                raise ScenarioMistake(f"the root cannot be a link to {args['to']}", "Link it outside.")
            with world.homes.change(f"the root is a link: {args['to']}", home):
                home.replace_root(args["to"], keep=args["keep"])
            return
        with world.homes.change(f"link {args['part']} of {run}: {args['to']}", home, run):
            home.link(run, args["part"], args["to"], relative=args["relative"], keep=args["keep"])

    @registry.step(
        "swap",
        group="homes",
        says="Another real folder or file is put in the place of one, which is moved aside.",
        arguments=(
            Argument("of", Name("run"), "whose", required=True, shorthand=True),
            PART,
            Argument(
                "is",
                Choice({name: shape.says for name, shape in SHAPES.items()}),
                "what the new one is like",
                default="good",
            ),
            IN,
        ),
        example="swap: {of: r1, part: folder}",
    )
    def swap(world: World, step: Step) -> None:
        args, home = step.args, home_of(world, step.args)
        with world.homes.change(f"swap {args['part']} of {args['of']}", home, args["of"]):
            home.swap(args["of"], args["part"], args["is"])


def _register_roots(registry: Registry) -> None:
    @registry.step(
        "remove_root",
        group="homes",
        says="The root is moved away: there are no folders for now.",
        arguments=(IN,),
        example="remove_root",
    )
    def remove_root(world: World, step: Step) -> None:
        home = home_of(world, step.args)
        with world.homes.change("the root is moved away", home):
            home.replace_root("nothing")

    @registry.step(
        "put_root_back",
        group="homes",
        says="The root that was moved aside, or replaced by a link, is there again.",
        arguments=(IN,),
        example="put_root_back",
    )
    def put_root_back(world: World, step: Step) -> None:
        home = home_of(world, step.args)
        if not home.root_aside:
            raise ScenarioMistake("nothing was moved aside", "Write 'remove_root' above this step.")
        with world.homes.change("the root is put back", home):
            home.put_back()


def _register_odd(registry: Registry) -> None:
    @registry.step(
        "hardlink",
        group="homes",
        says="A file of a folder is a further name of a file outside, or of another run's.",
        arguments=(
            Argument("of", Name("run"), "whose", required=True, shorthand=True),
            FILE,
            Argument(
                "to",
                Either(Choice({"outside": TARGETS["outside"]}), Name("run")),
                "of what",
                default="outside",
            ),
            IN,
        ),
        example="hardlink: {of: r1, part: state}",
    )
    def hardlink(world: World, step: Step) -> None:
        args, home = step.args, home_of(world, step.args)
        both = [args["of"]] if args["to"] == "outside" else [args["of"], args["to"]]
        with world.homes.change(f"hard link {args['part']} of {args['of']}: {args['to']}", home, *both):
            home.hardlink(args["of"], args["part"], args["to"])

    @registry.step(
        "fifo",
        group="homes",
        says="A folder, or a file in one, is a FIFO, or something else that is no regular file.",
        arguments=(
            Argument("of", Name("run"), "whose", required=True, shorthand=True),
            Argument("part", Choice(PARTS), "what of it", default="state"),
            Argument(
                "is", Choice({**ODD, "file": "a file, in the place of the folder"}), "what", default="fifo"
            ),
            IN,
        ),
        example="fifo: {of: r1, part: state, is: socket}",
    )
    def fifo(world: World, step: Step) -> None:
        args, home = step.args, home_of(world, step.args)
        wrong = "file" if args["part"] != "folder" else "directory"
        if args["is"] == wrong:
            raise ScenarioMistake(f"that the {args['part']} is a {wrong} is nothing odd")
        with world.homes.change(f"{args['part']} of {args['of']} is a {args['is']}", home, args["of"]):
            try:
                home.odd(args["of"], args["part"], args["is"])
            except PermissionError as error:
                raise CannotBeReal("only root can make a device") from error


def _register_permissions(registry: Registry) -> None:
    @registry.step(
        "deny",
        group="homes",
        says="A folder, a file in one, or the whole root may not be read, not even by the superuser.",
        arguments=(OF, PART, IN),
        example="deny: {of: r1, part: state}",
    )
    def deny(world: World, step: Step) -> None:
        import os

        args, home = step.args, home_of(world, step.args)
        is_root = getattr(os, "geteuid", int)() == 0
        if world.real and is_root:
            raise CannotBeReal("root may read everything")
        run = args["of"] or ""
        with world.homes.change(
            f"deny {args['part']} of {run}" if run else "deny the root", home, *filter(None, [run])
        ):
            home.deny(run, args["part"] if run else "folder", really=not is_root)

    @registry.step(
        "permit",
        group="homes",
        says="Everything in a home may be read again.",
        arguments=(IN,),
        example="permit",
    )
    def permit(world: World, step: Step) -> None:
        home = home_of(world, step.args)
        with world.homes.change("permit", home):
            home.permit()


def _register_systems(registry: Registry) -> None:
    @registry.step(
        "missing_os_flag",
        group="homes",
        says="From now on owners are on a system that lacks something, and that refuses it when it is used.",
        arguments=(
            Argument("names", ListOf(Choice(MISSING), min=1), "what it lacks", required=True, shorthand=True),
        ),
        example="missing_os_flag: [windows]",
    )
    def missing_os_flag(world: World, step: Step) -> None:
        _require_simulated(world, "another system")
        world.homes.system.lack(tuple(step.args["names"]))
        world.history.add("world", "system", f"lacks {', '.join(step.args['names'])}")

    @registry.step(
        "ignore_case",
        group="homes",
        says="From now on the file systems of homes do not tell upper from lower case in names.",
        example="ignore_case",
    )
    def ignore_case(world: World, step: Step) -> None:
        _require_simulated(world, "another file system")
        world.homes.case_insensitive = True
        world.history.add("world", "system", "ignores case")

    @registry.step(
        "busy_descriptors",
        group="homes",
        says="Other threads open files all the time: the number of a closed file is at once somebody else's.",
        example="busy_descriptors",
    )
    def busy_descriptors(world: World, step: Step) -> None:
        _require_simulated(world, "another thread at this moment")
        world.homes.system.busy = True
        world.history.add("world", "system", "is busy")


def _register_faults(registry: Registry) -> None:
    @registry.step(
        "os_fault",
        group="homes",
        says="Calls to the system about homes meet an error; one that no call meets fails the scenario.",
        arguments=(
            Argument("on", Choice(CALLS), "which call", required=True),
            Argument("is", Choice(dict.fromkeys(ERRORS, "")), "which error", required=True),
            Argument("path", Text(), "only where the last part of the path is this"),
            Argument("times", Count(1, 100_000), "how many calls", default=1),
        ),
        example="os_fault: {on: read, is: EIO, path: state.json}",
    )
    def os_fault(world: World, step: Step) -> None:
        from pytest_runcoord.homes.system import SystemFault

        _require_simulated(world, "such an error")
        args = step.args
        fault = SystemFault(args["on"], args["is"], args["times"], args["path"] or "", step=step)
        world.homes.system.faults.append(fault)
        world.faults.append(fault)

    @registry.step(
        "home_fault",
        group="homes",
        says="What an owner asks of a home fails; a fault that nothing meets fails the scenario.",
        capability="ports",
        arguments=(
            Argument("on", Choice(HOMES), "what it asks", required=True),
            Argument("is", Choice(HOME_FAULTS), "what happens", required=True),
            Argument("of", Name("run"), "only about the folder of this run"),
            Argument("times", Count(1, 100_000), "how often; for ever with 'always'", default=1),
            Argument("always", Flag(), "every time, until the scenario heals", default=False),
        ),
        options=("by",),
        example="home_fault: {by: gw1, on: write-tombstone, is: full, of: r1}",
    )
    def home_fault(world: World, step: Step) -> None:
        args, incarnation = step.args, acting(world, step)
        times = None if args["always"] else args["times"]
        on = f"{args['on']} {args['of']}" if args["of"] else args["on"]
        arranged = Fault(on, args["is"], times, step)
        incarnation.faults.append(arranged)
        world.faults.append(arranged)


def _require_simulated(world: World, what: str) -> None:
    if world.real:
        raise CannotBeReal(f"{what} cannot be had in a process of its own")
