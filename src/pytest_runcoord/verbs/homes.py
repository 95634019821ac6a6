"""Homes with run folders, and the files in them, as whoever ran before a coordinator left them."""

from __future__ import annotations

from collections.abc import Mapping as Mapped
from typing import TYPE_CHECKING, Any

from pytest_runcoord.homes.plan import HOME, HomePlan
from pytest_runcoord.homes.shapes import ROOT, SHAPES
from pytest_runcoord.homes.spellings import SPELLINGS
from pytest_runcoord.scenario import Given, Step
from pytest_runcoord.verbs.asking import BIG_TEXT, big_text
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Duration,
    Either,
    Flag,
    Json,
    Kind,
    ListOf,
    Mapping,
    Name,
    Record,
    Registry,
    Text,
)
from pytest_runcoord.world import ScenarioMistake, World, WorldPlan

if TYPE_CHECKING:
    from pytest_runcoord.homes.home import Home

SHAPE = Choice({name: shape.says for name, shape in SHAPES.items()})
WHOLE = Choice({name: shape.says for name, shape in SHAPES.items() if shape.whole})
RUN = Argument("run", Name("run"), "whose folder", required=True, shorthand=True)
NEW_RUN = Argument("run", Name("run", defines=True), "the id of its run", required=True, shorthand=True)
IN = Argument("in", Name("home"), "in which home; the first one otherwise")
MOST_FOLDERS = 50_000
"""Folders of one step: a flood, in a few seconds."""

FIELDS = (
    Argument("agent", BIG_TEXT, "who worked"),
    Argument("task", BIG_TEXT, "on what"),
    Argument("conversation_key", BIG_TEXT, "the conversation that it says it belongs to"),
    Argument("parent_session", BIG_TEXT, "the session that it says it belongs to"),
    Argument("started", Duration(may_be_negative=True), "how long ago it began; an hour otherwise"),
    Argument("updated", Duration(may_be_negative=True), "how long ago it was written; 59 minutes otherwise"),
    Argument(
        "pid", Either(Count(), Name("process", also="owner")), "the number of a process, or whose number"
    ),
    Argument("set", Mapping(Json(), Text()), "further fields, or others in place of these"),
    Argument("unset", ListOf(Text(), min=1), "fields that are left out"),
)
BYTES: Kind = Either(
    Text(),
    Record(Argument("escaped", Text(), "with \\xff for any byte", required=True)),
)


def register(registry: Registry) -> None:
    """Register what ``given`` says about homes, and the verbs that make folders."""
    _register_given(registry)
    _register_folders(registry)
    _register_files(registry)


def home_of(world: World, step: Mapped[str, Any]) -> Home:
    """The home that a step is about."""
    return world.homes.home(step.get("in") or HOME)


def _register_given(registry: Registry) -> None:
    @registry.given(
        "home",
        group="homes",
        says="The home of the run folders, and further ones. Without it there is one, once a step needs it.",
        arguments=(
            Argument("via", Choice(SPELLINGS), "how its path is spelled; the axis home says it otherwise"),
            Argument("also", ListOf(Name("home", defines=True), min=1), "further homes", default=()),
            Argument("root", Name("root", free=True), "the directory with the folders", default=ROOT),
        ),
        example="home: {via: symlinked-ancestor}",
    )
    def home(plan: WorldPlan, given: Given) -> None:
        plan.home = HomePlan(given.args["via"] or "", tuple(given.args["also"]), given.args["root"])


def _register_folders(registry: Registry) -> None:
    @registry.step(
        "folder",
        group="homes",
        says="A run left a folder with a state file, and was under way when it was last heard of.",
        arguments=(
            NEW_RUN,
            Argument("is", SHAPE, "what its state file is like", default="good"),
            *FIELDS,
            Argument("result", BIG_TEXT, "it left a result too"),
            Argument("named", BYTES, "the name of the folder, if it is not the id"),
            IN,
        ),
        example="folder: {run: r1, agent: builder, is: torn}",
    )
    def folder(world: World, step: Step) -> None:
        args = step.args
        home, run = home_of(world, args), args["run"]
        name = _bytes(args["named"])
        with world.homes.change(f"folder {run}", home, *_known_name(name, run)):
            try:
                home.folder(run, args["is"], _fields(world, args), name=name)
            except FileExistsError as error:
                raise ScenarioMistake(f"there is a folder {run} already") from error
            if args["result"] is not None:
                home.result(run, big_text(args["result"]).encode())

    @registry.step(
        "many_folders",
        group="homes",
        says="Many runs left folders: with the name crowd they are crowd.1, crowd.2, …",
        arguments=(
            NEW_RUN,
            Argument("count", Count(1, MOST_FOLDERS), "how many", required=True),
            Argument("from", Count(1, MOST_FOLDERS), "the first number", default=1),
            Argument("is", SHAPE, "what their state files are like", default="good"),
            Argument("tombstone", Flag(), "each has one: it is history", default=False),
            Argument("result", BIG_TEXT, "each left a result too"),
            IN,
        ),
        example="many_folders: {run: crowd, count: 4000}",
    )
    def many_folders(world: World, step: Step) -> None:
        args = step.args
        home, first = home_of(world, args), args["from"]
        data = None if args["result"] is None else big_text(args["result"]).encode()
        with world.homes.change(f"{args['count']} folders {args['run']}", home):
            for number in range(first, first + args["count"]):
                run = f"{args['run']}.{number}"
                home.folder(run, args["is"])
                if args["tombstone"]:
                    home.tombstone(run)
                if data is not None:
                    home.result(run, data)

    @registry.step(
        "remove_folder",
        group="homes",
        says="Somebody removes a folder.",
        arguments=(RUN, IN),
        example="remove_folder: r1",
    )
    def remove_folder(world: World, step: Step) -> None:
        home, run = home_of(world, step.args), require_folder(world, step.args)
        with world.homes.change(f"remove {run}", home, run):
            home.remove(run)


