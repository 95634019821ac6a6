"""Real git repositories in the home of a scenario: made from one template, asked and changed by real git."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pytest_runcoord.world_errors import ScenarioMistake
from runcoord.values import field, record, value

GIT_SECONDS = 20.0
"""Real time that one git command of a scenario may take, on a loaded machine."""
LEAVE_OUT = ("hooks", "description", "info")
"""Of the template nobody needs these."""


@value
class Said:
    """How one git command ended."""

    status: int
    output: str
    complaint: str


@value
class Place:
    """One place of a scenario."""

    kind: str
    """``repository``, ``bare``, ``empty`` (no repository), or ``worktree``."""
    of: str = ""
    """The place whose repository a worktree is linked to."""
    branch: str = ""
    """The new branch of a worktree; called as its place otherwise."""


@record
class Checkouts:
    """The places of one scenario, by name: each a directory in its home."""

    directory: Path
    environment: Mapping[bytes, bytes]
    """In which git is asked where no process of the scenario asks it."""
    places: dict[str, Place] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """Runs during which something happened to a repository."""
    worked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Places where git worked when a run began, by run; only of runs that began in a checkout."""
    cleanups: list[int] = field(default_factory=list)
    """Descriptors that hold locks."""

    # --- making ---

    def make(self, name: str, place: Place) -> None:
        """Make a place."""
        path = self.directory / name
        if place.kind == "empty":
            path.mkdir()
        elif place.kind == "worktree":
            self.require(place.of, ("worktree", "add", "-q", "-b", place.branch or name, str(path)))
        else:
            bare = place.kind == "bare"
            shutil.copytree(template() / (".git" if bare else ""), path, symlinks=True)
            if bare:
                self.require(name, ("config", "core.bare", "true"))
        self.places[name] = place

    def path(self, within: str) -> Path:
        """A path in the home, from its root. It cannot leave it."""
        path = self.directory / within
        if not Path(os.path.normpath(path)).is_relative_to(self.directory):
            raise ScenarioMistake(f"{within!r} leads out of the scenario's home", "Name a path inside of it.")
        return path

    # --- git ---

    def git(
        self, place: str, arguments: Sequence[str], environment: Mapping[bytes, bytes] | None = None
    ) -> Said:
        """Run git in a place. Never raises for what git answers."""
        environment = self.environment if environment is None else environment
        done = subprocess.run(
            [_program(), *arguments],
            cwd=self.path(place),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode().strip())

    def require(self, place: str, arguments: Sequence[str]) -> str:
        said = self.git(place, arguments)
        if said.status:
            raise ScenarioMistake(f"git {' '.join(arguments)} failed in {place}: {said.complaint}")
        return said.output

    def works(self, place: str) -> bool:
        """Whether ``git status`` works there."""
        return self.path(place).is_dir() and self.git(place, ("status", "--porcelain")).status == 0

    def config_of(self, place: str) -> Path:
        """The config of the repository behind a place, found without asking git what it is."""
        return self.common(place) / "config"

    def common(self, name: str) -> Path:
        """The directory of the repository that a place belongs to, as it was made."""
        place = self.places[name]
        if place.kind == "worktree":
            return self.common(place.of)
        return self.path(name) if place.kind == "bare" else self.path(name) / ".git"

    def family(self, name: str) -> tuple[str, ...]:
        """The place and those that share its repository."""
        common = self.common(name)
        return tuple(
            each
            for each, place in self.places.items()
            if place.kind != "empty" and self.common(each) == common
        )

    def of_directory(self, directory: str) -> str | None:
        """The checkout that a directory of the home lies in; ``None`` for one that is none."""
        name = directory.split("/", 1)[0]
        place = self.places.get(name)
        return name if place is not None and place.kind in ("repository", "worktree") else None

    # --- who is told ---

    def begins(self, run: str, directory: str) -> None:
        """A run begins in a directory: remember where git works."""
        name = self.of_directory(directory)
        if name is not None and run not in self.worked:
            self.worked[run] = tuple(each for each in self.family(name) if self.works(each))

    def touch(self) -> None:
        """Something happens to a repository: to whichever runs are under way."""
        self.touched.update(self.worked)

    def end(self) -> None:
        for each in self.cleanups:
            os.close(each)


@cache
def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise ScenarioMistake("there is no git on this machine", "Install git.")
    return found


@cache
def template() -> Path:
    """A repository with one commit; made once per process and copied for each scenario."""
    directory = Path(tempfile.mkdtemp(prefix="runcoord-git-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    made = Checkouts(
        directory,
        {
            b"PATH": os.environb.get(b"PATH", os.fsencode(os.defpath)),
            b"HOME": os.fsencode(directory),
            b"GIT_CONFIG_GLOBAL": os.fsencode(os.devnull),
            b"GIT_CONFIG_NOSYSTEM": b"1",
        },
    )
    made.require(".", ("init", "-q", "-b", "main", "template"))
    made.path("template/file.txt").write_text("first\n", "utf-8")
    for name, setting in (("user.name", "A Developer"), ("user.email", "dev@example.com")):
        made.require("template", ("config", name, setting))
    made.require("template", ("add", "file.txt"))
    made.require("template", ("commit", "-q", "-m", "first"))
    for each in LEAVE_OUT:
        path = made.path("template/.git") / each
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return made.path("template")
