"""A program as a subject: what scenarios can do with it, and what it can ask of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, Step, load_text, variants
from pytest_runcoord.subject import Snapshot, SubjectWorld
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verbs.asking import ask
from pytest_runcoord.verdict import Verdict
from pytest_runcoord.world import World
from subjects.programs import HEAD, passes, program, run

pytestmark = pytest.mark.real


# --- what a scenario does with it ------------------------------------------------------------------


def test_a_crash_inside_of_a_step_is_a_kill_at_that_very_moment(tmp_path: Path) -> None:
    subject = program(
        tmp_path,
        f"""
        def on_complete(request):
            write(request["with"]["mine"], "finished")
            ask({{"moment": "after-commit", "run": "r1"}})
            open({str(tmp_path / "after")!r}, "w").close()
            answer(request)
        """,
    )
    body = """
steps:
  - open: gw1
  - submit: r1
  - claim: r1
  - complete: {run: r1, crash_at: after-commit}
  - open: gw1
expect:
  - run: {id: r1, outcome: completed}
heal: none
"""
    assert passes(run(subject, body))
    assert not (tmp_path / "after").exists()


def test_a_moment_that_the_program_never_announces_skips_the_scenario_by_its_name(tmp_path: Path) -> None:
    body = "steps:\n  - open: gw1\n  - submit: {run: r1, crash_at: after-accept}\nheal: none\n"
    result = run(program(tmp_path), body)
    assert (result.verdict, "after-accept" in result.skipped) == (Verdict.SKIPPED, True)


def test_a_handle_comes_back_as_it_was_given(tmp_path: Path) -> None:
    handle = {"deep": [1, {"ä": None}], "text": "\u2028"}
    subject = program(
        tmp_path,
        f"""
        HANDLE = json.loads({json.dumps(handle)!r})
        def on_claim(request):
            answer(request, epoch=4, handle=HANDLE)
        def on_complete(request):
            assert request["with"] == HANDLE
            write("r1", "finished")
            answer(request)
        """,
    )
    assert passes(run(subject))


def test_a_refusal_has_its_name_its_words_and_its_details(tmp_path: Path) -> None:
    subject = program(
        tmp_path,
        """
        HELLO["capabilities"].append("reports")
        def on_claim(request):
            why = {"message": "gw9 has it", "details": {"owner": "gw9"}}
            say({"id": request["id"], "refused": "lease-held", **why})
        """,
    )
    body = """
steps:
  - open: gw1
  - submit: r1
  - claim: {run: r1, refused: lease-held}
  - expect: [{answer: {of: claim, has: {owner: gw9, happened: "no"}}}]
