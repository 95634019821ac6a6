"""What is settled about a command before anything of it exists: may it run, what is it, where, in which
environment. Nothing is started and nothing is written here."""

from __future__ import annotations

import errno
import math
import os
import re
import stat
from collections.abc import Mapping, Sequence

from runcoord._core import limits
from runcoord._core.depth import Admission, DepthNames, admit
from runcoord._core.grace import GRACE_VARIABLE, grace_of
from runcoord._core.launch_order import LaunchOrder
from runcoord._core.lineage import COOKIE_VARIABLE, CookieLine, extended, line_of
from runcoord._core.scope import Scope
from runcoord._core.values import field, value
from runcoord._core.variables import require_variable
from runcoord._git.environment import scrubbed
from runcoord._log import WARNING, Log, say
from runcoord._paths import joined
from runcoord.errors import (
    CommandNotExecutable,
    CommandNotFound,
    DepthExceeded,
    DirectoryUnusable,
    InvalidRequest,
)

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from runcoord.ports import Ids

log = Log("runcoord.commands")

SHOWN_ARGUMENTS = 100
"""Arguments of a command that are kept with its run; the rest are counted."""
SHOWN_CHARACTERS = 1_000
"""Characters kept of one argument: a script given on the command line can be as long as it likes."""


DEPTH_VARIABLE, MAX_DEPTH_VARIABLE = DepthNames().depth, DepthNames().maximum


_COOKIE = re.compile(rf"[0-9a-f]{{{limits.COOKIE_DIGITS}}}")


@value
class VariableNames:
    """The environment variables that depth, its maximum and the grace are read from; a host that has its own
    names them. Raises :class:`~runcoord.errors.InvalidConfiguration` for what is no name."""

    depth: str = DEPTH_VARIABLE
    maximum: str = MAX_DEPTH_VARIABLE
    grace: str = GRACE_VARIABLE

    def __post_init__(self) -> None:
        DepthNames(self.depth, self.maximum)
        require_variable("grace", self.grace)


@value
class CommandOrder:
    """A command as it was asked for."""

    argv: tuple[str, ...]
    directory: str = ""
    """Empty: where this process is."""
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    """``None``: that of this process."""
    timeout: float | None = None
    """Seconds; ``None``: no limit."""
    grace: float | None = None
    """Seconds; ``None``: what the environment says, else the default."""
    scope: Scope = Scope.TREE
    names: VariableNames = field(default_factory=VariableNames)
    max_depth: int | None = None
    """Lowers the maximum depth, never raises it."""
    terminal: bool = False
    """Hand the terminal of this process on to the command."""


@value
class Prepared:
    """A command that may run and can be executed, as far as can be told before."""

    argv: tuple[str, ...]
    executable: str
    directory: str
    environment: Mapping[str, str] = field(repr=False)
    admission: Admission
    line: CookieLine
    grace: float
    timeout: float | None
    scope: Scope
    terminal: bool
    warnings: tuple[str, ...] = ()
    """What of the environment was not understood, without its values; it was logged too."""

    def launch_order(self, last_words: str) -> LaunchOrder:
        return LaunchOrder(
            argv=self.argv,
            executable=self.executable,
            directory=self.directory,
            environment=self.environment,
            cookie=self.line.own,
            terminal=self.terminal,
            scope=self.scope,
            grace=self.grace,
            last_words=last_words,
        )

    def payload(self) -> dict[str, object]:
        """What is stored of the command: never its environment."""
        shown = [_shown(each) for each in self.argv[:SHOWN_ARGUMENTS]]
        return {
            "command": shown,
            "arguments": len(self.argv) - 1,
            "directory": _shown(self.directory),
            "timeout": self.timeout,
        }


