"""The connections of this process to a file: one block uses each at a time, and the next one uses it again.

Threads and stores of one file share them: a new thread, or a store that is opened beside another, need not
connect, read the schema and prepare every statement anew. They are closed with the last store of the file,
and never carried across a fork.

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

from runcoord._core.values import value
from runcoord._stores.failures import translated
from runcoord._stores.remembered import Remembered
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


class _Seat:
    """One thread of one store."""

    __slots__ = ("user",)

    def __init__(self) -> None:
        self.user: Callable[[], object | None] = _nobody
        """Whose block the thread is in; somebody who is gone has left it."""


def _nobody() -> None:
    """No block is under way."""


class Link:
    """A connection, held by the block that uses it. One that ends without giving it back closes it: Ctrl-C in
    the middle of leaving can do that, and nobody else is to wait for its lock."""

    def __init__(self) -> None:
        self.connection: sqlite3.Connection | None = None
        self.connecting = True
        """A fork in the middle of that is one while it is used: SQLite has the file in its memory by then."""
        self.seat: _Seat | None = None
        """Where the block is that uses it."""
        self.remembered = Remembered()
        self.inherited = False
        """This process was forked while its parent used it: gone here, neither closed nor rolled back."""
        self._pid = os.getpid()

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None and self._pid == os.getpid():
            connection.close()

    def __del__(self) -> None:
        self.close()


def forked_in_use(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"this process was forked while the store was in use: {path}",
        remedy="Fork outside of transactions, or start the child as a new program.",
        path=path,
    )


MAX_IDLE = 16
"""Connections of a file that stay open while no block uses them. At most as many are as were in use at once,
each with a file descriptor and some 100 KiB; beyond this one that is given back is closed."""


class _File:
    """One file, and the connections to it with one tuning."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.stores: weakref.WeakSet[Connections] = weakref.WeakSet()
        """The open stores of the file."""
        self.links: weakref.WeakSet[Link] = weakref.WeakSet()
        self.idle: list[Link] = []
        """The one that was used last is used next: it has prepared the most."""
        self.pid = os.getpid()

    def close_idle(self) -> None:
        while self.idle:
            self.idle.pop().close()

    # --- forks ---

    def before_fork(self) -> None:
        self.lock.acquire()
        if self.pid == os.getpid():
            self.close_idle()

    def after_fork(self) -> None:
        self.lock.release()

    def after_fork_in_child(self) -> None:
        inherited = [link for link in list(self.links) if link.connecting or link.connection is not None]
        if not inherited:
            self.pid = os.getpid()
        for link in inherited:
            _unusable_here.add(self.path)
            _never_deallocated(link.connection)
            link.connection, link.inherited = None, True
        self.lock.release()


@value
class Place:
    """A file, and which one it was when it was found. Another one that takes its place later has connections
    of its own."""

    path: str
    device: int
    inode: int

    def require_same_file(self) -> None:
        """Refuse a file that nobody finds by its path any more: what is written into it is lost, and somebody
        else may write into the other one. Raises :class:`~runcoord.errors.StoreUnavailable`."""
        try:
            found = os.stat(self.path)
            if found.st_ino == self.inode and found.st_dev == self.device:
                return
            what = "another file is there now"
        except (FileNotFoundError, NotADirectoryError):
            what = "nothing is there any more"
        except OSError:
            return  # nobody can tell
        raise StoreUnavailable(
            f"the store's file was moved, removed or replaced while it was open: {self.path} ({what})",
            remedy="Put the file back, or open the store again. What was written before is in the old file.",
            path=self.path,
        )