def _register_files(registry: Registry) -> None:
    @registry.step(
        "tombstone",
        group="homes",
        says="Whoever ended a run left a tombstone in its folder.",
        arguments=(
            RUN,
            Argument(
                "outcome", Text(may_be_empty=True), "how it ended, in the layout's words", default="completed"
            ),
            Argument("cause", BIG_TEXT, "why"),
            Argument("detail", BIG_TEXT, "more of that"),
            Argument("died", Duration(may_be_negative=True), "how long ago; a minute otherwise"),
            Argument("is", WHOLE, "what the file is like", default="good"),
            Argument("set", Mapping(Json(), Text()), "further fields, or others in place of these"),
            IN,
        ),
        example="tombstone: {run: r1, outcome: completed}",
    )
    def tombstone(world: World, step: Step) -> None:
        args = step.args
        home, run = home_of(world, args), require_folder(world, args)
        said: dict[str, Any] = {"outcome": args["outcome"]}
        said |= {name: big_text(args[name]) for name in ("cause", "detail") if args[name] is not None}
        if args["died"] is not None:
            said["died"] = world.clock.wall() - args["died"]
        with world.homes.change(f"tombstone of {run}", home, run):
            home.tombstone(run, args["is"], said | (args["set"] or {}))

    @registry.step(
        "result_file",
        group="homes",
        says="A run left a result in its folder.",
        arguments=(RUN, Argument("text", BIG_TEXT, "the result", required=True), IN),
        example="result_file: {run: r1, text: the answer}",
    )
    def result_file(world: World, step: Step) -> None:
        home, run = home_of(world, step.args), require_folder(world, step.args)
        with world.homes.change(f"result of {run}", home, run):
            home.result(run, big_text(step.args["text"]).encode())

    @registry.step(
        "rewrite",
        group="homes",
        says="The state file of a folder is written anew: in place, or another file is put in its place.",
        arguments=(
            RUN,
            Argument("is", SHAPE, "what it is like now", default="good"),
            *FIELDS,
            Argument("replace", Flag(), "another file is put in its place", default=False),
            Argument("keep_times", Flag(), "its modification time is set back", default=False),
            IN,
        ),
        example="rewrite: {run: r1, task: another, keep_times: true}",
    )
    def rewrite(world: World, step: Step) -> None:
        args = step.args
        home, run = home_of(world, args), require_folder(world, args)
        with world.homes.change(f"rewrite {run}", home, run):
            home.rewrite(
                run,
                args["is"],
                _fields(world, args),
                replace=args["replace"],
                keep_times=args["keep_times"],
            )


def require_folder(world: World, args: Mapped[str, Any]) -> str:
    """The run of a step, which has a folder."""
    run: str = args["run"]
    if run not in home_of(world, args).folders:
        raise ScenarioMistake(f"{run} has no folder", f"Write 'folder: {run}' above this step.")
    return run


def _known_name(name: str | bytes, run: str) -> tuple[str, ...]:
    return (run,) if not name else (name,) if isinstance(name, str) else ()


def _bytes(value: Any) -> str | bytes:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    escaped: str = value["escaped"]
    return escaped.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")


def _fields(world: World, args: Mapped[str, Any]) -> dict[str, Any]:
    """The fields that a step says, as they stand in a state file."""
    texts = ("agent", "task", "conversation_key", "parent_session")
    said: dict[str, Any] = {name: big_text(args[name]) for name in texts if args[name] is not None}
    now = world.clock.wall()
    for name, field in (("started", "started"), ("updated", "updated_at")):
        if args[name] is not None:
            said[field] = now - args[name]
    if args["pid"] is not None:
        said["pid"] = args["pid"] if isinstance(args["pid"], int) else world.processes.find(args["pid"]).pid
    said |= args["set"] or {}
    return said | dict.fromkeys(args["unset"] or (), ...)
