"""What lies outside of a home, and is nobody's business: files with bytes that can be recognised.

They look like good run folders, so that whoever follows a link imports them, reads them or writes there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pytest_runcoord.homes.shapes import FILES, RESULT, STATE, as_bytes, state_of
from pytest_runcoord.homes.trees import Difference, Entry, differences, tree
from pytest_runcoord.homes.words import CANARY


@dataclass(slots=True)
class Outside:
    """A directory beside the home."""

    path: Path
    made: int = 0
    before: dict[str, Entry] = field(default_factory=dict)
    """As it was when something was made in it for the last time."""

    def folder(self, run: str, now: float) -> Path:
        """A folder there that looks like that of a run."""
        self.made += 1
        path = self.path / f"{self.made}" / run
        path.mkdir(parents=True)
        texts = dict.fromkeys(("agent", "task", "conversation_key", "parent_session"), CANARY)
        (path / STATE).write_bytes(as_bytes(state_of(run, now, texts)))
        (path / RESULT).write_text(CANARY, "utf-8")
        self.remember()
        return path

    def file(self, run: str, what: str, now: float) -> Path:
        """A file there that looks like one of a run: ``state``, ``tombstone`` or ``result``."""
        path = self.folder(run, now) / FILES[what]
        if not path.exists():
            path.write_bytes(
                as_bytes({"died": now, "outcome": "completed", "cause": CANARY, "detail": CANARY})
            )
        self.remember()
        return path

    def root(self, runs: tuple[str, ...], now: float) -> Path:
        """A directory there that looks like a root with folders of these runs."""
        self.made += 1
        top = self.path / f"{self.made}"
        top.mkdir(parents=True)
        for run in runs or ("stranger",):
            self.folder(run, now).rename(top / run)
        self.remember()
        return top

    def remember(self) -> None:
        """What is there now is how it must stay."""
        self.before = tree(self.path)

    def harm(self) -> list[Difference]:
        """What is not as it was."""
        return differences(self.before, tree(self.path)) if self.made else []
