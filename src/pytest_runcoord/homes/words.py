"""The words for what can happen to homes, for the vocabulary, which must not load all that does it."""

from __future__ import annotations

import errno

FOLDER = "folder"
PARTS = {
    "state": "its state file",
    "tombstone": "its tombstone",
    "result": "its result",
    FOLDER: "the folder itself",
}
"""What something can happen to."""
TARGETS = {
    "outside": "something outside of the home that looks just as it should",
    "nowhere": "a path where nothing is",
    "itself": "the link itself, in a circle",
}
"""What a link leads to."""
ODD = {
    "fifo": "a FIFO that nobody writes to",
    "socket": "a socket",
    "directory": "a directory",
    "device": "the device that swallows everything, which only root can make",
}
"""What is no regular file."""

FLAGS = ("O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_PATH")
ABILITIES = {
    "dir_fd": "paths cannot be relative to an open directory",
    "list_fd": "an open directory cannot be listed",
    "open_directory": "a directory cannot be opened at all",
}
WINDOWS = "windows"
MISSING: dict[str, str] = {
    **{name: f"there is no os.{name}" for name in FLAGS},
    **ABILITIES,
    WINDOWS: "none of these is there, as on Windows",
}
"""What a system may lack."""

ERRORS: dict[str, int] = {
    name: getattr(errno, name)
    for name in (
        "EIO",
        "EACCES",
        "EPERM",
        "ENOSPC",
        "EDQUOT",
        "EROFS",
        "ESTALE",
        "ENAMETOOLONG",
        "EMFILE",
        "EINTR",
    )
    if hasattr(errno, name)
}
"""Errors that a call of the system may meet, by name."""

CALLS: dict[str, str] = {
    "open": "a file or directory is opened",
    "read": "an open file is read",
    "fstat": "an open file is looked at",
    "stat": "a path is looked at",
    "list": "a directory is listed",
    "write": "an open file is written",
    "fsync": "an open file is made durable",
    "unlink": "a file is removed",
}
"""Calls of the system that may meet an error."""

HOME_FAULTS: dict[str, str] = {
    "io-error": "the disk fails",
    "denied": "the system does not permit it",
    "missing": "it is not there",
    "swapped": "it became another one between two looks",
    "full": "no space is left",
    "read-only": "the file system takes no writes",
}
"""What may happen to such a call."""

CANARY = "canary-9b1f4c-from-outside-of-the-root"
"""In every text outside. It must never come up anywhere."""
