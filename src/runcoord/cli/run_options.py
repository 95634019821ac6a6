"""The options of ``runcoord run``, as data: the command line is read by them, with click or without."""

from __future__ import annotations

import enum

from runcoord._core.values import value

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any


class Kind(enum.Enum):
    """What follows an option, or that nothing does."""

    TEXT = enum.auto()
    """Whatever the system took, such as the name of a file."""
    STORED = enum.auto()
    """Text that can be stored."""
    NAMED = enum.auto()
    """The same, and not empty: a script whose variable is not set must not lose what it relies on."""
    LENGTH = enum.auto()
    """A length of time."""
    COUNT = enum.auto()
    """A whole number, at least ``least``."""
    CHOICE = enum.auto()
    """One of ``choices``."""
    FLAG = enum.auto()
    """Nothing: it is given or not."""
    SWITCH = enum.auto()
    """Nothing: the first name says yes, the second one no."""


@value
class Option:
    """One option."""

    field: str
    """Of :class:`runcoord.cli.run_invocation.Wishes`."""
    names: tuple[str, ...]
    kind: Kind
    help: str
    default: Any = None
    metavar: str | None = None
    least: int = 0
    choices: tuple[str, ...] = ()
    shown: bool = False
    """The help says the default."""

    def begins_with(self) -> Any:
        """Its value when it is not given."""
        return False if self.kind is Kind.FLAG else self.default


OPTIONS = (
    Option(
        "timeout",
        ("--timeout",),
        Kind.LENGTH,
        "End it after so long (90s, 2m, 1h); the run has failed.",
        metavar="TIME",
    ),
    Option(
        "grace",
        ("--grace",),
        Kind.LENGTH,
        "Time to end by itself when it is to end, then it is killed.  [default: 5; 0 kills at once]",
        metavar="TIME",
    ),
    Option(
        "directory",
        ("-C", "--directory"),
        Kind.TEXT,
        "Run it there, and look after git there.",
        default="",
        metavar="DIR",
    ),
    Option("task", ("--task",), Kind.STORED, "What it is about.  [default: the command line]", default=""),
    Option("agent", ("--agent",), Kind.STORED, "Who does the work.", default=""),
    Option("run_id", ("--run-id",), Kind.NAMED, "Its id.  [default: a new one]", default="", metavar="ID"),
    Option("key", ("--key",), Kind.NAMED, "Idempotency key: the same key is run once.", default=""),
    Option(
        "destination",
        ("--destination",),
        Kind.STORED,
        "Where its outcome is sent.",
        default="",
        metavar="NAME",
    ),
    Option(
        "conversation_key",
        ("--conversation-key",),
        Kind.STORED,
        "What it belongs to.",
        default="",
        metavar="KEY",
    ),
    Option(
        "scope",
        ("--scope",),
        Kind.CHOICE,
        "What is ended with it: every process that can be found of it, or its process group alone.",
        default="tree",
        choices=("tree", "group"),
        shown=True,
    ),
    Option(
        "git",
        ("--git", "--no-git"),
        Kind.SWITCH,
        "Put the git state of the directory back if it fails.",
        default=True,
    ),
    Option("interactive", ("--interactive",), Kind.FLAG, "Ctrl-C is for the command alone."),
    Option(
        "max_depth",
        ("--max-depth",),
        Kind.COUNT,
        "Lower the maximum of runs in runs; it is never raised.",
        metavar="N",
    ),
    Option(
        "max_live_runs",
        ("--max-live-runs",),
        Kind.COUNT,
        "Refuse more unfinished runs of its lineage.  [default: 100]",
        metavar="N",
        least=1,
    ),
    Option(
        "depth_variable",
        ("--depth-variable",),
        Kind.TEXT,
        "Variable that holds the depth.",
        default="RUNCOORD_DEPTH",
        metavar="NAME",
        shown=True,
    ),
    Option(
        "max_depth_variable",
        ("--max-depth-variable",),
        Kind.TEXT,
        "Variable that holds its maximum.",
        default="RUNCOORD_MAX_DEPTH",
        metavar="NAME",
        shown=True,
    ),
    Option(
        "grace_variable",
        ("--grace-variable",),
        Kind.TEXT,
        "Variable that holds the grace.",
        default="RUNCOORD_TEARDOWN_GRACE",
        metavar="NAME",
        shown=True,
    ),
    Option("report", ("--report",), Kind.TEXT, "Write a JSON report of the end there.", metavar="FILE"),
    Option("quiet", ("-q", "--quiet"), Kind.FLAG, "Say nothing but what kept it from beginning."),
)
