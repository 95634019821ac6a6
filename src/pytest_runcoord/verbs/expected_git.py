"""What a scenario expects of repositories, and of the reports about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_runcoord.scenario import Expectation
from pytest_runcoord.verbs.comparing import Unmet, compare, shown, stated
from pytest_runcoord.verbs.git import IN, said_of
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Either,
    Flag,
    ListOf,
    Name,
    Registry,
    Text,
)
from pytest_runcoord.world import World

ABSENT = "absent"
STATES = {
    "none": "nothing was written down",
    "taken": "it was written down, and nothing was made of it",
    "restored": "what was to be restored was, or it was as before",
    "refused": "it could not be restored, or must not be",
}
FINDINGS = {
    "restored": "changed back, and verified",
    "as-before": "nothing differs",
    "unverified": "something could not be compared",
    "not-restored": "something is still different",
    "refused": "nothing was written: it is not the repository of before",
    "differs": "something differs, and git works as before",
    "broken": "git does not work as before",
    "unknown": "something could not be compared",
}
RESULTS = ("done", "reported", "skipped", "refused", "failed")


def register(registry: Registry) -> None:
    """Register the expectations about git."""
    _register_configs(registry)
    _register_trees(registry)
    _register_reports(registry)


def _register_configs(registry: Registry) -> None:
    @registry.expectation(
        "git_status",
        group="git",
        says="Whether 'git status' works in a place.",
        arguments=(IN, Argument("works", Flag(), "whether it does", default=True)),
        key=("in",),
        example="git_status: {in: checkout, works: true}",
    )
    def git_status(world: World, expectation: Expectation) -> None:
        place = expectation.args["in"]
        said = world.checkouts.git(place, ("status", "--porcelain"))
        if (said.status == 0) is not expectation.args["works"]:
            raise Unmet(
                f"git status in {place} is not as expected",
                expected="it works" if expectation.args["works"] else "it fails",
                seen=f"exit status {said.status} {said.complaint[:200]}".strip(),
            )

    @registry.expectation(
        "git_value",
        group="git",
        says="The values of one key in the config of a place's repository, all of them.",
        arguments=(
            IN,
            Argument("key", Text(max_length=100), "which key", required=True),
            Argument(
                "is",
                Either(ListOf(Text(may_be_empty=True), min=1), Choice({ABSENT: "it is not set"})),
                "its values, in their order",
                required=True,
            ),
            Argument("worktree", Flag(), "in the place's own config.worktree", default=False),
        ),
        key=("in", "key", "worktree"),
        example="git_value: {in: checkout, key: core.bare, is: ['false']}",
    )
    def git_value(world: World, expectation: Expectation) -> None:
        args, checkouts = expectation.args, world.checkouts
        config = checkouts.config_of(args["in"])
        if args["worktree"]:
            config = Path(f"{config}.worktree")
        said = checkouts.git(".", ("config", "--file", str(config), "--get-all", args["key"]))
        seen: Any = said.output.splitlines() if said.status == 0 else ABSENT
        wanted = args["is"] if args["is"] == ABSENT else list(args["is"])
        if seen != wanted:
            raise Unmet(
                f"{args['key']} of {args['in']} is not as expected",
                expected=shown(wanted),
                seen=shown(seen) if said.status in (0, 1) else said.complaint,
            )


def _register_trees(registry: Registry) -> None:
    @registry.expectation(
        "worktrees",
        group="git",
        says="The places that the repository of a place has registered, itself among them.",
        arguments=(IN, Argument("are", ListOf(Name("place")), "exactly these", required=True)),
        key=("in",),
        example="worktrees: {in: checkout, are: [checkout, side]}",
    )
    def worktrees(world: World, expectation: Expectation) -> None:
        args, checkouts = expectation.args, world.checkouts
        listed = checkouts.require(args["in"], ("worktree", "list", "--porcelain"))
        found = [
            line.removeprefix("worktree ") for line in listed.splitlines() if line.startswith("worktree ")
        ]
        known = {str(checkouts.path(place).resolve()): place for place in checkouts.places}
        seen = sorted(known.get(each.removesuffix("/.git"), each) for each in found)
        if seen != sorted(args["are"]):
            raise Unmet(
                "other worktrees are registered",
                expected=", ".join(sorted(args["are"])),
                seen=", ".join(seen),
            )

    @registry.expectation(
        "head",
        group="git",
        says="What is checked out in a place.",
        arguments=(
            IN,
            Argument("branch", Text(max_length=100), "the branch"),
            Argument("commits", Count(0, 10_000), "how many commits it has"),
        ),
        key=("in",),
        example="head: {in: checkout, branch: main, commits: 2}",
    )
    def head(world: World, expectation: Expectation) -> None:
        place, checkouts = expectation.args["in"], world.checkouts
        seen = {
            "branch": checkouts.require(place, ("symbolic-ref", "--short", "HEAD")).strip(),
            "commits": int(checkouts.require(place, ("rev-list", "--count", "HEAD"))),
        }
        compare(f"what is checked out in {place}", stated(expectation, "in"), seen)


def _register_reports(registry: Registry) -> None:
    @registry.expectation(
        "git_report",
        group="git",
        says="What is stored about the git state before a run, and about its restoration or comparison.",
        arguments=(
            Argument("run", Name("run"), "which run", required=True),
            Argument("is", Choice(STATES), "what became of what was written down"),
            Argument("on_disk", Flag(), "whether it is still on disk, complete"),
            Argument("found", Choice(FINDINGS), "how a restoration ended, or what a comparison found"),
            Argument("changed", Count(0, 10_000), "things that were written or moved"),
            Argument("about", ListOf(Text(max_length=40)), "exactly these things differed"),
            *(Argument(each, ListOf(Text(max_length=40)), f"of these was {each}") for each in RESULTS),
            Argument("says", Text(max_length=200), "a part of what one of its steps or differences says"),
        ),
        key=("run",),
        example="git_report: {run: r1, is: restored, found: restored, done: [config]}",
    )
    def git_report(world: World, expectation: Expectation) -> None:
        run_id = expectation.args["run"]
        run = world.snapshot().runs.get(run_id)
        if run is None:
            raise Unmet(f"{run_id} is not in the store", expected="a run of this id", seen="none")
        said = said_of(run.git)
        steps = said.get("steps", said.get("differences", []))
        seen: dict[str, Any] = {
            "is": said.get("state", "none"),
            "found": said.get("outcome", said.get("agreement")),
            "changed": said.get("changed", 0),
            "about": sorted({each["what"] for each in steps}),
            "on_disk": run.git is not None and (Path(run.git["directory"]) / "manifest.json").exists(),
        }
        for result in RESULTS:
            seen[result] = sorted({each["what"] for each in steps if each.get("result") == result})
        wanted = stated(expectation, "run", "says")
        lists = {name: sorted(value) for name, value in wanted.items() if isinstance(value, list | tuple)}
        compare(f"the git state of {run_id}", {**wanted, **lists}, seen)
        text = expectation.args["says"]
        told = " | ".join(f"{each['detail']} {each.get('why', '')}" for each in steps)
        if text is not None and text not in told:
            raise Unmet("the report does not say it", expected=text, seen=told or "nothing")
