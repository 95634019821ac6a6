"""Holding a lease while the work goes on, and knowing when it is no longer held.

The protocol, written down. The holder trusts its lease until ``TRUST_FRACTION`` of its length after the
last good renewal was *sent*, on a clock that counts suspend; so its trust ends before the store's expiry.

    state      guard()                        tick()
    -------    ---------------------------    ------------------------------------------------------
    held       passes while trust lasts       renews when due; a failed renewal is retried until trust
                                              ends; a refusal that says "somebody else" cancels
    doubtful   makes that attempt itself if   one bounded attempt to re-acquire under a new epoch:
               no call is under way, else     granted -> held (reported), anything else -> cancelled
               raises EffectsBlocked
    cancelled  raises WorkCancelled           nothing
    ended      raises WorkCancelled           nothing

A stop that was asked for makes ``guard`` raise WorkCancelled in every state; the lease is still renewed until
the work has ended. While a call is under way ``guard`` reads only the clock and the state, so that a renewal
that hangs cannot keep effects open.
"""

from __future__ import annotations

import enum
import threading

from runcoord._answers import Renewal
from runcoord._coordinator import RunVerbs
from runcoord._core import limits
from runcoord._core.model import Lease
from runcoord._core.values import value
from runcoord._log import WARNING, Log, say
from runcoord.errors import AlreadyFinished, EffectsBlocked, LeaseExpired, Refused, WorkCancelled
from runcoord.ports import Bounded

log = Log("runcoord.heartbeat")


class Hold(enum.StrEnum):
    """Whether the work may have effects."""

    HELD = "held"
    DOUBTFUL = "doubtful"
    CANCELLED = "cancelled"
    ENDED = "ended"


@value
class HoldReport:
    """Something that happened to a hold: ``renewal-failed``, ``reacquired``, ``lease-lost``,
    ``stop-requested``. ``at`` is boottime in seconds."""

    what: str
    at: float
    epoch: int
    why: str = ""


MAX_REPORTS = 1_000
"""Reports kept for one hold; a store that fails every second for a quarter of an hour fills it."""


