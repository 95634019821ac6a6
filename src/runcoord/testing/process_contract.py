"""The suite that every table of processes must pass.

Its maker writes one test class, and pytest finds the rest::

    class TestMyTable(ProcessesContract):
        def make_processes(self): ...

pytest is not imported here; tests are plain methods with asserts that carry their values.
"""

from __future__ import annotations

from runcoord.testing.process_contract_identity import IdentityContract
from runcoord.testing.process_contract_members import (
    MembersContract,
    PinnedMembersContract,
    SparedContract,
)
from runcoord.testing.process_contract_signals import GroupsContract, SignalsContract, WaitingContract


class ProcessesContract(
    IdentityContract,
    MembersContract,
    SparedContract,
    PinnedMembersContract,
    SignalsContract,
    GroupsContract,
    WaitingContract,
):
    """Everything that teardown and recovery rely on. Fill in ``make_processes``."""
