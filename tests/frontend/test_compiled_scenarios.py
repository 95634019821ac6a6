"""What a valid scenario is compiled to: arguments, options, places, needs, and variants."""

from __future__ import annotations

import dataclasses

import pytest
from small_vocabulary import HEADER, PATH, REGISTRY, read_valid, steps

from pytest_runcoord._limits import DEFAULT_HEAL_SWEEPS
from pytest_runcoord.scenario import Position, Step, Variant, load_text, variants
from pytest_runcoord.vocabulary import CrashPoint

FULL = """\
runcoord: 1
scenario: stalled-renewal
origin: [R14, "dataset-viewer#3115"]
says: The lease is kept.
tags: [slow]
needs: [recovery]
given:
  home: symlinked-ancestor
  destinations: {chat: accepts, mail: refuses}
steps:
  - open: gw1
  - submit: {run: r1, destination: chat, payload: {text: hello, tries: [1, 2.5, null, true]}}
  - claim:
      run: r1
      by: gw1
      lease: 1.5m
      as: old
  - during:
      do: [{advance: 500ms}, {claim: {run: r1, refused: lease-lost}}]
      at: after-read
      step: {recover: [r1]}
  - complete: {with: old, crash_at: after-commit}
  - submit: {run: r2, crash_at: {effect: 3}}
  - wait: {for: {sweeps: 2}}
  - step: -1h
  - reboot
expect:
  - run: {id: r1, outcome: interrupted}
  - delivered: {run: r1, to: mail, count: 0}
  - quiet
axes: {tz: [UTC, Asia/Tokyo], tier: [sim, real]}
heal: {sweeps: 7}
"""


def test_a_full_scenario_is_compiled_as_it_is_written() -> None:
    scenario = read_valid(FULL)
    assert (scenario.name, scenario.says, scenario.position) == (
        "stalled-renewal",
        "The lease is kept.",
        Position(PATH, 1, 1),
    )
    assert scenario.origin == ("R14", "dataset-viewer#3115")
    assert scenario.tags == ("slow",)
    assert scenario.heal_sweeps == 7
    assert [(each.name, dict(each.args)) for each in scenario.given] == [
        ("home", {"via": "symlinked-ancestor"}),
        ("destinations", {"value": {"chat": "accepts", "mail": "refuses"}}),
    ]
    assert [each.name for each in scenario.steps] == [
        "open", "submit", "claim", "during", "complete", "submit", "wait", "step", "reboot",
    ]  # fmt: skip
    assert [each.name for each in scenario.expect] == ["run", "delivered", "quiet"]


def test_arguments_have_their_values_in_plain_types_and_defaults_filled_in() -> None:
    found = {each.name: each for each in read_valid(FULL).steps}
    assert found["claim"].args == {"run": "r1", "lease": 90.0}
    assert found["claim"].options == {"by": "gw1", "as": "old"}
    assert found["complete"].args == {"run": None, "quietly": False}
    assert found["complete"].options == {"with": "old", "crash_at": CrashPoint(moment="after-commit")}
    assert found["submit"].options == {"crash_at": CrashPoint(effect=3)}
    assert found["wait"].args == {"for": {"sweeps": 2}}
    assert found["step"].args == {"wall": -3600.0}
    assert found["reboot"].args == {}
    assert read_valid(FULL).steps[1].args["payload"] == {"text": "hello", "tries": [1, 2.5, None, True]}


def test_nested_steps_are_read_in_the_order_of_their_declaration_and_are_steps() -> None:
    during = read_valid(FULL).steps[3]
    assert isinstance(during.args["step"], Step)
    assert during.args["step"].args == {"runs": ("r1",)}
    assert [(each.name, dict(each.options)) for each in during.args["do"]] == [
        ("advance", {}),
        ("claim", {"refused": "lease-lost"}),
    ]
    assert during.args["do"][1].position == Position(PATH, 19, 31)


