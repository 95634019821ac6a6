"""Numbers that hand-written pages name are those of the limits."""

from __future__ import annotations

import re

import pytest

from docs.blocks import page_path
from runcoord import Settings
from runcoord._core import limits
from runcoord._executor import CHECKPOINT_SECONDS

LIBRARY, GUARANTEES = "docs/how-to/use-as-a-library.md", "docs/explanation/what-is-guaranteed.md"
PROGRAM, STORE = "docs/tutorial/first-program.md", "docs/how-to/look-into-a-store.md"

NUMBERS = [
    (LIBRARY, r"or takes longer than (\d+) s", limits.SEND_SECONDS),
    (LIBRARY, r"sent again after (\d+) s", limits.DELIVERY_BACKOFF_SECONDS),
    (LIBRARY, r"doubling up to (\d+) s", limits.MAX_DELIVERY_BACKOFF_SECONDS),
    (LIBRARY, r"held after (\d+) tries", limits.MAX_DELIVERY_ATTEMPTS),
    (LIBRARY, r"in doubt \((\d+) s at most\)", CHECKPOINT_SECONDS),
    (LIBRARY, r"the store's lock, up to (\d+) s", limits.LOCK_WAIT_SECONDS),
    (LIBRARY, r"a bound on the answer \((\d+) s\)", limits.SUBMIT_WAIT_SECONDS),
    (LIBRARY, r"When (eight) calls are stuck", limits.MAX_ABANDONED_CALLS),
    (GUARANTEES, r"has failed (\d+) times", limits.MAX_DELIVERY_ATTEMPTS),
    (GUARANTEES, r"after at most (\d+) s and a minute", Settings().lease),
    (GUARANTEES, r"after at most 90 s and (a minute)", Settings().sweep),
    (GUARANTEES, r"end at (nine tenths) of the lease", limits.TRUST_FRACTION),
    (PROGRAM, r"The defaults are (\d+), 30 and 60 seconds", Settings().lease),
    (PROGRAM, r"The defaults are 90, (\d+) and 60 seconds", Settings().renew),
    (PROGRAM, r"The defaults are 90, 30 and (\d+) seconds", Settings().sweep),
    (PROGRAM, r"at most about (two) seconds later", limits.STOP_POLL_SECONDS),
    (STORE, r"sweeps once (a minute)", Settings().sweep),
]
WORDS = {"two": 2, "eight": 8, "a minute": 60, "nine tenths": 0.9}


@pytest.mark.parametrize(("page", "said", "value"), NUMBERS)
def test_a_number_on_a_page_is_that_of_the_limit(page: str, said: str, value: float) -> None:
    text = " ".join(page_path(page).read_text("utf-8").split())
    found = re.search(said, text)
    assert found, f"{page} no longer says {said!r}"
    assert (WORDS[found[1]] if found[1] in WORDS else float(found[1])) == value
