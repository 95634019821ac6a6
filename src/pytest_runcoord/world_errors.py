"""How a scenario can end before its last step."""

from __future__ import annotations

from typing import Protocol

from runcoord.errors import Happened

MAX_WORDS = 300
"""Characters of what an error of a subject says, in a message."""


def printable(text: str) -> str:
    """A text as any terminal can show it and any pipe take it: no control characters but line ends, no halves
    of surrogate pairs, which names that are not UTF-8 are read as."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)


def words_of(error: BaseException | None) -> str:
    """What an error says, on one line of a bounded length, whatever its ``str`` does."""
    try:
        text = str(error)
    except (Exception, SystemExit) as other:  # noqa: BLE001  its own, not ours
        return f"(its text cannot be had: {type(other).__name__})"
    text = printable(" ".join(text[: MAX_WORDS * 4].split()))
    return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1] + "…"


class ScenarioMistake(Exception):
    """The scenario asks for what makes no sense in this world, such as opening an owner twice.

    ``remedy`` says what to write instead, where that is known.
    """

    def __init__(
        self, problem: str, remedy: str = "Change the scenario: this step makes no sense here."
    ) -> None:
        super().__init__(problem)
        self.remedy = remedy


class BoundReached(BaseException):
    """The scenario does not end within its bounds. ``remedy`` says what to do."""

    def __init__(self, problem: str, remedy: str = "Look for a loop.") -> None:
        super().__init__(problem)
        self.remedy = remedy


class CannotBeReal(BaseException):
    """What a scenario asks for cannot be made for real here; its real variant is skipped with this reason."""


class Denied(Exception):
    """The subject refused a verb, or could not carry it out; ``code`` is the harness's name for that."""

    def __init__(self, code: str, error: BaseException, happened: Happened) -> None:
        super().__init__(words_of(error))
        self.code, self.error, self.happened = code, error, happened


LEAK = "leak"
"""What stands for the verb where something was left behind."""


class SubjectFault(Exception):
    """The subject did what it must not: raised what is no refusal, gave nonsense, did not return, left
    something behind. ``problem`` says what, unless it is ``error``, which it raised."""

    def __init__(
        self,
        verb: str,
        error: BaseException | None = None,
        *,
        subject: str = "",
        problem: str = "",
        expected: str = "an answer or a refusal",
        seen: str = "",
        remedy: str = "",
    ) -> None:
        problem = problem or f"raised {type(error).__name__}: {words_of(error)}"
        said = problem if verb == LEAK else f"{verb} {problem}"
        super().__init__(f"the subject {subject}: {said}" if subject else said)
        self.verb, self.error, self.expected, self.remedy = verb, error, expected, remedy
        self.seen = seen or ("" if error is None else f"{type(error).__name__}: {words_of(error)}")


class Refusing(Protocol):
    """What knows a subject's refusals."""

    def refusal(self, error: BaseException) -> str | None: ...


def classified(subject: Refusing, verb: str, error: Exception) -> Exception:
    """What an error is that a verb of the subject raised: its refusal, or its fault."""
    if isinstance(error, SubjectFault):
        return error
    code = subject.refusal(error)
    if code is None:
        return SubjectFault(verb, error)
    happened = getattr(error, "happened", None)
    return Denied(code, error, happened if isinstance(happened, Happened) else Happened.NO)


class FailedMeanwhile(BaseException):
    """Something failed while code under test was in the middle of a call; that code must not handle it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class MomentMissed(Exception):
    """A moment that a step waits for was never reached."""

    def __init__(self, moment: str) -> None:
        super().__init__(f"the moment {moment!r} was never reached")
        self.moment = moment
