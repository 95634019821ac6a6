"""Which environment variables bind git to a repository, and environments without them."""

from __future__ import annotations

from collections.abc import Mapping

#: What ``git rev-parse --local-env-vars`` of git 2.39 prints (``local_repo_env`` in git's ``environment.c``):
#: the variables that name a repository or a part of one.
LOCAL_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
        "GIT_OBJECT_DIRECTORY",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_REPLACE_REF_BASE",
        "GIT_PREFIX",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_COMMON_DIR",
    }
)

#: Beyond that list. ``GIT_CONFIG_KEY_0`` and ``GIT_CONFIG_VALUE_0`` are the entries that ``GIT_CONFIG_COUNT``
#: counts. ``GIT_QUARANTINE_PATH`` is set for a hook that runs before a push is accepted; left behind without
#: the object directory that it goes with, it would forbid every change of a ref, in any repository.
_LOCAL_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
_ALSO_LOCAL = frozenset({"GIT_QUARANTINE_PATH"})

#: What only our own questions to git do without: what would write files, or change what git prints.
_OURS_WITHOUT_PREFIXES = ("GIT_TRACE", "GIT_TEST_")
_OURS_WITHOUT = frozenset({"GIT_REDIRECT_STDIN", "GIT_REDIRECT_STDOUT", "GIT_REDIRECT_STDERR"})
_OURS = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
}


def is_local(name: str) -> bool:
    """True for a variable that binds git to one repository."""
    return name in LOCAL_VARIABLES or name in _ALSO_LOCAL or name.startswith(_LOCAL_PREFIXES)


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` without what binds git to a repository, for a child that works in one by its directory.

    Everything else passes: credentials, ``GIT_SSH_COMMAND``, ``GIT_ASKPASS``, author and committer, the
    choice of the global and system config, ceilings, traces.
    """
    return {name: value for name, value in environ.items() if not is_local(name)}


def for_questions(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of our own git processes: scrubbed, and no prompt, fetch, trace or optional lock."""
    kept = {
        name: value
        for name, value in scrubbed(environ).items()
        if name not in _OURS_WITHOUT and not name.startswith(_OURS_WITHOUT_PREFIXES)
    }
    return kept | _OURS
