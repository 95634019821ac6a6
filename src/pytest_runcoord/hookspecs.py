"""The hooks of runcoord: what a ``conftest.py`` or a plugin adds to the harness.

Write them in the ``conftest.py`` of pytest's rootdir or of a folder that pytest is called with, or in a
plugin (``-p``, or the entry point ``pytest11``). pytest loads others while it collects, which is too late.
Every hook is checked before anything runs: one with a name or an argument that does not exist, or that
gives what makes no sense, stops pytest with exit code 4 and says where it stands. Arguments that a hook
does not need may be left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_runcoord.bite import BoundaryFault
    from pytest_runcoord.invariants import Invariant
    from pytest_runcoord.vocabulary import Registry


@pytest.hookspec(firstresult=True)
def pytest_runcoord_subject(config: pytest.Config, name: str) -> Any:
    """The subject that a name without a colon stands for: ``--runcoord-subject queue``, ``subject =
    "queue"``.

    Give the class (or an object that is ready), ``None`` for a name of somebody else. The first answer
    counts; without any the run stops.

    Example::

        def pytest_runcoord_subject(name):
            if name == "queue":
                from queue_subject import QueueSubject

                return QueueSubject
    """


def pytest_runcoord_words(registry: Registry) -> None:
    """Add words of your own to the language of scenarios: steps, expectations, ``given`` entries, port
    faults.

    ``registry`` has all words that come with runcoord, and is this session's own. What a word needs is in
    :mod:`pytest_runcoord.steps`. A word that is there already is an error.

    Example::

        def pytest_runcoord_words(registry):
            registry.fault("brown-out", says="half of the answers are lost")

            @registry.step("sleep_in", group="clocks", says="An hour passes.")
            def sleep_in(world, step):
                world.pass_time(3600)
    """


def pytest_runcoord_faults() -> Iterable[BoundaryFault]:  # type: ignore[empty-body]
    """Boundary faults of your own for ``--runcoord-bite``, beside those that come with runcoord.

    Example::

        def pytest_runcoord_faults():
            return [BoundaryFault("forgets", "The second submit is lost.", frozenset({"runs"}), forgets)]
    """


def pytest_runcoord_invariants() -> Iterable[type[Invariant]]:  # type: ignore[empty-body]
    """Invariants of your own: classes, which then watch every scenario.

    Each has an ``id`` that is not taken, and a sentence in ``says``. Where one had occasion to fail it counts
    ``exercised``, where it does not hold it calls ``fail``. Should it raise anything else, the scenario fails
    by that, as a fault of the invariant's own, and the run goes on.

    Example::

        def pytest_runcoord_invariants():
            return [OwnerIsNamed]
    """


def pytest_runcoord_report(config: pytest.Config, report: dict[str, Any]) -> None:
    """Called once, when everything is over, with what ``--runcoord-json`` would write; change nothing in it.

    With pytest-xdist it is called where the reports come together, not in the workers. What it raises fails
    the run.

    Example::

        def pytest_runcoord_report(report):
            print(report["gate"]["verdict"])
    """
