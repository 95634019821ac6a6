"""What is wrong in a scenario is told at its line and column, with what to do, before anything is run."""

# ruff: noqa: E501 (the tables read best with one case in a line)

from __future__ import annotations

from dataclasses import dataclass

import pytest
from small_vocabulary import HEADER, PATH, read, read_valid, steps

from pytest_runcoord._limits import MAX_FAULTS, MAX_STEPS
from pytest_runcoord.scenario import InvalidScenario, Scenario


@dataclass(frozen=True)
class Wrong:
    """A scenario and what its error must say where; ``problem`` and ``remedy`` are parts of the texts."""

    text: str
    line: int
    column: int
    problem: str
    remedy: str


def with_key(line: str) -> str:
    """A valid scenario but for one more key in line 4."""
    return f"{HEADER}{line}\nsteps: [reboot]\n"


DOCUMENT = {
    "nothing": Wrong("---\n...\n", 2, 1, "nothing stands where a scenario is wanted", "'runcoord: 1'"),
    "text": Wrong("hello\n", 1, 1, "the text 'hello' stands where a scenario", "begins with 'runcoord: 1'"),
    "list": Wrong("- reboot\n", 1, 1, "a list stands where a scenario is wanted", "write a mapping"),
    "no version": Wrong("scenario: s\n", 1, 1, "which version", "add a first line 'runcoord: 1'"),
    "misspelt version": Wrong("runcord: 1\n", 1, 1, "which version", "in place of 'runcord'"),
    "later version": Wrong(
        "runcoord: 2\n", 1, 11, "written for version 2, this runcoord reads version 1", "install a runcoord"
    ),
    "version as text": Wrong("runcoord: '1'\n", 1, 11, "the text '1' stands where", "write runcoord: 1"),
    "version true": Wrong("runcoord: true\n", 1, 11, "the truth value 'true'", "write runcoord: 1"),
    "unknown key": Wrong(with_key("expects: [quiet]"), 4, 1, "unknown key 'expects'", "did you mean 'expect'?"),
    "strange key": Wrong(with_key("on: push"), 4, 1, "unknown key 'on'", "known: runcoord, scenario, says"),
    "no name": Wrong("runcoord: 1\nsays: x\nsteps: [reboot]\n", 1, 1, "lacks 'scenario'", "'scenario: ...'"),
    "no sentence": Wrong("runcoord: 1\nscenario: s\nsteps: [reboot]\n", 1, 1, "lacks 'says'", "'says: ...'"),
    "no steps": Wrong(HEADER, 1, 1, "lacks 'steps'", "add a line 'steps: ...'"),
    "empty sentence": Wrong(steps("- reboot").replace("It holds.", "' '"), 3, 7, "the text is empty", "one word"),
    "long sentence": Wrong(
        steps("- reboot").replace("It holds.", "x" * 501), 3, 7, "501 characters", "at most 500 are allowed"
    ),
    "sentence is a number": Wrong(steps("- reboot").replace("It holds.", "12"), 3, 7, "'12'", 'quote it: "12"'),
    "steps are text": Wrong(HEADER + "steps: reboot\n", 4, 8, "the text 'reboot'", "beginning with '- '"),
    "steps are empty": Wrong(HEADER + "steps: []\n", 4, 8, "the list of steps is empty", "add an entry"),
    "steps are nothing": Wrong(HEADER + "steps:\n", 4, 7, "nothing stands where a list of steps", "'- '"),
    "origin is text": Wrong(with_key("origin: R1"), 4, 9, "the text 'R1'", "[one, two]"),
    "origin is a number": Wrong(with_key("origin: [12]"), 4, 10, "the number '12'", 'quote it: "12"'),
    "tag": Wrong(with_key("tags: [slow-io]"), 4, 8, "'slow-io' is not a tag", "letters, digits and '_'"),
    "capability": Wrong(with_key("needs: [lease]"), 4, 9, "no capability 'lease'", "did you mean 'leases'?"),
    "needs": Wrong(with_key("needs: leases"), 4, 8, "a list of needs is wanted", "beginning with '- '"),
    "heal": Wrong(with_key("heal: never"), 4, 7, "'never' is not among", "known: none"),
    "heal is a number": Wrong(with_key("heal: 3"), 4, 7, "the number '3'", "a mapping with sweeps, or the word"),
    "heal misspelt": Wrong(with_key("heal: {sweep: 1}"), 4, 8, "unknown key 'sweep'", "did you mean 'sweeps'?"),
    "heal without value": Wrong(with_key("heal: {}"), 4, 7, "'sweeps' is missing", "add sweeps: a whole number"),
    "heal out of range": Wrong(with_key("heal: {sweeps: 0}"), 4, 16, "'0' is out of range", "from 1 to 100"),
    "given list": Wrong(with_key("given: [home]"), 4, 8, "a list stands where a mapping", "'word: ...'"),
    "given empty": Wrong(with_key("given: {}"), 4, 8, "an empty mapping stands", "'word: ...'"),
    "given unknown": Wrong(with_key("given: {hom: plain}"), 4, 9, "unknown given 'hom'", "did you mean 'home'?"),
    "given nothing": Wrong(with_key("given: {home: }"), 4, 9, "nothing stands after 'home:'", "home: <via>"),
    "given value": Wrong(
        with_key("given: {destinations: {chat: acepts}}"), 4, 30, "'acepts' is not among", "did you mean 'accepts'?"
    ),
    "given name": Wrong(
        with_key("given: {destinations: {'a b': accepts}}"), 4, 24, "'a b' is not a name", "use letters"
    ),
    "given no names": Wrong(with_key("given: {destinations: {}}"), 4, 23, "has 0 entries", "at least 1"),
    "unknown axis": Wrong(with_key("axes: {stor: [memory]}"), 4, 8, "unknown axis 'stor'", "did you mean 'store'?"),
    "axis value": Wrong(with_key("axes: {store: [mysql]}"), 4, 16, "'mysql' is not among", "memory, sqlite"),
    "axis is text": Wrong(with_key("axes: {store: memory}"), 4, 15, "a list of values of 'store'", "'- '"),
    "axis is empty": Wrong(with_key("axes: {store: []}"), 4, 15, "values of 'store' is empty", "add an entry"),
    "axis value twice": Wrong(
        with_key("axes: {store: [memory, memory]}"), 4, 24, "'memory' is the same variant", "remove one"
    ),
    "axis value alike": Wrong(with_key("axes: {tz: [A/B, A B]}"), 4, 18, "'A B' is the same variant", "remove"),
    "names alike": Wrong(
        with_key("axes: {tz: [a, a-b], locale: [b-c, c]}"), 4, 1, "two variants have the same name", "leave out"
    ),
    "too many variants": Wrong(
        with_key(f"axes: {{size: {list(range(1, 34))}, store: [memory, sqlite]}}"), 4, 1, "66 variants, at most 64",
        "leave values out",
    ),
    "too many values": Wrong(
        with_key(f"axes: {{size: {list(range(1, 66))}}}"), 4, 14, "more than 64 values", "leave some out"
    ),
    "empty expect": Wrong(with_key("expect: []"), 4, 9, "expectations is empty", "or remove the key"),
    "unknown expectation": Wrong(with_key("expect: [quite]"), 4, 10, "unknown expectation 'quite'", "'quiet'?"),
    "expected name": Wrong(with_key("expect: [run: r9]"), 4, 15, "run 'r9' is used before", "with submit"),
}  # fmt: skip

