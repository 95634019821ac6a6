"""The init of a stage: the first process of a private namespace, which starts, watches and reaps all others.

It alone says what is true of the processes of a scenario: it holds each of them by a descriptor, reaps those
that are its children, and hears from puppets which signals reached them. When its world goes away it ends,
and the kernel ends everything in its namespace.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_runcoord.real import puppet
from pytest_runcoord.real.forking import fork_incarnation, fork_puppet
from pytest_runcoord.real.members import Member, environment_of, exit_code, line_of, stat_of
from pytest_runcoord.real.passing import Hung, Packet, put, take

WAIT_SECONDS = 20.0
"""How long one request may wait for what processes do."""
TRIES_FOR_A_PID = 60
"""How often a number is tried for; another process may take it."""
BACKLOG = 256
SEIZE, TRACE_EXIT, CONTINUE_TRACE, WALL = 0x4206, 0x40, 7, 0x40000000


class Init:
    """Serves the world on ``control``; puppets connect at ``path``."""

    def __init__(self, control: socket.socket, path: str) -> None:
        self.control, self.path = control, path
        self.members: list[Member] = []
        self.by_pid: dict[int, Member] = {}
        self.statuses: dict[int, int] = {}
        self.plans: dict[str, dict[str, Any]] = {}
        self.kept: set[int] = set()
        """Own children that are reaped only when asked for."""
        self.reaping = True
        self.orders = 0
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.door.bind(path)
        self.door.listen(BACKLOG)
        self.door.setblocking(False)
        self.woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Until the world closes its end."""
        put(self.control, {"ready": True})
        with contextlib.suppress(Hung):
            while True:
                self.turn(None, [self.control])
                if select.select([self.control], [], [], 0)[0]:
                    packet = take(self.control)
                    try:
                        answer = self.carry_out(packet)
                    except Exception as error:  # noqa: BLE001  the world is told, and goes on
                        answer = {"failed": f"{packet.value['do']}: {error!r}"}
                    put(self.control, answer)
        os._exit(0)

    # --- events ---

    def turn(self, seconds: float | None, also: list[socket.socket] | None = None) -> bool:
        """Take in what happened, waiting up to so long for something to. Whether something did."""
        links = {each.link: each for each in self.members if each.link is not None}
        held = {each.pidfd: each for each in self.members if not each.ended}
        watched: list[Any] = [*links, *held, self.door, self.woken, *(also or ())]
        found = select.poll()
        by_number: dict[int, Any] = {}
        for each in watched:
            number = each if isinstance(each, int) else each.fileno()
            by_number[number] = each
            found.register(number, select.POLLIN)
        events = found.poll(None if seconds is None else max(0, int(seconds * 1000)))
        happened = [by_number[number] for number, _ in events]
        for each in happened:
            if each is self.door:
                self.let_in()
            elif each == self.woken:
                os.read(self.woken, 4096)
            elif each in links:
                self.hear(links[each])
        self.reap()
        for each in happened:
            if isinstance(each, int) and each in held:
                self.note_end(held[each])
        return bool(happened)

    def until(self, done: Callable[[], bool], seconds: float = WAIT_SECONDS) -> bool:
        """Take in events until something is so, or the time is over."""
        end = time.monotonic() + seconds
        while not done():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.turn(min(left, 1.0))
        return True

    def let_in(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                link, _ = self.door.accept()
                self.welcome(link)

    def welcome(self, link: socket.socket) -> None:
        """A puppet has come: by the kernel's word, not its own, this is its pid."""
        pid = struct.unpack("iii", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        member = self.met(pid)
        if member is None:
            link.close()
            return
        link.setblocking(False)
        member.link, member.gate = link, False

    def hear(self, member: Member) -> None:
        assert member.link is not None
        while member.link is not None:
            try:
                data = member.link.recv(puppet.LARGEST)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                member.link.close()
                member.link = None
                return
            self.understand(member, marshal.loads(data))

    def understand(self, member: Member, said: dict[str, Any]) -> None:
        if "hello" in said:
            member.label = said["hello"]
            if said["asks"]:
                self.send(member, self.plans[member.label])
        elif "again" in said:
            same = {"clears_environment": False, "handed_over": "", "double_fork": False}
            again = {**self.plans[member.label], **same}
            self.send(member, {**again, "children": []} if member.ready else again)
        elif "ready" in said:
            member.ready = True
        elif "signal" in said:
            member.heard.append([said["signal"], said["from"]])
        elif "done" in said:
            member.answers[said["done"]] = said.get("error", "")

    def send(self, member: Member, message: dict[str, Any]) -> None:
        assert member.link is not None
        with contextlib.suppress(OSError):
            member.link.send(marshal.dumps(message))

    def met(self, pid: int) -> Member | None:
        """The member with this pid, new if need be; ``None`` when it has ended already."""
        known = self.by_pid.get(pid)
        if known is not None and not known.ended:
            return known
        try:
            pidfd = os.pidfd_open(pid)
            start = int(stat_of(pid)[19])
        except (OSError, IndexError):
            return None
        member = Member(len(self.members), pid, pidfd, start)
        self.members.append(member)
        self.by_pid[pid] = member
        return member

    # --- ends ---

    def reap(self) -> None:
        """Ask for the end of own children: init's duty, unless it is told to neglect it."""
        while True:
            try:
                seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if seen is None:
                return
            if seen.si_code == os.CLD_TRAPPED:
                self._meet_at_the_end(seen.si_pid)
                continue
            if not self.reaping and seen.si_pid in self.by_pid:
                return
            pid, status = os.waitpid(seen.si_pid, 0)
            self.statuses[pid] = os.waitstatus_to_exitcode(status)
            member = self.by_pid.get(pid)
            if member is not None:
                member.status = self.statuses[pid]
                self.note_end(member)

    def _meet_at_the_end(self, pid: int) -> None:
        """A process that is held is about to end; it stays there for as long as it is held."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, WALL)
        member = self.by_pid.get(pid)
        if member is None or not member.seized:
            trace(CONTINUE_TRACE, pid)

    def note_end(self, member: Member) -> None:
        if member.ended:
            return
        if member.link is not None:
            self.hear(member)
        member.ended = True

    def status_of(self, member: Member) -> int | None:
        if member.status is None and member.ended:
            member.status = exit_code(member.pidfd)
        return member.status

    # --- what the world asks ---

    def carry_out(self, packet: Packet) -> dict[str, Any]:
        ask = packet.value
        do = ask["do"]
        if do == "incarnate":
            return self.incarnate(ask, packet.files)
        if do == "look":
            return self.look(ask)
        if do == "plans":
            self.plans.update(ask["plans"])
            return {}
        if do == "environment":
            return {"environment": environment_of(self.members[ask["member"]].pid)}
        if do == "puppet":
            return self.start_puppet(ask)
        if do == "await":
            return self.wait_ready(ask["labels"])
        if do == "order":
            return self.order(ask)
        if do == "signal":
            return self.signal(self.members[ask["member"]], ask["signal"], ask["ended"])
        if do == "end":
            ending = self.members[ask["member"]]
            return {} if self.until(lambda: ending.ended) else {"failed": f"{ending.label} does not end"}
        if do == "reaping":
            self.reaping = ask["on"]
            self.reap()
            return {}
        if do == "seize":
            return self.seize(self.members[ask["member"]], ask["on"])
        return {"failed": f"unknown: {do}"}

    def incarnate(self, ask: dict[str, Any], files: tuple[int, ...]) -> dict[str, Any]:
        """Start the process of an incarnation, on the given wire and file for complaints."""
        member = self.met(fork_incarnation(ask, files))
        if member is None:
            return {"failed": "the process of an incarnation did not start"}
        member.label = ask["label"]
        return {"member": self.told(member)}

    def start_puppet(self, ask: dict[str, Any]) -> dict[str, Any]:
        """Start a puppet that is a child of this init; with ``pid``: by all means with that number."""
        wanted = ask["pid"]
        for _ in range(TRIES_FOR_A_PID if wanted else 1):
            if wanted:
                Path("/proc/sys/kernel/ns_last_pid").write_text(str(wanted - 1))
            pid = fork_puppet(self.path, ask["label"], ask["environment"], wanted)
            if wanted in (0, pid):
                return self._when_ready(pid)
            self._until_reaped(pid)
        return {"failed": f"the number {wanted} was not given again in {TRIES_FOR_A_PID} tries"}

    def _when_ready(self, pid: int) -> dict[str, Any]:
        member = self.met(pid)
        if member is None:
            return {"failed": "a process did not start"}
        self.until(lambda: member.ready or member.ended)
        return {"member": self.told(member)}

    def _until_reaped(self, pid: int) -> None:
        self.until(lambda: pid in self.statuses)
        self.statuses.pop(pid, None)

    def wait_ready(self, labels: list[str]) -> dict[str, Any]:
        def missing() -> list[str]:
            here = {each.label for each in self.members if each.ready or each.ended}
            return [each for each in labels if each not in here]

        self.until(lambda: not missing())
        left = missing()
        return {"failed": f"not there after {WAIT_SECONDS:g} s: {', '.join(left)}"} if left else {}

    def order(self, ask: dict[str, Any]) -> dict[str, Any]:
        """Give a puppet an order, and wait until it is carried out or the puppet has ended."""
        member = self.members[ask["member"]]
        self.orders += 1
        number = self.orders
        if member.link is None:
            return {"failed": f"{member.label} takes no orders any more"}
        self.send(member, {**ask["order"], "number": number})
        if ask.get("patient", True):
            self.until(lambda: number in member.answers or member.ended)
        if ask["order"]["do"] == "exit":
            self.until(lambda: member.ended)
        error = member.answers.get(number, "")
        return {"failed": error} if error else {}

    def signal(self, member: Member, number: int, ended: bool) -> dict[str, Any]:
        """Send a signal by the pinned process; with ``ended`` wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(member.pidfd, number)
        if ended:
            self.until(lambda: member.ended)
        return {}

    def seize(self, member: Member, on: bool) -> dict[str, Any]:
        """Hold a process at the point where it would end: no signal ends it then. Or let it go."""
        if on and (number := trace(SEIZE, member.pid, TRACE_EXIT)):
            return {"failed": f"it cannot be held: {os.strerror(number)}"}
        if not on:
            trace(CONTINUE_TRACE, member.pid)  # where it is at its end already
        member.seized = on
        return {}

    def look(self, ask: dict[str, Any]) -> dict[str, Any]:
        """What is true of everybody; with ``wait`` after something happened, or that many seconds."""
        if ask["wait"]:
            self.turn(ask["wait"])
        else:
            while self.turn(0):
                pass
        self.adopt()
        return {"members": [self.told(each) for each in self.members]}

    def adopt(self) -> None:
        """Find who carries a cookie and is no puppet: shims, and commands behind their gate."""
        for entry in Path("/proc").iterdir():
            pid = int(entry.name) if entry.name.isdigit() else 0
            known = self.by_pid.get(pid)
            if pid <= 1 or (known is not None and not known.ended):
                continue
            line = line_of(pid)
            if line and (member := self.met(pid)) is not None:
                member.cookies, member.gate = line, True

    def told(self, member: Member) -> dict[str, Any]:
        heard, member.heard = member.heard, []
        stat = [] if member.ended and member.status is not None else stat_of(member.pid)
        here = bool(stat) and int(stat[19]) == member.start and self.by_pid.get(member.pid) is member
        return {
            "number": member.number,
            "pid": member.pid,
            "start": member.start,
            "label": member.label,
            "cookies": member.cookies,
            "gate": member.gate,
            "ready": member.ready,
            "ended": member.ended,
            "status": self.status_of(member),
            "state": stat[0] if here else "",
            "parent": int(stat[1]) if here else 0,
            "group": int(stat[2]) if here else 0,
            "session": int(stat[3]) if here else 0,
            "heard": heard,
        }


def trace(request: int, pid: int, data: int = 0) -> int:
    """Do something to a traced process; gives the number of the error, 0 for none."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return 0 if libc.ptrace(request, pid, None, data) == 0 else ctypes.get_errno()
