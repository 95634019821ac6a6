"""How git behaves in a work tree: the measure of whether a checkout is usable."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from runcoord._git.calls import Answer, Git
from runcoord._git.checkouts import is_as_before
from runcoord._git.entries import git_entry_at
from runcoord._git.values import Behaviour, Checkout, Entry, Heard, Kind, Registration

_WHERE = ("rev-parse", "--is-inside-work-tree", "--show-toplevel")
#: Status with nothing to compare: no path is called ``.git`` in an index. So it costs the same in any
#: checkout, writes nothing, and runs no filter of the config; what makes it fail makes every other command
#: fail too.
_STATUS = (
    "status",
    "--porcelain",
    "--untracked-files=no",
    "--ignore-submodules=all",
    "--",
    ":(top,literal).git",
)
#: git's complaint about the owner (2.36 and later, and 2.35.2): what it would do otherwise stays unknown.
_OWNER = ("dubious ownership", "unsafe repository")


def places_of(checkout: Checkout, main: str, registrations: Sequence[Registration]) -> list[str]:
    """Where git is asked: the caller's own work tree, the main one, the linked ones."""
    places = [checkout.top, main]
    places += [os.path.realpath(each.place) for each in registrations if each.place]
    return list(dict.fromkeys(places))


def behaviours_at(
    git: Git, places: Sequence[str], links: Mapping[str, Entry], boot: str
) -> tuple[Behaviour, ...]:
    """Ask git in every place that is there.

    A place whose ``.git`` is not the one in ``links``, seen at ``boot``, is not entered: it may be anybody's
    repository.
    """
    silent: dict[str, Behaviour] = {}
    for place in places:
        entry = git_entry_at(os.path.join(place, ".git"))
        before = links.get(place)
        if not os.path.isdir(place) or (entry.kind is Kind.ABSENT and before is not None):  # noqa: PTH112
            silent[place] = Behaviour(place, Heard.ABSENT)
        elif before is not None and not is_as_before(before, entry, boot):
            silent[place] = Behaviour(place, Heard.UNKNOWN, says="its .git is another one than before")
    asked = [place for place in places if place not in silent]
    answers = git.inside([(place, question) for place in asked for question in (_WHERE, _STATUS)])
    heard = {
        place: _heard(place, where, status)
        for place, where, status in zip(asked, answers[::2], answers[1::2], strict=True)
    }
    return tuple(silent.get(place) or heard[place] for place in places)


def _heard(place: str, where: Answer, status: Answer) -> Behaviour:
    says = where.says or status.says
    for answer in (where, status):
        if answer.status is None or answer.status < 0:
            return Behaviour(place, Heard.UNKNOWN, says=answer.problem or says)
    inside, _, toplevel = os.fsdecode(where.output).rstrip("\n").partition("\n")
    return Behaviour(place, Heard.ANSWERED, inside, toplevel, status.status or 0, says)


def refused_for_owner(behaviour: Behaviour) -> bool:
    """True when git would not look because of who owns the directory."""
    return any(words in behaviour.says for words in _OWNER)
