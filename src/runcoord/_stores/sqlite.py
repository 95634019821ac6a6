"""The default store: one SQLite file, through the standard library.

A write transaction takes the lock at its beginning and is durable at its end. Threads take turns with
connections. Any number of processes may use one file, on a file system whose locks work (not NFS).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Sequence

from runcoord._paths import joined
from runcoord._stores import migrations as schema
from runcoord._stores import statements
from runcoord._stores.connections import Connections, Place, Tuning
from runcoord._stores.failures import is_locked, translated
from runcoord._stores.migrations import MIGRATIONS, Migration
from runcoord._stores.reading import SqliteView
from runcoord._stores.waiting import LockWait, at_random
from runcoord._stores.writing import SqliteTransaction
from runcoord.errors import StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from runcoord.ports import Clock, Counters, Sleeper

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from pathlib import Path
    from typing import TypeVar

    T = TypeVar("T")


DATABASE_HEADER_BYTES = 100
"""Every SQLite database begins with a header of this size (https://www.sqlite.org/fileformat2.html)."""


class SqliteStore:
    """:class:`~runcoord.ports.Store` in one file. Open it with :func:`open_sqlite`."""

    def __init__(self, place: Place, wait: LockWait, tuning: Tuning) -> None:
        self.path = place.path
        self._tuning = tuning
        self._wait = wait
        self._connections = Connections(place, tuning, self._set_up)

    def transaction(self, verb: str) -> SqliteTransaction:
        """Reading and writing under the write lock, for which it waits a bounded time."""
        return SqliteTransaction(self._connections, self._wait, verb)

    def view(self, verb: str) -> SqliteView:
        """Reading one state of the store. Keep it short: with a rollback journal a commit waits for it."""
        return SqliteView(self._connections, self._wait, verb)

    @property
    def counters(self) -> Counters:
        return self._connections.counters

    def close(self) -> None:
        """Close every connection. Closing twice changes nothing; any later use raises
        :class:`~runcoord.errors.StoreUnavailable`."""
        self._connections.close()

    # --- opening ---

    def prepare(self, known: Sequence[Migration], create: bool) -> None:
        """Create or migrate the schema if that is needed; otherwise only look."""
        link = self._connections.take(self)
        try:
            connection = link.connection
            assert connection is not None
            found = self._looked(connection)
            if found.empty:
                _require_no_content(self.path)
                if not create:
                    raise _missing(self.path)
            if schema.outstanding(found, self.path, known):
                self._migrate(connection, known, found)
        finally:
            self._connections.give_back(link)

    def _looked(self, connection: sqlite3.Connection) -> schema.Found:
        def look() -> schema.Found:
            connection.execute(statements.BEGIN_READ)
            try:
                return schema.look(connection)
            finally:
                connection.execute(statements.COMMIT)

        return self._trying(look, "open")

    def _migrate(
        self, connection: sqlite3.Connection, known: Sequence[Migration], found: schema.Found
    ) -> None:
        # Only a new file is given its journal mode: WAL stays in the file, and somebody chose it.
        if self._tuning.wal and found.empty:
            self._trying(lambda: connection.execute("PRAGMA journal_mode = wal").fetchall(), "create")
        self._trying(lambda: connection.execute(statements.BEGIN_WRITE), "migrate")
        try:
            # Another process may have been faster: look again, under the lock.
            schema.apply(connection, schema.outstanding(schema.look(connection), self.path, known))
            self._trying(lambda: connection.execute(statements.COMMIT), "migrate", committing=True)
        except sqlite3.Error as error:
            raise translated(error, self.path, "migrate") from error
        finally:
            if connection.in_transaction:
                connection.execute(statements.ROLLBACK)

    def _set_up(self, connection: sqlite3.Connection) -> None:
        """Settings of one connection; none is kept in the file."""
        [(journal,)] = self._trying(lambda: connection.execute("PRAGMA journal_mode").fetchall(), "open")
        if journal != "wal":
            mode = self._tuning.rollback_journal
            self._trying(lambda: connection.execute(f"PRAGMA journal_mode = {mode}").fetchall(), "open")
        connection.execute(f"PRAGMA synchronous = {self._tuning.synchronous}")
        # A spill would take the exclusive lock in the middle of a transaction and keep readers out until its
        # end. Transactions are bounded, and so is what stays in memory.
        connection.execute("PRAGMA cache_spill = OFF")

    def _trying(self, call: Callable[[], T], doing: str, *, committing: bool = False) -> T:
        try:
            return call()
        except sqlite3.Error as error:
            try:
                if is_locked(error):
                    return self._wait.repeat(call, error, self.path, doing)
            except sqlite3.Error as last:
                raise translated(last, self.path, doing, committing=committing) from last
            raise translated(error, self.path, doing, committing=committing) from error


def open_sqlite(
    path: Path | str,
    *,
    clock: Clock,
    sleeper: Sleeper,
    create: bool = True,
    chance: Callable[[], float] = at_random,
    tuning: Tuning | None = None,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> SqliteStore:
    """Open the store in the file ``path``; nothing of an existing one is changed, unless its schema is older.

    A missing file is created, readable by its owner only, with its directory; without ``create`` it is
    refused and nothing is created. ``chance`` (0 to 1) spreads the pauses between tries for the lock.

    Raises :class:`~runcoord.errors.StoreUnavailable`, :class:`~runcoord.errors.StoreReadOnly`,
    :class:`~runcoord.errors.StoreDamaged`, :class:`~runcoord.errors.StoreTooNew`,
    :class:`~runcoord.errors.StoreFull` or :class:`~runcoord.errors.StoreLocked`.
    """
    place = _placed(path, create)
    store = SqliteStore(place, LockWait(clock, sleeper, chance), tuning or Tuning())
    try:
        store.prepare(migrations, create)
    except BaseException:
        store.close()
        raise
    return store


# --- the file ------------------------------------------------------------------------------------

_creating = threading.Lock()
"""One thread creates at a time. Closing a file gives up this process's locks on it, so no other thread may
have the new file open already when its creator closes it."""


def _placed(path: Path | str, create: bool) -> Place:
    """The file, by a path that is independent of a later change of directory; created if missing."""
    given = joined(os.fspath(path))
    directory, name = os.path.split(given)
    if name in ("", os.curdir) or "\0" in given:
        raise _unusable(given, "names no file")
    try:
        place = os.path.join(os.path.realpath(directory), name)
        with _creating:
            found = _found(place, create)
    except (OSError, RuntimeError) as error:  # RuntimeError: symbolic links in a circle, before Python 3.13
        raise _file_error(error, given) from error
    return Place(place, found.st_dev, found.st_ino)


def _found(place: str, create: bool) -> os.stat_result:
    try:
        found = os.stat(place)
    except FileNotFoundError:
        if not create:
            raise _missing(place) from None
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        os.close(os.open(place, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        return os.stat(place)
    if not stat.S_ISREG(found.st_mode):
        raise _unusable(place, "is a directory" if stat.S_ISDIR(found.st_mode) else "is not a regular file")
    return found


def _require_no_content(path: str) -> None:
    """SQLite takes a file of a few bytes for an empty one, and would write over it."""
    size = os.stat(path).st_size
    if 0 < size < DATABASE_HEADER_BYTES:
        raise StoreDamaged(
            f"the file is not an SQLite database: {path}",
            remedy="Name another path; this file was left as it is.",
            path=path,
            size=size,
        )


def _missing(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"there is no store at {path}",
        remedy="Check the path. A store is created by the first program that opens it to submit runs.",
        path=path,
    )


def _unusable(path: str, what: str) -> StoreUnavailable:
    return StoreUnavailable(f"{path!r} {what}", remedy="Name a file for the store.", path=path)


def _file_error(error: Exception, path: str) -> StoreError:
    number = error.errno if isinstance(error, OSError) else None
    if number in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return StoreReadOnly(
            f"the store cannot be created or read: {path} ({error})",
            remedy="Check the permissions of the file and its directory, or name another path.",
            path=path,
        )
    if number in {errno.ENOSPC, errno.EDQUOT}:
        return StoreFull(f"the disk is full: {path} ({error})", remedy="Free some space.", path=path)
    return StoreUnavailable(
        f"the store cannot be opened: {path} ({error})", remedy="Check the path.", path=path
    )
