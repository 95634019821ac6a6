"""The reference coordinator as a program: it speaks the verbs as lines, as anybody's program would.

It shows that the protocol carries everything: its ports ask by lines what others ask of the world.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn, cast

from pytest_runcoord.moments import HOMES, MOMENTS, PROCESSES
from pytest_runcoord.probed_ports import BoundedByWorld, HangInBound
from pytest_runcoord.reference import Reference
from pytest_runcoord.subject import CAPABILITIES, SubjectWorld
from pytest_runcoord.subjects.program_protocol import EVENT_SEEN, RUN_SEEN, SENDING, VALUES, capabilities
from pytest_runcoord.world_ports import timed_out
from runcoord import DestinationRefused, open_processes
from runcoord.errors import ProbeFailed, RuncoordError
from runcoord.ports import Message, Processes

OTHERS = {f"{when}-{each}" for when in ("before", "after") for each in HOMES} | set(PROCESSES) | set(SENDING)
SENSELESS = {"infinite": math.inf, "not-a-number": math.nan}
LEFT_OUT = {"sqlite"}
"""Steps that go to the file of its store by themselves, past the program."""
HELLO = {
    "runcoord": 1,
    "name": "coordinator",
    "version": "1",
    "capabilities": sorted(set(capabilities()) - LEFT_OUT & set(CAPABILITIES)),
    "moments": sorted(set(MOMENTS) - OTHERS),
    "counts": True,
}


class World:
    """Clock, sleeper, probe and ids, by lines."""

    def __init__(self) -> None:
        self.now: dict[str, Any] = {}
        self.bounded = BoundedByWorld(self.sleep, self.boottime, timed_out)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        print(json.dumps(question), flush=True)
        reply: dict[str, Any] = json.loads(sys.stdin.readline())
        self.now = reply["now"]
        return reply

    def wall(self) -> float:
        return float(self.now["wall"])

    def monotonic(self) -> float:
        return float(self.now["monotonic"])

    def boottime(self) -> float:
        return float(self.now["boottime"])

    def boot_id(self) -> str:
        return str(self.now["boot_id"])

    def sleep(self, seconds: float) -> None:
        self.ask({"wait": seconds})

    def new_id(self, prefix: str) -> str:
        return str(self.ask({"new_id": prefix})["new_id"])

    def reach(self, moment: str, **data: object) -> None:
        if moment and moment not in SENDING:  # which the harness announces itself
            self.ask({"moment": moment})

    def fault(self, verb: str) -> str | None:
        if verb == "read-untombstoned" or verb.startswith("read-f"):
            return None
        left = self.bounded.left()
        fault: str | None = self.ask({"fault": verb} | ({} if left is None else {"bound": left}))["fault"]
        return fault

    def hang(self) -> None:
        raise HangInBound

    def send(self, message: Message) -> None:
        said = {
            "event": message.event_id,
            "run": message.run_id,
            "destination": message.destination,
            "body": message.body.decode(),
            "attempt": message.attempt,
            "kind": message.kind,
        }
        left = self.bounded.left()
        reply = self.ask({"send": said} | ({} if left is None else {"patience": left}))
        if "refused" in reply:
            raise DestinationRefused(reply["refused"])
        if "later" in reply:
            raise ConnectionError(reply["later"])


class Blind:
    """The real table of processes, in which nobody else can be looked at: scenarios let owners live apart."""

    def __init__(self) -> None:
        self._table = open_processes()

    def open(self, identity: object) -> NoReturn:
        raise ProbeFailed("nothing can be read (as the test has it)", remedy="")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


class Program:
    """One incarnation, or one that looks."""

    def __init__(self) -> None:
        self.world = World()
        self.handles: list[Any] = []
        self.session: Any = None
        self.timers: dict[str, Any] = {}

    def open(
        self, directory: str, owner: str | None, destinations: list[str], settings: dict[str, Any]
    ) -> None:
        world = self.world
        self.offered = SubjectWorld(
            Path(directory), world, world, world, world.bounded, world.new_id,
            {each: each for each in destinations}, settings, {}, cast("Processes", Blind()),
        )  # fmt: skip
        self.reference = Reference(creates=True)
        self.session = self.reference.open(owner, self.offered) if owner else None

    def close(self) -> None:
        if self.session is None:
            self.reference.finish(self.offered)
        else:
            self.session.close()

    def snapshot(self) -> dict[str, Any]:
        seen = self.reference.snapshot(self.offered)
        return {
            "runs": [_row(each, RUN_SEEN) for each in seen.runs.values()],
            "events": [_row(each, EVENT_SEEN) for each in seen.events.values()],
        }

    def tick(self, timer: str) -> None:
        self.timers[timer].tick()

    def verb(self, name: str, given: list[Any], args: dict[str, Any]) -> dict[str, Any]:
        answer = getattr(self.session, name)(*(self.handles[each] for each in given), **args)
        values = {name: each for name, each in answer.values.items() if name in VALUES.fields}
        if answer.handle is not None:
            self.handles.append(answer.handle)
            values["handle"] = len(self.handles) - 1
        return values

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.world.now = request["now"]
        verb, args = request["verb"], request["args"]
        for lengths in (args, args.get("settings", {})):
            for name, value in lengths.items():
                lengths[name] = SENSELESS.get(value, value) if isinstance(value, str) else value
        given = [request["with"]] if "with" in request else []
        own = getattr(self, verb, None)
        try:
            ok = own(**args) if own else self.verb(verb, given, args)
        except RuncoordError as error:
            said = {"message": error.problem, "happened": error.happened.value, "details": error.details}
            return {"refused": error.code, **said}
        return {"ok": ok or {}}

    def due(self) -> dict[str, float | None]:
        if self.session is None:
            return {}
        self.timers = {}
        for name, timer in self.session.timers():
            while name in self.timers:
                name += "-again"
            self.timers[name] = timer
        return {name: timer.next_due() for name, timer in self.timers.items()}

    def rows(self) -> int:
        return 0 if self.session is None else int(self.session.counters().rows_written)


def _row(seen: Any, shape: Any) -> dict[str, Any]:
    return {name: each for name, each in asdict(seen).items() if name in shape.fields}


def main() -> None:
    print(json.dumps(HELLO), flush=True)
    program = Program()
    for line in sys.stdin:
        request = json.loads(line)
        answer = program.answer(request)
        rest = {"next_due": program.due(), "rows_written": program.rows()}
        print(json.dumps({"id": request["id"], **answer, **rest}), flush=True)


main()