STEPS = {
    "unknown word": Wrong("- opne: gw1", 5, 5, "unknown step 'opne'", "did you mean 'open'?"),
    "unknown bare word": Wrong("- rebot", 5, 5, "unknown step 'rebot'", "did you mean 'reboot'?"),
    "no space after a word": Wrong("- open:gw1", 5, 5, "unknown step 'open:gw1'", "a space after 'open:'"),
    "strange word": Wrong("- xyzzy", 5, 5, "unknown step 'xyzzy'", "known: open, submit, claim"),
    "number": Wrong("- 12", 5, 5, "the number '12' stands where a step is wanted", "write '- word'"),
    "list": Wrong("- [reboot]", 5, 5, "a list stands where a step is wanted", "write '- word'"),
    "empty": Wrong("- {}", 5, 5, "the step is empty", "write one of: open"),
    "two words": Wrong("- open: gw1\n  reboot: {}", 6, 5, "has several words: open, reboot", "begin each"),
    "argument beside the word": Wrong(
        "- submit: r1\n- claim: r1\n  lease: 9s", 7, 5, "'lease' stands beside 'claim', not below it", "indent it"
    ),
    "nothing after a word": Wrong("- open:", 5, 5, "nothing stands after 'open:'", "write open: <owner>"),
    "colon for nothing": Wrong("- reboot:", 5, 5, "nothing stands after 'reboot:'", "without the ':'"),
    "word lacks its argument": Wrong("- open", 5, 5, "'open' lacks 'owner'", "write open: <owner>"),
    "value without meaning": Wrong("- reboot: now", 5, 13, "cannot stand directly after 'reboot'", "write reboot"),
    "missing argument": Wrong("- submit: r1\n- pair: {one: r1}", 6, 5, "'pair' lacks 'two'", "two: ..."),
    "arguments as one value": Wrong(
        "- submit: r1\n- pair: r1", 6, 11, "the text 'r1' cannot stand directly after 'pair'", "pair: {one: ..."
    ),
    "unknown argument": Wrong("- open: {ower: gw1}", 5, 12, "'open' has no 'ower'", "did you mean 'owner'?"),
    "argument for nothing": Wrong("- reboot: {now: true}", 5, 14, "'reboot' has no 'now'", "takes nothing"),
    "option not taken": Wrong("- open: {owner: gw1, by: gw1}", 5, 24, "'open' has no 'by'", "remove it"),
    "missing unit": Wrong("- advance: 90", 5, 14, "the duration 90 has no unit", "write 90s for seconds"),
    "missing unit of a float": Wrong("- advance: 1.5", 5, 14, "the duration 1.5 has no unit", "write 1.5s"),
    "missing unit of an odd number": Wrong("- advance: 0x10", 5, 14, "0x10 has no unit", "write 90s"),
    "unknown unit": Wrong("- advance: 90 sec", 5, 14, "the text '90 sec'", "its unit: ms, s, m, h, d"),
    "clock notation": Wrong("- advance: 1:30", 5, 14, "the text '1:30' stands where a duration", "as in 90s"),
    "truth value as duration": Wrong("- advance: true", 5, 14, "the truth value 'true'", "as in 90s"),
    "negative duration": Wrong("- advance: -5s", 5, 14, "'-5s' is negative", "zero or more"),
    "infinite duration": Wrong("- advance: .inf", 5, 14, "the duration .inf has no unit", "write 90s"),
    "endless duration": Wrong("- step: -999999d", 5, 11, "'-999999d' is too long", "at most 36500d"),
    "unknown run": Wrong("- claim: r1", 5, 12, "run 'r1' is used before anything introduces it", "with submit"),
    "unknown run, a near one": Wrong(
        "- submit: run-one\n- claim: run-on", 6, 12, "run 'run-on' is used before", "did you mean 'run-one' of line 5?"
    ),
    "unknown owner": Wrong(
        "- open: gateway\n- submit: {run: r1, by: x}", 6, 27, "owner 'x' is used before", "known here: gateway"
    ),
    "unknown destination": Wrong(
        "- submit: {run: r1, destination: x}", 5, 36, "destination 'x' is used before", "with given.destinations"
    ),
    "unknown handle": Wrong("- complete: {with: old}", 5, 22, "handle 'old' is used before", "with submit, claim"),
    "handle of itself": Wrong("- submit: {as: h, run: r, with: h}", 5, 35, "handle 'h' is used before", "above"),
    "handle twice": Wrong(
        "- submit: {run: r1, as: a}\n- submit: {run: r1, as: a}", 6, 27, "'a' is there already, since line 5", "another"
    ),
    "handle of a refusal": Wrong(
        "- submit: {run: r1, as: a, refused: lease-lost}", 5, 23, "gives nothing that 'as' could name", "remove 'as'"
    ),
    "bad name": Wrong("- submit: 'a b'", 5, 13, "'a b' is not a name", "use letters, digits"),
    "name like an option": Wrong("- submit: -x", 5, 13, "'-x' is not a name", "not first '.' or '-'"),
    "name like a path": Wrong("- submit: ../x", 5, 13, "'../x' is not a name", "use letters, digits"),
    "long name": Wrong(f"- submit: {'x' * 101}", 5, 13, "is not a name", "at most 100 characters"),
    "number as a name": Wrong("- submit: 4243", 5, 13, "the number '4243'", 'quote it: "4243"'),
    "mapping as a name": Wrong("- submit: {run: {a: 1}}", 5, 19, "a mapping stands where a name", "write a name"),
    "unknown refusal": Wrong(
        "- submit: {run: r1, refused: lease-lots}", 5, 32, "no refusal 'lease-lots'", "did you mean 'lease-lost'?"
    ),
    "unknown moment": Wrong(
        "- submit: {run: r1, crash_at: after-red}", 5, 33, "no moment 'after-red'", "did you mean 'after-read'?"
    ),
    "moment is a number": Wrong("- submit: {run: r1, crash_at: 3}", 5, 33, "the number '3'", "known: after-read"),
    "effect zero": Wrong("- submit: {run: r1, crash_at: {effect: 0}}", 5, 42, "out of range", "from 1 to"),
    "flag as text": Wrong("- complete: {quietly: yes}", 5, 25, "the text 'yes'", "true or false, without quotes"),
    "flag as number": Wrong("- complete: {quietly: 1}", 5, 25, "the number '1'", "true or false"),
    "count too large": Wrong("- submit: r\n- pair: {one: r, two: 10}", 6, 25, "'10' is out of range", "from 1 to 9"),
    "count with a leading zero": Wrong("- submit: r\n- pair: {one: r, two: 07}", 6, 25, "the text '07'", "whole"),
    "count as a float": Wrong("- submit: r\n- pair: {one: r, two: 1.0}", 6, 25, "the number '1.0'", "whole number"),
    "count as a flag": Wrong("- submit: r\n- pair: {one: r, two: true}", 6, 25, "the truth value", "whole number"),
    "list too short": Wrong("- recover: []", 5, 14, "the list has 0 entries", "at least 1 and at most 3"),
    "name in a list": Wrong("- recover: [r1]", 5, 15, "run 'r1' is used before", "with submit"),
    "not a number in JSON": Wrong("- submit: {run: r, payload: [.nan]}", 5, 32, "no number '.nan'", "quoted"),
    "infinity in JSON": Wrong("- submit: {run: r, payload: {a: 1e999}}", 5, 35, "no number '1e999'", "quoted"),
    "nested unknown word": Wrong(
        "- during: {step: reboot, at: after-read, do: [rebot]}", 5, 49, "unknown step 'rebot'", "'reboot'?"
    ),
    "nested step missing": Wrong("- during: {at: after-read, do: [reboot]}", 5, 5, "lacks 'step', a step", "step: ..."),
    "nested not a list": Wrong(
        "- during: {step: reboot, at: after-read, do: reboot}", 5, 48, "where a list of steps", "each '- verb: ...'"
    ),
    "nested uses a later name": Wrong(
        "- during: {do: [{claim: r1}], at: after-read, step: reboot}\n- submit: r1", 5, 27, "run 'r1'", "above"
    ),
    "either, none fits": Wrong("- wait: {for: [1]}", 5, 17, "a list stands where a duration", "or a mapping with"),
    "either, the fitting one explains": Wrong("- wait: {for: {sweep: 1}}", 5, 18, "unknown key 'sweep'", "'sweeps'?"),
    "too many": Wrong("\n".join(["- reboot"] * 501), 505, 5, "more than 500 steps", "split the scenario"),
    "too many when nested": Wrong(
        "- during: {step: reboot, at: after-read, do: [" + "reboot, " * 499 + "]}", 5, 4033, "more than 500", "split"
    ),
}  # fmt: skip


