"""What is said to one process of a program, and what it says: requests, questions, answers.

Whatever is wrong with it becomes a :class:`ProgramFault`, and the process is ended: nothing that it says
afterwards could be understood.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pytest_runcoord._positions import did_you_mean
from pytest_runcoord.probed_ports import ProbedDestination
from pytest_runcoord.subject import SubjectWorld
from pytest_runcoord.subjects.lines import MAX_LINE_BYTES, MAX_SNAPSHOT_BYTES, Child, LineFault
from pytest_runcoord.subjects.program_errors import (
    MAX_MESSAGE_CHARACTERS,
    ProgramFault,
    ProgramRefusal,
    cut,
    written,
)
from pytest_runcoord.subjects.program_protocol import ANSWERS, HELLO, PROTOCOL, QUESTIONS, kind_of
from pytest_runcoord.subjects.program_verbs import carried, verb_named
from pytest_runcoord.subjects.shapes import Misfit, sentence
from pytest_runcoord.world_errors import CannotBeReal
from runcoord import DestinationRefused, EventKind
from runcoord.errors import StoreTimeout
from runcoord.ports import Message

START_SECONDS = 15.0
"""Real time from the start of a program to its hello: some take seconds on a loaded computer."""
ANSWER_SECONDS = 10.0
"""Real time that a program has for one request, its questions together; waiting in the scenario is free."""
SHUTDOWN_SECONDS = 5.0
"""Real time in which a program must end after its answer to ``close`` and the end of its standard input."""
MAX_QUESTIONS = 10_000
"""Questions in one request: a batch of hundreds of runs announces a few moments for each."""
SHOWN_NAME = 60
"""Characters of a program's own name in messages."""
_MOST_EXACT = 2**53
"""Below it every whole number is a floating-point number of its own."""
HALF_A_PAIR = re.compile(rb"\\u[dD][89abAB]")
"""What a text may have in it that no file and no terminal takes."""

_now = time.monotonic
"""Bound at import: a frozen clock of the code under test never measures the harness."""


@dataclass(frozen=True)
class Command:
    """How a program is started."""

    words: tuple[str, ...]
    directory: Path
    told: Callable[[str, bytes], None] | None = field(default=None, compare=False)
    """Is told of every line, and who wrote it: ``asked``, the harness; ``answered``, the program."""

    def __str__(self) -> str:
        return " ".join(self.words)


