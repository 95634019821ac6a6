"""Every error that runcoord raises on purpose.

Two families. A :class:`Refused` says that a rule forbade the request: nothing changed, and repeating
it unchanged will be refused again. A :class:`StoreError` says that the store could not carry the
request out; its :attr:`~RuncoordError.happened` tells whether the write may have landed. That split of
definite and indefinite failures follows Jepsen's and Maelstrom's error model.

Each class has a stable :attr:`~RuncoordError.code`, which is what scenarios, ``--json`` output and
foreign subjects use to name a refusal.
"""

from __future__ import annotations

import enum

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from typing import Any, ClassVar


class Happened(enum.StrEnum):
    """Whether the requested change is in the store."""

    NO = "no"
    MAYBE = "maybe"
    YES = "yes"
    """A part of it: a command was accepted as a run, and could not be started. The details name the run."""


class RuncoordError(Exception):
    """Base of all errors of this package.

    ``details`` holds the offending values as plain JSON types, ``remedy`` one sentence on what to do.
    """

    code: ClassVar[str] = "error"

    def __init__(self, problem: str, *, remedy: str = "", happened: Happened = Happened.NO, **details: Any):
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.happened = happened
        self.details = details

    def __str__(self) -> str:
        text = self.problem
        if self.happened is Happened.MAYBE:
            text += "; it may have happened"
        if self.remedy:
            text += f". {self.remedy}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.problem, self.remedy, self.happened, self.details)


def _rebuild(
    kind: type[RuncoordError], problem: str, remedy: str, happened: Happened, details: dict[str, Any]
) -> RuncoordError:
    return kind(problem, remedy=remedy, happened=happened, **details)


# --- refusals: a rule said no, nothing changed ---------------------------------------------------


class Refused(RuncoordError):
    """A rule forbade the request. Nothing changed."""

    code = "refused"


class InvalidRequest(Refused):
    """A value of the request is outside what is accepted (type, size, characters, range)."""

    code = "invalid-request"


class InvalidConfiguration(Refused):
    """Settings that cannot work together, such as a renewal interval longer than the lease."""

    code = "invalid-configuration"


class UnknownRun(Refused):
    """No run has this id."""

    code = "unknown-run"


class UnknownEvent(Refused):
    """No event has this id."""

    code = "unknown-event"


class LeaseHeld(Refused):
    """Another owner holds an unexpired lease on the run."""

    code = "lease-held"


class LeaseLost(Refused):
    """Somebody acquired the run after this lease was given: the epoch has moved on."""

    code = "lease-lost"


class LeaseExpired(Refused):
    """The lease ran out, but nobody acquired the run since; it can be re-acquired."""

    code = "lease-expired"


class AlreadyStarted(Refused):
    """The run's work has begun; it is never handed out a second time."""

    code = "already-started"


class NotStarted(Refused):
    """The request needs a run whose work has begun."""

    code = "not-started"


class AlreadyFinished(Refused):
    """The run has its outcome, which never changes."""

    code = "already-finished"


class KeyConflict(Refused):
    """The idempotency key was used before with other content."""

    code = "key-conflict"


class NotRetryable(Refused):
    """Only failed and interrupted runs may be retried."""

    code = "not-retryable"


class StaleDelivery(Refused):
    """An answer to a delivery attempt that is no longer the current one."""

    code = "stale-delivery"


class WorkCancelled(Refused):
    """The work must not have another effect: its run was stopped, or its lease was lost."""

    code = "work-cancelled"


class EffectsBlocked(Refused):
    """The holder's own trust in its lease has ended; effects wait until it is renewed or re-acquired."""

    code = "effects-blocked"


# --- processes: nothing of the store was touched ---------------------------------------------------


class ProcessError(RuncoordError):
    """Something could not be done to a process."""

    code = "process-error"


class ProcessGone(ProcessError):
    """The process has ended; its pid may belong to another one by now."""

    code = "process-gone"