heal: none
"""
    assert passes(run(subject, body))
    failed = run(subject, body.replace(", refused: lease-held", ""))
    assert failed.failure is not None
    assert "gw9 has it" in failed.failure.seen


def test_what_it_says_in_words_is_cut(tmp_path: Path) -> None:
    subject = program(
        tmp_path,
        """
        def on_claim(request):
            say({"id": request["id"], "refused": "lease-held", "message": "x" * 100_000})
        """,
    )
    failed = run(subject, "steps:\n  - open: gw1\n  - submit: r1\n  - claim: r1\nheal: none\n")
    assert failed.failure is not None
    assert len(failed.failure.seen) < 1_100


def test_an_owner_that_dies_again_and_again_leaves_nothing_open(tmp_path: Path) -> None:
    def open_files() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    before = open_files()
    steps = "  - open: gw1\n" + "  - restart: gw1\n" * 20
    seen: list[int] = []
    subject = program(tmp_path)
    observed = subject.snapshot

    def snapshot(world: SubjectWorld) -> Snapshot:
        seen.append(open_files())
        return observed(world)

    subject.snapshot = snapshot  # type: ignore[method-assign]
    assert passes(run(subject, f"steps:\n{steps}heal: none\n"))
    assert max(seen) - before < 20
    assert open_files() == before


def test_a_length_that_no_number_in_json_says_is_carried_as_a_word(tmp_path: Path) -> None:
    subject = program(
        tmp_path,
        """
        HELLO["capabilities"].append("leases")
        def on_claim(request):
            say({"id": request["id"], "refused": "invalid-request", "message": str(request["args"]["lease"])})
        """,
    )
    body = "steps:\n  - open: gw1\n  - submit: r1\n  - claim: {run: r1, lease: LENGTH}\nheal: none\n"
    for length, said in (("-90s", "-90.0"), ("infinite", "infinite"), ("not-a-number", "not-a-number")):
        failed = run(subject, body.replace("LENGTH", length))
        assert failed.failure is not None
        assert failed.failure.seen == f"invalid-request: {said}"


@pytest.mark.parametrize(("length", "said"), [("infinite", "infinite"), ("20s", 20)])
def test_settings_are_given_with_open(tmp_path: Path, length: str, said: object) -> None:
    subject = program(
        tmp_path,
        f"""
        HELLO["capabilities"] += ["settings", "leases", "bounds"]
        def on_open(request):
            global store
            store = request["args"]["directory"] + "/states"
            assert request["args"]["settings"] == {{"lease": {said!r}}}
            answer(request)
        """,
    )
    body = f"given: {{settings: {{lease: {length}}}}}\nsteps:\n  - open: gw1\nheal: none\n"
    assert passes(run(subject, body))


def test_time_passes_for_it_by_ticks_at_the_moments_that_it_named(tmp_path: Path) -> None:
    ticks = tmp_path / "ticks"
    subject = program(
        tmp_path,
        f"""
        def due(request, seconds):
            return request["now"]["boottime"] + seconds
        def on_submit(request):
            write("r1", "accepted")
            timers = {{"renew": due(request, 30), "sweep": due(request, 45)}}
            say({{"id": request["id"], "ok": {{}}, "next_due": timers}})
        def on_tick(request):
            with open({str(ticks)!r}, "a") as file:
                file.write(f"{{request['args']['timer']}} {{request['now']['boottime'] - 1000:g}};")
            answer(request)
        """,
    )
    assert passes(
        run(subject, "steps:\n  - open: gw1\n  - submit: r1\n  - advance: 40s\n  - advance: 1h\nheal: none\n")
    )
    assert ticks.read_text() == "renew 30;sweep 45;"


def test_its_waits_cost_time_in_the_scenario_and_none_for_real(tmp_path: Path) -> None:
    times = tmp_path / "times"
    subject = program(
        tmp_path,
        f"""
        def on_submit(request):
            write("r1", "accepted")
            later = ask({{"wait": 5000.5}})["now"]
            open({str(times)!r}, "w").write(str(later["wall"] - request["now"]["wall"]))
            answer(request)
        """,
    )
    assert passes(run(subject, "steps:\n  - open: gw1\n  - submit: r1\nheal: none\n"))
    assert times.read_text() == "5000.5"


@pytest.mark.parametrize(
    ("behaviour", "reply"),
    [
        ("accepts", {"accepted": True}),
        ("refuses", {"refused": "chat refuses e1"}),
        ("down", {"later": "ConnectionError: chat is down"}),
        ("hangs", {"later": "no answer within 5 s"}),
    ],
)
def test_what_it_sends_is_answered_by_the_destination_of_the_scenario(
    tmp_path: Path, behaviour: str, reply: dict[str, object]
) -> None:
    heard = tmp_path / "heard"
    subject = program(
        tmp_path,
        f"""
        def on_deliver(request):
            message = {{"event": "e1", "run": "r1", "destination": "chat", "body": "ä", "attempt": 1}}
            reply = ask({{"send": message, "patience": 5}})
            open({str(heard)!r}, "w").write(json.dumps(reply))
            answer(request)
        """,
    )
    body = f"given: {{destinations: {{chat: {behaviour}}}}}\nsteps:\n  - open: gw1\n  - deliver\nheal: none\n"
    result = run(subject, body)
    got = json.loads(heard.read_text())
    assert got.pop("now")["boottime"] == (1005 if behaviour == "hangs" else 1000)
    assert got == reply
    # Of a run that nobody submitted nothing can be true; what the invariants say is theirs.
    assert result.verdict is not Verdict.SKIPPED


def test_a_fault_of_its_store_is_for_it_to_meet(tmp_path: Path) -> None:
    subject = program(
        tmp_path,
        """
        HELLO["capabilities"].append("ports")
        def on_claim(request):
            fault = ask({"fault": "claim", "bound": 2})["fault"]
            if fault:
                say({"id": request["id"], "refused": "store-locked", "message": fault})
            else:
                answer(request, epoch=1)
        """,
    )
    body = """
