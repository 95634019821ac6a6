"""What a scenario expects of imports, of folders, and of what is stored about them."""

from __future__ import annotations

from collections.abc import Mapping as Mapped
from typing import Any

from pytest_runcoord.homes.shapes import TOMBSTONE
from pytest_runcoord.scenario import Expectation
from pytest_runcoord.verbs.comparing import Unmet, compare, stated
from pytest_runcoord.verbs.homes import IN, home_of
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Either,
    Flag,
    Json,
    Kind,
    ListOf,
    Mapping,
    Name,
    Registry,
    Text,
)
from pytest_runcoord.world import ScenarioMistake, World

KINDS = Choice(
    {
        "link": "a symbolic link",
        "not-a-directory": "no directory",
        "not-regular": "a file that is none: a FIFO, a socket, a directory",
        "hard-link": "a file with another name",
        "too-large": "a file over its limit",
        "swapped": "another one than a moment ago",
        "denied": "may not be read",
        "missing": "not there",
        "name": "a name that cannot be an id",
        "corrupt": "not what its layout says",
        "unsupported": "not to be read safely on this system",
        "unreadable": "another error of the system",
        "exists": "there already",
        "read-only": "on a file system that takes no writes",
        "full": "on a full file system",
    }
)
BAD: Kind = Either(ListOf(Text(), min=1), Mapping(Either(KINDS, Text()), Text()))
COUNTS = (
    Argument("imported", Count(), "new folders that were under way, and are runs now"),
    Argument("history", Count(), "new folders with a tombstone, which are history now"),
    Argument("known", Count(), "folders that were known"),
    Argument("changed", ListOf(Text()), "known folders whose state file is another, by name"),
    Argument("refused_count", Count(), "folders that were not read"),
    Argument("corrupt_count", Count(), "folders that were read and are no good"),
    Argument("held", Count(), "events that are held, for want of a trusted destination"),
    Argument("routed", Count(), "events that got the configured destination"),
    Argument("tombstoned", Count(), "tombstones that were written"),
    Argument("tombstones_failed", Count(), "tombstones that could not be written"),
    Argument("pruned", Count(), "folders that were removed"),
    Argument("gone", Count(), "known folders that are no longer there"),
    Argument("unfinished", Flag(), "whether something is left for the next pass"),
)
SOURCE_STATES = {
    "open": "gets a tombstone when its event was delivered",
    "closed": "has a tombstone",
    "gone": "is no longer there",
    "none": "the run was not imported",
}


def register(registry: Registry) -> None:
    """Register the expectations about homes."""
    _register_reports(registry)
    _register_folders(registry)
    _register_sources(registry)


def _register_reports(registry: Registry) -> None:
    @registry.expectation(
        "import_report",
        group="homes",
        says="What the newest import reported; in a sweep, what it reported of one home.",
        arguments=(
            *COUNTS,
            Argument("refused", BAD, "folders that were not read: names, or names with kinds"),
            Argument("corrupt", BAD, "folders that are no good: names, or names with a part of the reason"),
            Argument("problem", Either(Flag(), Text()), "whether it could not look; a part of what it says"),
            Argument("missing", Either(Flag(), Text()), "whether guarantees are missing; a part of one"),
            Argument(
                "of", Choice({"import": "", "recover": "", "startup": ""}), "which verb", default="import"
            ),
            IN,
        ),
        key=("of", "in"),
        example="import_report: {imported: 2, refused: {r3: link}, corrupt: [r4]}",
    )
    def import_report(world: World, expectation: Expectation) -> None:
        args = expectation.args
        report = _report(world, args)
        about = ("of", "in", "refused", "corrupt", "problem", "missing")
        compare("the import's report", stated(expectation, *about), report)
        for name in ("refused", "corrupt"):
            if args[name] is not None:
                _compare_bad(name, args[name], report.get(name, {}))
        told = {"problem": report.get("problem") or "", "missing": "; ".join(report.get("missing", ()))}
        for name, seen in told.items():
            wanted = args[name]
            if wanted is not None and not (
                bool(seen) is wanted if isinstance(wanted, bool) else wanted in seen
            ):
                raise Unmet(f"{name} is not as expected", expected=str(wanted), seen=seen or "nothing")


def _report(world: World, args: Mapped[str, Any]) -> Mapped[str, Any]:
    answer = world.answers.get(args["of"])
    if answer is None:
        raise ScenarioMistake(f"nothing was asked for that is called {args['of']}")
    reports = [answer] if args["of"] == "import" else answer.get("imports", [])
    root = str(home_of(world, args).root)
    found = [each for each in reports if args["in"] is None or each["root"] == root]
    if not found:
        raise Unmet("nothing was imported", expected=f"a report about {root}", seen=str(len(reports)))
    report: Mapped[str, Any] = found[-1]
    return report


