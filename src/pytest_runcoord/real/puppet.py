"""A process of a scenario in the real tier: it does what it is told, and says what signals reached it.

Run by its path, as ``python -I -S puppet.py SOCKET LABEL``: it starts in some ten milliseconds, which is why
it takes the built-in modules below the usual ones. It connects to the stage that its scenario plays on, is
told what it is like, and then waits for orders and for signals. All signals are blocked and taken one by one,
so that each can be reported with its sender before it has its effect.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import fcntl
import marshal
import os
import sys

TYPE_CHECKING = False
"""The module ``typing`` would cost half of the start."""
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LARGEST = 64 * 1024
"""Bytes of one message."""
ORDER = signal.SIGIO
"""Sent by the kernel when there is an order."""
HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH, signal.SIGURG, ORDER}
"""By default they end nothing."""
SYS_EXIT = {"x86_64": 60, "aarch64": 93}
RECONNECTED = "-"
"""In the place of the socket's path: the connection is there already, at the descriptor that follows."""


class Puppet:
    """This process. ``plan`` holds the words that describe it, as the stage sent them."""

    def __init__(self, path: str, label: str, inherited: int = -1, asks: bool = False) -> None:
        self.path, self.label = path, label
        self.ignores: set[int] = set()
        self.handles: dict[int, float] = {}
        self.reaps = True
        self.due: list[tuple[float, int]] = []
        self.connect(inherited, asks)

    def connect(self, inherited: int, asks: bool) -> None:
        """To the stage; ``asks``: it has to be told what it is like."""
        if inherited >= 0:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, inherited)
        else:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0)
            self.socket.connect(self.path)
            self.say({"hello": self.label, "asks": asks})

    def say(self, message: dict[str, Any]) -> None:
        self.socket.send(marshal.dumps(message))

    def hear(self) -> dict[str, Any]:
        data = self.socket.recv(LARGEST)
        if not data:
            os._exit(0)  # the stage is gone
        order: dict[str, Any] = marshal.loads(data)
        return order

    # --- what it is like ---

    def begin(self, plan: dict[str, Any]) -> None:
        """Become what the plan says, have the children that it says, then say so."""
        environment = self.environment_by(plan)
        if environment is not None:
            os.set_inheritable(self.socket.fileno(), True)
            arguments = [sys.argv[0], RECONNECTED, self.label, str(self.socket.fileno()), self.path]
            os.execve(sys.executable, [sys.executable, "-I", "-S", *arguments], environment)
        if plan.get("setsid") and os.getpid() != os.getsid(0):
            os.setsid()
        elif plan.get("own_group") and os.getpid() != os.getpgid(0):
            os.setpgid(0, 0)
        with open("/proc/self/comm", "w") as name:
            name.write(str(plan["program"]))
        self.listen()
        self.change(plan)
        for child in plan["children"]:
            self.fork(child)
        self.say({"ready": self.label})

    def environment_by(self, plan: dict[str, Any]) -> dict[str, str] | None:
        """The environment that it has to be executed with, if it has another one."""
        if plan.pop("clears_environment", False):
            return {}
        mark = plan.pop("handed_over", "")
        return {**os.environ, "RUNCOORD_HANDED_OVER": mark} if mark else None

    def listen(self) -> None:
        fd = self.socket.fileno()
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)

    def change(self, words: dict[str, Any]) -> None:
        self.ignores |= set(words.get("ignores", ()))
        for number, seconds in words.get("handles", ()):
            self.ignores.discard(number)
            self.handles[number] = seconds
        self.reaps = not words.get("never_reaps", not self.reaps)

    def fork(self, plan: dict[str, Any]) -> None:
        """Have a child. A daemon's parent in between ends, and is reaped."""
        pid = os.fork()
        if pid:
            if plan["double_fork"]:
                os.waitpid(pid, 0)
            return
        try:
            if plan["double_fork"]:
                os.setsid()
                if os.fork():
                    os._exit(0)
                plan["setsid"] = True
            self.socket.close()
            child = Puppet(self.path, str(plan["label"]))
            child.begin(plan)
            child.live()
        finally:
            os._exit(70)

    # --- its life ---

    def live(self) -> None:
        """Take orders and signals until one of them ends it."""
        self.obey_all()
        while True:
            info = signal.sigtimedwait(ALL, self.seconds_left())
            if info is None:
                os._exit(0)  # what it did about a signal is done
            if info.si_signo == ORDER:
                self.obey_all()
            elif info.si_signo == signal.SIGCHLD:
                self.reap()
            else:
                self.meet(info.si_signo, info.si_pid)

    def seconds_left(self) -> float:
        return max(0.0, self.due[0][0] - now()) if self.due else 3600.0

    def meet(self, number: int, sender: int) -> None:
        """A signal has come: report it, then do what it does."""
        if number in (signal.SIGIO, signal.SIGCHLD):
            return
        self.say({"signal": number, "from": sender})
        if number in self.ignores:
            return
        seconds = self.handles.get(number)
        if seconds is not None:
            if seconds >= 0:  # below that the world says when
                self.due = sorted([*self.due, (now() + seconds, number)])
            return
        if number not in HARMLESS:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
            os.kill(os.getpid(), number)

    def reap(self) -> None:
        try:
            while self.reaps and os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    def obey_all(self) -> None:
        while True:
            try:
                order = self.hear()
            except BlockingIOError:
                return
            try:
                self.obey(order)
                answer = {"done": order["number"]}
            except OSError as error:
                answer = {"done": order["number"], "error": f"{order['do']}: {error.strerror}"}
            self.say(answer)

    def obey(self, order: dict[str, Any]) -> None:
        do = order["do"]
        if do == "exit":
            self.say({"done": order["number"]})
            os._exit(int(order["status"]))
        elif do == "fork":
            self.fork(order["plan"])
        elif do == "setsid":
            os.setsid()
        elif do == "change":
            self.change(order["words"])
            self.reap()
        elif do == "end_first_thread":
            self.say({"done": order["number"]})
            end_first_thread(self.live)
        elif do == "clear_environment":
            self.say({"done": order["number"]})
            self.begin({"clears_environment": True})  # is executed anew, and told again


def now() -> float:
    import time

    return time.monotonic()


def end_first_thread(go_on: Callable[[], None]) -> None:
    """Another thread goes on, and the first one ends: the process looks like a zombie, and lives."""
    import _thread
    import ctypes

    _thread.start_new_thread(go_on, ())
    ctypes.CDLL(None).syscall(ctypes.c_long(SYS_EXIT[os.uname().machine]), ctypes.c_long(0))


ALL = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


def main() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
    path, label = sys.argv[1:3]
    again = path == RECONNECTED
    puppet = Puppet(sys.argv[4] if again else path, label, int(sys.argv[3]) if again else -1, not again)
    if again:
        puppet.say({"again": label})
    plan = puppet.hear()
    if plan["double_fork"]:
        if os.fork():
            os._exit(0)
        os.setsid()
        plan["double_fork"] = False
        puppet = Puppet(path, label)
    puppet.begin(plan)
    puppet.live()


if __name__ == "__main__":
    main()
