"""What an error of SQLite means to the caller: one table, and the only place that knows error codes."""

from __future__ import annotations

import sqlite3

from runcoord._core.values import value
from runcoord.errors import (
    Happened,
    InvalidRequest,
    RuncoordError,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
    VersionConflict,
)


@value
class Meaning:
    """``commit`` is what a COMMIT that failed so leaves behind; everything before a COMMIT did not happen."""

    kind: type[StoreError]
    problem: str
    remedy: str
    commit: Happened = Happened.MAYBE


_NO = Happened.NO

LOCKED = Meaning(
    StoreLocked,
    "the store is locked by another connection",
    "Try again; if it stays so, find the process that keeps a transaction open.",
    _NO,
)
_IO = Meaning(StoreError, "the store's disk failed", "Check the disk and the system's log before going on.")
_UNKNOWN = Meaning(StoreError, "the store failed", "Look at the cause, and report it if it explains nothing.")

#: By the primary result code of https://www.sqlite.org/rescode.html, or the extended one if that says more.
_MEANINGS: dict[int, Meaning] = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    # The locking protocol of the WAL was disturbed by a race: the same as busy.
    sqlite3.SQLITE_PROTOCOL: LOCKED,
    # Pages that did not fit on the disk come before the point of commit, so nothing happened.
    sqlite3.SQLITE_FULL: Meaning(StoreFull, "the disk is full", "Free some space and try again.", _NO),
    sqlite3.SQLITE_READONLY: Meaning(
        StoreReadOnly,
        "the store, or the directory that it is in, cannot be written",
        "Make both writable: SQLite needs to create a journal beside the file.",
        _NO,
    ),
    sqlite3.SQLITE_READONLY_DBMOVED: Meaning(
        StoreUnavailable,
        "the store's file was moved or removed while it was open",
        "Put it back, or open the store again where it is now.",
    ),
    sqlite3.SQLITE_PERM: Meaning(
        StoreReadOnly, "access to the store was denied", "Check the permissions of the file.", _NO
    ),
    sqlite3.SQLITE_CANTOPEN: Meaning(
        StoreUnavailable,
        "the store, or a file beside it, cannot be opened",
        "Check that the path exists, is a file, and can be read and written.",
    ),
    sqlite3.SQLITE_NOTADB: Meaning(
        StoreDamaged,
        "the file is not an SQLite database",
        "Name another path, or restore the file from a backup.",
    ),
    sqlite3.SQLITE_CORRUPT: Meaning(
        StoreDamaged,
        "the store's file is damaged",
        "Stop all writers, keep a copy, and restore a backup or try 'sqlite3 FILE .recover'.",
    ),
    sqlite3.SQLITE_IOERR: _IO,
    sqlite3.SQLITE_NOMEM: Meaning(StoreError, "the store ran out of memory", "Free some and try again."),
    # A row with this key appeared between the decision and the write.
    sqlite3.SQLITE_CONSTRAINT: Meaning(
        VersionConflict, "a row with the same key exists already", "Load again and decide again.", _NO
    ),
    # A value that no column may have: a fault of the caller, such as a clock that is not a number.
    sqlite3.SQLITE_CONSTRAINT_NOTNULL: Meaning(
        StoreError,
        "a value that must not be missing is missing",
        "Report it: such a request should be refused.",
        _NO,
    ),
}


#: What may come out of a statement with values; the last two are about the values.
BINDING_ERRORS = (sqlite3.Error, UnicodeEncodeError, OverflowError)


def meaning_of(error: Exception) -> Meaning:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return _UNKNOWN
    return _MEANINGS.get(code) or _MEANINGS.get(code & 0xFF, _UNKNOWN)


def is_locked(error: Exception) -> bool:
    """True for an error that passes when another connection is done."""
    return meaning_of(error) is LOCKED


def is_bad_text(error: Exception) -> bool:
    """True when a stored text is not UTF-8, which ``sqlite3`` reports for the whole result."""
    return isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" in str(error)


def translated(error: Exception, path: str, doing: str, *, committing: bool = False) -> RuncoordError:
    """The error to raise instead of one that came out of ``sqlite3``."""
    if isinstance(error, UnicodeEncodeError | OverflowError):
        return InvalidRequest(
            f"a value cannot be stored ({doing}: {error})",
            remedy="Texts must be without lone surrogates, whole numbers must fit into 64 bits.",
            doing=doing,
        )
    meaning = meaning_of(error)
    return meaning.kind(
        f"{meaning.problem}: {path} ({doing}: {error})",
        remedy=meaning.remedy,
        happened=meaning.commit if committing else Happened.NO,
        path=path,
        doing=doing,
        cause=getattr(error, "sqlite_errorname", type(error).__name__),
    )
