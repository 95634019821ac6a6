"""Layouts are data, and lead nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from runcoord import Outcome
from runcoord._core.layouts import RUN_FOLDERS, Layout, StateKeys, TombstoneKeys, layout_from
from runcoord.errors import InvalidRequest


def test_the_default_layout_is_the_one_that_runs_left_behind() -> None:
    assert (
        RUN_FOLDERS.root,
        RUN_FOLDERS.state_file,
        RUN_FOLDERS.tombstone_file,
        RUN_FOLDERS.result_file,
    ) == (
        "runs",
        "state.json",
        "tombstone.json",
        "result.txt",
    )
    assert RUN_FOLDERS.parts() == ("runs",)
    for outcome in Outcome:
        assert RUN_FOLDERS.outcome_of(RUN_FOLDERS.word_for(outcome)) is outcome
        assert RUN_FOLDERS.word_for(outcome) == outcome.value
    assert hash(RUN_FOLDERS) == hash(Layout())


@pytest.mark.parametrize(
    ("root", "parts"), [(".", ()), ("a", ("a",)), ("var/lib/runs", ("var", "lib", "runs"))]
)
def test_a_root_is_a_relative_path(root: str, parts: tuple[str, ...]) -> None:
    assert Layout(root=root).parts() == parts


@pytest.mark.parametrize(
    "root",
    [
        "",
        "/",
        "/etc",
        "..",
        "a/..",
        "a/../b",
        "./a",
        "a//b",
        "a/",
        "a\\b",
        "C:",
        "a\0",
        "a\n",
        None,
        3,
        "x" * 201,
    ],
)
def test_a_root_that_leads_out_is_refused(root: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"root .* in the layout"):
        Layout(root=root)


@pytest.mark.parametrize("field", ["state_file", "tombstone_file", "result_file"])
@pytest.mark.parametrize("file", [".", "..", "a/b", "../x", "a\\b", "C:x", "a\0b", "a\x1bb", 5, "x" * 201])
def test_a_file_that_leads_out_of_its_folder_is_refused(field: str, file: Any) -> None:
    with pytest.raises(InvalidRequest, match=f"{field} .* in the layout"):
        Layout(**{field: file})


def test_files_and_keys_need_names_of_their_own() -> None:
    with pytest.raises(InvalidRequest, match="name of its own"):
        Layout(result_file="state.json")
    with pytest.raises(InvalidRequest, match="key of its own"):
        StateKeys(agent="id")
    with pytest.raises(InvalidRequest, match="run_id"):
        StateKeys(run_id="")
    with pytest.raises(InvalidRequest, match="outcome"):
        TombstoneKeys(outcome="")
    with pytest.raises(InvalidRequest, match="state_file"):
        Layout(state_file="")
    assert Layout(result_file="").result_file == ""
    assert StateKeys(agent="", task="").agent == ""


@pytest.mark.parametrize(
    "outcomes",
    [
        (),
        (("done", Outcome.COMPLETED),),
        (("done", "completed"),),
        [("done", Outcome.COMPLETED)],
        ("done",),
        (("", Outcome.COMPLETED),),
        tuple((f"w{n}", Outcome.FAILED) for n in range(101)),
    ],
)
def test_words_that_leave_an_outcome_unsaid_are_refused(outcomes: Any) -> None:
    with pytest.raises(InvalidRequest):
        Layout(outcomes=outcomes)


def test_a_layout_is_read_from_a_document() -> None:
    document = {
        "name": "other",
        "root": "crew/subagents",
        "result_file": "",
        "state": {"run_id": "name", "destination": ""},
        "tombstone": {"died": "ended"},
        "outcomes": {"ok": "completed", "bad": "failed", "off": "stopped", "cut": "interrupted"},
    }
    layout = layout_from(document)
    assert (layout.name, layout.parts(), layout.result_file) == ("other", ("crew", "subagents"), "")
    assert (layout.state, layout.tombstone.died) == (StateKeys(run_id="name", destination=""), "ended")
    assert layout.outcome_of("ok") is Outcome.COMPLETED
    assert layout.state_file == RUN_FOLDERS.state_file
    assert layout_from({}) == RUN_FOLDERS


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"rot": "x"}, "rot"),
        ({"state": {"identity": "x"}}, "identity"),
        ({"state": "x"}, "a table"),
        ({"outcomes": ["x"]}, "a table"),
        ({"outcomes": {"ok": "won"}}, "an outcome is one of completed"),
        ({"outcomes": {"ok": ["completed"]}}, "an outcome is one of"),
        ({"root": 3}, "root"),
        ([], "a table"),
        ({"name": "x" * 100_000}, "1 to 200 characters"),
    ],
)
def test_a_document_that_is_no_layout_is_refused_with_its_entry(document: Any, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why) as refused:
        layout_from(document)
    assert len(str(refused.value)) < 400
