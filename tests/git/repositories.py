"""Real repositories for the tests, and what a directory holds byte for byte."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runcoord._git import GitSnapshot, RestoreReport, Result, What, restore, take

NOBODY = 65534
#: Longer than any git here takes; a test that reaches it has failed.
PATIENCE = 30.0


def environment(home: Path) -> dict[str, str]:
    """An environment in which git depends on nothing of this machine's user."""
    home.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }


@dataclass(frozen=True)
class Place:
    """A directory in which git is called."""

    path: Path
    environ: Mapping[str, str]

    def git(self, *arguments: str, **more: str) -> str:
        """What git prints; fails the test when git fails."""
        done = self.tried(*arguments, **more)
        assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
        return done.stdout.strip()

    def tried(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env={**self.environ, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    @property
    def works(self) -> bool:
        """True when a user can work here: status, and the work tree is this one."""
        top = self.tried("rev-parse", "--show-toplevel")
        return self.tried("status").returncode == 0 and top.stdout.strip() == str(self.path)

    def config(self) -> dict[str, list[str]]:
        """Every key of the repository's own config."""
        found: dict[str, list[str]] = {}
        common = self.git("rev-parse", "--git-common-dir")
        listed = self.git("config", "--file", str(self.path / common / "config"), "--null", "--list")
        for entry in filter(None, listed.split("\0")):
            key, _, value = entry.partition("\n")
            found.setdefault(key, []).append(value)
        return found

    def commit(self, name: str = "file", text: str = "text\n") -> None:
        (self.path / name).write_text(text)
        self.git("add", name)
        self.git("commit", "-q", "-m", f"add {name}")

    def worktree(self, name: str, branch: str = "") -> Place:
        """A linked worktree beside this one."""
        path = self.path.parent / name
        self.git("worktree", "add", "-q", "-b", branch or name, str(path))
        return Place(path, self.environ)

    def snapshot(self, directory: Path | None = None) -> GitSnapshot:
        taken = take(self.path, directory or self.path.parent / "snapshot", environ=self.environ)
        assert taken is not None
        return taken

    def restored(self, snapshot: GitSnapshot) -> RestoreReport:
        return restore(snapshot, environ=self.environ)


def repository(path: Path, environ: Mapping[str, str]) -> Place:
    """A repository with one commit on the branch main."""
    path.mkdir(parents=True)
    place = Place(path, environ)
    place.git("init", "-q", "-b", "main")
    place.commit()
    return place


def with_program(place: Place, name: str, text: str) -> Place:
    """The same place with a program before all others in PATH."""
    programs = place.path.parent / "programs"
    programs.mkdir(exist_ok=True)
    (programs / name).write_text(text)
    (programs / name).chmod(0o755)
    return Place(place.path, {**place.environ, "PATH": f"{programs}:{place.environ['PATH']}"})


def contents(*directories: Path) -> dict[str, tuple[int, bytes]]:
    """Every entry below, with its mode and its bytes: equal means that nothing changed."""
    found: dict[str, tuple[int, bytes]] = {}
    for directory in directories:
        for path in [directory, *sorted(directory.rglob("*"))]:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                found[str(path)] = (mode, os.fsencode(path.readlink()))
            else:
                found[str(path)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else b"")
    return found


def outcomes(report: RestoreReport) -> list[tuple[Result, What]]:
    """What became of what, step by step."""
    return [(each.result, each.difference.what) for each in report.steps]


def as_nobody(call: Callable[[], Any]) -> Any:
    """What ``call`` gives, as JSON, in a process of an ordinary user."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(writing, json.dumps(call()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(said)
