"""What a boundary fault is: a subject with one thing put wrong between it and the harness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_runcoord.bite.boundary import Boundary
    from pytest_runcoord.subject import Subject


@dataclass(frozen=True)
class BoundaryFault:
    """One fault. ``wrap`` is given the subject of one variant, and gives the subject with the fault."""

    name: str
    """In letters, digits, ``.``, ``_`` and ``-``: the end of the item's id, ``bite::<name>``."""
    says: str
    """One sentence: what the subject does now that it must not."""
    needs: frozenset[str]
    """Capabilities without which it cannot be put in."""
    wrap: Callable[[Subject], Subject]
    """What it gives may have ``met``, a number: how often the fault had occasion to show itself."""
    origin: str = ""
    """Where the like was seen, as in scenarios."""
    words: frozenset[str] = frozenset()
    """Words of scenarios that are likeliest to show it: steps, expectations, ``given`` and refusals."""
    shows_in: frozenset[str] = frozenset()
    """Words of which a scenario has at least one where it can meet the fault; empty: any scenario may."""
    caught_by: tuple[str, ...] = ()
    """What is to turn red on it: ids of invariants, words of expectations, ``refused``."""


def fault(
    name: str,
    says: str,
    boundary: Callable[[], Boundary],
    *,
    needs: str = "",
    words: str = "",
    shows_in: str = "",
    caught_by: str,
    origin: str = "",
) -> BoundaryFault:
    """A fault that a :class:`~pytest_runcoord.bite.boundary.Boundary` makes; a new one for each variant.
    ``needs``, ``words``, ``shows_in`` and ``caught_by`` are words with blanks between them."""

    def wrap(subject: Subject) -> Subject:
        from pytest_runcoord.bite.boundary import FaultySubject

        return FaultySubject(subject, boundary())

    return BoundaryFault(
        name,
        says,
        frozenset(needs.split()),
        wrap,
        origin,
        frozenset(words.split()),
        frozenset(shows_in.split()),
        tuple(caught_by.split()),
    )
