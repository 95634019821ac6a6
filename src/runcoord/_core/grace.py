"""The grace: how long processes may take to end by themselves before they are killed."""

from __future__ import annotations

from collections.abc import Mapping

from runcoord._core.limits import GRACE_SECONDS, MAX_GRACE_SECONDS
from runcoord._core.values import value
from runcoord._core.variables import plain_number
from runcoord.errors import InvalidRequest

GRACE_VARIABLE = "RUNCOORD_TEARDOWN_GRACE"
"""The environment variable that holds the grace, unless a host names its own."""


@value
class Grace:
    """The grace to keep."""

    seconds: int
    """0: kill at once."""
    problem: str = ""
    """What to warn of, without the value that was found; empty when there is nothing."""


def grace_of(environ: Mapping[bytes, bytes], name: str = GRACE_VARIABLE) -> Grace:
    """The grace that ``environ`` asks for, which is like :data:`os.environb`.

    Whole seconds. The default when it is absent; also, with a problem to warn of, when it is not a plain
    number. A longer one than the limit is the limit, with a problem. Never raises: a teardown that does not
    know its grace must happen all the same.
    """
    given = environ.get(name.encode("utf-8", "surrogateescape"))
    if given is None:
        return Grace(GRACE_SECONDS)
    seconds = plain_number(given)
    if seconds is None:
        return Grace(
            GRACE_SECONDS,
            f"{name} is not a plain number of whole seconds; the grace is the default of {GRACE_SECONDS} s",
        )
    if seconds > MAX_GRACE_SECONDS:
        return Grace(
            MAX_GRACE_SECONDS,
            f"{name} is longer than the limit; the grace is {MAX_GRACE_SECONDS} s",
        )
    return Grace(seconds)


def require_grace(grace: float) -> None:
    """Raises :class:`~runcoord.errors.InvalidRequest` for what is no time that processes can be given."""
    if not 0 <= grace <= MAX_GRACE_SECONDS:
        raise InvalidRequest(
            f"a grace of {grace!r} seconds",
            remedy=f"Give 0 to {MAX_GRACE_SECONDS} seconds.",
            grace=repr(grace),
        )
