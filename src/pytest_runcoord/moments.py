"""The closed list of named effects. A scenario may crash at one of them, or do something meanwhile.

For every transaction of the coordinator that writes, ``before-X`` is before it is begun (nothing was
written), ``before-commit`` is when all is decided and nothing durable, ``after-X`` is when it is durable
and nobody was told yet. They are interface: names are added, never changed.
"""

from __future__ import annotations

TRANSACTIONS = {
    "accept": "a submission is made durable",
    "retry": "a new run is linked to the old one",
    "claim": "a run is acquired",
    "start": "the start of the work is made durable",
    "renew": "a lease is renewed",
    "reacquire": "an expired lease is taken again",
    "begin": "the run of a command is accepted, claimed and started, and its processes are recorded",
    "record": "processes of a run are recorded, which starts it",
    "record-teardown": "the report on how a run's processes were ended is recorded",
    "record-snapshot": "the git state before a run, or what became of it, is recorded",
    "release": "a run is given back",
    "progress": "progress is recorded",
    "publish": "a note is written to the outbox",
    "finish": "the outcome is recorded together with its event",
    "stop": "a stop is made durable",
    "take-over": "a run is taken over, to deal with its processes",
    "intend": "the intent of a round of signals by recovery is written down",
    "defer": "the clean-up of a run is put off",
    "recover": "a batch of recoverable runs is ended",
    "digest": "the digest of held events is written",
    "dispatch": "events are claimed for delivery",
    "acknowledge": "answers of destinations are recorded",
    "postpone": "a failed attempt is recorded",
    "refuse": "a refusal for good is recorded",
    "replay": "a held event is made due again",
    "import": "imported runs, and folders that were refused, are recorded",
    "prune": "old runs are removed",
    "forget-owner": "an owner that is proved dead, and holds nothing, is removed",
}

PROCESSES = {
    "before-launch": "a tree of processes is about to be started",
    "after-launch": "the shim and the command are there, and the gate is closed",
    "before-gate": "the command is about to begin",
    "after-gate": "the command has begun",
    "before-teardown": "an owner is about to have its own tree ended",
    "before-identify": "the identity of a process is about to be read, to record it",
    "before-probe": "whoever has a recorded pid is about to be held",
    "before-look": "a process that is held is about to be compared with a record",
    "before-scan": "the table is about to be searched for the members of a run",
    "before-pin": "a member is about to be held",
    "before-signal": "a process is about to be signalled by an owner",
    "after-signal": "a process was signalled by an owner",
}
"""What an owner does with processes, in the simulated world."""

HOMES = {
    "open-root": "the directory with the run folders is opened",
    "list-folders": "its entries are listed",
    "open-folder": "one run folder is opened",
    "look-at-file": "a file of a folder is looked at, without opening it",
    "read-file": "a file of a folder is read",
    "write-tombstone": "the tombstone of a folder is written",
    "remove-folder": "a folder is removed",
}
"""What an importer asks of the port for homes."""
QUIET = frozenset(f"after-{name}" for name in HOMES if name not in ("write-tombstone", "remove-folder"))
"""Moments that come with each file of thousands: they can be waited for, and do not fill the history."""

OTHERS = {
    "before-commit": "in any of these transactions: decided, not yet durable",
    "after-commit": "any of these transactions became durable",
    "after-read": "a sweep has read which runs it may recover, and has decided nothing yet",
    "before-send": "a destination is about to be offered an event",
    "after-send": "a destination has answered, and the answer is not recorded",
}

MOMENTS: dict[str, str] = (
    {f"before-{name}": f"before {meaning}" for name, meaning in TRANSACTIONS.items()}
    | {f"after-{name}": f"after {meaning}" for name, meaning in TRANSACTIONS.items()}
    | PROCESSES
    | {f"before-{name}": f"before {meaning}" for name, meaning in HOMES.items()}
    | {f"after-{name}": f"after {meaning}" for name, meaning in HOMES.items()}
    | OTHERS
)
