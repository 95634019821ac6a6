"""The run, and the event, that a folder becomes."""

from __future__ import annotations

from runcoord._core.events import finished_event
from runcoord._core.evolving import evolved
from runcoord._core.folders import FolderState, Tombstone
from runcoord._core.limits import FOLDER_NOTES, MAX_ERROR_CHARACTERS
from runcoord._core.model import Event, Instant, Outcome, Run, Spec, State
from runcoord._core.sources import KeptResult, Source, SourceState
from runcoord._core.values import value

UNDER_WAY = "interrupted: its folder says that it was under way, and nobody works on it any more"
FLOOD = "imported: more folders in one pass than are told one by one"


_SPEC = Spec()
_RUN = Run("", _SPEC, 0.0, "", state=State.FINISHED)
"""Runs are made from it by thousands, at half the price of a call with thirty arguments."""


@value
class Imported:
    """What one folder becomes."""

    run: Run
    event: Event | None
    """``None``: it is history, of which nobody is told again."""


def imported_run(
    state: FolderState,
    tombstone: Tombstone | None,
    *,
    root: str,
    mark: str,
    result: KeptResult | None,
    now: Instant,
    fallback: str = "",
    flooded: bool = False,
    notes: tuple[str, ...] = (),
    below: str = ".",
) -> Imported:
    """The finished run of a folder, and its event unless a tombstone names an outcome.

    ``root`` and ``mark`` say where it is and which bytes were read. ``fallback`` is the destination that the
    operator configured for such events; without it the event is held. ``flooded`` holds it too: too many were
    told in this pass. ``below`` is the root's place in its home. ``notes`` are added to those of the folder.
    """
    history = tombstone is not None and tombstone.outcome is not None
    source = Source(
        root,
        mark,
        # Any tombstone: the name is taken, so none can be written.
        SourceState.OPEN if tombstone is None else SourceState.CLOSED,
        now.wall,
        result,
        state.claims,
        _few(state.notes + (() if tombstone is None else tombstone.notes) + notes),
        below,
    )
    began = state.started if state.started is not None else state.updated
    outcome, finished_at, error = Outcome.INTERRUPTED, now.wall, UNDER_WAY
    if tombstone is not None:
        error = tombstone.error or error
        if tombstone.outcome is not None:
            outcome, error = tombstone.outcome, tombstone.error
            died = next((at for at in (tombstone.died, state.updated, began) if at is not None), now.wall)
            finished_at = max(min(died, now.wall), began or 0.0)
    run = evolved(
        _RUN,
        run_id=state.run_id,
        spec=evolved(_SPEC, destination=fallback, agent=state.agent, task=state.task),
        created_at=finished_at if began is None else began,
        line=state.run_id,
        started_at=state.started,
        finished_at=finished_at,
        outcome=outcome,
        error=error[:MAX_ERROR_CHARACTERS],
        source=source,
    )
    if history:
        return Imported(run, None)
    held = ""
    if flooded or not fallback:
        held = FLOOD if fallback else _untrusted(state)
    return Imported(run, finished_event(run, now, held=held))


def _untrusted(state: FolderState) -> str:
    claimed = state.claims.destination
    if not claimed:
        return "imported: the folder names no destination"
    return f"imported: the folder's destination {claimed!r} is not trusted"


def _few(notes: tuple[str, ...]) -> tuple[str, ...]:
    if len(notes) <= FOLDER_NOTES:
        return notes
    return (*notes[:FOLDER_NOTES], f"{len(notes) - FOLDER_NOTES} more")