def test_a_word_and_each_of_its_arguments_know_their_place() -> None:
    scenario = read_valid(FULL)
    claim = scenario.steps[2]
    assert claim.position == Position(PATH, 13, 5)
    assert claim.stated == ("run", "by", "lease", "as")
    assert claim.where("lease") == Position(PATH, 16, 7)
    assert claim.where("refused") == claim.position
    assert scenario.steps[0].stated == ("owner",)
    assert scenario.steps[0].where("owner") == Position(PATH, 11, 11)
    assert scenario.given[1].stated == ("value",)
    assert scenario.given[1].where("value") == Position(PATH, 9, 17)
    assert scenario.expect[0].where("outcome") == Position(PATH, 28, 19)
    assert (scenario.expect[2].stated, scenario.expect[2].where("x")) == ((), Position(PATH, 30, 5))


def test_the_function_of_a_word_comes_with_its_step() -> None:
    step = read_valid(steps("- reboot")).steps[0]
    assert step.word.function is not None
    assert step.word.function(step) == "reboot"


def test_what_a_scenario_needs_is_what_it_says_and_what_its_words_need_with_the_first_place() -> None:
    assert read_valid(FULL).needs == {
        "recovery": Position(PATH, 6, 9),
        "outbox": Position(PATH, 9, 3),
        "leases": Position(PATH, 13, 5),
    }
    assert read_valid(steps("- reboot")).needs == {}


def test_names_may_be_introduced_again_as_the_same_run_may_be_submitted_twice() -> None:
    assert (
        len(
            read_valid(
                steps("- open: a\n- submit: r\n- submit: r\n- open: a\n- claim: {run: r, by: a}")
            ).steps
        )
        == 5
    )


def test_a_free_name_needs_no_introduction() -> None:
    assert read_valid(steps("- submit: {run: r, group: anything}")).steps[0].args["group"] == "anything"


@pytest.mark.parametrize(
    ("line", "sweeps"), [("heal: none", 0), ("heal: {sweeps: 1}", 1), ("# no heal", DEFAULT_HEAL_SWEEPS)]
)
def test_healing_has_a_default_and_can_be_switched_off(line: str, sweeps: int) -> None:
    assert read_valid(f"{HEADER}{line}\nsteps: [reboot]\n").heal_sweeps == sweeps


def test_compiled_scenarios_cannot_be_changed() -> None:
    scenario = read_valid(FULL)
    for frozen, name in ((scenario, "name"), (scenario.steps[0], "args"), (scenario.position, "line")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(frozen, name, None)
    assert (scenario.name, scenario.steps[0].args) == ("stalled-renewal", {"owner": "gw1"})


def test_each_combination_of_the_axes_is_a_variant_the_first_axis_slowest() -> None:
    found = variants(read_valid(FULL))
    assert [each.name for each in found] == ["UTC-sim", "UTC-real", "Asia-Tokyo-sim", "Asia-Tokyo-real"]
    assert found[3].choices == {
        "store": "sqlite",
        "tier": "real",
        "tz": "Asia/Tokyo",
        "locale": "C",
        "size": 1,
    }


def test_without_axes_there_is_one_variant_with_every_default() -> None:
    assert variants(read_valid(steps("- reboot"))) == [
        Variant("default", {"store": "sqlite", "tier": "sim", "tz": "UTC", "locale": "C", "size": 1})
    ]


def test_names_of_variants_have_no_character_that_node_ids_cannot_have() -> None:
    text = f"{HEADER}axes: {{tz: ['[a]::b', '..', 'éa'], size: [12]}}\nsteps: [reboot]\n"
    assert [each.name for each in variants(read_valid(text))] == ["a-b-12", "value-12", "a-12"]


def test_a_file_of_several_scenarios_keeps_their_order_and_its_text() -> None:
    text = "---\n" + steps("- reboot") + "---\n" + FULL
    found = load_text(text, REGISTRY, PATH)
    assert (found.path, found.text) == (PATH, text)
    assert [(each.name, each.position.line) for each in found.scenarios] == [("s", 2), ("stalled-renewal", 8)]
