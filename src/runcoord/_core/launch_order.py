"""What a launcher is asked for. It is loaded before the shim is started, so it needs next to nothing."""

from __future__ import annotations

from runcoord._core.scope import Scope
from runcoord._core.values import field, value

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Mapping


@value
class LaunchOrder:
    """What to execute, as it was asked for and prepared."""

    argv: tuple[str, ...]
    executable: str
    """The file itself, looked up before."""
    directory: str
    environment: Mapping[str, str] = field(repr=False)
    """Whole; with the cookie line and the depth in it."""
    cookie: str
    """The last of the line."""
    terminal: bool = False
    """Hand the terminal on: the tree stays in the caller's session, its group becomes the foreground one."""
    scope: Scope = Scope.TREE
    grace: float = 5.0
    """Seconds that the tree has to end when its coordinator dies."""
    last_words: str = ""
    """File into which the shim writes how the command ended when nobody can be told. Empty: nowhere."""
