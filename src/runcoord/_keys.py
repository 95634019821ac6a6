"""Keys of the terminal while a process is being made."""

from __future__ import annotations

import contextlib
import signal

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Iterator

STOP_KEY = frozenset({signal.SIGTSTP})
ALL_KEYS = frozenset({signal.SIGTSTP, signal.SIGINT, signal.SIGQUIT})


@contextlib.contextmanager
def held_back(keys: frozenset[signal.Signals]) -> Iterator[None]:
    """A child that the stop key catches between its vfork and its exec, where it is in our group still, would
    leave this process waiting for it, which cannot be stopped then; one that another key catches is never
    seen to begin. This process hears the key afterwards; the child begins with it blocked, and keeps that
    unless it sets it otherwise."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, keys)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
