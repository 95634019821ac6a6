"""Trees that do not want to end, on real shims: all of it is gone afterwards, each in its own way."""

from __future__ import annotations

import sys
import time

import pytest

from processes.trees import LIFE_SECONDS, Grove, fates, grove, linux_only
from runcoord.ports import Fate, Found, Scope

__all__ = ["grove"]

pytestmark = [linux_only, pytest.mark.real]

SAY = 'say() { echo "$1 $2" > "$EARS"; }; '
SLEEP = f"exec sleep {LIFE_SECONDS}"
WAIT = f"sleep {LIFE_SECONDS} & wait"

ESCAPES = {
    "setsid": f"setsid sh -c 'echo member $$ > $EARS; {SLEEP}' &",
    "double-fork": f"(setsid sh -c 'echo member $$ > $EARS; {SLEEP}' &) ; true",
    "empty-environment": f"(env -i EARS=$EARS setsid sh -c 'echo member $$ > $EARS; {SLEEP}' &) ; true",
    "timeout": f"timeout {LIFE_SECONDS} sh -c 'echo member $$ > $EARS; {SLEEP}' &",
    "job-control": f"set -m; sh -c 'echo member $$ > $EARS; {SLEEP}' &",
    "nohup": f"nohup sh -c 'echo member $$ > $EARS; {SLEEP}' > /dev/null 2>&1 &",
    "daemon": f"(cd / && umask 0 && setsid sh -c 'exec < /dev/null > /dev/null 2>&1; (echo member $$ > $EARS;"
    f" {SLEEP}) &' &) ; true",
}


@pytest.mark.parametrize("way", ESCAPES.values(), ids=list(ESCAPES))
def test_a_member_that_leaves_the_group_ends_with_the_run(grove: Grove, way: str) -> None:
    tree = grove.shell(f"{way} {WAIT}", "member")
    began = time.monotonic()
    what = fates(tree, grace=20)
    assert time.monotonic() - began < 10, "nobody needed the grace"
    assert grove.ears.living() == []
    [member] = [pid for word, pid in grove.ears.lines if word == "member"]
    if "exec <" not in way:  # there the one that spoke is the parent of the one that lives
        assert what[member] in (Fate.ASKED, Fate.ENDED), "timeout passes the signal on"


@pytest.mark.parametrize("way", ESCAPES.values(), ids=list(ESCAPES))
def test_what_a_command_leaves_behind_ends_after_it_also_at_once(grove: Grove, way: str) -> None:
    tree = grove.shell(f"{way} sleep 0.2; exit 7", "member")
    ending = tree.wait(20)
    assert ending is not None
    assert ending.status == 7
    assert set(fates(tree, grace=0).values()) == {Fate.KILLED}
    assert grove.ears.living() == []


def test_one_that_ignores_being_asked_is_killed_after_the_grace(grove: Grove) -> None:
    tree = grove.shell(f"trap '' TERM; echo member $$ > $EARS; {SLEEP}", "member")
    began = time.monotonic()
    what = fates(tree, grace=0.5)
    assert 0.5 <= time.monotonic() - began < 5
    assert what[tree_pid(grove, "member")] is Fate.KILLED


def test_a_stopped_member_still_cleans_up(grove: Grove) -> None:
    stopping = (
        "sh -c 'trap \"echo cleaned 0 > $EARS; exit\" TERM; echo member $$ > $EARS; kill -STOP $$; wait'"
    )
    tree = grove.shell(f"{stopping} & {WAIT}", "member")
    fates(tree, grace=20)
    assert grove.ears.said("cleaned") == 1
    assert grove.ears.living() == []


def test_a_descendant_that_needs_time_gets_it_though_the_command_ends_at_once(grove: Grove) -> None:
    careful = (
        'sh -c \'trap "sleep 0.7; echo cleaned 0 > $EARS; exit" TERM; echo member $$ > $EARS;'
        " for _ in $(seq 1000); do sleep 0.05; done'"
    )
    tree = grove.shell(f"setsid {careful} & {WAIT}", "member")
    began = time.monotonic()
    assert fates(tree, grace=20)[tree_pid(grove, "member")] is Fate.ASKED
    assert 0.7 <= time.monotonic() - began < 10
    assert grove.ears.said("cleaned") == 1


def test_a_leader_whose_first_thread_has_ended_lives_and_is_ended(grove: Grove) -> None:
    program = (
        "import ctypes,os,threading,time\n"
        f"threading.Thread(target=time.sleep, args=({LIFE_SECONDS},)).start()\n"
        "open(os.environ['EARS'], 'w').write(f'member {os.getpid()}\\n')\n"
        "ctypes.CDLL(None).syscall(60, 0)\n"
    )
    tree = grove.launch(sys.executable, "-c", program)
    [leader] = grove.ears.hear("member")
    assert tree.wait(0) is None
    assert fates(tree, grace=20)[leader] is Fate.ASKED
    assert grove.ears.living() == []


def test_a_zombie_that_its_parent_holds_is_nobody_to_wait_for(grove: Grove) -> None:
    program = (
        "import os,time\n"
        "if os.fork() == 0: os._exit(0)\n"
        "time.sleep(0.1)\n"
        "open(os.environ['EARS'], 'w').write(f'member {os.getpid()}\\n')\n"
        f"time.sleep({LIFE_SECONDS})\n"
    )
    tree = grove.launch(sys.executable, "-c", program)
    [leader] = grove.ears.hear("member")
    began = time.monotonic()
    assert fates(tree, grace=20) == {leader: Fate.ASKED}
    assert time.monotonic() - began < 10


