"""The numbers that must never be signalled from here, and how many forks led to this process."""

from __future__ import annotations

import os


def own_numbers(pid: int) -> frozenset[int]:
    """Init, this process, its group and its session. Read anew each time: they can change.

    A group or session that began outside of our pid namespace is called 0.
    """
    if not hasattr(os, "getsid"):  # Windows has neither groups nor sessions
        return frozenset((1, pid))
    return frozenset((1, pid, os.getpgrp(), os.getsid(0))) - {0}


class Forks:
    """Cheaper to look at than the own pid, which is a system call."""

    def __init__(self) -> None:
        self.generation = 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self.generation += 1


FORKS = Forks()
