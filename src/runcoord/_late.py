"""What is made or found when it is first asked for: values, and names of a package (PEP 562).

A command, or the small process of a run, needs a few modules of a package and should not wait for the others.
Type checkers read ordinary imports instead, below ``if TYPE_CHECKING``; a test holds the two together.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    T = TypeVar("T")


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Asks ``make`` at the first call, and gives its answer at each. :func:`functools.cache` does so too, but
    takes seven microseconds to begin, which every opening of a store would pay several times."""
    made: list[T] = []

    def get() -> T:
        if not made:
            made.append(make())
        return made[0]

    return get


class LateNames:
    """The public names of one package, by the module inside of it that has them.

    ``modules`` are found themselves too, as if they had been imported with the package.
    """

    def __init__(
        self, package: str, places: Mapping[str, tuple[str, ...]], modules: tuple[str, ...] = ()
    ) -> None:
        self.package = package
        self.place_of = {name: f"{package}.{place}" for place, names in places.items() for name in names}
        self.modules = modules

    def find(self, name: str) -> object:
        """What the package's ``__getattr__`` answers; :class:`AttributeError` for a name that it has not."""
        if name in self.modules:
            return import_module(f"{self.package}.{name}")
        package = sys.modules[self.package]
        if name not in self.place_of:
            problem = f"module {self.package!r} has no attribute {name!r}"
            raise AttributeError(problem, name=name, obj=package)
        found = getattr(import_module(self.place_of[name]), name)
        setattr(package, name, found)  # not asked for again
        return found

    def names(self) -> set[str]:
        """What ``dir()`` shows beside the names that the package has by now."""
        return {*self.place_of, *self.modules}