def check(text: str, wrong: Wrong) -> None:
    [found] = read(text)
    assert isinstance(found, InvalidScenario)
    error = found.error
    assert str(error).startswith(f"{PATH}:{wrong.line}:{wrong.column}: ")
    assert wrong.problem in error.problem
    assert wrong.remedy in error.remedy


@pytest.mark.parametrize("wrong", DOCUMENT.values(), ids=DOCUMENT)
def test_a_wrong_scenario_is_told_with_its_place_and_remedy(wrong: Wrong) -> None:
    check(wrong.text, wrong)


@pytest.mark.parametrize("wrong", STEPS.values(), ids=STEPS)
def test_a_wrong_step_is_told_with_its_place_and_remedy(wrong: Wrong) -> None:
    check(steps(wrong.text), wrong)


def test_expectations_that_contradict_each_other_name_both_lines() -> None:
    text = (
        steps("- submit: r1\n- submit: r2")
        + "expect:\n  - run: {id: r1, outcome: completed}\n  - run: {id: r2, outcome: interrupted}\n"
        + "  - run:\n      id: r1\n      outcome: interrupted\n"
    )
    wrong = Wrong(text, 12, 7, "outcome 'interrupted' here and 'completed' in line 8", "remove one of them")
    check(text, wrong)


def test_expectations_of_several_keys_contradict_only_where_all_keys_are_equal() -> None:
    text = "given: {destinations: {a: accepts, b: accepts}}\n" + steps("- submit: r1")
    fine = (
        text
        + "expect:\n  - delivered: {run: r1, to: a, count: 1}\n  - delivered: {run: r1, to: b, count: 2}\n"
    )
    assert len(read_valid(fine).expect) == 2
    line = "  - delivered: {run: r1, to: a, count: 3}\n"
    check(fine + line, Wrong("", 10, 33, "count '3' here and '1' in line 8", "both cannot be"))


