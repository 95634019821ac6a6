"""The one place where an invocation ends: with its answer, error and code."""

from __future__ import annotations

import os
import sys

from runcoord.cli.failures import (
    Exit,
    OutputFailed,
    failure_of,
    internal_failure,
    interrupted,
    output_failure,
    unknown_failure,
)
from runcoord.cli.output import tolerate_unencodable
from runcoord.errors import RuncoordError, UnknownRun

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Callable

    from runcoord.cli.session import Session


def ended(session: Session, work: Callable[[], int]) -> int:
    """Do the work of one invocation, and give its exit code; whatever comes out of it is told and has one."""
    tolerate_unencodable()
    try:
        return work()
    except BrokenPipeError:
        _close_quietly()
        return Exit.PIPE_CLOSED
    except UnknownRun as error:
        failure = unknown_failure(error, session.url)
    except RuncoordError as error:
        failure = failure_of(error)
    except (KeyboardInterrupt, EOFError):
        failure = interrupted(session.changes)
    except OutputFailed as error:
        _close_quietly()
        failure = output_failure(error, session.changes)
    except Exception as error:  # noqa: BLE001 - the outermost frame: a fault is told, with its trace and its own code
        import traceback

        trace = traceback.format_exc()
        if not session.json:
            sys.stderr.write(trace)
        failure = internal_failure(error, trace)
    session.output.failure(failure)
    return int(failure.exit)


def _close_quietly() -> None:
    """What is still buffered cannot be written: it goes nowhere, and the interpreter has nothing to say."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # no real stream
        return
    finally:
        os.close(nowhere)
