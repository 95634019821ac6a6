"""The world's side of a real process: asks it for verbs, and serves what its ports ask."""

from __future__ import annotations

import base64
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_runcoord.incarnation import Incarnation, Life, Process
from pytest_runcoord.probed_ports import Crashed, NeverReturns, NoAnswer
from pytest_runcoord.real.asked import ASKED
from pytest_runcoord.real.bodies import body_of
from pytest_runcoord.real.wire import Wire, WireClosed, WireTimeout
from pytest_runcoord.reference import Reference
from pytest_runcoord.subject import Timer
from pytest_runcoord.world import BoundReached, World
from runcoord import DestinationRefused
from runcoord.errors import Happened, RuncoordError
from runcoord.ports import Counters, Message

ANSWER_SECONDS = 60.0
"""Real time that a process has for one message: starting an interpreter on a loaded machine takes seconds."""
STDERR_CHARACTERS = 2_000
"""Characters of a dead process's complaints that a report shows."""


class RemoteError(RuncoordError):
    """An error that a process answered with; ``refusal`` is the harness's name for it, if it has one."""

    def __init__(
        self, text: str, refusal: str | None, happened: Happened, details: Mapping[str, Any]
    ) -> None:
        super().__init__(text, happened=happened, **details)
        self.refusal = refusal


class ProcessDied(Exception):
    """The process ended though nobody killed it."""


def process_of(world: World, incarnation: Incarnation) -> Process:
    """Start a process for an incarnation of the reference."""
    return RemoteProcess(world, incarnation)