def test_expectations_about_different_fields_or_the_same_value_agree() -> None:
    text = steps("- submit: r1") + (
        "expect:\n  - run: {id: r1, outcome: completed}\n  - run: {id: r1, attempts: 1}\n  - run: r1\n"
        "  - run: {id: r1, outcome: completed, attempts: 1}\n  - quiet\n  - quiet\n"
    )
    assert [each.name for each in read_valid(text).expect] == ["run"] * 4 + ["quiet"] * 2


def test_a_refusal_for_an_unknown_run_may_name_one_but_no_other_unknown_name() -> None:
    assert read_valid(steps("- claim: {run: ghost, refused: unknown-run}")).steps[0].args["run"] == "ghost"
    check(
        steps("- claim: {run: ghost, refused: unknown-run}\n- claim: ghost"),
        Wrong("", 6, 12, "run 'ghost' is used before", "with submit"),
    )
    check(
        steps("- claim: {run: ghost, by: nobody, refused: unknown-run}"),
        Wrong("", 5, 29, "owner 'nobody' is used before", "with open"),
    )
    check(
        steps("- claim: {run: ghost, refused: lease-lost}"),
        Wrong("", 5, 18, "run 'ghost' is used", "with submit"),
    )


def test_a_wrong_scenario_leaves_the_others_of_its_file_runnable() -> None:
    first, last = (steps("- reboot").replace(": s\n", f": {name}\n") for name in ("first", "last"))
    found = read(f"{first}---\n{steps('- rebot')}---\n{last}")
    assert [type(each) for each in found] == [Scenario, InvalidScenario, Scenario]
    assert [each.name for each in found] == ["first", "s", "last"]
    assert [each.position.line for each in found] == [1, 7, 13]


