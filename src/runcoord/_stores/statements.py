"""Every SQL text of the store, named, with one line on what it is for.

A list statement names its index (``INDEXED BY``): without statistics SQLite was seen to choose another one
and to sort the whole table, 500 times slower; and a missing index is then an error, not a slow sweep.
``NOT INDEXED``: the table is walked by number (``seq``), which is the order of acceptance.

Deadlines: on the boot ``:boot`` boottime decides, on every other boot wall time does, and one that is
further ahead than ``:cap`` is implausible. These conditions say what ``Deadline.passed`` and
``Deadline.implausible`` say, in the same arithmetic. Rows of other boots are looked at one by one, not
found by an index on wall time: each of them is due within its cap, or implausible, so at most the rows of
one such span are looked at in vain, and only after a reboot.

``ORDER BY +seq``: the plus keeps SQLite from sorting every part of a UNION ALL by itself, which costs a
sorter each (an empty sweep 380 us instead of 14).
"""

from __future__ import annotations

import functools

from runcoord._stores.paging import BothWays, both_ways, merged_both_ways
from runcoord._stores.rows import (
    COMMAND_COLUMNS,
    EVENT_CHANGING,
    EVENT_COLUMNS,
    EVENT_FIXED,
    GROUP_COLUMNS,
    RUN_CHANGING,
    RUN_COLUMNS,
    SUBMITTED_COLUMNS,
)


def names(columns: list[str]) -> str:
    return ", ".join(columns)


def marks(count: int) -> str:
    return ", ".join(["?"] * count)


def settings(columns: list[str]) -> str:
    return ", ".join(f"{column} = ?" for column in columns)


_RUN, _EVENT = names(RUN_COLUMNS), names(EVENT_COLUMNS)
_KNOWN_EVENT_STATES = "'pending', 'sending', 'held', 'delivered'"
#: The event that nearly every run has, and no other: found by its id, so that the index ``events_of_run``
#: need not be written for it.
_USUAL, _UNUSUAL = "event_id = {} || '/finished'", "event_id <> run_id || '/finished'"

# --- transactions ---
BEGIN_READ = "BEGIN DEFERRED"
BEGIN_WRITE = "BEGIN IMMEDIATE"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"

# --- single look-ups ---
RUN_BY_ID = f"SELECT {_RUN} FROM runs WHERE run_id = ?"
RUN_SEQ = "SELECT seq FROM runs WHERE run_id = ?"
RUN_VERSION = "SELECT version FROM runs WHERE run_id = ?"
COMMAND_BY_KEY = f"SELECT {names(COMMAND_COLUMNS)} FROM commands WHERE key = ?"
EVENT_BY_ID = f"SELECT {_EVENT} FROM events WHERE event_id = ?"
GROUP_BY_ID = f"SELECT {names(GROUP_COLUMNS)} FROM groups WHERE group_id = ?"

# --- several rows by their keys ---
KEYS_A_STATEMENT = 500
"""Keys that one statement asks for; SQLite before 3.32 takes 999 parameters at most."""


@functools.lru_cache(maxsize=KEYS_A_STATEMENT)
def runs_by_ids(count: int) -> str:
    return f"SELECT {_RUN} FROM runs WHERE run_id IN ({marks(count)})"


@functools.lru_cache(maxsize=KEYS_A_STATEMENT)
def events_by_ids(count: int) -> str:
    return f"SELECT {_EVENT} FROM events WHERE event_id IN ({marks(count)})"


