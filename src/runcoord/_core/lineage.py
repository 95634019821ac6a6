"""The line of cookies: which runs a process belongs to, carried in its environment.

Each run has a random cookie. Its command gets the line of the run that started it with the own cookie at the
end, and so does everything that the command starts: a process belongs to every run of its line. The first
cookie names the lineage. The idea is that of Jenkins' ProcessTreeKiller, which marks the processes of a build
with a variable; there too a process may be spared by another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from runcoord._core.limits import COOKIE_DIGITS, MAX_COOKIES
from runcoord._core.values import value
from runcoord.errors import DepthExceeded, InvalidRequest

COOKIE_VARIABLE = "RUNCOORD_COOKIE"
HANDED_OVER_VARIABLE = "RUNCOORD_HANDED_OVER"
"""Set to the cookie of a run by whoever starts a process that is to outlive that run."""

_COOKIE = rf"[0-9a-f]{{{COOKIE_DIGITS}}}"
_ONE = re.compile(_COOKIE)
_LINE = re.compile(rf"{_COOKIE}(?::{_COOKIE}){{0,{MAX_COOKIES - 1}}}".encode())


@value
class CookieLine:
    """Cookies of runs that started one another; never empty."""

    cookies: tuple[str, ...]
    """From the first run, which no run started, to the one that is meant."""

    @property
    def lineage(self) -> str:
        return self.cookies[0]

    @property
    def own(self) -> str:
        return self.cookies[-1]

    @property
    def exports(self) -> dict[str, str]:
        """What the environment of the run's command must have."""
        return {COOKIE_VARIABLE: ":".join(self.cookies)}


@value
class FoundLine:
    """What an environment says about the runs above."""

    line: CookieLine | None
    """``None`` outside of any run, and when what is there cannot be understood."""
    problem: str = ""
    """Why it cannot be understood, without the value that was found; empty when there is nothing."""


def line_of(environ: Mapping[bytes, bytes]) -> FoundLine:
    """The line in ``environ``, which is like :data:`os.environb`. A malformed one is none, and reported."""
    value = environ.get(COOKIE_VARIABLE.encode())
    if value is None:
        return FoundLine(None)
    cookies = _cookies(value)
    if not cookies:
        return FoundLine(None, f"{COOKIE_VARIABLE} is not a line of 1 to {MAX_COOKIES} cookies")
    return FoundLine(CookieLine(tuple(cookie.decode() for cookie in cookies)))


def extended(line: CookieLine | None, cookie: str) -> CookieLine:
    """The line of a run with ``cookie`` that is started from ``line``, or from outside of any run.

    Raises :class:`~runcoord.errors.InvalidRequest` for what is no cookie or is in the line already, and
    :class:`~runcoord.errors.DepthExceeded` for a line that is full: so deep are runs only when the depth in
    the environment was tampered with.
    """
    above = line.cookies if line is not None else ()
    if not _ONE.fullmatch(cookie):
        raise InvalidRequest(
            f"a cookie has {COOKIE_DIGITS} lower-case hexadecimal digits, this one does not",
            remedy="Make it of random bytes.",
            characters=len(cookie),
        )
    if cookie in above:
        raise InvalidRequest(
            "the cookie is that of a run above already", remedy="Make a new one for each run."
        )
    if len(above) >= MAX_COOKIES:
        raise DepthExceeded(
            f"runs have started runs too deep: {len(above)} are above this one, of at most {MAX_COOKIES}",
            remedy="Look for a run that starts itself, and for what unsets the depth.",
            depth=len(above),
            max=MAX_COOKIES,
        )
    return CookieLine((*above, cookie))


# --- other processes: the environment is a block of bytes, as /proc/PID/environ gives it -----------


def belongs(block: bytes, cookie: str) -> bool:
    """Whether a process with this environment belongs to the run with ``cookie``, or to a run below it."""
    wanted = cookie.encode()
    if wanted not in block:  # nearly always; the rest is for those that are ours
        return False
    return any(wanted in _cookies(value) for value in _values(block, COOKIE_VARIABLE))


def handed_over(block: bytes, cookie: str) -> bool:
    """Whether a process with this environment is to outlive the run with ``cookie``: listed, not signalled.

    The marker names one run. A run further up, which that run belongs to, does not spare the process.
    """
    wanted = cookie.encode()
    if wanted not in block or not _ONE.fullmatch(cookie):
        return False
    return wanted in _values(block, HANDED_OVER_VARIABLE)


def _cookies(value: bytes) -> list[bytes]:
    """The cookies of a well-formed line, else none."""
    return value.split(b":") if _LINE.fullmatch(value) else []


def _values(block: bytes, name: str) -> Iterator[bytes]:
    """All values of a variable: a name can stand in a block more than once. The block is not split: a scan
    reads a thousand of them."""
    start = f"\0{name}=".encode()
    block = b"\0" + block
    at = block.find(start)
    while at >= 0:
        begin = at + len(start)
        end = block.find(b"\0", begin)
        yield block[begin:] if end < 0 else block[begin:end]
        at = block.find(start, begin)
