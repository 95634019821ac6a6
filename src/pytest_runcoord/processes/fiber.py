"""Code that goes on beside the scenario, on its clocks: it stops where it waits, and continues at that time.

Each fiber is a thread of which only one at a time runs, the rest of the program standing still meanwhile, so
that everything happens in one order. A fiber whose world is over, or whose process was killed, is ended where
it waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

HANDOVER_SECONDS = 60.0
"""Real time that one stretch of a fiber may take: it computes, and never waits for anything real."""


class FiberEnded(BaseException):
    """The fiber is to end here. Not an ``Exception``, so that the code in it cannot handle it."""


class Fiber:
    """``body`` runs until it calls :meth:`pause`; ``later(seconds, resume)`` must have it resumed."""

    def __init__(
        self, body: Callable[[Fiber], None], later: Callable[[float, Callable[[], None]], None]
    ) -> None:
        self._body, self._later = body, later
        self._resumed, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._failure: BaseException | None = None
        self._ending = False
        self.done = False
        self._thread = threading.Thread(target=self._run, name="runcoord-fiber", daemon=True)

    def start(self) -> None:
        """Run the first stretch."""
        self._thread.start()
        self.resume()

    def resume(self) -> None:
        """Run the next stretch. Raises what the body raised."""
        if self.done:
            return
        self._resumed.release()
        if not self._paused.acquire(timeout=HANDOVER_SECONDS):
            raise RuntimeError(f"a fiber did not come to its next pause within {HANDOVER_SECONDS:g} s")
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def end(self) -> None:
        """End it where it waits."""
        if not self.done and self._thread.ident is not None:
            self._ending = True
            self.resume()
            self._thread.join(HANDOVER_SECONDS)

    def sleep(self, seconds: float) -> None:
        """Called by the body: stop here, and go on ``seconds`` later."""
        self._later(seconds, self.resume)
        self._paused.release()
        self._resumed.acquire()
        if self._ending:
            raise FiberEnded

    def _run(self) -> None:
        self._resumed.acquire()
        try:
            if not self._ending:
                self._body(self)
        except FiberEnded:
            pass
        except BaseException as failure:  # noqa: BLE001  raised again where the fiber was resumed
            self._failure = failure
        finally:
            self.done = True
            self._paused.release()
