"""One connection per thread, closed together, and never carried across a fork.

A forked child must not use an SQLite connection of its parent, and not even open the file anew while the
parent's connections are in its memory: SQLite would believe that the child holds the parent's locks. So
idle connections are closed before a fork (they open again when next used), and a child that was forked
while one was in use refuses the store.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from urllib.parse import quote

from runcoord._core.values import value
from runcoord._stores.failures import translated
from runcoord.errors import StoreUnavailable
from runcoord.ports import Counters


@value
class Tuning:
    """How connections are set up. Others than the default are for measurements and for tests."""

    journal: str = ""
    """``wal``, ``truncate`` or another mode of SQLite; empty for what is right with this SQLite."""
    synchronous: str = "FULL"

    @property
    def wal(self) -> bool:
        return (self.journal or best_journal(sqlite3.sqlite_version_info)) == "wal"

    @property
    def rollback_journal(self) -> str:
        return _ROLLBACK_JOURNAL if self.journal in {"", "wal"} else self.journal


#: Of the rollback journals TRUNCATE is durable at the end of a COMMIT (the emptied journal is synced, while
#: with DELETE the removed one can come back after a power failure unless synchronous is EXTRA) and has the
#: cheapest reads. Measured on ext4, medians in us: commit 1180 (DELETE 1190, PERSIST 1200, WAL 280), read
#: transaction 16 (DELETE 18, PERSIST 30, WAL 9).
_ROLLBACK_JOURNAL = "truncate"


def best_journal(version: tuple[int, ...]) -> str:
    """WAL where SQLite has the fix of the WAL-reset bug (https://www.sqlite.org/wal.html#walresetbug)."""
    fixed = version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)
    return "wal" if fixed else _ROLLBACK_JOURNAL


class Link:
    """A thread's connection, or the place for one."""

    def __init__(self) -> None:
        self.connection: sqlite3.Connection | None = None
        self.in_use = False
        self.user: Callable[[], object | None] = _nobody
        """Whose block it is used in. Ctrl-C in the middle of leaving can end a block without giving back."""
        self.inherited = False
        """This process was forked while its parent used it: gone here, neither closed nor rolled back."""
        self._pid = os.getpid()

    def lost(self, user: Callable[[], object | None]) -> None:
        """The user is gone without giving it back: nobody else is to wait for its lock."""
        if self.user is user:
            self.close()

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None and self._pid == os.getpid():
            connection.close()

    def __del__(self) -> None:
        # The thread has ended, or the store was dropped without being closed.
        self.close()


def _nobody() -> None:
    """No block uses the link."""


def forked_in_use(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"this process was forked while the store was in use: {path}",
        remedy="Fork outside of transactions, or start the child as a new program.",
        path=path,
    )


class Connections:
    def __init__(self, path: str, tuning: Tuning, set_up: Callable[[sqlite3.Connection], None]) -> None:
        self.path = path
        self._tuning, self._set_up = tuning, set_up
        self._threads = threading.local()
        self._lock = threading.Lock()
        self._links: weakref.WeakSet[Link] = weakref.WeakSet()
        self._closed = False
        self._pid = os.getpid()
        self.counters = Counters()
        """What all threads have done."""
        with _forking:
            _alive.add(self)

    def take(self, user: object) -> Link:
        """This thread's link, connected and marked as in use; give it back with :meth:`give_back`.

        ``user`` is whose block begins. A link whose last user is gone without giving it back is taken over,
        and what was not committed is rolled back.

        Raises :class:`~runcoord.errors.StoreUnavailable` when the store is closed, or was in use by another
        thread when this process was forked; ``RuntimeError`` when this thread is using it already.
        """
        link: Link | None = getattr(self._threads, "link", None)
        with self._lock:
            if self._closed or self._pid != os.getpid() or self.path in _unusable_here:
                raise self._unusable()
            if link is None:
                link = self._threads.link = Link()
                self._links.add(link)
            elif link.in_use:
                if link.user() is not None:
                    raise RuntimeError("a transaction or view of this store is open already in this thread")
                link.close()
            link.user = weakref.ref(user, link.lost)
            link.in_use = True
        if link.connection is None:
            try:
                link.connection = self._connected()
            except BaseException:
                link.in_use, link.user = False, _nobody
                raise
        return link

    def give_back(
        self, link: Link, *, spoiled: bool = False, statements: int = 0, rows_written: int = 0
    ) -> None:
        """The block has ended, after so many statements, and ``rows_written`` were committed.

        ``spoiled``: close the connection, its state is not certain.
        """
        with self._lock:
            link.in_use = False
            link.user = _nobody
            if spoiled or self._closed:
                link.close()
            counters = self.counters
            counters.statements += statements
            if rows_written:
                counters.rows_written += rows_written
                counters.commits += 1

    def close(self) -> None:
        """Close what is idle; what another thread is using is closed when it gives it back."""
        with self._lock:
            self._closed = True
            self._close_idle()

    def _unusable(self) -> StoreUnavailable:
        if self._closed:
            return StoreUnavailable(
                f"the store is closed: {self.path}", remedy="Open it again.", path=self.path
            )
        return forked_in_use(self.path)

    def _connected(self) -> sqlite3.Connection:
        uri = f"file:{quote(os.fsencode(self.path))}?mode=rw"
        try:
            # Transactions are begun by hand; the wait for locks is ours; close() comes from any thread.
            connection = sqlite3.connect(
                uri,
                uri=True,
                timeout=0.0,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=128,
            )
        except sqlite3.Error as error:
            raise translated(error, self.path, "open") from error
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _close_idle(self) -> None:
        for link in list(self._links):
            if not link.in_use:
                link.close()

    # --- forks ---

    def before_fork(self) -> None:
        self._lock.acquire()
        if self._pid == os.getpid():
            self._close_idle()

    def after_fork(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        inherited = [link for link in list(self._links) if link.connection is not None]
        if not inherited:
            self._pid = os.getpid()
        for link in inherited:
            _unusable_here.add(self.path)
            _never_deallocated(link.connection)
            link.connection, link.inherited = None, True
        self._lock.release()


def _never_deallocated(connection: object) -> None:
    """Keep a connection until the process ends without any cleaning up, by one reference too many.

    Closing it, which its deallocation does, would roll back the parent's transaction in the shared file.
    """
    import ctypes  # only here: after a fork at a bad moment

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


_forking = threading.Lock()
_alive: weakref.WeakSet[Connections] = weakref.WeakSet()
_locked_for_fork: list[Connections] = []
_unusable_here: set[str] = set()
"""Paths that this process inherited open connections to: SQLite's memory of their locks is wrong here."""


def _before_fork() -> None:
    _forking.acquire()
    _locked_for_fork[:] = list(_alive)
    for connections in _locked_for_fork:
        connections.before_fork()


def _after_fork() -> None:
    for connections in _locked_for_fork:
        connections.after_fork()
    _locked_for_fork.clear()
    _forking.release()


def _after_fork_in_child() -> None:
    for connections in _locked_for_fork:
        connections.after_fork_in_child()
    _locked_for_fork.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
