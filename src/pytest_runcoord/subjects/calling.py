"""Calls into a subject: with a bound, in the world's time if it asks for that, and with its faults named."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from pytest_runcoord.subjects.answers import Nonsense
from pytest_runcoord.subjects.bounded import Bound, Overdue
from pytest_runcoord.subjects.remedies import what_to_do
from pytest_runcoord.world_errors import SubjectFault

VERB_SECONDS = 30.0
"""Real time that a call into a subject may take: a thousand times what one takes, and short enough for a run
to go on. ``verb_seconds`` of a subject says otherwise."""
MAX_VERB_SECONDS = 3_600.0
"""The most that a subject may ask for."""
AFTER_A_HANG_SECONDS = 2.0
"""The same for the calls that end a scenario in which one hung: the rest will hang too."""
OF_THE_USER = (KeyboardInterrupt, pytest.skip.Exception, pytest.fail.Exception, pytest.exit.Exception)
"""What goes past a subject: an interrupt, and what its author says to pytest."""
OF_THE_WORLD = "pytest_runcoord"
"""The package of what goes past it too: crashes, and bounds that were reached."""
NEAR_FRAMES = 200
"""Frames of a traceback that are looked through for the line of the subject."""


OF_A_FORK = 70
"""Exit status of a child process that came back out of a call (an internal error, in sysexits.h)."""


class Calls:
    """The calls into one subject in one scenario."""

    def __init__(self, name: str, seconds: float = VERB_SECONDS) -> None:
        self.name, self._seconds = name, seconds
        self.time: Callable[[], AbstractContextManager[object]] = nullcontext
        """What the time is made by while a call is under way."""

    def make(
        self,
        verb: str,
        call: Callable[[], Any],
        refused: Callable[[BaseException], BaseException | None] | None = None,
    ) -> Any:
        """What ``call`` gives. What it raises is raised as a :class:`SubjectFault`, unless ``refused`` finds
        a refusal in it: then that."""
        bound, process = Bound(self._seconds), os.getpid()
        try:
            try:
                with bound, self.time():
                    gave = call()
            finally:
                if os.getpid() != process:  # a fork that came back: there is one run of pytest, not two
                    os._exit(OF_A_FORK)
            if inspect.iscoroutine(gave):
                gave.close()
                raise Nonsense("gave a coroutine", "a plain method: this is no verb")
        except SubjectFault:
            raise
        except Nonsense as wrong:
            raise (self._hung(verb) if bound.rang else self.fault(verb, wrong)) from wrong
        except Overdue as overdue:
            if overdue.bound is not bound:
                raise
            raise self._hung(verb) from overdue
        except pytest.xfail.Exception as error:  # a known failure is one by the project's table only
            raise raised(self.name, verb, error) from error
        except OF_THE_USER:
            raise
        except BaseException as error:
            of_the_world = type(error).__module__.partition(".")[0] == OF_THE_WORLD
            if of_the_world and not isinstance(error, NotImplementedError):  # which a loop answers it with
                raise
            if bound.rang:  # it made another error, or a refusal, of its end
                raise self._hung(verb) from error
            refusal = refused(error) if refused is not None else None
            if refusal is error:
                raise
            if refusal is not None:
                raise refusal from error
            raise raised(self.name, verb, error) from error
        if bound.rang:
            raise self._hung(verb)
        return gave

    def _hung(self, verb: str) -> SubjectFault:
        seconds, self._seconds = self._seconds, min(self._seconds, AFTER_A_HANG_SECONDS)
        return SubjectFault(
            verb,
            subject=self.name,
            problem=f"did not return within {seconds:g} s of real time",
            remedy="Wait by the clock and the sleeper of the world, or with a bound; verb_seconds of the "
            "subject allows more time.",
        )

    def fault(self, verb: str, wrong: Nonsense) -> SubjectFault:
        """What is wrong with what a verb gave or did."""
        return SubjectFault(
            verb, subject=self.name, problem=wrong.problem, expected=wrong.expected, remedy=wrong.remedy
        )


def raised(name: str, verb: str, error: BaseException) -> SubjectFault:
    """An error that is no refusal."""
    seen = f"{type(error).__name__} raised{_where(error)}"
    return SubjectFault(verb, error, subject=name, seen=seen, remedy=what_to_do(verb, error))


def _where(error: BaseException) -> str:
    """The line that raised: the innermost one that is not the harness's."""
    found, trace = "", error.__traceback__
    for _ in range(NEAR_FRAMES):
        if trace is None:
            break
        frame = trace.tb_frame
        if not str(frame.f_globals.get("__name__", "")).startswith("pytest_runcoord."):
            found = f" at {frame.f_code.co_filename}:{trace.tb_lineno}, in {frame.f_code.co_name}"
        trace = trace.tb_next
    return found