def prepare(order: CommandOrder, ids: Ids) -> Prepared:
    """Settle everything; the depth first, before anything is looked up.

    Raises :class:`~runcoord.errors.DepthExceeded`, :class:`~runcoord.errors.InvalidRequest`,
    :class:`~runcoord.errors.CommandNotFound`, :class:`~runcoord.errors.CommandNotExecutable` or
    :class:`~runcoord.errors.DirectoryUnusable`; then nothing was started.
    """
    around = _around(order)
    admission = _admitted(order, around)
    line = extended(line_of(around).line, _cookie(ids))
    warnings: list[str] = []
    require_arguments(order.argv)
    grace = _grace(order, around, warnings)
    timeout = None if order.timeout is None else _seconds("timeout", order.timeout, least=0.0)
    if timeout == 0:
        raise _no_time("timeout", order.timeout)
    directory = usable_directory(order.directory)
    environment = scrubbed(_environment(order.environment))
    environment |= admission.exports | line.exports
    executable = find_command(order.argv[0], directory, environment.get("PATH"))
    return Prepared(
        argv=order.argv,
        executable=executable,
        directory=directory,
        environment=environment,
        admission=admission,
        line=line,
        grace=grace,
        timeout=timeout,
        scope=order.scope,
        terminal=order.terminal,
        warnings=tuple(each for each in warnings if each),
    )


def _around(order: CommandOrder) -> dict[bytes, bytes]:
    """The variables that bind a run to those above it. What the given environment leaves out is taken from
    this process: an environment made anew for a command does not make it the first of its line."""
    names = (order.names.depth, order.names.maximum, order.names.grace, COOKIE_VARIABLE)
    around = {}
    for name in names:
        value = None if order.environment is None else order.environment.get(name)
        if value is None:
            value = os.environ.get(name)
        if value is not None:
            around[name.encode()] = os.fsencode(value)
    return around


def _admitted(order: CommandOrder, around: Mapping[bytes, bytes]) -> Admission:
    names = DepthNames(order.names.depth, order.names.maximum)
    at_most = limits.MAX_DEPTH_CEILING if order.max_depth is None else order.max_depth
    try:
        return admit(around, names, at_most=at_most)
    except DepthExceeded as refusal:
        depth, maximum = refusal.details["depth"], refusal.details["max"]
        say(log, WARNING, "run refused: too deep", depth=depth, max=maximum)
        raise


def _cookie(ids: Ids) -> str:
    """A run's own cookie, from the ids, so that a simulated world makes it anew. Two of them have more random
    bits than it needs."""
    made = [ids.new("cookie").removeprefix("cookie-") for _ in range(2)]
    digits = "".join(made)[: limits.COOKIE_DIGITS]
    if _COOKIE.fullmatch(digits):
        return digits
    from runcoord._core.digests import hex_digest  # ids of another kind than ours are for tests

    return hex_digest(" ".join(made).encode())[: limits.COOKIE_DIGITS]


def _grace(order: CommandOrder, around: Mapping[bytes, bytes], warnings: list[str]) -> float:
    if order.grace is not None:
        return _seconds("grace", order.grace, least=0.0, most=limits.MAX_GRACE_SECONDS)
    grace = grace_of(around, order.names.grace)
    warnings.append(grace.problem)
    if grace.problem:
        say(log, WARNING, "grace not as asked", seconds=grace.seconds, problem=grace.problem)
    return grace.seconds


def _seconds(
    field_name: str, value: object, *, least: float, most: float = limits.MAX_SETTING_SECONDS
) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(float(value)) or not least <= float(value) <= most:  # type: ignore[arg-type]
        raise InvalidRequest(
            f"{field_name} is {value!r:.40}, not a number of seconds from {least:g} to {most:.0f}",
            remedy="Give seconds.",
            field=field_name,
        )
    return float(value)  # type: ignore[arg-type]


def _no_time(field_name: str, value: object) -> InvalidRequest:
    return InvalidRequest(
        f"{field_name} is {value!r}: the command would have no time at all",
        remedy="Give seconds, or leave it out for no limit.",
        field=field_name,
    )


# --- the command -----------------------------------------------------------------------------------


def require_arguments(argv: Sequence[str]) -> None:
    """Refuse what no system can execute, with :class:`~runcoord.errors.InvalidRequest`."""
    if not argv or not all(isinstance(each, str) for each in argv):
        raise InvalidRequest(
            "the command is empty, or not a list of texts",
            remedy="Pass [program, argument, ...].",
            field="argv",
        )
    for at, each in enumerate(argv):
        if "\0" in each:
            raise InvalidRequest(
                f"argument {at} of the command has a NUL character in it",
                remedy="No program can be given that; pass it in a file.",
                field="argv",
                argument=at,
            )


