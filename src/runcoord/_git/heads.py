"""HEAD of a work tree: read, never moved."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable

from runcoord._git.entries import NotReadable, entry_at, small_text
from runcoord._git.values import Head, Kind, Reading

#: What git takes for a HEAD (``validate_headref`` in its ``path.c``); with anything else it sees no
#: repository.
_ACCEPTED = re.compile(r"ref:\s*refs/.|[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?\s*$")


def head_at(git_dir: str) -> Head:
    path = os.path.join(git_dir, "HEAD")
    entry = entry_at(path)
    if entry.kind is Kind.ABSENT:
        return Head(path, Reading.ABSENT)
    if entry.kind is Kind.SYMLINK:
        accepted = entry.leads_to.startswith("refs/")
        return Head(path, Reading.READ if accepted else Reading.UNPARSABLE, entry.leads_to, as_link=True)
    try:
        text = small_text(path)
    except NotReadable as error:
        return Head(path, Reading.UNKNOWN, problem=str(error))
    if text is None:
        return Head(path, Reading.ABSENT)
    return Head(path, Reading.READ if _ACCEPTED.match(text) else Reading.UNPARSABLE, text)


def branch_of(head: Head) -> str:
    """The ref that HEAD stands for; empty when it stands for a commit, or for nothing."""
    if head.reading is not Reading.READ:
        return ""
    text = head.text if head.as_link else head.text.partition("ref:")[2]
    return text.strip()


def shared_branches(heads: Iterable[Head]) -> dict[str, list[str]]:
    """Branches that more than one HEAD stands for, each with the paths of these."""
    heads = list(heads)
    counted = Counter(branch for head in heads if (branch := branch_of(head)))
    return {
        branch: [head.path for head in heads if branch_of(head) == branch]
        for branch, count in sorted(counted.items())
        if count > 1
    }
