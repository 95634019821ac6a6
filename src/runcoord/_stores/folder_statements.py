"""SQL about run folders, named, with one line on what each is for, and its rows. Loaded when the first folder
is dealt with."""

from __future__ import annotations

import functools

from runcoord._core.model import Run
from runcoord._core.sources import RefusedFolder
from runcoord._stores.rows import (
    RUN_CHANGING,
    RUN_COLUMNS,
    SOURCE_CHANGING,
    Params,
    Row,
    encode_run,
    run_changing,
)
from runcoord._stores.sources import source_text
from runcoord._stores.statements import KEYS_A_STATEMENT, marks, names, settings
from runcoord.errors import UndecodableRow

REFUSED_COLUMNS = ["root", "folder", "mark", "kind", "reason", "seen_at"]

_IMPORTED = """runs INDEXED BY runs_of_source
WHERE source_root IS NOT NULL AND source_root = :root AND run_id > :after AND run_id <= :last"""
_TOLD = """NOT EXISTS (
    SELECT 1 FROM events WHERE event_id = runs.run_id || '/finished' AND events.state <> 'delivered'
)"""
#: Imported runs of one root by folder name, behind one and up to another; answered by the index alone.
KNOWN_MARKS = f"SELECT run_id, source_mark FROM {_IMPORTED} ORDER BY run_id LIMIT :limit"
#: Those whose folders are gone.
GONE_FOLDERS = f"SELECT run_id FROM {_IMPORTED} AND source_state = 'gone' ORDER BY run_id"
#: Those without a tombstone that have nothing left to tell.
DELIVERED_FOLDERS = f"SELECT run_id FROM {_IMPORTED} AND source_state = 'open' AND {_TOLD} ORDER BY run_id"
#: Those with a tombstone that ended before.
OLD_FOLDERS = f"""
SELECT run_id FROM {_IMPORTED}
AND source_state = 'closed' AND source_ended < :before AND {_TOLD} ORDER BY run_id"""
#: Refused folders of one root by name, likewise.
REFUSED_FOLDERS = f"""
SELECT {names(REFUSED_COLUMNS)} FROM refused_folders
WHERE root = :root AND folder > :after AND folder <= :last ORDER BY folder LIMIT :limit"""
#: Those of all roots by root and name, after one of them.
REFUSED_AFTER = f"""
SELECT {names(REFUSED_COLUMNS)} FROM refused_folders
WHERE (root, folder) > (:root, :folder) ORDER BY root, folder LIMIT :limit"""


@functools.lru_cache(maxsize=KEYS_A_STATEMENT)
def known_runs(count: int) -> str:
    return f"SELECT run_id FROM runs WHERE run_id IN ({marks(count)})"


# --- writing ---
#: A run that was imported has more columns than the others, whose inserts are as short as ever.
INSERT_IMPORTED = f"INSERT INTO runs ({names(RUN_COLUMNS)}) VALUES ({marks(len(RUN_COLUMNS))})"
#: Only while the version is still the one that was loaded.
UPDATE_IMPORTED = (
    f"UPDATE runs SET {settings([*RUN_CHANGING, *SOURCE_CHANGING])}"
    " WHERE run_id = ? AND version = ? AND source_root IS NOT NULL"
)
UPSERT_REFUSED = (
    f"INSERT INTO refused_folders ({names(REFUSED_COLUMNS)}) VALUES ({marks(len(REFUSED_COLUMNS))})"
    " ON CONFLICT (root, folder) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in REFUSED_COLUMNS[2:])
)
REMOVE_REFUSED = "DELETE FROM refused_folders WHERE root = ? AND folder = ?"

# --- rows ---


def decode_refused(row: Row) -> RefusedFolder:
    """Raises :class:`~runcoord.errors.UndecodableRow`."""
    if type(row[5]) is not float or any(type(text) is not str for text in row[:5]):
        key = "/".join(f"{text}" for text in row[:2])
        raise UndecodableRow(
            f"row {key!r} of refused_folders cannot be understood: {row[2:]!r:.200}",
            remedy="Only this row is affected. Remove it: the folder is then looked at again.",
            table="refused_folders",
            key=key,
        )
    return RefusedFolder(*row)


def encode_imported(run: Run) -> Params:
    """The values of ``RUN_COLUMNS``."""
    source = run.source
    assert source is not None
    fixed = (source.root, run.finished_at, source_text(source, run.run_id))
    return (*encode_run(run), *fixed, source.mark, source.state._value_)


def update_imported(before: Run, after: Run) -> Params:
    """The values of ``UPDATE_IMPORTED``."""
    source = after.source
    assert source is not None
    return (*run_changing(after), source.mark, source.state._value_, before.run_id, before.version)


def encode_refused(folder: RefusedFolder) -> Params:
    """The values of ``REFUSED_COLUMNS``."""
    return (folder.root, folder.name, folder.mark, folder.kind, folder.reason, folder.seen_at)


#: As in ``statements``.
PLANS: dict[str, frozenset[str]] = {
    KNOWN_MARKS: frozenset({"runs_of_source"}),
    GONE_FOLDERS: frozenset({"runs_of_source"}),
    DELIVERED_FOLDERS: frozenset({"runs_of_source"}),
    OLD_FOLDERS: frozenset({"runs_of_source"}),
}