def test_a_name_that_is_taken_fails_beside_the_scenario_that_has_it() -> None:
    [first, second, third] = read(f"{steps('- reboot')}---\n{steps('- reboot')}---\n{steps('- rebot')}")
    assert isinstance(first, Scenario)
    assert isinstance(second, InvalidScenario)
    assert isinstance(third, InvalidScenario)
    assert [each.name for each in (first, second, third)] == ["s", "s.document-2", "s.document-3"]
    assert str(second.error) == (
        f"{PATH}:8:11: the scenario 's' is there already, in line 2 (give it another name)"
    )
    assert "unknown step 'rebot'" in third.error.problem


def test_a_scenario_without_a_usable_name_is_named_by_its_place_in_the_file() -> None:
    found = read("runcoord: 1\nscenario: ../up\n---\n- x\n---\nscenario: {a: 1}\n")
    assert [each.name for each in found] == ["document-1", "document-2", "document-3"]
    assert all(isinstance(each, InvalidScenario) for each in found)


def test_a_long_value_is_cut_and_control_characters_are_escaped_in_messages() -> None:
    [found] = read(steps('- submit: "a\\u001b' + "x" * 90 + '"'))
    assert isinstance(found, InvalidScenario)
    assert f"'a\\x1b{'x' * 55}…'" in found.error.problem
    assert "\x1b" not in str(found.error)


