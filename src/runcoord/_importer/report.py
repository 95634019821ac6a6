"""What an import did."""

from __future__ import annotations

from runcoord._core.limits import FOLDERS_NAMED
from runcoord._core.sources import RefusedFolder
from runcoord._core.values import field, record
from runcoord._home_ports import RefusalKind


@record
class ImportReport:
    """One pass over one root. All zeros, and no problem, mean that it looked and found nothing.

    Folders are named up to a number, and counted beyond it.
    """

    root: str = ""
    """Where the folders are; resolved, once the home was opened."""
    problem: str | None = None
    """Why nothing, or not all, could be looked at. Other roots go on, and the next sweep tries again."""
    missing: tuple[str, ...] = ()
    """What cannot be guaranteed on this system."""
    imported: int = 0
    """Folders that became runs now, with an event each."""
    history: int = 0
    """Folders with a tombstone that became runs now, of which nobody is told again."""
    known: int = 0
    """Folders that were runs already: imported before, or of the same id as another run."""
    changed: list[str] = field(default_factory=list)
    """Known folders whose state file changed, or went. What was imported of them stays as it is."""
    changed_count: int = 0
    refused: list[RefusedFolder] = field(default_factory=list)
    """Folders that are not read: links, FIFOs, files of two names, names that are no ids."""
    refused_count: int = 0
    corrupt: list[RefusedFolder] = field(default_factory=list)
    """Folders whose files are not what the layout says."""
    corrupt_count: int = 0
    held: int = 0
    """Events of this pass that wait for the operator."""
    routed: int = 0
    """Events of this pass that go to the configured destination."""
    tombstoned: int = 0
    """Folders that got their tombstone, because their event was delivered."""
    tombstones_failed: int = 0
    """Tombstones that could not be written; tried again by the next pass."""
    tombstone_failures: list[RefusedFolder] = field(default_factory=list)
    pruned: int = 0
    """Folders that were removed, because they were old."""
    prunings_failed: int = 0
    pruning_failures: list[RefusedFolder] = field(default_factory=list)
    gone: int = 0
    """Known folders that are not there any more."""
    unfinished: bool = False
    """Time or the number of folders ran out; the next pass goes on from there."""
    named_at_most: int = FOLDERS_NAMED
    """Folders of one kind that are named."""

    @property
    def looked_at(self) -> int:
        """Entries of the root that this pass came to."""
        return self.imported + self.history + self.known + self.refused_count + self.corrupt_count

    def note_refused(self, folder: RefusedFolder) -> None:
        """Count and name one that was not imported."""
        if folder.kind == RefusalKind.CORRUPT:
            self.corrupt_count += 1
            self._name(self.corrupt, folder)
        else:
            self.refused_count += 1
            self._name(self.refused, folder)

    def note_changed(self, name: str) -> None:
        """Count and name one that changed."""
        self.changed_count += 1
        if len(self.changed) < self.named_at_most:
            self.changed.append(name)

    def note_tombstone(self, folder: RefusedFolder) -> None:
        """Count and name one that got no tombstone."""
        self.tombstones_failed += 1
        self._name(self.tombstone_failures, folder)

    def note_pruning(self, folder: RefusedFolder) -> None:
        """Count and name one that was not removed."""
        self.prunings_failed += 1
        self._name(self.pruning_failures, folder)

    def _name(self, named: list[RefusedFolder], folder: RefusedFolder) -> None:
        if len(named) < self.named_at_most:
            named.append(folder)
