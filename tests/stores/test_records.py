"""Records about processes that other versions, or nobody in his right mind, wrote into the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runcoord.ports import Change, ProcessIdentity, RecordedProcess, UnknownIdentity
from runcoord.testing import ManualClock
from runcoord.testing.contract_processes import SOMEBODY, process

from .sqlite_files import behind, opened, plant

GOOD = SOMEBODY.document()


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({**GOOD, "format": 0.5}),
        json.dumps({**GOOD, "format": 2}),
        json.dumps({"pid": 4242, "started": "Wed Sep  2 03:25:26 2026"}),
        json.dumps({**GOOD, "pid": 2**31}),
        json.dumps({**GOOD, "pid": -1}),
        json.dumps({**GOOD, "start": "soon"}),
        json.dumps([4242]),
        "4242;",
        "",
    ],
)
def test_an_identity_of_another_form_is_unknown_and_no_damage(tmp_path: Path, text: str) -> None:
    path = tmp_path / "store.sqlite"
    store = opened(path, ManualClock())
    with store.transaction("arrange") as tx:
        tx.save([Change(records=(process("r1", 1), process("r1", 2)))])
    plant(path, "processes", "r1/1", "identity", text)
    with store.view("look") as view:
        odd, good = view.records(RecordedProcess, "r1", limit=9)
    store.close()
    assert isinstance(odd.identity, UnknownIdentity)
    assert odd.identity.problem
    assert good.identity == SOMEBODY


def test_what_is_written_about_a_process_can_be_read_by_people(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.sqlite", ManualClock())
    with store.transaction("arrange") as tx:
        tx.save([Change(records=(process("r1", 1),))])
    with behind(tmp_path / "store.sqlite") as connection:
        [(text,)] = connection.execute("SELECT identity FROM processes").fetchall()
    store.close()
    assert json.loads(text) == GOOD
    assert isinstance(SOMEBODY, ProcessIdentity)