def _compare_bad(what: str, wanted: Any, seen: Mapped[str, str]) -> None:
    if not isinstance(wanted, Mapped):
        right = sorted(seen) == sorted(wanted)
    else:
        right = seen.keys() == wanted.keys() and all(part in seen[name] for name, part in wanted.items())
    if not right:
        raise Unmet(f"others were {what}", expected=str(wanted), seen=str(dict(seen)))


def _register_folders(registry: Registry) -> None:
    @registry.expectation(
        "folder",
        group="homes",
        says="What a folder looks like now.",
        arguments=(
            Argument("run", Name("run"), "whose", required=True, shorthand=True),
            Argument("there", Flag(), "whether it is there"),
            Argument("tombstone", Flag(), "whether there is a tombstone in it"),
            Argument("says", Mapping(Json(), Text()), "fields of the tombstone, with their values"),
            Argument("has", ListOf(Text()), "names of all that is in it"),
            IN,
        ),
        key=("run", "in"),
        example="folder: {run: r1, tombstone: true, says: {outcome: interrupted}}",
    )
    def folder(world: World, expectation: Expectation) -> None:
        import json

        from pytest_runcoord.homes.trees import tree

        run = expectation.args["run"]
        path = home_of(world, expectation.args).where(run)
        found = tree(path)
        seen: dict[str, Any] = {
            "there": bool(found),
            "tombstone": TOMBSTONE in found,
            "has": sorted(found.keys() - {"."}),
        }
        wanted = stated(expectation, "run", "in", "says")
        if "has" in wanted:
            wanted["has"] = sorted(wanted["has"])
        compare(f"the folder of {run}", wanted or {"there": True}, seen)
        if expectation.args["says"] is not None:
            said = json.loads((path / TOMBSTONE).read_bytes()) if seen["tombstone"] else {}
            compare(f"the tombstone of {run}", expectation.args["says"], said)


def _register_sources(registry: Registry) -> None:
    @registry.expectation(
        "source",
        group="homes",
        says="What is stored of the folder that a run was imported from.",
        arguments=(
            Argument("run", Name("run"), "which run", required=True, shorthand=True),
            Argument("state", Choice(SOURCE_STATES), "what is left to do about the folder"),
            Argument("claims", Mapping(Json(), Text()), "what it claims, which nobody acts on"),
            Argument(
                "result", Either(Flag(), Mapping(Json(), Text())), "whether it has a result; file and size"
            ),
            Argument("notes", Either(Flag(), Text()), "whether something was left out; a part of what"),
        ),
        key=("run",),
        example="source: {run: r1, state: closed, claims: {pid: 4242}}",
    )
    def source(world: World, expectation: Expectation) -> None:
        args, run_id = expectation.args, expectation.args["run"]
        run = world.snapshot().runs.get(run_id)
        if run is None:
            raise Unmet(f"{run_id} is not in the store", expected="a run of this id", seen="none")
        said: Mapped[str, Any] = run.source or {}
        if args["state"] is not None:
            compare(f"the source of {run_id}", {"state": args["state"]}, {"state": said.get("state", "none")})
        if args["claims"] is not None:
            compare(f"the claims of {run_id}", args["claims"], said.get("claims", {}))
        result, notes = said.get("result"), "; ".join(said.get("notes", ()))
        if isinstance(args["result"], bool):
            compare(f"the source of {run_id}", {"result": args["result"]}, {"result": result is not None})
        elif args["result"] is not None:
            compare(f"the result of {run_id}", args["result"], result or {})
        wanted = args["notes"]
        if wanted is not None and not (
            bool(notes) is wanted if isinstance(wanted, bool) else wanted in notes
        ):
            raise Unmet(f"the notes on {run_id} are others", expected=str(wanted), seen=notes or "none")

    @registry.expectation(
        "refused_folders",
        group="homes",
        says="The folders that are remembered because they were not imported.",
        arguments=(Argument("are", ListOf(Text()), "exactly these names", required=True, shorthand=True), IN),
        key=("in",),
        example="refused_folders: [r3, r4]",
    )
    def refused_folders(world: World, expectation: Expectation) -> None:
        root = str(home_of(world, expectation.args).root)
        seen = sorted(each.folder for each in world.snapshot().refused if each.root == root)
        if seen != sorted(expectation.args["are"]):
            raise Unmet(
                "other folders are remembered as refused",
                expected=", ".join(sorted(expectation.args["are"])) or "none",
                seen=", ".join(seen) or "none",
            )