class ProbeFailed(ProcessError):
    """The system did not say what was asked of a process. Proves nothing, and authorises nothing."""

    code = "probe-failed"


class SignalDenied(ProcessError):
    """The system does not permit this signal. The process is alive."""

    code = "signal-denied"


class LaunchFailed(ProcessError):
    """A command could not be started. Nothing of it is running.

    Where only the system could tell that, its run is in the store by then: ``happened`` is yes, and the
    details name the run and its outcome, which is empty when that could not be recorded.
    """

    code = "launch-failed"


class CommandNotFound(LaunchFailed):
    """There is no such command: no such file, or nothing of that name in any directory of PATH."""

    code = "command-not-found"


class CommandNotExecutable(LaunchFailed):
    """The command was found, but cannot be executed."""

    code = "command-not-executable"


class DirectoryUnusable(LaunchFailed):
    """The directory that the command was to run in cannot be entered."""

    code = "directory-unusable"


class GitStateUnsaved(ProcessError):
    """The state of the caller's git checkout could not be written down. Nothing was started."""

    code = "git-state-unsaved"


class ResultUnreachable(RuncoordError):
    """A result that stays in a run folder cannot be read there: its file is gone, is a link, or the system
    does not permit it. The run and its event are as they were."""

    code = "result-unreachable"


class DepthExceeded(Refused):
    """Runs have started runs as deep as is allowed, or the depth cannot be understood. Nothing was started.

    ``details`` holds ``depth`` (a number, or ``"malformed"``) and ``max``, never a value of the environment.
    """

    code = "depth-exceeded"


class LiveRunsExceeded(Refused):
    """So many runs of one lineage are unfinished that no other may begin. Nothing was started."""

    code = "live-runs-exceeded"


# --- store errors: the request could not be carried out ------------------------------------------


class StoreError(RuncoordError):
    """The store failed. ``happened`` says whether the write may have landed."""

    code = "store-error"


class StoreLocked(StoreError):
    """Another process held the store's lock for longer than the bounded wait."""

    code = "store-locked"


class StoreTimeout(StoreError):
    """The store did not answer within the bound; the call may still take effect."""

    code = "store-timeout"


class StoreFull(StoreError):
    """The disk is full."""

    code = "store-full"


class StoreReadOnly(StoreError):
    """The store's file or directory cannot be written."""

    code = "store-read-only"


class StoreUnavailable(StoreError):
    """The store cannot be opened or reached."""

    code = "store-unavailable"


class StoreDamaged(StoreError):
    """The store's file is not a readable database of this program."""

    code = "store-damaged"


class StoreTooNew(StoreError):
    """The store was written by a newer runcoord; it is refused before anything is touched."""

    code = "store-too-new"


class UndecodableRow(StoreError):
    """One stored row cannot be understood. It is isolated: no other run is affected."""

    code = "undecodable-row"


class VersionConflict(StoreError):
    """The row changed between load and save; the whole transaction was rolled back."""

    code = "version-conflict"


class DestinationRefused(Exception):
    """Raised by a destination to refuse an event for good.

    The event is held, visible and replayable. Any other exception means "not now": it is sent again.
    """


def refusal_codes() -> list[str]:
    """The codes of all refusals, sorted; the closed list that scenarios may name."""
    return sorted(kind.code for kind in _descendants(Refused))


def store_error_codes() -> list[str]:
    """The codes of all store errors, sorted."""
    return sorted(kind.code for kind in _descendants(StoreError))


def process_error_codes() -> list[str]:
    """The codes of all errors about processes and commands, sorted."""
    return sorted(kind.code for kind in _descendants(ProcessError))


def _descendants(kind: type[RuncoordError]) -> list[type[RuncoordError]]:
    found = []
    for child in kind.__subclasses__():
        found.append(child)
        found.extend(_descendants(child))
    return found
