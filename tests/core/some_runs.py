"""Runs in every state that the rules tell apart, made as plain values."""

from __future__ import annotations

from dataclasses import replace

from runcoord import Deadline, Instant, Lease, Outcome, Run, Spec, State

NOW = Instant(wall=1_700_000_000.0, boottime=5_000.0, boot_id="boot-2")
LEASE = 90.0
OWNER, RIVAL = "gw1", "gw2"
SPEC = Spec(payload='{"n":1}', destination="chat", agent="ada", task="count", conversation_key="c1")

ACCEPTED = Run("r1", SPEC, created_at=NOW.wall - 60, line="r1")
RELEASED = replace(ACCEPTED, version=3, epoch=1)
CLAIMED = replace(
    ACCEPTED,
    state=State.CLAIMED,
    version=4,
    epoch=2,
    owner=OWNER,
    lease=Deadline.after(NOW, 40.0),
    lease_seconds=LEASE,
)
RUNNING = replace(CLAIMED, state=State.RUNNING, version=5, started_at=NOW.wall - 50)
STOPPING = replace(RUNNING, version=6, stop_requested_at=NOW.wall - 5, stop_reason="enough")
FINISHED = replace(
    RUNNING,
    state=State.FINISHED,
    version=6,
    lease=None,
    outcome=Outcome.COMPLETED,
    reported=Outcome.COMPLETED,
    result="done",
    finished_at=NOW.wall - 1,
)
EXPIRED = Deadline.after(NOW, -10.0)
IMPLAUSIBLE = Deadline(NOW.wall + 86_400.0, 1.0, "boot-1")

STATES: dict[str, Run] = {
    "accepted": ACCEPTED,
    "released": RELEASED,
    "claimed": CLAIMED,
    "claimed-expired": replace(CLAIMED, lease=EXPIRED),
    "claimed-implausible": replace(CLAIMED, lease=IMPLAUSIBLE),
    "running": RUNNING,
    "running-expired": replace(RUNNING, lease=EXPIRED),
    "running-implausible": replace(RUNNING, lease=IMPLAUSIBLE),
    "stopping": STOPPING,
    "stopping-expired": replace(STOPPING, lease=EXPIRED),
    "finished": FINISHED,
}
"""Each of them was held by ``gw1``, if anybody, under the run's epoch (released: epoch 1)."""


def lease_on(run: Run, *, owner: str = OWNER, epoch: int | None = None) -> Lease:
    """What ``owner`` has in hand after acquiring ``run`` under its epoch, or under another one."""
    until = run.lease or Deadline.after(NOW, 0.0)
    return Lease(run.run_id, owner, run.epoch if epoch is None else epoch, LEASE, NOW.boottime - 50, until)
