"""What can be wrong with the tasks of a subject, in words that name the task and the line where it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import PurePath
from types import CodeType
from typing import Any

from pytest_runcoord.subjects.answers import Nonsense

NAMED_TASKS = 5
"""Tasks that one message names; the others are counted."""


class LoopFault(Nonsense):
    """Coroutines or tasks of a subject did what they must not. ``error``: what one of them raised, if so.

    The problem follows on the name of what was asked: a verb, or the timer that the loop is.
    """

    def __init__(
        self, problem: str, *, expected: str, remedy: str = "", error: BaseException | None = None
    ) -> None:
        super().__init__(problem, expected, remedy)
        self.error = error


class OutOfReach(NotImplementedError):
    """What was asked of the loop needs sockets, pipes or processes, which have no virtual time."""

    def __init__(self, method: str) -> None:
        super().__init__(
            f"a loop on virtual time has no {method}(): real sockets, pipes and processes do not wait for "
            "its clock. Give the subject what stands for them here, or run it as a program of its own."
        )


def name_of(task: asyncio.Task[Any]) -> str:
    """The name that its program gave a task, or that of its coroutine: numbered names differ between runs."""
    name = task.get_name()
    if not name.startswith("Task-"):
        return name
    return str(getattr(task.get_coro(), "__qualname__", name))


def place_of(task: asyncio.Task[Any]) -> str:
    """Where a task waits: the innermost line that is not asyncio's own, such as ``worker.py:42, in beat``."""
    place = ""
    coroutine: Any = task.get_coro()
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        if not place or not _is_asyncio(frame.f_globals):
            place = _line(frame.f_code, frame.f_lineno)
        coroutine = getattr(coroutine, "cr_await", None)
    return place


def named(tasks: Iterable[asyncio.Task[Any]]) -> str:
    """Tasks by name and place."""
    listed = [f"{name_of(task)!r} ({place_of(task) or 'not begun'})" for task in tasks]
    more = f" and {len(listed) - NAMED_TASKS} more" if len(listed) > NAMED_TASKS else ""
    return ", ".join(listed[:NAMED_TASKS]) + more


def never_comes(task: asyncio.Task[Any], why: str) -> LoopFault:
    """A verb waits, and nothing will end that."""
    return LoopFault(
        f"waits for what never comes: {why}; it stands at {place_of(task) or 'its beginning'}",
        expected="that it returns",
        remedy="Look for what should have woken it: a task that ended, an event that nobody sets.",
    )


def goes_round(who: str, steps: int) -> LoopFault:
    """A task is ready again at once, for ever."""
    return LoopFault(
        f"goes round without time passing, in {who}: {steps} steps at one instant",
        expected="that it waits, or ends",
        remedy="Let it sleep for some time in its loop, or wait for an event.",
    )


def kept_busy(seconds: float) -> LoopFault:
    """Threads wake the loop again and again."""
    return LoopFault(
        f"was kept busy by threads for {seconds:g} s of real time",
        expected="that they come to rest",
        remedy="Threads have no virtual time: run the subject without them, or as a program of its own.",
    )


def task_failed(task: asyncio.Task[Any], error: BaseException) -> LoopFault:
    """A task that nobody awaits ended with an error."""
    trace = error.__traceback__
    at = f" (at {_line(trace.tb_frame.f_code, trace.tb_lineno)})" if trace is not None else ""
    return LoopFault(
        f"saw the task {name_of(task)!r} end with {type(error).__name__}: {error}{at}",
        expected="that a task which nobody awaits handles its errors",
        remedy="Handle it in the task, or look at it in add_done_callback: else nobody would be told.",
        error=error,
    )


def left_running(tasks: Iterable[asyncio.Task[Any]]) -> LoopFault:
    """An owner was closed, and tasks of it go on."""
    tasks = list(tasks)
    which = "a task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    return LoopFault(
        f"left {which} running: {named(tasks)}",
        expected="that it ends them",
        remedy="Cancel each of them in close(), and await it.",
    )


def was_cancelled() -> LoopFault:
    """A verb ended as cancelled, though nobody outside asked for that."""
    return LoopFault(
        "was cancelled by the subject itself",
        expected="an answer or a refusal",
        remedy="Handle CancelledError where the subject cancels what it awaits.",
    )


def reported(context: dict[str, Any]) -> LoopFault:
    """What a loop tells its exception handler."""
    error = context.get("exception")
    task = context.get("task")
    if isinstance(task, asyncio.Task) and error is not None:
        return task_failed(task, error)
    what = f": {type(error).__name__}: {error}" if error is not None else ""
    return LoopFault(
        f"saw an error that nobody handled: {context.get('message') or 'in the event loop'}{what}",
        expected="that callbacks handle their errors",
        remedy="Handle it in the callback: in production it would be a line in a log.",
        error=error,
    )


def _line(code: CodeType, line: int) -> str:
    return f"{PurePath(code.co_filename).name}:{line}, in {code.co_name}"


def _is_asyncio(names: dict[str, Any]) -> bool:
    return str(names.get("__name__", "")).partition(".")[0] == "asyncio"