def told(text: str) -> list[str]:
    """All that is wrong in the only scenario: the line, and the first words of what is said of it."""
    [found] = read(text)
    assert isinstance(found, InvalidScenario)
    first = found.error
    assert getattr(first, "__notes__", []) == [f"also {each}" for each in first.others]
    return [f"{each.position.line}: {each.problem}" for each in (first, *first.others)]


def test_everything_that_is_wrong_is_told_at_once_the_first_thing_first() -> None:
    text = steps(
        "- submit: r1\n- clam: r1\n- claim: {run: r1, lese: 9s}\n- advance: 3\n- claim: {run: 7}"
    ).replace("It holds.", "' '") + ("expect:\n  - run: {id: r1, outcom: completed}\n  - quite\nextra: 1\n")
    assert [line.partition(" (")[0] for line in told(text)] == [
        "13: unknown key 'extra'",
        "3: the text is empty",
        "6: unknown step 'clam'",
        "7: 'claim' has no 'lese'",
        "8: the duration 3 has no unit",
        "9: the number '7' stands where a name of a run is wanted",
        "11: 'run' has no 'outcom'",
        "12: unknown expectation 'quite'",
    ]


def test_a_name_is_not_missed_where_the_step_that_may_have_introduced_it_is_wrong() -> None:
    assert told(steps("- sumbit: r1\n- claim: r1\n- claim: r1")) == ["5: unknown step 'sumbit'"]


def test_a_name_that_nothing_introduces_is_told_once_and_so_is_every_other() -> None:
    text = steps("- claim: r1\n- claim: r1\n- claim: r2\n- submit: r3\n- rebot\n- claim: r4")
    assert [line[:12] for line in told(text)] == ["5: run 'r1' ", "7: run 'r2' ", "9: unknown s"]


def test_a_misspelt_key_is_not_missed_too() -> None:
    assert told(steps("- reboot").replace("says:", "say:")) == ["3: unknown key 'say'"]
    assert told(steps("- reboot").replace("steps:", "step:")) == ["4: unknown key 'step'"]


def test_expectations_are_compared_when_all_of_them_can_be_read() -> None:
    text = steps("- submit: r1") + (
        "expect:\n  - run: {id: r1, outcome: completed}\n  - run: {id: r1, outcome: interrupted}\n  - quite\n"
    )
    assert told(text) == ["9: unknown expectation 'quite'"]
    assert len(told(text.replace("quite", "quiet"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        steps("\n".join("- rebot" for _ in range(200))),
        steps("- reboot") + "expect:\n" + 100 * "  - quite\n",
        with_key("given: {" + ", ".join(f"hom{number}: plain" for number in range(100)) + "}"),
        steps("- reboot") + "".join(f"key{number}: 1\n" for number in range(100)),
    ],
    ids=["steps", "expectations", "given", "keys"],
)
def test_whoever_has_too_many_faults_is_told_some(text: str) -> None:
    found = told(text)
    assert len(found) == MAX_FAULTS
    assert len(set(found)) == MAX_FAULTS


def test_behind_too_many_steps_nothing_is_read() -> None:
    text = steps("\n".join("- reboot" for _ in range(MAX_STEPS + 20))) + "expect: [quite]\n"
    assert told(text) == [f"{MAX_STEPS + 5}: the scenario has more than {MAX_STEPS} steps"]