steps:
  - open: gw1
  - submit: r1
  - fault: {on: claim, is: IS}
  - claim: {run: r1, refused: store-locked}
  - claim: r1
heal: none
"""
    assert passes(run(subject, body.replace("IS", "locked")))
    assert passes(run(subject, body.replace("IS", "hang")))


def test_an_id_of_the_scenario_is_to_be_had(tmp_path: Path) -> None:
    subject = program(
        tmp_path,
        """
        HELLO["capabilities"].append("keys")
        def on_submit(request):
            run = request["args"]["run"] or ask({"new_id": "run"})["new_id"]
            write(run, "accepted")
            answer(request, run=run)
        """,
    )
    body = "steps:\n  - open: gw1\n  - submit: {run: r7, made_id: true}\nexpect:\n  - run: r7\nheal: none\n"
    assert passes(run(subject, body))


def test_a_word_of_a_project_asks_for_a_verb_of_its_own(tmp_path: Path) -> None:
    registry = default_registry().copy()
    registry.capability("x_order", says="put runs first")

    @registry.step(
        "hurry", group="runs", says="A run comes first.", capability="x_order", options=("refused",)
    )
    def hurry(world: World, step: Step) -> None:
        world.answers["hurry"] = ask(world, step, "x_hurry", {"run": "r1"})

    subject = program(
        tmp_path,
        """
        HELLO["capabilities"] += ["x_order", "reports"]
        def on_x_hurry(request):
            answer(request, x_place=1, run=request["args"]["run"])
        """,
    )
    body = """
steps:
  - open: gw1
  - hurry
  - expect: [{answer: {of: hurry, has: {x_place: 1}}}]
heal: none
"""
    [scenario] = load_text(HEAD + body, registry, "own.runcoord.yaml").scenarios
    assert isinstance(scenario, Scenario), scenario.error
    [variant] = variants(scenario)
    assert passes(run_variant(scenario, variant, subject=subject))


def test_a_pause_stops_the_process_and_a_resume_lets_it_go_on(tmp_path: Path) -> None:
    number = tmp_path / "number"
    subject = program(
        tmp_path,
        f"""
        def on_submit(request):
            open({str(number)!r}, "w").write(str(os.getpid()))
            write("r1", "accepted")
            answer(request)
        def on_snapshot(request):
            states = dict(line.split() for line in open(store)) if os.path.exists(store) else {{}}
            runs = [{{"run_id": run, "state": "accepted"}} for run in states]
            if os.path.exists({str(number)!r}):
                pid = open({str(number)!r}).read()
                state = open("/proc/" + pid + "/stat").read().rpartition(")")[2]
                open({str(tmp_path / "states")!r}, "a").write(state.split()[0])
            answer(request, runs=runs, events=[])
        """,
    )
    body = """
steps:
  - open: gw1
  - submit: r1
  - pause: gw1
  - advance: 5s
  - resume: gw1
  - claim: r1
heal: none
"""
    assert passes(run(subject, body))
    seen = (tmp_path / "states").read_text()
    assert "T" in seen
    assert seen[-1] != "T"


def test_a_paused_program_can_be_killed(tmp_path: Path) -> None:
    assert passes(
        run(
            program(tmp_path),
            "steps:\n  - open: gw1\n  - pause: gw1\n  - crash: gw1\n  - open: gw1\nheal: none\n",
        )
    )


def test_a_scenario_that_asks_it_in_the_middle_of_something_is_skipped_with_the_reason(
    tmp_path: Path,
) -> None:
    subject = program(
        tmp_path,
        """
        def on_claim(request):
            ask({"moment": "after-commit"})
            answer(request, epoch=1)
        """,
    )
    body = """
steps:
  - open: gw1
  - submit: r1
  - during: {step: {claim: r1}, at: after-commit, do: [{submit: {run: r2, by: gw1}}]}
heal: none
"""
    result = run(subject, body)
    assert result.verdict is Verdict.SKIPPED
    assert result.skipped.startswith("a program answers one request at a time")


def test_the_environment_and_the_directory_are_those_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNCOORD_TRIED", "yes")
    subject = program(
        tmp_path,
        f"""
        assert os.environ["RUNCOORD_TRIED"] == "yes"
        assert os.getcwd() == {str(tmp_path)!r}
        assert os.getsid(0) == os.getpid()
        """,
    )
    assert passes(run(subject))
