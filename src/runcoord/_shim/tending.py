"""The life of a shim after its command was forked: open the gate, watch, tear down, say how it ended."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import resource
import signal
import time

from runcoord._core.last_words import LastWords
from runcoord._core.limits import GRACE_SECONDS, MAX_GRACE_SECONDS, MAX_PINNED
from runcoord._core.teardown import Membership, Scope, TeardownReport
from runcoord._processes import open_processes
from runcoord._processes import proof as _proof  # noqa: F401 - while there is time, not in the teardown
from runcoord._processes import scan as _scan  # noqa: F401 - the same
from runcoord._processes.table import ProcessTable
from runcoord._shim.attention import Attention
from runcoord._shim.blind import BlindTeardown
from runcoord._shim.children import Children, become_subreaper
from runcoord._shim.gate import BEGUN, gate_order
from runcoord._shim.tended_table import TendedTable
from runcoord._teardown import tear_down
from runcoord.errors import ProbeFailed, RuncoordError

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    from runcoord._process_ports import PinnedProcess, Processes

ALL = object()
"""Nothing is left to note."""
SPARE_DESCRIPTORS = 64
"""Beside those of pinned processes: /proc, pipes, the socket."""


def tend(control: int, coordinator: int, leader: int, gate: int, failure: int, terminal: bool) -> NoReturn:
    """All that follows. Never returns."""
    gc.freeze()
    gc.enable()
    attention = Attention(control, coordinator, terminal=terminal)
    try:
        Tending(attention, leader, gate, failure, terminal).run()
    except BaseException as error:  # noqa: BLE001 - there is nobody above; the coordinator is told, and acts
        attention.lines.say({"is": "broken", "problem": f"{type(error).__name__}: {error}"})
        os._exit(1)
    os._exit(0)


class Tending:
    """One run, from its closed gate to the last words."""

    def __init__(self, attention: Attention, leader: int, gate: int, failure: int, terminal: bool) -> None:
        self._attention = attention
        self._terminal = terminal
        self._gate: int | None = gate
        self._failure = failure
        self._children = Children(leader)
        self._problem = become_subreaper()
        _allow_pins()
        self._processes: Processes = open_processes()
        self._blind = ""
        """Why no process can be seen here."""
        self._leader = self._pinned_leader()
        self._order: dict[str, Any] = {}
        self._executing = False
        """The gate was opened, and it is not known yet whether the command could be executed."""
        self._executed = False
        self._heard = b""
        self._noting: Iterator[None] = iter(())
        """Who was there before the run, while they are read."""
        self._pending: list[dict[str, Any]] = []
        """Messages that have come and are not followed yet."""
        self._told_end = self._by_itself = self._closed = self._recorded = self._hurried = False
        self._told_interruptions = self._continued = 0
        self._report: TeardownReport | None = None

    def run(self) -> None:
        """Until the coordinator has let go, or is gone, and nothing of the run is left."""
        while True:
            self._follow_messages()
            self._follow_children()
            self._tell_interruptions()
            if self._attention.endings and self._report is None:
                self._tear_down(self._grace())
            if self._attention.alone or self._closed:
                break
            ends = [self._failure] if self._executing else []
            # What the teardown needs to know is read beforehand, while nobody wants anything.
            noted = next(self._noting, ALL)
            if self._attention.wait(None if noted is ALL else 0, ends):
                self._hear_of_execution()
        self._end()

    # --- what the coordinator asks ---

    def _follow_messages(self) -> None:
        self._pending += self._attention.lines.pull()
        while self._pending:
            message = self._pending.pop(0)
            match message.get("do"):
                case "open":
                    self._open(message)
                case "tear_down":
                    self._tear_down(float(message["grace"]))
                case "continue":
                    self._continue(int(message["count"]))
                case _:
                    self._follow_at_any_time(message)

    def _follow_at_any_time(self, message: dict[str, Any]) -> None:
        """Also during a teardown."""
        if message.get("do") == "hurry":
            self._hurried = True
        elif message.get("do") == "close":
            self._closed, self._recorded = True, bool(message["recorded"])

    def _open(self, order: dict[str, Any]) -> None:
        if self._gate is None:
            return
        gate, self._gate, self._order = self._gate, None, order
        environment = [os.fsencode(text) for pair in order["environment"].items() for text in pair]
        argv = [os.fsencode(text) for text in order["argv"]]
        order.pop("environment")
        directory = os.fsencode(order["directory"])
        payload = gate_order(os.fsencode(order["executable"]), directory, argv, environment)
        self._executing = True
        try:
            with os.fdopen(gate, "wb") as pipe:
                pipe.write(payload)
        except OSError:
            pass  # it was killed at the gate, which its end will say

    def _hear_of_execution(self) -> None:
        """The other end of this pipe closes by the exec, or says why there was none."""
        piece = os.read(self._failure, 200)
        self._heard += piece
        if piece:
            return
        os.close(self._failure)
        self._executing = False
        words = self._heard.removeprefix(BEGUN).decode("ascii", "replace")
        if words or not self._heard:
            stage, _, reason = words.partition(":")
            number = int(reason) if reason.isdigit() else errno.EINVAL
            self._attention.lines.say({"is": "failed", "stage": stage or "gate", "errno": number})
        else:
            self._executed = True
            self._note_elders()
            self._attention.lines.say({"is": "opened", "problem": self._problem})

    def _note_elders(self) -> None:
        if isinstance(self._processes, ProcessTable) and not self._blind:
            self._noting = self._processes.note_elders(self._membership())

    def _continue(self, count: int) -> None:
        """After it was stopped from the terminal."""
        self._continued = count
        if not self._children.reaped:
            with contextlib.suppress(OSError):
                os.killpg(self._children.leader, signal.SIGCONT)  # the unreaped leader keeps the number ours

    # --- what happens to the run ---

    def _follow_children(self) -> None:
        if self._attention.child_ended:
            self._attention.child_ended = False
            stopped = self._children.look()
            if stopped and self._terminal and self._report is None:
                self._attention.lines.say({"is": "stopped", "continued": self._continued})
        if self._children.status is not None and not self._told_end and not self._executing:
            self._told_end = True
            self._by_itself = self._report is None
            self._tell_interruptions()
            if self._executed:
                self._attention.lines.say({"is": "ended", "status": self._children.status})

    def _tell_interruptions(self) -> None:
        count = self._attention.interruptions
        if count > self._told_interruptions:
            self._told_interruptions = count
            self._attention.lines.say({"is": "interrupted", "count": count})

    def _grace(self) -> float:
        return float(self._order.get("grace", GRACE_SECONDS))

    # --- the end of it ---

    def _tear_down(self, grace: float) -> None:
        """Once; asked again, the same answer."""
        if self._report is None:
            self._follow_children()
            self._close_gate()
            self._report = self._torn_down(grace if 0 <= grace <= MAX_GRACE_SECONDS else GRACE_SECONDS)
            self._children.look()
            self._children.reap_leader()
        self._attention.lines.say({"is": "torn_down", "report": self._report.document()})

    def _torn_down(self, grace: float) -> TeardownReport:
        if self._terminal:
            os.setpgid(0, 0)  # out of the group that is about to be signalled
        endings = self._attention.endings

        def hurried() -> bool:
            return self._hurried or self._attention.endings > max(1, endings)

        if self._blind:
            return BlindTeardown(self._children, self._attention, self._listen, hurried, self._blind).run(
                grace
            )
        table = TendedTable(self._processes, self._attention, self._listen, self._children.look, hurried)
        try:
            with self._attention.deaf_to_children():
                return tear_down(
                    table,
                    self._membership(),
                    grace=grace,
                    clock=time,
                    sleeper=table,
                    hurried=hurried,
                    leader=self._leader,
                )
        except RuncoordError as error:
            return TeardownReport(emptied=False, problems=(str(error),))

    def _listen(self) -> None:
        """During a teardown: whether the grace is to end."""
        self._tell_interruptions()
        if not self._attention.lines.ended:
            self._pending += self._attention.lines.pull()
        for message in self._pending:
            self._follow_at_any_time(message)

    def _membership(self) -> Membership:
        leader, me = self._children.leader, os.getpid()
        cookie = str(self._order.get("cookie", ""))
        return Membership(
            cookie=cookie,
            group=leader,
            session=0 if self._terminal else me,
            ancestor=me,
            scope=Scope(self._order.get("scope", Scope.TREE)),
            spared=cookie,
        )

    def _close_gate(self) -> None:
        if self._gate is not None:
            os.close(self._gate)
            self._gate = None

    def _end(self) -> None:
        # Without an exec the coordinator knows all there is to know, though it asked for no teardown.
        finished = self._report is not None or not (self._executed or self._executing)
        told = finished and self._closed and self._recorded
        if self._report is None:
            self._tear_down(self._grace())
        self._attention.lines.push()
        path = str(self._order.get("last_words", ""))
        if path and not told:
            write_last_words(path, self._last_words())

    def _last_words(self) -> LastWords:
        return LastWords(
            cookie=str(self._order.get("cookie", "")),
            executed=self._executed,
            status=self._children.status if self._executed else None,
            by_itself=self._by_itself and self._executed,
            interruptions=self._attention.interruptions,
            teardown=self._report,
        )

    def _pinned_leader(self) -> PinnedProcess | None:
        try:
            return self._processes.open(self._processes.identify(self._children.leader))
        except ProbeFailed as error:
            self._blind = error.problem
        except RuncoordError:
            pass  # it was killed at the gate; its unreaped number stands for itself
        return None


def write_last_words(path: str, words: LastWords) -> None:
    """Durably, whole or not at all. Where it cannot be written, recovery does without."""
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(words.document(), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError:
        pass


def _allow_pins() -> None:
    """As many descriptors as a teardown may hold, where the hard limit allows it. The command has been forked
    before, so its limits are the caller's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_PINNED + SPARE_DESCRIPTORS
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