class Heartbeat:
    """Renews one lease. ``next_due`` and ``tick`` are called by a thread, or by a simulated world."""

    def __init__(self, verbs: RunVerbs, lease: Lease, bounded: Bounded) -> None:
        self._verbs = verbs
        self._clock = verbs.clock
        self._bounded = bounded
        self._lock = threading.Lock()
        self._calling = False
        self._lease = lease
        self._hold = Hold.HELD
        self._why = ""
        self._stop_requested = False
        self._completing = False
        self._renew_at = lease.sent + verbs.settings.renew
        self._poll_at = lease.sent + limits.STOP_POLL_SECONDS
        self.reports: list[HoldReport] = []

    @property
    def lease(self) -> Lease:
        """The newest lease; its epoch rises when it had to be re-acquired."""
        with self._lock:
            return self._lease

    @property
    def hold(self) -> Hold:
        with self._lock:
            return self._state_now()

    @property
    def calling(self) -> bool:
        """Whether a renewal, or an attempt to re-acquire, is under way."""
        with self._lock:
            return self._calling

    @property
    def stop_requested(self) -> bool:
        with self._lock:
            return self._stop_requested

    def guard(self) -> None:
        """Call before every effect of the work. Returns only while the lease can be trusted.

        When trust has just ended it makes the one attempt to re-acquire itself. Raises
        :class:`~runcoord.errors.WorkCancelled` when the work must end, and
        :class:`~runcoord.errors.EffectsBlocked` while that is still being found out.
        """
        with self._lock:
            state = self._state_now()
            busy = self._calling
        if state is Hold.DOUBTFUL and not busy:
            self.tick()
            with self._lock:
                state = self._state_now()
        with self._lock:
            lease, stop, why = self._lease, self._stop_requested, self._why
        if state is Hold.HELD and not stop:
            return
        if state is Hold.DOUBTFUL and not stop:
            raise EffectsBlocked(
                f"the lease on run {lease.run_id!r} may have been lost; effects wait",
                remedy="Ask again shortly: it is being re-acquired, or the work will be cancelled.",
                run=lease.run_id,
                epoch=lease.epoch,
            )
        raise WorkCancelled(
            f"the work of run {lease.run_id!r} must end: {why}",
            remedy="Have no further effect; what was done is reported by recovery or by completing.",
            run=lease.run_id,
            epoch=lease.epoch,
            why=why,
        )

    def next_due(self) -> float | None:
        """Boottime (seconds) of the next tick; ``None`` when there is nothing left to do."""
        with self._lock:
            state = self._state_now()
            if state in (Hold.CANCELLED, Hold.ENDED):
                return None
            if self._calling:
                # Another thread is in a bounded call; due at once would mean to spin until it returns.
                return self._clock.boottime() + limits.RENEW_RETRY_SECONDS
            if state is Hold.DOUBTFUL:
                return self._clock.boottime()
            return min(self._renew_at, self._poll_at, self._trust_end())

    def tick(self) -> None:
        """Do what is due. Never raises; never waits longer than the named bounds."""
        with self._lock:
            state = self._state_now()
            if self._calling or state in (Hold.CANCELLED, Hold.ENDED):
                return
            self._calling = True
        try:
            now = self._clock.boottime()
            if state is Hold.DOUBTFUL:
                self._reacquire()
            elif now >= self._renew_at:
                self._renew(now)
            elif now >= self._poll_at:
                self._poll(now)
        finally:
            with self._lock:
                self._calling = False

    def completing(self) -> None:
        """The outcome is being recorded. To find the run finished is no loss from now on."""
        with self._lock:
            self._completing = True

    def lost(self, why: str) -> None:
        """Somebody else was seen to decide about the run: the work must have no further effect."""
        self._cancel("lease-lost", why)

    def end(self) -> None:
        """The work is over; nothing is renewed any more."""
        with self._lock:
            if self._hold is not Hold.CANCELLED:
                self._hold, self._why = Hold.ENDED, "it was completed"

    # --- what tick does ---

    def _renew(self, now: float) -> None:
        lease = self._lease
        try:
            bound = min(limits.RENEW_CALL_SECONDS, max(self._trust_end() - now, 0.0))
            renewal = self._bounded.call(bound, lambda: self._verbs.renew(lease))
        except LeaseExpired:
            self._reacquire()
        except AlreadyFinished as refusal:
            self._find_finished(str(refusal))
        except Refused as refusal:
            self._cancel("lease-lost", str(refusal))
        except Exception as error:  # noqa: BLE001 - whatever it was, the lease is not known to be lost
            with self._lock:
                self._renew_at = self._clock.boottime() + limits.RENEW_RETRY_SECONDS
            self._report("renewal-failed", str(error))
        else:
            self._accept(renewal)

    def _reacquire(self) -> None:
        lease = self._lease
        try:
            renewal = self._bounded.call(limits.RENEW_CALL_SECONDS, lambda: self._verbs.reacquire(lease))
        except AlreadyFinished as refusal:
            self._find_finished(str(refusal))
        except Exception as error:  # noqa: BLE001 - one attempt: whatever it was, the lease is not held
            self._cancel("lease-lost", str(error))
        else:
            self._accept(renewal)
            self._report("reacquired", f"epoch {lease.epoch} ran out")
            say(log, WARNING, "lease re-acquired", run=lease.run_id, epoch=renewal.lease.epoch)

    def _poll(self, now: float) -> None:
        run_id = self._lease.run_id
        # A look that hangs must not hold up the next renewal, which tells of a stop as well.
        bound = min(limits.RENEW_CALL_SECONDS, self._renew_at - now)
        try:
            run = self._bounded.call(bound, lambda: self._verbs.run(run_id))
        except Exception:  # noqa: BLE001 - nothing was learned; the next look or renewal will tell
            stop = False
        else:
            stop = run.stop_requested_at is not None
        with self._lock:
            self._poll_at = now + limits.STOP_POLL_SECONDS
        if stop:
            self._note_stop()

    def _accept(self, renewal: Renewal) -> None:
        with self._lock:
            if self._hold is Hold.HELD or self._hold is Hold.DOUBTFUL:
                self._lease = renewal.lease
                self._hold = Hold.HELD
                self._renew_at = renewal.lease.sent + self._verbs.settings.renew
                self._poll_at = renewal.lease.sent + limits.STOP_POLL_SECONDS
        if renewal.stop_requested:
            self._note_stop()

    def _note_stop(self) -> None:
        """The work is to end, but the lease is still renewed until it has."""
        with self._lock:
            first, self._stop_requested = not self._stop_requested, True
            self._why = "a stop was asked for"
        if first:
            self._report("stop-requested")

    def _find_finished(self, why: str) -> None:
        """The run has ended: by our own completion, or by somebody else."""
        with self._lock:
            ours = self._completing
        if ours:
            self.end()
        else:
            self._cancel("lease-lost", why)

    def _cancel(self, what: str, why: str) -> None:
        with self._lock:
            if self._hold in (Hold.CANCELLED, Hold.ENDED):
                return
            self._hold, self._why = Hold.CANCELLED, why
        self._report(what, why)
        say(log, WARNING, "work cancelled", run=self._lease.run_id, epoch=self._lease.epoch)

    def _report(self, what: str, why: str = "") -> None:
        if len(self.reports) < MAX_REPORTS:
            self.reports.append(HoldReport(what, self._clock.boottime(), self._lease.epoch, why))

    # --- trust ---

    def _trust_end(self) -> float:
        return self._lease.sent + self._lease.seconds * limits.TRUST_FRACTION

    def _state_now(self) -> Hold:
        """The state with the clock taken into account. The lock is held."""
        if self._hold is Hold.HELD and self._clock.boottime() >= self._trust_end():
            self._hold = Hold.DOUBTFUL
        return self._hold
