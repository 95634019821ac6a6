"""The first instructions of a shim, executed as a file: ``python -I -S start.py CONTROL MODE``.

``CONTROL`` is the number of the socket that leads to the coordinator, ``MODE`` is ``session`` or
``terminal``. Only what is needed to fork the command is imported here: the coordinator identifies and records
it while the rest is loaded, which takes longer than all of this.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

FIRST_FREE = 3
"""Descriptors below this one are the command's standard streams."""


def main() -> None:
    gc.disable()  # until all is loaded, see tend()
    control, mode = int(sys.argv[1]), sys.argv[2]
    # Behind the standard library, so that nothing beside this package is taken for a part of it.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    try:
        os.set_inheritable(control, False)
        parts = _started(control, mode)
    except OSError as error:
        _say(control, f'{{"is": "failed", "stage": "shim", "errno": {error.errno or 0}}}\n')
        os._exit(1)
    from runcoord._shim.tending import tend

    tend(*parts)


def _started(control: int, mode: str) -> tuple[int, int, int, int, int, bool]:
    coordinator = _hold_the_coordinator()
    if mode == "session":
        # The coordinator's child ends at once, and what it is told about its children stays as it was.
        if os.fork():
            os._exit(0)
        os.setsid()
    os.chdir("/")
    from runcoord._shim.gate import be_the_command

    gate_out, gate = os.pipe()
    failure, failure_in = os.pipe()
    # Until each has its own ways to take signals: the command before its exec, the shim in tend().
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    leader = os.fork()
    if leader == 0:
        be_the_command(gate_out, failure_in, (control, gate, failure))
    os.close(gate_out)
    os.close(failure_in)
    try:  # noqa: SIM105 - loading contextlib for it would take longer
        os.setpgid(leader, leader)
    except OSError:
        pass  # it has done so itself
    if mode == "terminal":
        os.setpgid(0, leader)
    _let_go_of_streams()
    _say(control, f'{{"is": "ready", "shim": {os.getpid()}, "leader": {leader}}}\n')
    return control, coordinator, leader, gate, failure, mode == "terminal"


def _hold_the_coordinator() -> int:
    """A pidfd of it, or -1 where there are none. The socket's end alone does not tell that it is gone: a
    process that it forked may have a copy."""
    parent = os.getppid()
    try:
        held = os.pidfd_open(parent)
    except (OSError, AttributeError):
        return -1
    if os.getppid() != parent:  # it has ended already, and somebody else may have had its number
        os._exit(1)
    return held


def _let_go_of_streams() -> None:
    """Who reads the command's output must not wait for this process to end."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(FIRST_FREE):
        os.dup2(null, stream)
    if null >= FIRST_FREE:
        os.close(null)


def _say(control: int, line: str) -> None:
    try:  # noqa: SIM105 - the same
        os.write(control, line.encode())
    except OSError:
        pass  # the coordinator is gone, which is noticed later


if __name__ == "__main__":
    main()