# --- lists of runs (those of values begin with seq, to merge them) ---
_LIVE = "INDEXED BY runs_live WHERE state <> 'finished'"
_CLEANING = "INDEXED BY runs_live WHERE state = 'finished' AND lease_boot IS NOT NULL"
_UNKNOWN = (
    "INDEXED BY runs_unknown"
    " WHERE state <> 'accepted' AND state <> 'claimed' AND state <> 'running' AND state <> 'finished'"
)
#: An accepted run has no lease. To SQLite a missing value is below every number, and a text above.
_ACCEPTED = f"{_LIVE} AND state = 'accepted' AND lease_boot IS NULL AND lease_boottime IS NULL"
_ACCEPTED_WITH_BOOT = f"{_LIVE} AND state = 'accepted' AND lease_boot >= ''"
_ACCEPTED_WITH_TIME = f"{_LIVE} AND state = 'accepted' AND lease_boot IS NULL AND lease_boottime >= -1e999"
#: All runs.
RUNS_ALL = both_ways(f"SELECT seq, {_RUN} FROM runs NOT INDEXED WHERE")
#: Accepted runs.
RUNS_ACCEPTED = both_ways(f"SELECT seq, {_RUN} FROM runs {_ACCEPTED} AND")
#: Claimed or running runs; costs what is leased.
RUNS_LEASED = both_ways(f"SELECT seq, {_RUN} FROM runs {_LIVE} AND state = :state AND")
#: Finished runs; most runs are, so the table is walked.
RUNS_FINISHED = both_ways(f"SELECT seq, {_RUN} FROM runs NOT INDEXED WHERE state = 'finished' AND")
#: Runs whose state is none of ours, or contradicts their lease; they belong to every list, so that nobody
#: overlooks them.
RUNS_UNKNOWN = both_ways(
    f"SELECT seq, {_RUN} FROM runs {_UNKNOWN} AND",
    f"SELECT seq, {_RUN} FROM runs {_ACCEPTED_WITH_BOOT} AND",
    f"SELECT seq, {_RUN} FROM runs {_ACCEPTED_WITH_TIME} AND",
)
#: Runs to claim: accepted ones, oldest first.
CLAIMABLE_ACCEPTED = f"SELECT run_id FROM runs {_ACCEPTED} ORDER BY seq LIMIT :limit"
#: Runs to claim: claimed ones whose lease ran out, oldest first.
CLAIMABLE_EXPIRED = f"""
SELECT run_id FROM (
    SELECT seq, run_id FROM runs {_LIVE}
        AND state = 'claimed' AND lease_boot = :boot AND lease_boottime <= :boottime
    UNION ALL
    SELECT seq, run_id FROM runs {_LIVE}
        AND state = 'claimed' AND lease_boot < :boot AND lease_wall <= :wall
    UNION ALL
    SELECT seq, run_id FROM runs {_LIVE}
        AND state = 'claimed' AND lease_boot > :boot AND lease_wall <= :wall
) ORDER BY +seq LIMIT :limit"""


def _ids_after(rows: str) -> str:
    return f"SELECT run_id FROM runs {rows} AND run_id > :after"


_NO_PLAUSIBLE_TIME = "(lease_wall - :wall > :cap OR typeof(lease_wall) <> 'real')"
_PAST_ELSEWHERE = f"(lease_wall <= :wall OR {_NO_PLAUSIBLE_TIME})"


def _leased(state: str, *conditions: str) -> str:
    return " UNION ALL ".join(f"{_ids_after(_LIVE)} AND state = '{state}' AND {each}" for each in conditions)


