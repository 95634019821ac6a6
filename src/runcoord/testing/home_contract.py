"""The suite that every implementation of homes must pass.

Its maker writes one test class, and pytest finds the rest::

    class TestMyHomes(HomesContract):
        def make_homes(self): ...
        def make_place(self): ...

pytest is not imported here; tests are plain methods with asserts that carry their values.
"""

from __future__ import annotations

from runcoord.testing.home_contract_reading import ListingContract, OpeningContract, SeeingContract
from runcoord.testing.home_contract_writing import CreatingContract, MarksContract, RemovingContract


class HomesContract(
    OpeningContract, ListingContract, SeeingContract, MarksContract, CreatingContract, RemovingContract
):
    """Everything that importing run folders relies on. Fill in ``make_homes`` and ``make_place``."""
