"""The process of one incarnation: the reference with ports that reach through the pipe to the world.

Started as ``python -m pytest_runcoord.real.child``; it speaks JSON lines on its standard input and output.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_runcoord.homes.plan import READING
from pytest_runcoord.incarnation import LocalProcess
from pytest_runcoord.probed_ports import BoundedByWorld, HangInBound, NeverReturns, Probe, store_error
from pytest_runcoord.real.launcher import NamedLauncher
from pytest_runcoord.real.machine import NamedMachine
from pytest_runcoord.real.wire import Wire, WireClosed
from pytest_runcoord.reference import Reference
from pytest_runcoord.subject import SubjectWorld, Timer
from pytest_runcoord.timekeeper import HANG_SECONDS
from pytest_runcoord.world_ports import AtFirstUse, timed_out
from runcoord import DestinationRefused, open_processes
from runcoord.errors import Happened, RuncoordError
from runcoord.ports import Homes, Message

if TYPE_CHECKING:
    from pytest_runcoord.real.lookout import Lookout


class WireClock:
    """The world's clocks as of the last message."""

    def __init__(self) -> None:
        self._read: tuple[float, float, float, str] = (0.0, 0.0, 0.0, "")

    def set(self, read: list[Any]) -> None:
        self._read = (read[0], read[1], read[2], read[3])

    def wall(self) -> float:
        return self._read[0]

    def monotonic(self) -> float:
        return self._read[1]

    def boottime(self) -> float:
        return self._read[2]

    def boot_id(self) -> str:
        return self._read[3]


def _homes(probe: Probe, lookout: Callable[[], Lookout]) -> Homes:
    """The homes of this machine, behind the probe, loaded when something asks for them."""

    def made() -> Homes:
        from pytest_runcoord.homes.probed import ProbedHomes
        from runcoord import open_homes

        return ProbedHomes(open_homes, probe, lookout())

    return cast("Homes", AtFirstUse(made))