_HERE, _ELSEWHERE = "lease_boot = :boot", ("lease_boot < :boot", "lease_boot > :boot")
_NONE = ("lease_boot IS NULL", f"{_HERE} AND lease_boottime IS NULL", f"{_HERE} AND lease_boottime >= ''")
#: Their lease is missing or no time, so that no clock ever finds it expired.
_NO_LEASE = f"{_leased('running', *_NONE)} UNION ALL {_leased('claimed', *_NONE)}"
#: Running runs whose lease ran out, claimed or running ones whose lease is implausible or none, accepted ones
#: with a lease, finished ones whose processes are due to be dealt with, and runs of an unknown state; by run
#: id. One part for each state: a list of two, in parts that are sorted together, costs ten times as much.
RECOVERABLE = f"""
SELECT run_id FROM (
    {_leased("running", f"{_HERE} AND lease_boottime <= :boottime")}
    UNION ALL
    {_leased("running", *(f"{boot} AND {_PAST_ELSEWHERE}" for boot in _ELSEWHERE))}
    UNION ALL
    {_leased("claimed", *(f"{boot} AND {_NO_PLAUSIBLE_TIME}" for boot in _ELSEWHERE))}
    UNION ALL
    {_NO_LEASE}
    UNION ALL
    {_ids_after(_ACCEPTED_WITH_BOOT)}
    UNION ALL
    {_ids_after(_ACCEPTED_WITH_TIME)}
    UNION ALL
    {_ids_after(_CLEANING)} AND lease_boot = :boot
        AND (lease_boottime <= :boottime OR typeof(lease_boottime) <> 'real')
    UNION ALL
    {_ids_after(_CLEANING)} AND lease_boot < :boot AND {_PAST_ELSEWHERE}
    UNION ALL
    {_ids_after(_CLEANING)} AND lease_boot > :boot AND {_PAST_ELSEWHERE}
    UNION ALL
    {_ids_after(_UNKNOWN)}
) ORDER BY +run_id LIMIT :limit"""
#: What an owner holds: runs by id, then events. Looks at all that are leased, or being sent.
RUNS_OF_OWNER = f"""
SELECT run_id FROM (
    SELECT run_id FROM runs {_LIVE} AND state = 'running' AND run_id > :after AND owner = :owner
    UNION ALL
    SELECT run_id FROM runs {_LIVE} AND state = 'claimed' AND run_id > :after AND owner = :owner
    UNION ALL
    SELECT run_id FROM runs {_CLEANING} AND run_id > :after AND owner = :owner
) ORDER BY +run_id LIMIT :limit"""
#: Unfinished runs of one lineage.
COUNT_UNFINISHED = """
SELECT count(*) FROM runs INDEXED BY runs_of_lineage
WHERE lineage <> '' AND state <> 'finished' AND lineage = :lineage"""
#: Registered owners, of which there are few.
OWNERS = "SELECT owner, identity, since FROM owners WHERE owner > :after ORDER BY owner LIMIT :limit"
#: Finished runs that are old enough to prune, have nothing left to deliver or clean up, and whose name is not
#: the answer to a repeated retry; longest finished first.
FINISHED_BEFORE = f"""
SELECT run_id FROM runs INDEXED BY runs_finished
WHERE state = 'finished' AND finished_at < :wall AND lease_boot IS NULL
AND (source_state IS NULL OR source_state = 'gone') AND NOT EXISTS (
    SELECT 1 FROM events
    WHERE {_USUAL.format("runs.run_id")} AND events.run_id = runs.run_id AND events.state <> 'delivered'
) AND NOT EXISTS (
    SELECT 1 FROM events INDEXED BY events_of_run
    WHERE events.run_id = runs.run_id AND {_UNUSUAL.replace("run_id", "events.run_id")}
    AND events.state <> 'delivered'
) AND NOT EXISTS (
    SELECT 1 FROM runs AS earlier
    WHERE earlier.run_id = runs.retry_of AND earlier.retried_as = runs.run_id
) ORDER BY finished_at, seq LIMIT :limit"""

# --- lists of events ---
_RUNLESS = "run_id = '' AND state = 'delivered'"
_NO_MEMBERS = """NOT EXISTS (
    SELECT 1 FROM runs WHERE runs.group_id <> '' AND runs.group_id = events.group_id
)"""
#: Delivered events of no run that are old enough to prune, and whose group has no run left; longest delivered
#: first.
RUNLESS_BEFORE = f"""
SELECT event_id FROM events INDEXED BY events_runless
WHERE {_RUNLESS} AND delivered_at < :wall AND {_NO_MEMBERS} ORDER BY delivered_at, seq LIMIT :limit"""
_UNDELIVERED = "INDEXED BY events_waiting WHERE state IN ('pending', 'sending')"
_PARKED = "INDEXED BY events_parked WHERE state <> 'pending' AND state <> 'sending' AND state <> 'delivered'"
#: All events.
EVENTS_ALL = both_ways(f"SELECT {_EVENT} FROM events NOT INDEXED WHERE")
#: Events of one run, of any state or of those in a JSON array.
_OF_RUN = (
    "run_id = :run_id AND (:any OR state IN (SELECT value FROM json_each(:states))"
    f" OR state NOT IN ({_KNOWN_EVENT_STATES})) AND"
)
EVENTS_OF_RUN = merged_both_ways(
    f"SELECT {_EVENT} FROM events WHERE {_USUAL.format(':run_id')} AND {_OF_RUN}",
    f"SELECT {_EVENT} FROM events INDEXED BY events_of_run WHERE {_UNUSUAL} AND {_OF_RUN}",
)
#: Pending events, or those being sent; costs what waits.
EVENTS_WAITING = both_ways(f"SELECT {_EVENT} FROM events {_UNDELIVERED} AND state = :state AND")
#: Held events; costs what is held.
EVENTS_HELD = both_ways(f"SELECT {_EVENT} FROM events {_PARKED} AND state = 'held' AND")
#: Delivered events; most events are, so the table is walked.
EVENTS_DELIVERED = both_ways(f"SELECT {_EVENT} FROM events NOT INDEXED WHERE state = 'delivered' AND")
#: Events whose state is none of ours; they belong to every list.
EVENTS_UNKNOWN = both_ways(
    f"SELECT {_EVENT} FROM events {_PARKED} AND state < 'held' AND",
    f"SELECT {_EVENT} FROM events {_PARKED} AND state > 'held' AND",
)


