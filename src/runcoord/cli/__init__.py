"""The command line: ``runcoord``, or ``python -m runcoord``.

Other distributions add commands through the entry-point group ``runcoord.commands``; what such a command
gets is written in :mod:`runcoord.cli.contributed`. Everything else here is private.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED = 130
"""See :class:`runcoord.cli.failures.Exit`, which is loaded later."""
COLLECT_AFTER = 50_000
"""Objects that may be made before garbage is looked for; loading a command makes about 30,000 that stay."""


def main() -> NoReturn:
    """Run the command line on this process's arguments and exit with its code."""
    import atexit
    import gc

    # Looking for garbage while everything is loaded, and in all of it at the end, took a sixth of the time of
    # a small command. What it opens it closes itself, so nothing waits for being found.
    gc.set_threshold(COLLECT_AFTER)
    atexit.register(gc.freeze)

    try:
        from runcoord._log import for_programs_only

        # What the library logs is for programs. What a user of this command must know, it says itself.
        for_programs_only("runcoord")
        code = _plain_run()
        if code is not None:
            raise SystemExit(code)
        from runcoord.cli.app import App
    except KeyboardInterrupt:  # before anything could be said better
        raise SystemExit(INTERRUPTED) from None
    App().main(prog_name="runcoord")
    raise AssertionError("App.main ends the process")


def _plain_run() -> int | None:
    """Run the command of a plain ``runcoord run``; ``None`` for every other line, which click reads."""
    import sys

    if "run" not in sys.argv:
        return None
    import os

    from runcoord.cli.run_line import read

    line = read(sys.argv[1:], os.environ)
    if line is None:
        return None
    from runcoord.cli.ending import ended
    from runcoord.cli.run_invocation import Wishes, invoke
    from runcoord.cli.session import Session

    session = Session(store=line.store, store_from=line.store_from)
    session.output.json = line.json
    return ended(session, lambda: invoke(session, Wishes(**line.options), line.command))