class Conversation:
    """One process of a program, from its hello on. ``ProgramFault`` if it does not even say that."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._name = str(command)
        self._asking = ""
        self._id = 0
        self._over = ""
        """Why nothing more is said to it; empty while it may be asked."""
        try:
            self.child = Child(command.words, command.directory)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ProgramFault(
                self._name,
                "open",
                f"cannot be executed: {reason}",
                remedy=f"It is looked for from {command.directory}, and on PATH.",
            ) from error
        self.due: dict[str, float | None] = {}
        """When it wants a tick, by the name of the timer; the name is empty where it has one."""
        self.rows_written: int | None = None
        try:
            self.hello = self._greeting()
        except BaseException:  # an interrupt, the alarm of somebody else: nobody knows of it yet
            self.child.let_go()
            raise
        self._name = "".join(filter(str.isprintable, self.hello["name"]))[:SHOWN_NAME] or self._name

    @property
    def asking(self) -> str:
        """The verb that it is in the middle of; empty between two."""
        return self._asking

    # --- asking ---

    def ask(self, world: SubjectWorld, verb: str, args: Mapping[str, Any], *given: Any) -> dict[str, Any]:
        """What a verb gives. ``given`` is the handle that it is asked with, if it is. Raises
        :class:`CannotBeReal`, which skips the scenario, in the middle of another verb of it;
        :class:`ProgramRefusal`, :class:`ProgramFault`, and whatever the world raises at a question."""
        if self._asking:
            raise CannotBeReal(
                f"a program answers one request at a time: {self._name} is in the middle of {self._asking!r} "
                f"when it is to be asked for {verb!r}"
            )
        if self._over:
            self._fail(verb, f"is not there any more: it {self._over}")
        if unasked := self.child.unread():
            self._fail(verb, "wrote a line that nobody asked for", unasked, "Answer each request once.")
        self._id += 1
        request = {"id": self._id, "verb": verb, "args": carried(args)}
        if given:
            request["with"] = given[0]
        self._asking = verb
        try:
            self._say(request, world)
            return self._answered(world, verb)
        except (ProgramRefusal, ProgramFault):
            raise
        except BaseException:
            self.kill()  # at a question: it crashes there, or the scenario has failed
            raise
        finally:
            self._asking = ""

    def _answered(self, world: SubjectWorld, verb: str) -> dict[str, Any]:
        left = ANSWER_SECONDS
        for _ in range(MAX_QUESTIONS + 1):
            began = _now()
            line = self._line(verb, max(0.0, left))
            left -= _now() - began
            kind = kind_of(line, ANSWERS)
            if kind is not None:
                return self._answer(verb, kind, line)
            if after := self.child.unread():
                self._fail(
                    verb,
                    "went on before its question was answered",
                    after,
                    "Read the reply first: at a moment there may be none, and it is killed there.",
                )
            self._say(self._reply(world, verb, line), world)
        raise self.fault(verb, f"asked more than {MAX_QUESTIONS:,} questions", remedy="Look for a loop.")

    def _answer(self, verb: str, kind: str, line: dict[str, Any]) -> dict[str, Any]:
        self._check(verb, line, lambda: ANSWERS[kind].check(line, ""))
        if line["id"] != self._id:
            self._fail(verb, f"answered request {line['id']}, and was asked {self._id}", written(line))
        if kind == "error":
            why = cut(line["error"], MAX_MESSAGE_CHARACTERS)
            self._fail(verb, f"could not be handled: {why}", remedy="That is a fault of its own.")
        if "next_due" in line:
            due = line["next_due"]
            self.due = dict(due) if isinstance(due, dict) else {"": due}
        if self.hello.get("counts") and "rows_written" not in line:
            self._fail(verb, "says that it counts, and does not say 'rows_written'", written(line))
        self.rows_written = line.get("rows_written", self.rows_written)
        if kind == "refused":
            happened, details = line.get("happened", "no"), line.get("details", {})
            raise ProgramRefusal(line["refused"], line.get("message", ""), happened, details)
        values: dict[str, Any] = line["ok"]
        known = verb_named(verb)
        assert known is not None
        self._check(verb, line, lambda: known.answer.check(values, "'ok'"))
        return values

    # --- its questions ---

    def _reply(self, world: SubjectWorld, verb: str, line: dict[str, Any]) -> dict[str, Any]:
        kind = kind_of(line, QUESTIONS)
        if kind is None:
            first = next(iter(line), "")
            remedy = sentence(did_you_mean(first, [*ANSWERS, *QUESTIONS]))
            self._fail(verb, "wrote a line that is no answer and no question", written(line), remedy)
        self._check(verb, line, lambda: QUESTIONS[kind].line.check(line, ""))
        if kind == "moment":
            about = {"run": line["run"]} if "run" in line else {}
            world.probe.reach(line["moment"], **about)
        elif kind == "wait":
            world.sleeper.sleep(line["wait"])
        elif kind == "new_id":
            return {"new_id": world.new_id(line["new_id"])}
        elif kind == "fault":
            return {"fault": _met(world, line["fault"], line.get("bound"))}
        else:
            return _sent(world, line["send"], line.get("patience"))
        return {"go": True}

    # --- lines ---

    def _greeting(self) -> dict[str, Any]:
        verb = "hello"
        line = self._line(verb, START_SECONDS)
        version = line.get("runcoord")
        if "runcoord" in line and (version != PROTOCOL or isinstance(version, bool)):
            self._fail(
                verb,
                f"speaks version {json.dumps(version)} of the protocol, and this is version {PROTOCOL}",
                written(line),
                "Use a version of runcoord that speaks it, or change the program.",
            )
        self._check(verb, line, lambda: HELLO.check(line, "the hello"))
        return line

    def _line(self, verb: str, seconds: float) -> dict[str, Any]:
        try:
            most = MAX_SNAPSHOT_BYTES if verb == "snapshot" else MAX_LINE_BYTES
            allowed = START_SECONDS if verb == "hello" else ANSWER_SECONDS
            raw = self.child.read_line(seconds, most, allowed=allowed)
        except LineFault as fault:
            self._fail(verb, fault.problem, fault.read, fault.remedy)
        if self._command.told is not None:
            self._command.told("answered", raw)
        try:
            line = json.loads(
                raw.decode(), parse_constant=number_of, parse_float=number_of, object_pairs_hook=_table
            )
            if HALF_A_PAIR.search(raw):
                json.dumps(line, ensure_ascii=False).encode()
        except UnicodeDecodeError as error:
            self._fail(verb, f"wrote what is not UTF-8 (byte {error.start + 1} of the line)", raw)
        except UnicodeEncodeError:
            self._fail(verb, "wrote a text with half of a surrogate pair in it", raw)
        except (ValueError, RecursionError):
            self._fail(
                verb,
                "wrote a line that is not JSON",
                raw,
                "Write to standard error what is not for runcoord.",
            )
        if not isinstance(line, dict):
            self._fail(verb, "wrote a line that is no JSON object", raw)
        return line

    def _say(self, line: dict[str, Any], world: SubjectWorld) -> None:
        clock = world.clock
        line["now"] = {
            "wall": clock.wall(),
            "monotonic": clock.monotonic(),
            "boottime": clock.boottime(),
            "boot_id": clock.boot_id(),
        }
        raw = written(line)
        if self._command.told is not None:
            self._command.told("asked", raw)
        self.child.write(raw)

    def _check(self, verb: str, line: dict[str, Any], check: Any) -> None:
        try:
            check()
        except Misfit as misfit:
            self._fail(verb, f"answered wrongly: {misfit.problem}", written(line), misfit.remedy)

    # --- its end ---

    def close(self, world: SubjectWorld) -> None:
        """Have it end in good order. :class:`ProgramFault` if it does not."""
        self.ask(world, "close", {})
        child = self.child
        child.end_of_input()
        if not child.wait(SHUTDOWN_SECONDS):
            self._fail(
                "close",
                f"lives on {SHUTDOWN_SECONDS:g} s after the end of its standard input",
                remedy="End when standard input ends, and when 'close' is answered.",
            )
        child.drain()
        how = child.how_it_ended()
        left = child.left_behind()
        if unasked := child.unread():
            self._fail("close", "wrote a line after its answer to 'close'", unasked)
        if how != "exit status 0":
            self._fail("close", "answered 'close', and then failed")
        if left:
            self._fail(
                "close",
                f"left {len(left)} process{'es' if len(left) > 1 else ''} behind, which were ended",
                remedy="Wait for what it starts, or end it.",
            )
        self._over = "was closed"
        child.let_go()

    def kill(self) -> None:
        """SIGKILL. Where it leaves processes, it is there unreaped until :meth:`let_go`, so that its group
        is known as its own. :class:`ProgramFault` where it had ended already, which nobody asked of it."""
        if not self._over and not self._asking and self.child.ended():
            why = "See what it says last, and why it ended."
            self._fail("between two requests", "ended by itself", remedy=why)
        self._over = self._over or "was killed"
        self.child.send_signal(signal.SIGKILL)
        if self.child.wait(SHUTDOWN_SECONDS) and not self.child.left_behind():
            self.child.let_go()

    def let_go(self) -> None:
        """End what is left of it and of its group."""
        self._over = self._over or "was ended"
        self.child.let_go()

    def _fail(self, verb: str, problem: str, read: bytes = b"", remedy: str = "") -> NoReturn:
        raise self.fault(verb, problem, read, remedy)

    def fault(self, verb: str, problem: str, read: bytes = b"", remedy: str = "") -> ProgramFault:
        """What is wrong, with what was read and what became of the process, which is ended."""
        child, how = self.child, ""
        if not self._over:
            child.drain()
            how = child.how_it_ended()
            self._over = problem
            child.let_go()
        said = child.tail.lines()
        return ProgramFault(self._name, verb, problem, read=read, how=how, stderr=said, remedy=remedy)


def _met(world: SubjectWorld, call: str, bound: float | None) -> str | None:
    """The fault that a call to the program's store meets. One that hangs costs the bound."""
    fault = world.probe.fault(call)
    if fault == "hang" and bound is None:
        world.probe.hang()
    elif fault == "hang":
        with contextlib.suppress(StoreTimeout):
            world.bounded.call(bound or 0.0, world.probe.hang)
    return fault


def _sent(world: SubjectWorld, said: dict[str, Any], patience: float | None) -> dict[str, Any]:
    """Offer a message of the program to its destination."""
    message = Message(
        event_id=said["event"],
        kind=said.get("kind", EventKind.FINISHED.value),
        run_id=said["run"],
        destination=said["destination"],
        body=said["body"].encode("utf-8", "surrogatepass"),
        attempt=said["attempt"],
    )
    destination = ProbedDestination(world.probe)
    try:
        if patience is None:
            destination(message)
        else:
            world.bounded.call(patience, lambda: destination(message))
    except DestinationRefused as refusal:
        return {"refused": str(refusal)}
    except StoreTimeout:
        return {"later": f"no answer within {patience:g} s"}
    except Exception as error:  # noqa: BLE001  whatever a destination raises means "not now"
        return {"later": f"{type(error).__name__}: {error}"}
    return {"accepted": True}


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice in a table")
    return made


def number_of(text: str) -> float:
    """A number that can be written again; ``NaN``, ``Infinity`` and what is as large are none. ``2.0`` is a
    whole number, as JSON Schema has it: some languages have no others."""
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text} is no number in JSON")
    return int(found) if found.is_integer() and abs(found) < _MOST_EXACT else found