def _due(state: str) -> str:
    """Events of one state that are due; ``:pending`` and ``:sending`` are the caps of their deadlines."""
    waiting = f"SELECT seq FROM events {_UNDELIVERED} AND state = '{state}'"
    if state == "sending":
        waiting += " AND owner <> :owner"  # those are in another part
    elsewhere = f"(due_wall <= :wall OR due_wall - :wall > :{state})"
    return f"""
        {waiting} AND due_boot = :boot AND due_boottime <= :boottime
        UNION ALL
        {waiting} AND due_boot < :boot AND {elsewhere}
        UNION ALL
        {waiting} AND due_boot > :boot AND {elsewhere}"""


#: Events that wait for an attempt, and those whose attempt is ours, oldest first. The last part looks at all
#: that are being sent: a batch or so of every process that delivers.
_SENDABLE = f"""SELECT seq FROM ({_due("pending")}
        UNION ALL{_due("sending")}
        UNION ALL
        SELECT seq FROM events {_UNDELIVERED} AND state = 'sending' AND owner = :owner
    )"""
SENDABLE = f"""
SELECT event_id FROM events WHERE seq IN (
    {_SENDABLE} ORDER BY +seq LIMIT :limit
) ORDER BY seq"""
#: The same without those for the destinations in a JSON array. Looks at every row that waits.
SENDABLE_ELSEWHERE = f"""
SELECT event_id FROM events WHERE seq IN (
    {_SENDABLE}
) AND destination NOT IN (SELECT value FROM json_each(:without)) ORDER BY seq LIMIT :limit"""

#: Events that an owner is sending, in order of acceptance.
EVENTS_OF_OWNER = f"""
SELECT event_id FROM events {_UNDELIVERED} AND state = 'sending' AND owner = :owner
ORDER BY seq LIMIT :limit"""


def _first(column: str, order: str) -> str:
    """For both states: the first value of ``column``."""
    return ", ".join(
        f"(SELECT {column} FROM events {_UNDELIVERED} AND state = '{state}' ORDER BY {order} LIMIT 1)"
        for state in ("pending", "sending")
    )


#: The first and the last boot that waiting events belong to, and the earliest boottime of the first one; each
#: for the pending ones and for those being sent.
NEXT_DUE = "SELECT " + ", ".join(
    [
        _first("due_boot", "due_boot"),
        _first("due_boot", "due_boot DESC"),
        _first("due_boottime", "due_boot, due_boottime"),
    ]
)
_UNTOLD = f"events {_PARKED} AND state = 'held' AND told = 0 AND kind <> 'held.digest'"
#: Held events that no digest told about, oldest first.
UNTOLD_HELD = f"SELECT {_EVENT} FROM {_UNTOLD} ORDER BY seq LIMIT :limit"
#: How many there are.
COUNT_UNTOLD_HELD = f"SELECT count(*) FROM {_UNTOLD}"

