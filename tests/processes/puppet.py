"""A process that does what it is told through a socket, and ends when nobody is there to tell it anything.

``python -I -S puppet.py SOCKET [group] [session] [orphan]``; its environment is the one that it was given.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
import threading

LONGEST_LIFE_SECONDS = 60.0
SYS_EXIT = {"x86_64": 60, "aarch64": 93, "riscv64": 93}


def begin(flags: list[str]) -> None:
    if "orphan" in flags and os.fork():
        os._exit(0)
    if "session" in flags:
        os.setsid()
    if "group" in flags:
        os.setpgid(0, 0)


def start_child(order: dict[str, object]) -> dict[str, object]:
    environment = order["environment"]
    flags = order["flags"]
    assert isinstance(environment, dict)
    assert isinstance(flags, list)
    pid = os.fork()
    if not pid:
        try:
            os.execve(sys.executable, [*command(sys.argv[1]), *flags], environment)
        finally:
            os._exit(127)
    if "orphan" in flags:
        os.waitpid(pid, 0)
    return {"pid": pid}


def command(path: str) -> list[str]:
    return [sys.executable, "-I", "-S", __file__, path]


def end_this_thread() -> None:
    """The thread alone, by the system call: Python would end the process."""
    import ctypes

    ctypes.CDLL(None).syscall(SYS_EXIT[platform.machine()], 0)


def serve(connection: socket.socket) -> None:
    lines = connection.makefile("rb")
    for line in lines:
        order = json.loads(line)
        answer: dict[str, object] = {}
        match order["do"]:
            case "start":
                answer = start_child(order)
            case "reap":
                _, status = os.waitpid(order["pid"], 0)
                answer = {"status": os.waitstatus_to_exitcode(status)}
            case "end":
                os._exit(order["status"])
            case "execute":
                os.execve(sys.executable, command(sys.argv[1]), order["environment"])
            case "thread":
                threading.Thread(target=serve, args=(connection,)).start()
                end_this_thread()
        connection.sendall(json.dumps(answer).encode() + b"\n")
    os._exit(0)


def main() -> None:
    begin(sys.argv[2:])
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(LONGEST_LIFE_SECONDS)
    connection.connect(sys.argv[1])
    connection.sendall(f"{os.getpid()}\n".encode())
    try:
        serve(connection)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