class Connections:
    """What one store uses of them."""

    def __init__(self, place: Place, tuning: Tuning, set_up: Callable[[sqlite3.Connection], None]) -> None:
        self.path, self.place = place.path, place
        self._set_up = set_up
        self._closed = False
        self._threads = threading.local()
        self.whose = object()
        """Stands for this store, and keeps nothing of it alive."""
        self.counters = Counters()
        """What all threads have done through this store."""
        with _forking:
            file = _files.get((place, tuning))
            if file is None:
                file = _files[place, tuning] = _File(place.path)
            file.stores.add(self)
        self._file = file

    def take(self, user: object) -> Link:
        """A connection for the block of ``user``; give it back with :meth:`give_back`, or drop it.

        Raises :class:`~runcoord.errors.StoreUnavailable` when the store is closed, or was in use by another
        thread when this process was forked; ``RuntimeError`` when this thread is in a block of it already.
        """
        file = self._file
        seat: _Seat | None = getattr(self._threads, "seat", None)
        if seat is None:
            seat = self._threads.seat = _Seat()
        with file.lock:
            if self._closed or file.pid != os.getpid() or self.path in _unusable_here:
                raise self._unusable()
            if seat.user() is not None:
                raise RuntimeError("a transaction or view of this store is open already in this thread")
            if file.idle:
                link = file.idle.pop()
            else:
                link = Link()
                file.links.add(link)
        if link.connecting:
            try:
                link.connection = self._connected()
            finally:
                link.connecting = False
        link.seat, seat.user = seat, weakref.ref(user)
        return link

    def give_back(
        self, link: Link, *, spoiled: bool = False, statements: int = 0, rows_written: int = 0
    ) -> None:
        """The block has ended, after so many statements, and ``rows_written`` were committed.

        ``spoiled``: close the connection, its state is not certain.
        """
        file = self._file
        with file.lock:
            if link.seat is not None:
                link.seat.user = _nobody
            if spoiled or len(file.idle) >= MAX_IDLE or (self._closed and not file.stores):
                link.close()
            elif link.connection is not None:
                file.idle.append(link)
            counters = self.counters
            counters.statements += statements
            if rows_written:
                counters.rows_written += rows_written
                counters.commits += 1

    def close(self) -> None:
        """With the file's last store its idle connections are closed; what a block is using is closed when it
        gives it back."""
        with self._file.lock:
            self._closed = True
            self._file.stores.discard(self)
            if not self._file.stores:
                self._file.close_idle()

    def _unusable(self) -> StoreUnavailable:
        if self._closed:
            return StoreUnavailable(
                f"the store is closed: {self.path}", remedy="Open it again.", path=self.path
            )
        return forked_in_use(self.path)

    def _connected(self) -> sqlite3.Connection:
        uri = f"file:{_quoted(os.fsencode(self.path))}?mode=rw"
        try:
            # Transactions are begun by hand; the wait for locks is ours; one thread uses it at a time.
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
            self.place.require_same_file()
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection


_UNQUOTED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~/")


def _quoted(path: bytes) -> str:
    """As :func:`urllib.parse.quote` has it, without the time that loading it takes."""
    return "".join(chr(each) if each in _UNQUOTED else f"%{each:02X}" for each in path)


def _never_deallocated(connection: object) -> None:
    """Keep a connection until the process ends without any cleaning up, by one reference too many.

    Closing it, which its deallocation does, would roll back the parent's transaction in the shared file.
    """
    import ctypes  # only here: after a fork at a bad moment

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


_forking = threading.Lock()
_files: weakref.WeakValueDictionary[tuple[Place, Tuning], _File] = weakref.WeakValueDictionary()
_locked_for_fork: list[_File] = []
_unusable_here: set[str] = set()
"""Paths that this process inherited open connections to: SQLite's memory of their locks is wrong here."""


def _before_fork() -> None:
    _forking.acquire()
    _locked_for_fork[:] = list(_files.values())
    for file in _locked_for_fork:
        file.before_fork()


def _after_fork() -> None:
    for file in _locked_for_fork:
        file.after_fork()
    _locked_for_fork.clear()
    _forking.release()


def _after_fork_in_child() -> None:
    for file in _locked_for_fork:
        file.after_fork_in_child()
    _locked_for_fork.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