# --- writing ---
INSERT_RUN = f"INSERT INTO runs ({names(SUBMITTED_COLUMNS)}) VALUES ({marks(len(SUBMITTED_COLUMNS))})"
#: Only while the version is still the one that was loaded.
UPDATE_RUN = f"UPDATE runs SET {settings(RUN_CHANGING)} WHERE run_id = ? AND version = ?"
INSERT_COMMAND = f"INSERT INTO commands ({names(COMMAND_COLUMNS)}) VALUES ({marks(len(COMMAND_COLUMNS))})"
_NEXT_EVENT = "max(ifnull((SELECT max(seq) FROM events), 0), (SELECT last_event FROM removed)) + 1"
_EVENT_VALUES = marks(len(EVENT_FIXED) + len(EVENT_CHANGING))
INSERT_EVENT = f"INSERT INTO events ({_EVENT}) VALUES ({_NEXT_EVENT}, {_EVENT_VALUES})"
#: The number of the next event, for whoever writes many of them and numbers them.
NEXT_EVENT = f"SELECT {_NEXT_EVENT}"
INSERT_NUMBERED_EVENT = f"INSERT INTO events ({_EVENT}) VALUES (?, {_EVENT_VALUES})"
UPDATE_EVENT = f"UPDATE events SET {settings(EVENT_CHANGING)} WHERE event_id = ?"
#: A group is written as a whole when a member joins or ends.
UPSERT_GROUP = (
    f"INSERT INTO groups ({names(GROUP_COLUMNS)}) VALUES ({marks(len(GROUP_COLUMNS))})"
    " ON CONFLICT (group_id) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in GROUP_COLUMNS[1:])
)
#: Mark what COUNT_UNTOLD_HELD counts.
MARK_HELD_TOLD = f"UPDATE {_UNTOLD.replace(' WHERE ', ' SET told = 1 WHERE ')}"
_OF_A_FINISHED_RUN = (
    "run_id = ? AND EXISTS (SELECT 1 FROM runs WHERE runs.run_id = ? AND runs.state = 'finished')"
)
#: Before events are removed: their numbers are not given again.
NOTE_LAST_EVENT = """
UPDATE removed SET last_event = (SELECT max(seq) FROM events)
WHERE last_event < (SELECT max(seq) FROM events)"""
#: Pruning: everything of one finished run, the run last.
REMOVE_USUAL_EVENT = f"DELETE FROM events WHERE {_USUAL.format('?')} AND {_OF_A_FINISHED_RUN}"
REMOVE_OTHER_EVENTS = f"DELETE FROM events WHERE {_UNUSUAL} AND {_OF_A_FINISHED_RUN}"
REMOVE_OWN_COMMAND = f"DELETE FROM commands WHERE key = ? AND {_OF_A_FINISHED_RUN}"
REMOVE_OTHER_COMMANDS = f"DELETE FROM commands WHERE key <> run_id AND {_OF_A_FINISHED_RUN}"
#: Whether there are any records to remove; most stores have none.
ANY_RECORDS = "SELECT " + " OR ".join(
    f"EXISTS (SELECT 1 FROM {table})" for table in ("processes", "audits", "teardowns", "snapshots")
)
#: Pruning: a group that its summary tells of, then the summary.
REMOVE_GROUP = f"""
DELETE FROM groups WHERE group_id = (
    SELECT group_id FROM events WHERE event_id = ? AND {_RUNLESS} AND {_NO_MEMBERS}
)"""
REMOVE_RUNLESS = f"DELETE FROM events WHERE event_id = ? AND {_RUNLESS} AND {_NO_MEMBERS}"
REMOVE_OWNER = "DELETE FROM owners WHERE owner = ?"
REMOVE_RUN = "DELETE FROM runs WHERE run_id = ? AND state = 'finished'"

#: The named list statements and the indices that each must use, or none: then it goes by number. A test asks
#: SQLite for its plans.
PLANS: dict[str | BothWays, frozenset[str]] = {
    RUNS_ALL: frozenset(),
    RUNS_FINISHED: frozenset(),
    RUNS_ACCEPTED: frozenset({"runs_live"}),
    RUNS_LEASED: frozenset({"runs_live"}),
    RUNS_UNKNOWN: frozenset({"runs_unknown", "runs_live"}),
    CLAIMABLE_ACCEPTED: frozenset({"runs_live"}),
    CLAIMABLE_EXPIRED: frozenset({"runs_live"}),
    RECOVERABLE: frozenset({"runs_live", "runs_unknown"}),
    RUNS_OF_OWNER: frozenset({"runs_live"}),
    COUNT_UNFINISHED: frozenset({"runs_of_lineage"}),
    FINISHED_BEFORE: frozenset({"runs_finished", "events_of_run"}),
    RUNLESS_BEFORE: frozenset({"events_runless", "runs_of_group"}),
    EVENTS_ALL: frozenset(),
    EVENTS_DELIVERED: frozenset(),
    EVENTS_OF_RUN: frozenset({"events_of_run"}),
    EVENTS_WAITING: frozenset({"events_waiting"}),
    EVENTS_HELD: frozenset({"events_parked"}),
    EVENTS_UNKNOWN: frozenset({"events_parked"}),
    EVENTS_OF_OWNER: frozenset({"events_waiting"}),
    SENDABLE: frozenset({"events_waiting"}),
    SENDABLE_ELSEWHERE: frozenset({"events_waiting"}),
    NEXT_DUE: frozenset({"events_waiting"}),
    UNTOLD_HELD: frozenset({"events_parked"}),
    COUNT_UNTOLD_HELD: frozenset({"events_parked"}),
    MARK_HELD_TOLD: frozenset({"events_parked"}),
}
