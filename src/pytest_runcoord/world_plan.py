"""What a scenario's ``given`` and axes say about its world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_runcoord.checkouts import Place
from pytest_runcoord.destinations import Destination
from runcoord.values import field, record

if TYPE_CHECKING:
    from pytest_runcoord.homes.plan import HomePlan


@record
class WorldPlan:
    """See the module."""

    settings: dict[str, Any] = field(default_factory=dict)
    destinations: dict[str, Destination] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    machines: dict[str, str] | str = field(default_factory=dict)
    """Machines of owners: by name, or one word for all; each has its own otherwise."""
    kernel_handles: bool = True
    """Whether the kernel gives durable handles of processes."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables of every owner."""
    places: dict[str, Place] = field(default_factory=dict)
    """Repositories and directories in the home, in the order in which they are made."""
    home: HomePlan | None = None
    """Homes with run folders, where anything is said of them."""