def test_members_that_start_others_when_they_are_asked_do_not_save_them(grove: Grove) -> None:
    newborn = f'setsid sh -c "echo newborn \\$\\$ > $EARS; {SLEEP}" & sleep 0.3; exit'
    # A signal to a child of a shell with a trap is lost between fork and exec: so its children are short.
    loop = "for _ in $(seq 1000); do sleep 0.05; done"
    tree = grove.shell(f"trap '{newborn}' TERM; echo member $$ > $EARS; {loop}", "member")
    report = tree.tear_down(5)
    assert report.emptied
    assert grove.ears.said("newborn") == 1
    assert grove.ears.living() == []
    assert report.asking_seconds < 4, report


def test_a_bounded_flood_of_forks_is_ended(grove: Grove) -> None:
    program = (
        "import os,signal,time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "open(os.environ['EARS'], 'w').write(f'member {os.getpid()}\\n')\n"
        "for left in range(60):\n"
        "    if os.fork() == 0:\n"
        "        if left % 2: os.setsid()\n"
        f"        time.sleep(0.02); os.fork(); time.sleep({LIFE_SECONDS})\n"
        "    time.sleep(0.005)\n"
        f"time.sleep({LIFE_SECONDS})\n"
    )
    tree = grove.launch(sys.executable, "-c", program)
    grove.ears.hear("member")
    report = tree.tear_down(0)
    assert report.emptied, report
    assert report.left == ()


def test_a_second_teardown_sends_nothing_and_says_the_same(grove: Grove) -> None:
    tree = grove.shell(f"{ESCAPES['setsid']} {WAIT}", "member")
    first = tree.tear_down(5)
    assert tree.tear_down(0) is first
    assert first.counted >= 3


def test_a_process_that_was_handed_over_is_listed_and_lives_on(grove: Grove) -> None:
    spared = f"RUNCOORD_HANDED_OVER=$COOKIE setsid sh -c 'echo spared $$ > $EARS; {SLEEP}' &"
    tree = grove.shell(f"{spared} {ESCAPES['setsid']} {WAIT}", "member", "spared")
    daemon, member = tree_pid(grove, "spared"), tree_pid(grove, "member")
    what = fates(tree, grace=5)
    assert what[daemon] is Fate.SPARED
    assert what[member] is Fate.ASKED
    assert grove.ears.living() == [("spared", daemon)]


def test_a_spared_process_in_the_group_of_the_command_lives_on_too(grove: Grove) -> None:
    spared = f"RUNCOORD_HANDED_OVER=$COOKIE sh -c 'echo spared $$ > $EARS; {SLEEP}' &"
    tree = grove.shell(f"{spared} {WAIT}", "spared")
    assert fates(tree, grace=5)[tree_pid(grove, "spared")] is Fate.SPARED
    assert grove.ears.lives(tree_pid(grove, "spared"))


def test_a_scope_of_the_group_leaves_alone_what_left_it(grove: Grove) -> None:
    tree = grove.shell(f"{ESCAPES['setsid']} {WAIT}", "member", scope=Scope.GROUP)
    member = tree_pid(grove, "member")
    assert member not in fates(tree, grace=5)
    assert grove.ears.lives(member)


def test_the_report_says_how_each_was_found(grove: Grove) -> None:
    tree = grove.shell(f"{ESCAPES['empty-environment']} {ESCAPES['timeout']} {WAIT}", "member")
    [leader] = [tree.leader.pid]
    report = tree.tear_down(5)
    found = {each.pid: set(each.found) for each in report.processes}
    assert {Found.GROUP, Found.SESSION, Found.DESCENDANT, Found.COOKIE} == found[leader]
    assert any(Found.COOKIE not in ways and Found.DESCENDANT in ways for ways in found.values())


def test_a_nested_run_ends_with_the_one_around_it(grove: Grove) -> None:
    inner = (
        "import os, shutil\n"
        "from runcoord._launching import ShimLauncher\n"
        "from runcoord.ports import LaunchOrder\n"
        "own = os.urandom(16).hex()\n"
        "environment = {**os.environ, 'RUNCOORD_COOKIE': os.environ['RUNCOORD_COOKIE'] + ':' + own}\n"
        f"script = '(setsid sh -c \"echo inner \\\\$\\\\$ > $EARS; exec sleep {LIFE_SECONDS}\" &); {WAIT}'\n"
        "tree = ShimLauncher().launch(LaunchOrder(('sh', '-c', script), '/bin/sh', '/', environment, own))\n"
        "tree.open_gate()\n"
        f"tree.wait({LIFE_SECONDS})\n"
    )
    tree = grove.launch(sys.executable, "-c", inner)
    grove.ears.hear("inner")
    report = tree.tear_down(5)
    assert report.emptied
    assert report.left == ()
    assert grove.ears.living() == []
    assert sum("start.py" in each.name or each.name.startswith("python") for each in report.processes) >= 1


def test_bystanders_are_untouched(grove: Grove) -> None:
    other = grove.shell(f"echo bystander $$ > $EARS; {SLEEP}", "bystander")
    tree = grove.shell(f"{ESCAPES['timeout']} echo leader $$ > $EARS; {WAIT}", "member", "leader")
    fates(tree, grace=5)
    assert grove.ears.lives(tree_pid(grove, "bystander"))
    assert other.wait(0) is None


def tree_pid(grove: Grove, word: str) -> int:
    return dict(grove.ears.lines)[word]
