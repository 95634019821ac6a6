"""Runs in other namespaces than the test: what the table there makes of a record that was made here."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from runcoord._core.identity import ProcessIdentity, identity_from
from runcoord._processes import open_processes
from runcoord.errors import RuncoordError
from runcoord.ports import Membership


def outcome_of(call: Any, *values: Any) -> str:
    try:
        return f"done: {call(*values)}"
    except RuncoordError as error:
        return f"{error.code}: {error.problem}"


def main() -> None:
    order = json.load(sys.stdin)
    table = open_processes()
    answer: dict[str, Any] = {"pid": os.getpid()}
    answer["identify"] = outcome_of(table.identify, os.getpid())
    scan = table.scan(Membership(cookie="f" * 32), 5.0)
    answer["scan"] = {"complete": scan.complete, "problem": scan.problem}
    if order.get("record"):
        record = identity_from(order["record"])
        assert isinstance(record, ProcessIdentity)
        answer["open"] = outcome_of(table.open, record)
        recorded = table.scan(Membership(recorded=(record,)), 5.0)
        answer["members"] = [each.identity.pid for each in recorded.members]
    if order.get("self"):
        answer["record"] = table.itself().document()
    if order.get("start of"):
        answer["start"] = table.identify(order["start of"]).start
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
