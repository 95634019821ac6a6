"""Faults of what an import does with folders, takes from them, and says of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from pytest_runcoord.bite.boundary import Asked, Boundary, FaultySession, every_run
from pytest_runcoord.bite.fault import BoundaryFault, fault
from pytest_runcoord.subject import Answer, RunSeen, Snapshot, SubjectWorld
from runcoord.ports import Homes, OpenFolder, OpenRoot

IMPORT = "import_folders"
MOST_CHARACTERS = 2_000
"""Characters of a file that are taken as they are: what a stored field may have."""
LEFT_BEHIND = "seen-by-importer"


def _root(asked: Asked) -> Path:
    return Path(str(asked.args["home"])) / str(asked.args["root"])


class _AfterImport(Boundary):
    """Something happens when an import has ended well."""

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        return self.imported(asked, answer) if asked.verb == IMPORT else answer

    def imported(self, asked: Asked, answer: Answer) -> Answer:
        """What is answered in the end."""
        return answer


class _Touched(_AfterImport):
    """A file is left in the first folder that was imported."""

    def imported(self, asked: Asked, answer: Answer) -> Answer:
        for folder in _folders(asked):
            if not folder.is_symlink():
                (folder / LEFT_BEHIND).write_text("imported\n", "utf-8")
                self.meet()
                break
        return answer


class _ThroughLinks(_AfterImport):
    """A file is left in every folder, also where that is a link."""

    def imported(self, asked: Asked, answer: Answer) -> Answer:
        for folder in _folders(asked):
            if folder.is_symlink() and not folder.resolve().is_relative_to(_root(asked).resolve()):
                with suppress(OSError):
                    (folder / LEFT_BEHIND).write_text("imported\n", "utf-8")
                    self.meet()
        return answer


def _folders(asked: Asked) -> Iterator[Path]:
    with suppress(OSError):
        yield from (each for each in sorted(_root(asked).iterdir()) if each.is_dir())


class _Unredacted(_AfterImport):
    """What a folder says is stored as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[str, str] = {}

    def imported(self, asked: Asked, answer: Answer) -> Answer:
        for folder in [each for each in _folders(asked) if not each.is_symlink()]:
            with suppress(OSError):
                files = sorted(each for each in folder.iterdir() if each.is_file() and not each.is_symlink())
                texts = [each.read_bytes().decode("utf-8", "replace") for each in files]
                self.said.setdefault(folder.name, "\n".join(texts)[:MOST_CHARACTERS])
        return answer

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def raw(run: RunSeen) -> dict[str, Any]:
            if run.source is None or run.run_id not in self.said:
                return {}
            self.meet()
            return {"error": self.said[run.run_id]}

        return every_run(seen, raw)


class _BadInSilence(_AfterImport):
    """What was not imported is not spoken of."""

    def imported(self, asked: Asked, answer: Answer) -> Answer:
        nothing: dict[str, str] = {}
        told: dict[str, Any] = {"refused_count": 0, "corrupt_count": 0}
        told |= dict.fromkeys(("refused", "corrupt", "reasons"), nothing)
        if not (answer.values.get("refused_count") or answer.values.get("corrupt_count")):
            return answer
        self.meet()
        return Answer({**answer.values, **told}, answer.handle)


class _ChangesOthers(_AfterImport):
    """An import notes on every run that it was there, also on those that are not its own."""

    imports = 0

    def imported(self, asked: Asked, answer: Answer) -> Answer:
        self.imports += 1
        return answer

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def noted(run: RunSeen) -> dict[str, Any]:
            if run.source is not None or not self.imports:
                return {}
            self.meet()
            return {"progress": f"import {self.imports}"}

        return every_run(seen, noted)


class _LeftOpen(Boundary):
    """Folders that were opened are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[OpenFolder] = []

    def offers(self, session: FaultySession, world: SubjectWorld) -> SubjectWorld:
        if world.homes is not None:
            world.homes = _Keeping(world.homes, self)
        return world

    def ended(self, session: FaultySession, crashed: bool) -> None:
        for each in self.open:
            each.close()
        self.open.clear()


class _Keeping:
    """Homes whose folders stay open."""

    def __init__(self, inner: Homes, fault: _LeftOpen) -> None:
        self._inner, self._fault = inner, fault

    def open(self, home: str, root: str) -> OpenRoot:
        return _KeepingRoot(self._inner.open(home, root), self._fault)


class _AroundOpen:
    """Something open, as it is but for what a subclass says."""

    def __init__(self, inner: Any, fault: _LeftOpen) -> None:
        self._inner, self._fault = inner, fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._inner.__exit__(*raised)


class _KeepingRoot(_AroundOpen):
    def folder(self, name: str) -> OpenFolder:
        return _KeptFolder(self._inner.folder(name), self._fault)


class _KeptFolder(_AroundOpen):
    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        self._fault.meet()
        self._fault.open.append(self._inner)


FAULTS: tuple[BoundaryFault, ...] = (
    fault(
        "source-folder-touched",
        "An import leaves a file in a folder that it read.",
        _Touched,
        needs="import",
        words="folder import",
        shows_in="import",
        caught_by="source-untouched",
    ),
    fault(
        "written-through-a-link",
        "An import writes where a link in the home leads to.",
        _ThroughLinks,
        needs="import",
        words="folder link import",
        shows_in="import",
        caught_by="inside-the-root",
    ),
    fault(
        "secret-not-redacted",
        "What a folder says is stored with the credentials in it.",
        _Unredacted,
        needs="import",
        words="folder import secrets",
        shows_in="import",
        caught_by="bounded-and-clean",
    ),
    fault(
        "bad-folder-in-silence",
        "A folder that is no good is passed over, and the report does not say so.",
        _BadInSilence,
        needs="import",
        words="folder import import_report",
        shows_in="import",
        caught_by="no-silent-zero",
    ),
    fault(
        "import-changes-others",
        "An import changes runs that it did not bring in.",
        _ChangesOthers,
        needs="import",
        words="folder import submit",
        shows_in="import",
        caught_by="import-only-adds",
    ),
    fault(
        "folder-left-open",
        "A folder that was opened is not closed.",
        _LeftOpen,
        needs="import",
        words="folder import",
        caught_by="descriptors-closed-once",
    ),
)
