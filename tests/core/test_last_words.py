"""The stored form of last words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runcoord._core.last_words import LastWords, last_words_from
from runcoord.ports import Fate, ProcessReport, TeardownReport

REPORT = TeardownReport(True, (ProcessReport(7, Fate.KILLED, ("cookie",), ("SIGKILL",), "sleep"),), counted=1)


@pytest.mark.parametrize(
    "words",
    [
        LastWords("c" * 32, executed=False),
        LastWords("c" * 32, executed=True, status=-15, teardown=REPORT),
        LastWords("c" * 32, executed=True, status=0, by_itself=True, interruptions=2, teardown=REPORT),
    ],
)
def test_last_words_are_the_same_after_being_stored(words: LastWords) -> None:
    assert last_words_from(json.loads(json.dumps(words.document()))) == words


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": None},
        {"executed": "yes"},
        {"by_itself": 1},
        {"status": "0"},
        {"status": True},
        {"status": 256},
        {"status": -256},
        {"interruptions": -1},
        {"teardown": []},
        {"teardown": {"emptied": True}},
        {"teardown": "none"},
    ],
)
def test_what_is_no_last_words_says_nothing(change: dict[str, Any]) -> None:
    document = LastWords("c" * 32, executed=True, status=0).document()
    assert last_words_from(document) is not None
    assert last_words_from({**document, **change}) is None
    for missing in document:
        if missing != "status":
            assert last_words_from({key: document[key] for key in document if key != missing}) is None
