"""Taking the snapshot before a run begins."""

from __future__ import annotations

import os
from collections.abc import Mapping

from runcoord._git.calls import Git
from runcoord._git.checkouts import checkout_at
from runcoord._git.manifest import write
from runcoord._git.observing import first_look
from runcoord._git.registrations import Saving
from runcoord._git.values import GitSnapshot


def take(
    cwd: str | os.PathLike[str], directory: str | os.PathLike[str], *, environ: Mapping[str, str]
) -> GitSnapshot | None:
    """The git state of the checkout that ``cwd`` lies in, on disk in ``directory`` when this returns.

    None when ``cwd`` is in no work tree; then nothing was written. ``directory`` is one run's own; it is made
    when it is not there. ``environ`` is the caller's environment: git is asked in it, without what binds it
    to a repository. Nothing in the checkout is changed, and what cannot be read is recorded as unknown.

    Raises :class:`~runcoord.errors.GitStateUnsaved` when the snapshot cannot be written, or there is one.
    """
    checkout = checkout_at(os.fspath(cwd))
    if checkout is None:
        return None
    saving = Saving()
    before = first_look(Git(environ), checkout, saving)
    return write(os.fspath(directory), before, saving.apart)