class RemoteProcess:
    """One incarnation in a process of its own. Signals go only to this unreaped child."""

    def __init__(self, world: World, incarnation: Incarnation) -> None:
        self._world, self._incarnation = world, incarnation
        self._processes: Any = world.processes
        """A :class:`~pytest_runcoord.real.process_world.RealProcessWorld`."""
        self._counters = Counters()
        self._timers: dict[int, RemoteTimer] = {}
        self._calls = 0
        self._environment = dict(os.environ)
        self._stderr = Path(world.directory) / f"{incarnation.owner}-{incarnation.number}.stderr"
        self._body = body_of(world, incarnation, self._stderr)
        self._wire = Wire(self._body.read, self._body.write, ANSWER_SECONDS)
        try:
            self._ask(
                {
                    "do": "open",
                    "owner": incarnation.owner_id,
                    "directory": str(world.directory),
                    "destinations": sorted(world.destinations),
                    "settings": world.plan.settings,
                    "imports": world.imports_of(incarnation.owner),
                    "machine": world.processes.place_of(incarnation.owner).host,
                    "handles": world.plan.kernel_handles,
                    "staged": self._body.staged,
                }
            )
        except BaseException:
            self.kill()
            raise

    def call(self, verb: str, args: Mapping[str, Any], given: str = "", keep: str = "") -> dict[str, Any]:
        request = {"do": "call", "verb": verb, "args": dict(args), "given": given, "keep": keep}
        worn = dict(os.environ)
        if worn != self._environment:  # for this call, by the step that asks for it
            request["wears"] = worn
        answer = self._ask(request)
        if answer["wears"] is not None:
            os.environ.clear()
            os.environ.update(answer["wears"])
        values: dict[str, Any] = answer["values"]
        return values

    def timers(self) -> list[tuple[str, Timer]]:
        if self._calls or self._body.ended():
            return []  # it is in the middle of a call, as its threads would be; or it is gone
        found: list[tuple[str, Timer]] = []
        for number, name, due in self._ask({"do": "timers"})["timers"]:
            timer = self._timers.setdefault(number, RemoteTimer(self, number))
            timer.due = due
            found.append((name, timer))
        return found

    def tick(self, number: int) -> None:
        self._ask({"do": "tick", "number": number})

    def counters(self) -> Counters:
        return self._counters

    def pause(self) -> None:
        """It does nothing between two requests, so it stands still as it is."""

    def resume(self) -> None:
        """It goes on when it is asked for something."""

    def close(self) -> None:
        if not self._body.ended():
            self._ask({"do": "close"})
            self._body.wait()
        self._body.let_go()

    def kill(self) -> None:
        """SIGKILL, and reap. Killing a dead process changes nothing."""
        if not self._body.ended():
            self._body.kill()
            self._body.wait()
        self._body.let_go()

    def start(self, argv: list[str], environment: Mapping[str, str]) -> int:
        """Have it start a process; also while it is in the middle of a call, as its threads would."""
        pid: int = self._ask({"do": "start", "argv": argv, "environment": dict(environment)})["pid"]
        return pid

    def reap(self) -> None:
        """Have it ask how the processes that it started have ended."""
        self._ask({"do": "reap"})

    # --- the conversation ---

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send one request, serve what the process asks meanwhile, give its answer."""
        self._calls += 1
        try:
            self._send(message)
            while True:
                answer = self._receive()
                if "asks" not in answer:
                    break
                self._send(self._serve(answer))
        finally:
            self._calls -= 1
        if "error" in answer:
            error = answer["error"]
            if error["never_returns"]:
                raise NeverReturns
            raise RemoteError(error["text"], error["refusal"], Happened(error["happened"]), error["details"])
        return answer

    def _send(self, message: dict[str, Any]) -> None:
        clock = self._world.clock
        message["mended"] = self._world.time.mended
        message["clock"] = [clock.wall(), clock.monotonic(), clock.boottime(), clock.boot_id()]
        try:
            self._wire.send(message)
        except (WireClosed, ValueError) as error:
            raise self._death(error) from error

    def _receive(self) -> dict[str, Any]:
        try:
            answer = self._wire.receive()
        except WireTimeout as error:
            self.kill()
            raise BoundReached(f"the process of {self._incarnation.owner} gave {error}") from error
        except (WireClosed, ValueError) as error:
            raise self._death(error) from error
        if "counters" in answer:
            self._counters.statements, self._counters.rows_written, self._counters.commits = answer[
                "counters"
            ]
        return answer

    def _death(self, error: Exception) -> BaseException:
        if self._incarnation.life is Life.CRASHED:
            return Crashed(self._incarnation.owner_id)
        said = self._stderr.read_text(errors="replace")[-STDERR_CHARACTERS:] if self._stderr.exists() else ""
        return ProcessDied(f"the process of {self._incarnation.owner} ended by itself ({error}): {said}")

    def _serve(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a port of the process asks of the world. Its crash is raised here, and the process killed."""
        asks, world = request["asks"], self._world
        try:
            if asks == "reach":
                return self._reach(request["moment"], request["data"])
            if asks == "log":
                self._log(request)
                return {}
            if asks == "homes":
                world.homes.told(request["what"], request["paths"])
                return {}
            if asks == "ends":
                self._processes.wait_for(self._incarnation, request["pids"], request["seconds"])
                return {}
            if asks == "fault":
                return {"fault": world.fault(self._incarnation, request["verb"])}
            if asks == "wait":
                world.time.wait(request["seconds"])
                return {}
            if asks == "id":
                return {"id": world.new_id(request["prefix"])}
            return self._offer(request["message"], request["patience"])
        except Crashed:
            self.kill()
            raise

    def _log(self, said: dict[str, Any]) -> None:
        if "logbook" in vars(self._world):  # otherwise nobody reads it
            record = logging.makeLogRecord(
                {
                    "name": said["name"],
                    "levelno": said["level"],
                    "levelname": logging.getLevelName(said["level"]),
                    "msg": said["text"],
                    **said["fields"],
                }
            )
            self._world.logbook.emit(record)

    def _reach(self, moment: str, data: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = self._processes.announced(self._incarnation, moment, data)
        self._world.reach(self._incarnation, "" if moment in ASKED else moment, data)
        return told or self._processes.met_there(self._incarnation, moment, data)

    def _offer(self, message: dict[str, Any], patience: float | None) -> dict[str, Any]:
        body = base64.b64decode(message.pop("body"))
        try:
            self._world.post.send(self._incarnation.owner, Message(body=body, **message), patience)
        except NoAnswer:
            return {"hangs": True}
        except DestinationRefused as refusal:
            return {"refused": str(refusal)}
        except Exception as error:  # noqa: BLE001  whatever a destination raises means "not now"
            return {"failed": f"{type(error).__name__}: {error}"}
        return {"accepted": True}


class RemoteTimer:
    """A timer in the process, as it was when it was last asked for."""

    def __init__(self, process: RemoteProcess, number: int) -> None:
        self._process, self._number = process, number
        self.due: float | None = None

    def next_due(self) -> float | None:
        return self.due

    def tick(self) -> None:
        self._process.tick(self._number)


class RealReference(Reference):
    """The reference, with the refusals that come over the wire."""

    def refusal(self, error: BaseException) -> str | None:
        return error.refusal if isinstance(error, RemoteError) else super().refusal(error)
