"""What is kept of a command outside of its run's own row, so that whoever comes after a crash can end it: the
first processes, the caller's git state, how the command ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from runcoord import _spans as spans
from runcoord._coordinator import RunVerbs
from runcoord._core.events import canonical_json as json_of
from runcoord._core.identity import UnknownIdentity
from runcoord._core.records import Identity, NewProcess, Role, Snapshot, SnapshotState, Terms
from runcoord._core.texts import message_of
from runcoord._core.values import value
from runcoord._log import ERROR, WARNING, Log, say
from runcoord._supervisor.accepting import Beginning
from runcoord._supervisor.starting import Launched
from runcoord._supervisor.tidying import remove, tidy
from runcoord.errors import Happened, LaunchFailed, ProbeFailed, RuncoordError

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:  # without a checkout nothing of git is loaded
    from runcoord._supervisor.git_state import GitReport

log = Log("runcoord.commands")

FOLDER_TRIES = 20
"""How often a command's directory is made anew when the one around it was removed at that moment: as many
commands that end just then are not to be expected."""


@value
class Kept:
    """What is known of the git state afterwards. No report: nothing had been written down."""

    report: GitReport | None = None
    problems: tuple[str, ...] = ()


class Keeper:
    """Keeps it, for the commands of one coordinator."""

    def __init__(self, verbs: RunVerbs) -> None:
        self._verbs = verbs

    # --- before the command begins ---

    def make_folder(self, launched: Launched) -> None:
        """The command's own directory. Raises :class:`~runcoord.errors.LaunchFailed`."""
        if launched.folder is None:
            return
        try:
            _make(launched.folder)
        except OSError as error:
            raise LaunchFailed(
                f"the directory of the run cannot be made: {launched.folder} ({error.strerror})",
                remedy="Check that the directory of the store can be written.",
                path=launched.folder,
            ) from None

    def take(self, launched: Launched) -> None:
        """Write down the git state of the command's directory, durably, if it is in a checkout. Raises
        :class:`~runcoord.errors.GitStateUnsaved`."""
        prepared = launched.prepared
        if launched.folder is None or not _below_git(prepared.directory):
            return
        from runcoord import _git

        with spans.span("runcoord.git.take", run=launched.run_id) as span:
            saved = _git.take(prepared.directory, launched.folder, environ=prepared.environment)
            span.say(checkout=saved is not None)
        launched.saved = saved

    def beginning(self, launched: Launched) -> Beginning:
        """What the store is to know of it; waits for the processes to be there."""
        tree, prepared = launched.tree, launched.prepared
        processes = (
            NewProcess(_identity(lambda: tree.shim), Role.SHIM),
            NewProcess(_identity(lambda: tree.leader), Role.LEADER),
        )
        return Beginning(
            payload=prepared.payload(),
            run_id=launched.run_id,
            lineage=prepared.line.lineage,
            depth=prepared.admission.depth,
            processes=processes,
            terms=Terms(prepared.scope, prepared.grace, launched.last_words, prepared.line.own),
            snapshot=launched.folder or "" if launched.saved is not None else "",
        )

    # --- afterwards ---

    def heed_others(self, launched: Launched, verbs: RunVerbs, run_id: str, holds: bool) -> None:
        """Let go of the git state where somebody else has dealt with it: while this process stood still the
        run may have been recovered, and what its checkout is like since is somebody's wish."""
        if launched.saved is None:
            return
        try:
            stored = verbs.snapshot(run_id)
            is_ours = stored is None or stored.state is SnapshotState.TAKEN
        except RuncoordError as error:
            say(log, WARNING, "git: nobody can be asked", run=run_id, error=error.problem)
            is_ours = holds
        if not is_ours:
            say(log, WARNING, "git: left to who took the run over", run=run_id)
            launched.saved = None

    def untouched(self, launched: Launched, run_id: str) -> Snapshot | None:
        """What the store is to know of the git state of a command that never began: nothing was changed."""
        if launched.saved is None or launched.folder is None:
            return None
        return Snapshot(run_id, launched.folder, SnapshotState.RESTORED)

    def compare(self, launched: Launched) -> Kept:
        """How the git state differs; nothing is written."""
        return self._with_git(launched, "compare")

    def restore(self, launched: Launched) -> Kept:
        """Put the git state back."""
        return self._with_git(launched, "restore")

    def _with_git(self, launched: Launched, what: str) -> Kept:
        if launched.saved is None:
            return Kept()
        from runcoord import _git
        from runcoord._supervisor.git_state import GitReport

        environ = launched.prepared.environment
        with spans.span(f"runcoord.git.{what}", run=launched.run_id) as span:
            try:
                found = (
                    _git.drift(launched.saved, environ=environ)
                    if what == "compare"
                    else _git.restore(launched.saved, environ=environ)
                )
            except Exception as error:  # noqa: BLE001 - whatever it was, it must not hide how the command ended
                say(log, ERROR, f"git: could not {what}", run=launched.run_id, error=message_of(error))
                return Kept(problems=(f"git: could not {what}: {message_of(error)}",))
            report = GitReport(found)
            span.say(clean=report.clean)
        return Kept(report if report.clean else GitReport(found, launched.folder or ""))

    def snapshot_of(self, launched: Launched, run_id: str, report: GitReport | None) -> Snapshot | None:
        """What the store is to know of the git state afterwards."""
        if report is None or launched.folder is None:
            return None
        state = SnapshotState.RESTORED if report.clean else SnapshotState.REFUSED
        return Snapshot(run_id, launched.folder, state, json_of(report.document()))

    def forget_unless_stored(self, launched: Launched, error: BaseException) -> None:
        """The same for a run that did not get into the store; where that is unknown recovery may need it.

        A signal that broke off the call tells nothing about that, so the store is asked.
        """
        if isinstance(error, RuncoordError):
            stored = error.happened is not Happened.NO
        else:
            stored = self._may_be_stored(launched.run_id)
        if not stored:
            self.forget(launched)

    def _may_be_stored(self, run_id: str) -> bool:
        try:
            with self._verbs.store.view("read-run") as view:
                return view.run(run_id) is not None
        except RuncoordError:
            return True

    def forget(self, launched: Launched) -> None:
        """Remove the command's own directory: nobody needs it any more."""
        if launched.folder is None:
            return
        remove(launched.folder)
        tidy(self._verbs, os.path.dirname(launched.folder))


def _make(folder: str) -> None:
    """The directory around it goes with the last of the folders in it, which may be just now."""
    for _ in range(FOLDER_TRIES):
        with contextlib.suppress(FileNotFoundError):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            return
    os.makedirs(folder, mode=0o700, exist_ok=True)


def _below_git(directory: str) -> bool:
    """Whether ``.git`` is there, or above: without it there is no checkout, and what tells more need not be
    loaded."""
    place = os.path.realpath(directory)
    while not os.path.lexists(os.path.join(place, ".git")):
        place, below = os.path.dirname(place), place
        if place == below:
            return False
    return True


def _identity(read: Callable[[], Identity]) -> Identity:
    """One that cannot be read is recorded as such: the run goes on, without authority to signal it."""
    try:
        return read()
    except ProbeFailed as error:
        return UnknownIdentity(error.problem)
