"""How deep runs may start runs: the guard against a run that, at the end of a chain, starts itself.

It fails closed: what is not understood counts as the deepest. The one that checks also increments, so there
is no admission without a greater depth further down, and a malformed value never becomes a number there.
"""

from __future__ import annotations

from collections.abc import Mapping

from runcoord._core.limits import DEFAULT_MAX_DEPTH, MAX_DEPTH_CEILING
from runcoord._core.lineage import COOKIE_VARIABLE, line_of
from runcoord._core.values import value
from runcoord._core.variables import plain_number, require_variable
from runcoord.errors import DepthExceeded, InvalidConfiguration

MALFORMED = "malformed"
"""What an error and a log record say in the place of a depth that is no number."""


@value
class DepthNames:
    """The environment variables that carry depth and maximum.

    A host that has such a pair already names its own, so that there is one source of truth. The coordinator
    whose recovery review this project grew out of has AMPLIHACK_SESSION_DEPTH and AMPLIHACK_MAX_DEPTH. Raises
    :class:`~runcoord.errors.InvalidConfiguration` for what is no name, and for one name used twice.
    """

    depth: str = "RUNCOORD_DEPTH"
    maximum: str = "RUNCOORD_MAX_DEPTH"

    def __post_init__(self) -> None:
        require_variable("depth", self.depth)
        require_variable("maximum", self.maximum)
        if self.depth == self.maximum:
            raise InvalidConfiguration(
                f"depth and maximum are both read from {self.depth}",
                remedy="Name two variables.",
                setting="maximum",
            )


@value
class Admission:
    """One run may start."""

    depth: int
    """How many runs there are above this one: 0 for one that no run has started."""
    maximum: int
    """The maximum that was applied, and holds for everything below."""
    exports: dict[str, str]
    """What the environment of the run's command must have, in the place of what it has under these names."""


def admit(
    environ: Mapping[bytes, bytes],
    names: DepthNames | None = None,
    *,
    at_most: int = MAX_DEPTH_CEILING,
) -> Admission:
    """Decide whether a run may start in ``environ``, which is like :data:`os.environb`.

    The depth is the greater one of two that ``environ`` tells: the variable (absent: 0), and how many cookies
    its line of cookies has, one for each run above. So a run that unsets or lowers the variable for what it
    starts does not begin anew; who takes both out of the environment does. Where either of them is malformed
    the depth is at the maximum. An absent or malformed maximum is the default, a
    large one the ceiling, and 0 refuses everything. ``at_most`` (a setting, an option) lowers the maximum and
    never raises it; since the result is exported, maxima only shrink from run to run.

    Raises :class:`~runcoord.errors.DepthExceeded`; its details are the fields of the one warning to log.
    """
    names = names or DepthNames()
    given = environ.get(names.maximum.encode())
    stated = None if given is None else plain_number(given)
    allowed = min(DEFAULT_MAX_DEPTH if stated is None else stated, MAX_DEPTH_CEILING)
    maximum = min(allowed, max(at_most, 0))
    found = environ.get(names.depth.encode())
    depth = 0 if found is None else plain_number(found)
    unread = given is not None and stated is None
    above = line_of(environ)
    if above.problem:
        raise _unknown_runs_above(names, above.problem, maximum, unread=unread)
    if depth is not None and above.line is not None:
        depth = max(depth, len(above.line.cookies))
    if depth is None or depth >= maximum:
        refusal = _refusal(names, depth, maximum, unread=unread)
        if depth is not None and maximum < allowed:
            refusal.remedy = (
                f"Look for a run that starts itself. --max-depth (max_depth) allows {maximum} here."
            )
        raise refusal
    exports = {names.depth: str(depth + 1), names.maximum: str(maximum)}
    return Admission(depth, maximum, exports)


def _limit(names: DepthNames, maximum: int, unread: bool) -> str:
    """``unread``: a maximum was given, and is malformed."""
    problem = f" (what {names.maximum} has is not a plain number)" if unread else ""
    return f"the maximum of {maximum}{problem}"


def _unknown_runs_above(names: DepthNames, problem: str, maximum: int, *, unread: bool) -> DepthExceeded:
    return DepthExceeded(
        f"{problem}, so how many runs are above this one counts as {_limit(names, maximum, unread)}",
        remedy=f"Find what sets {COOKIE_VARIABLE}: runcoord does for what a run starts, and nobody else.",
        depth=MALFORMED,
        max=maximum,
    )


def _refusal(names: DepthNames, depth: int | None, maximum: int, *, unread: bool) -> DepthExceeded:
    limit = _limit(names, maximum, unread)
    if depth is None:
        problem = f"{names.depth} is not a plain number, which counts as {limit}"
        remedy = f"Find what sets {names.depth}: it is a number in ASCII digits, or not set outside of a run."
    elif maximum == 0:
        problem = f"no run may start here: depth {depth} has reached {limit}"
        remedy = f"To allow runs, set {names.maximum} to 1 or more where the first run is started."
    else:
        problem = f"runs have started runs too deep: depth {depth} has reached {limit}"
        remedy = (
            "Look for a run that starts itself. If they are meant to be as deep, set"
            f" {names.maximum} (at most {MAX_DEPTH_CEILING}) where the first of them is started."
        )
    return DepthExceeded(problem, remedy=remedy, depth=MALFORMED if depth is None else depth, max=maximum)