class Child:
    """Carries out what the world asks, and is the probe, the sleeper and the ids of its own session."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._clock = WireClock()
        self._bounded = BoundedByWorld(self.sleep, self._clock.boottime, timed_out)
        self._process: LocalProcess | None = None
        self._numbers: dict[int, Timer] = {}
        self._mended = 0
        self._started: list[subprocess.Popen[bytes]] = []
        """Processes that this one has started for the scenario, and not reaped."""
        self._released = threading.Event()
        self._directory = Path()
        self._lookout: Lookout | None = None

    def serve(self) -> None:
        """Until the world closes the session or goes away."""
        while True:
            request = self._receive()
            self._answer(request)
            if request["do"] == "close":
                return

    def _answer(self, request: dict[str, Any]) -> None:
        try:
            answer = self._carry_out(request)
        except (Exception, NeverReturns) as error:  # noqa: BLE001  every error is an answer
            answer = {"error": _described(error)}
        self._send(answer)

    def _carry_out(self, request: dict[str, Any]) -> dict[str, Any]:
        do = request["do"]
        if do == "open":
            ToldLog(self._ask)
            session = Reference(creates=True).open(request["owner"], self._world(request))
            self._process = LocalProcess(session)
            return {}
        if do == "start":
            return {"pid": self._start(request["argv"], request["environment"])}
        if do == "reap":
            self._started = [each for each in self._started if each.poll() is None]
            return {}
        assert self._process is not None
        if do == "call":
            return self._call(self._process, request)
        if do == "timers":
            return {"timers": self._list_timers()}
        if do == "tick":
            self._numbers[request["number"]].tick()
            return {}
        self._process.close()
        return {}

    def _call(self, process: LocalProcess, request: dict[str, Any]) -> dict[str, Any]:
        """A verb; with ``wears`` under that environment. What the verb changes of it is told."""
        wears: dict[str, str] | None = request.get("wears")
        before = dict(os.environ)
        if wears is not None:
            _wear(wears)
        try:
            values = process.call(request["verb"], request["args"], request["given"], request["keep"])
        finally:
            if self._lookout is not None and request["verb"] in READING:
                self._lookout.look_behind()
            after = dict(os.environ)
            if wears is not None:
                _wear(before)
        return {"values": values, "wears": after if wears not in (None, after) else None}

    def _start(self, argv: list[str], environment: dict[str, str]) -> int:
        """Start a process of the scenario, as a program on the library starts one."""
        started = subprocess.Popen(argv, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
        self._started.append(started)
        return started.pid

    def _list_timers(self) -> list[tuple[int, str, float | None]]:
        assert self._process is not None
        found = [(id(timer), name, timer) for name, timer in self._process.timers()]
        self._numbers = {number: timer for number, _, timer in found}
        return [(number, name, timer.next_due()) for number, name, timer in found]

    def _look_out(self) -> Lookout:
        from pytest_runcoord.real.lookout import Lookout

        self._lookout = Lookout(self._directory, self._tell_of_homes)
        return self._lookout

    def _tell_of_homes(self, what: str, paths: list[str]) -> None:
        self._ask({"asks": "homes", "what": what, "paths": paths})

    def _world(self, request: dict[str, Any]) -> SubjectWorld:
        self._directory = Path(request["directory"])
        machine = NamedMachine(
            open_processes(),
            request["machine"],
            self.announce,
            handles=request["handles"],
            hang=self.hang,
            wait=self._wait_for if request["staged"] else None,
        )
        return SubjectWorld(
            self._directory,
            self._clock,
            self,
            self,
            self._bounded,
            self.new_id,
            {name: name for name in request["destinations"]},
            request["settings"],
            {},
            machine,
            NamedLauncher(machine, self.announce) if request["staged"] else None,
            _homes(self, self._look_out),
            tuple(request["imports"]),
        )

    # --- ports ---

    def sleep(self, seconds: float) -> None:
        self._ask({"asks": "wait", "seconds": seconds})

    def new_id(self, prefix: str) -> str:
        return str(self._ask({"asks": "id", "prefix": prefix})["id"])

    def reach(self, moment: str, **data: object) -> None:
        if moment:
            self._ask({"asks": "reach", "moment": moment, "data": data})

    def announce(self, moment: str, **data: object) -> Mapping[str, Any]:
        """The same, of what is done with processes; the world says what is met there."""
        return self._ask({"asks": "reach", "moment": moment, "data": data})

    def _wait_for(self, pids: list[int], seconds: float) -> None:
        self._ask({"asks": "ends", "pids": pids, "seconds": seconds})

    def fault(self, verb: str) -> str | None:
        fault: str | None = self._ask({"asks": "fault", "verb": verb})["fault"]
        return fault

    def hang(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            self._released.wait(HANG_SECONDS)
            raise store_error("io-error")
        raise NeverReturns if self._bounded.left() is None else HangInBound

    def send(self, message: Message) -> None:
        answer = self._ask(
            {
                "asks": "send",
                "patience": self._bounded.left(),
                "message": {
                    "event_id": message.event_id,
                    "kind": message.kind,
                    "run_id": message.run_id,
                    "destination": message.destination,
                    "body": base64.b64encode(message.body).decode(),
                    "attempt": message.attempt,
                },
            }
        )
        if "hangs" in answer:
            self.hang()
        if "refused" in answer:
            raise DestinationRefused(answer["refused"])
        if "failed" in answer:
            raise ConnectionError(answer["failed"])

    # --- the pipe ---

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask the world. Before it answers it may want something done here: what the scenario says happens
        meanwhile."""
        self._send(request)
        while "do" in (answer := self._receive()):
            self._answer(answer)
        return answer

    def _send(self, message: dict[str, Any]) -> None:
        counters = self._process.counters() if self._process is not None else None
        if counters is not None:
            message["counters"] = [counters.statements, counters.rows_written, counters.commits]
        self._wire.send(message)

    def _receive(self) -> dict[str, Any]:
        message = self._wire.receive()
        self._clock.set(message["clock"])
        if message["mended"] != self._mended:
            self._mended = message["mended"]
            released, self._released = self._released, threading.Event()
            released.set()
        return message


def _wear(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


class ToldLog(logging.Handler):
    """Tells the world what the library logs, as the logs of all owners are one."""

    def __init__(self, tell: Callable[[dict[str, Any]], object]) -> None:
        super().__init__()
        self._tell = tell
        logger = logging.getLogger("runcoord")
        logger.addHandler(self)
        logger.setLevel(logging.DEBUG)
        self._plain = frozenset(vars(logging.makeLogRecord({})))

    def emit(self, record: logging.LogRecord) -> None:
        if threading.current_thread() is threading.main_thread():  # nobody else talks with the world
            fields = {name: value for name, value in vars(record).items() if name not in self._plain}
            said = {"name": record.name, "level": record.levelno, "text": record.getMessage()}
            self._tell({"asks": "log", **said, "fields": json.loads(json.dumps(fields, default=str))})


def _described(error: BaseException) -> dict[str, Any]:
    return {
        "text": f"{type(error).__name__}: {error}" if not isinstance(error, RuncoordError) else str(error),
        "refusal": Reference().refusal(error),
        "details": json.loads(json.dumps(error.details, default=str))
        if isinstance(error, RuncoordError)
        else {},
        "happened": error.happened.value if isinstance(error, RuncoordError) else Happened.NO.value,
        "never_returns": isinstance(error, NeverReturns),
    }


def main() -> None:
    """Serve the world on the pipes given as standard input and output."""
    read, write = os.dup(0), os.dup(1)
    # Whatever the code under test prints must not get into the conversation.
    os.dup2(2, 1)
    try:
        Child(Wire(read, write, None)).serve()
    except WireClosed:
        sys.exit(1)


if __name__ == "__main__":
    main()