def find_command(name: str, directory: str, path: str | None) -> str:
    """The file that ``name`` means for a command that runs in ``directory``, as an absolute path.

    With a slash in it, it is a path, relative ones from ``directory``; else it is looked for along ``path``
    (``None``: the system's default one), whose empty and relative entries are within ``directory`` too.
    Raises :class:`~runcoord.errors.CommandNotFound` or :class:`~runcoord.errors.CommandNotExecutable`.
    """
    if not name:
        raise CommandNotFound("the name of the command is empty", remedy="Name a program.", command="")
    if "/" in name:
        file = joined(directory, name)
        why = _why_not(file)
        if why is None:
            return file
        if why in (errno.ENOENT, errno.ENOTDIR):
            raise CommandNotFound(
                f"there is no command {_shown(name)!r}: {os.strerror(why)}",
                remedy=f"Relative paths begin in the directory of the command, {_shown(directory)}."
                if not os.path.isabs(name)
                else "Check the path.",
                command=_shown(name),
            )
        raise _not_executable(file, why)
    refused: tuple[str, int] | None = None
    for entry in (os.defpath if path is None else path).split(os.pathsep):
        file = joined(directory, entry, name)
        why = _why_not(file)
        if why is None:
            return file
        if why not in (errno.ENOENT, errno.ENOTDIR) and refused is None and os.path.lexists(file):
            refused = file, why
    if refused is not None:
        raise _not_executable(*refused)
    raise CommandNotFound(
        f"there is no command {_shown(name)!r} in any directory of PATH",
        remedy="Check its name, or give its path." if path else "PATH is not set for it; give its path.",
        command=_shown(name),
    )


def _why_not(file: str) -> int | None:
    """Why a file cannot be executed, as an error number; ``None`` when nothing is known against it."""
    try:
        mode = os.stat(file).st_mode
    except OSError as error:
        return error.errno or errno.EIO
    except ValueError:
        return errno.EINVAL
    if stat.S_ISDIR(mode):
        return errno.EISDIR
    if not stat.S_ISREG(mode):
        return errno.EACCES
    return None if os.access(file, os.X_OK) else errno.EACCES


def _not_executable(file: str, why: int) -> CommandNotExecutable:
    remedy = f"Make it executable: chmod +x {_shown(file)}" if why == errno.EACCES else "Name a program."
    return CommandNotExecutable(
        f"{_shown(file)} cannot be executed: {os.strerror(why)}", remedy=remedy, command=_shown(file)
    )


def usable_directory(asked: str) -> str:
    """The directory to run in, absolute. Raises :class:`~runcoord.errors.DirectoryUnusable`."""
    try:
        directory = joined(os.getcwd(), asked)
        if not stat.S_ISDIR(os.stat(directory).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(directory, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        named = _shown(asked) if asked else "the current directory"
        raise DirectoryUnusable(
            f"{named} cannot be entered: {why}",
            remedy="Name a directory that is there, and that this user may enter.",
            directory=_shown(asked),
        ) from None
    return directory


def _environment(given: Mapping[str, str] | None) -> dict[str, str]:
    if given is None:
        return dict(os.environ)
    for name, text in given.items():
        texts = isinstance(name, str) and isinstance(text, str)
        if not texts or not name or "=" in name or "\0" in name or "\0" in text:
            raise InvalidRequest(
                f"{name!r:.80} cannot be a variable of an environment, or has a value that cannot",
                remedy="Names are texts without '=', values are texts; neither has a NUL character.",
                field="environment",
            )
    return dict(given)


def _shown(text: str) -> str:
    """``text`` for people and for the store: what is not UTF-8 is escaped, what is long is cut."""
    plain = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return plain if len(plain) <= SHOWN_CHARACTERS else f"{plain[:SHOWN_CHARACTERS]}..."


__all__ = [
    "CommandOrder",
    "Prepared",
    "VariableNames",
    "find_command",
    "prepare",
    "require_arguments",
    "usable_directory",
]
