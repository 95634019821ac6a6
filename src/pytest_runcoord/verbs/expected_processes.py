"""What a scenario expects of processes, of signals, and of the reports about them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pytest_runcoord.processes import Life, SimProcess, signal_number
from pytest_runcoord.scenario import Expectation
from pytest_runcoord.subject import RunSeen
from pytest_runcoord.verbs.comparing import Unmet, compare, shown, stated
from pytest_runcoord.verbs.process_words import ANY_PROCESS, SIGNAL
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Flag,
    ListOf,
    Mapping,
    Name,
    Registry,
    Text,
)
from pytest_runcoord.world import World

LIVES = {
    "lives": "it has not ended",
    "gone": "it has ended",
    "zombie": "it has ended, and nobody has asked how",
    "stopped": "it is stopped",
}
RESULTS = {"sent": "it was sent", "gone": "nobody was there any more", "denied": "it was not permitted"}
FATES = {
    "ended": "by itself, before it was signalled",
    "asked": "after TERM, within the grace",
    "killed": "by KILL",
    "survived": "it was signalled, and lives",
    "spared": "it was handed over, and not signalled",
    "stranger": "the pid is somebody else's; not touched",
    "unknown": "it could not be told; not touched",
    "denied": "the system refused the signal",
}
CLEANUPS = {
    "none": "it never had recorded processes",
    "pending": "some may be alive",
    "done": "all are gone",
    "survived": "somebody may be alive, and is named; nothing more is tried",
}


def register(registry: Registry) -> None:
    """Register the expectations about processes."""
    _register_processes(registry)
    _register_reports(registry)


def _register_processes(registry: Registry) -> None:
    @registry.expectation(
        "signals",
        group="processes",
        says="How many signals a process was sent, by anybody or by one, at all or of one kind.",
        arguments=(
            Argument("to", ANY_PROCESS, "which process, or owner", required=True),
            Argument("count", Count(0, 100_000), "exactly so many; at least one otherwise"),
            Argument("signal", SIGNAL, "only these"),
            Argument("by", Text(max_length=100), "only by this owner, or the process of this name"),
            Argument("result", Choice(RESULTS), "only with this result", default="sent"),
        ),
        key=("to", "signal", "by", "result"),
        example="signals: {to: stranger, count: 0}",
    )
    def signals(world: World, expectation: Expectation) -> None:
        args = expectation.args
        process = world.processes.find(args["to"])
        kind = None if args["signal"] is None else signal_number(args["signal"])
        found = [
            each
            for each in world.processes.signals
            if each.process is process
            and each.number
            and each.result == args["result"]
            and kind in (None, each.number)
            and args["by"] in (None, each.by)
        ]
        count = args["count"]
        if not found if count is None else len(found) != count:
            raise Unmet(
                f"{process.label} was not sent as many signals as expected",
                expected="at least one" if count is None else str(count),
                seen=f"{len(found)}: {', '.join(f'{each.signal} by {each.by}' for each in found[:10])}"
                if found
                else "none",
            )

    @registry.expectation(
        "process",
        group="processes",
        says="What a process is doing now, and how it ended.",
        arguments=(
            Argument("id", ANY_PROCESS, "which process, or owner", required=True, shorthand=True),
            Argument("is", Choice(LIVES), "whether it lives", default="lives"),
            Argument("status", Count(-64, 255), "how it ended: minus the number of a signal"),
        ),
        key=("id",),
        example="process: {id: child, is: gone}",
    )
    def process(world: World, expectation: Expectation) -> None:
        found = world.processes.find(expectation.args["id"])
        wanted = expectation.args["is"]

        def is_so() -> bool:
            return {
                "lives": not found.ended,
                "gone": found.ended,
                "zombie": found.life is Life.ZOMBIE,
                "stopped": found.life is Life.STOPPED,
            }[wanted]

        world.processes.until(is_so)
        if not is_so():
            raise Unmet(f"{found.label} is not as expected", expected=wanted, seen=_life_of(found))
        status = expectation.args["status"]
        if status is not None and found.status != status:
            raise Unmet(
                f"{found.label} did not end as expected", expected=str(status), seen=str(found.status)
            )


def _life_of(process: SimProcess) -> str:
    """In the words of the expectation, and how it ended."""
    word = {Life.RUNNING: "lives", Life.REAPED: "gone"}.get(process.life, process.life.value)
    return word if process.status is None else f"{word}, status {process.status}"


def _register_reports(registry: Registry) -> None:
    @registry.expectation(
        "cleanup",
        group="processes",
        says="What is stored about how far a run's processes are dealt with.",
        arguments=(
            Argument("run", Name("run"), "which run", required=True),
            Argument("is", Choice(CLEANUPS), "how far"),
            Argument(
                "survivors", ListOf(Name("process")), "exactly these are named as perhaps running, with a pid"
            ),
            Argument("reports", Count(0, 1_000), "how many teardown reports are kept"),
            Argument("audits", Count(0, 1_000), "how many rounds of signals by recovery are written down"),
            Argument("open_audits", Count(0, 1_000), "how many of them without what came of it"),
            Argument("exit_status", Count(-64, 255), "how its command ended"),
        ),
        key=("run",),
        example="cleanup: {run: r1, is: survived, survivors: [child]}",
    )
    def cleanup(world: World, expectation: Expectation) -> None:
        run = _run(world, expectation.args["run"])
        seen: dict[str, Any] = {
            "is": run.cleanup or "none",
            "survivors": sorted(_labels(world, run.survivors)),
            "reports": len(run.teardowns),
            "audits": len(run.audits),
            "open_audits": sum(1 for _, result in run.audits if result is None),
            "exit_status": run.exit_status,
        }
        wanted = stated(expectation, "run")
        if "survivors" in wanted:
            wanted["survivors"] = sorted(wanted["survivors"])
        compare(f"the clean-up of {run.run_id}", wanted, seen)

    @registry.expectation(
        "report",
        group="processes",
        says="What the newest teardown report of a run says.",
        arguments=(
            Argument("run", Name("run"), "which run", required=True),
            Argument("emptied", Flag(), "whether nobody was left"),
            Argument("counted", Count(0, 100_000), "how many processes were seen"),
            Argument("fates", Mapping(Choice(FATES), Name("process")), "what became of processes, by name"),
            Argument("count", Mapping(Count(0, 100_000), Choice(FATES)), "how many met each fate"),
            Argument("problem", Text(max_length=200), "a part of one of its problems"),
            Argument("problems", Count(0, 1_000), "how many problems it names"),
        ),
        key=("run",),
        example="report: {run: r1, emptied: true, fates: {child: killed}}",
    )
    def report(world: World, expectation: Expectation) -> None:
        run, args = _run(world, expectation.args["run"]), expectation.args
        if not run.teardowns:
            raise Unmet(f"no teardown of {run.run_id} was recorded", expected="a report", seen="none")
        newest = run.teardowns[-1]
        seen = {name: newest[name] for name in ("emptied", "counted")}
        seen["problems"] = len(newest["problems"])
        compare(
            f"the teardown report of {run.run_id}",
            stated(expectation, "run", "fates", "count", "problem"),
            seen,
        )
        _compare_fates(world, run, args["fates"] or {}, args["count"] or {})
        problems = " | ".join(newest["problems"])
        if args["problem"] is not None and args["problem"] not in problems:
            raise Unmet(
                "the report does not name the problem", expected=args["problem"], seen=problems or "none"
            )


def _compare_fates(world: World, run: RunSeen, fates: dict[str, str], count: dict[str, int]) -> None:
    found = run.teardowns[-1]["processes"]
    by_pid = {each["pid"]: each["fate"] for each in found}
    for label, wanted in fates.items():
        seen = by_pid.get(world.processes.find(label).pid, "not named")
        if seen != wanted:
            raise Unmet(f"the report on {label} is not as expected", expected=wanted, seen=seen)
    totals = Counter(each["fate"] for each in found)
    for fate, number in count.items():
        if totals[fate] != number:
            raise Unmet(
                f"the number of {fate} in the report is not as expected",
                expected=str(number),
                seen=shown(dict(totals)),
            )


def _run(world: World, run_id: str) -> RunSeen:
    found = world.snapshot().runs.get(run_id)
    if found is None:
        raise Unmet(f"{run_id} is not in the store", expected="a run of this id", seen="none")
    return found


def _labels(world: World, pids: tuple[int | None, ...]) -> list[str]:
    """What the scenario calls the processes of these pids: those of a run before strangers. What has no
    pid has no name."""
    found = []
    for pid in (each for each in pids if each is not None):
        holders = [each for each in world.processes.table.everyone if each.pid == pid]
        holders.sort(key=lambda each: bool(each.run))
        found.append(holders[-1].label if holders else "unnamed")
    return found
