"""Trees of many processes, launched and ended in a pid namespace of their own, where what is left can be
counted: JSON ``{"processes": n, "repetitions": n}`` in, what was seen out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from processes.trees import LIFE_SECONDS, PATIENCE_SECONDS, Grove

HERE = Path(__file__).parent
WAYS = ("succeeded", "failed", "timed out", "coordinator killed")


def living() -> dict[int, str]:
    """Everybody in this namespace who has not ended, by name."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if stat.rpartition(")")[2].split()[0] not in "ZX":
                found[int(entry.name)] = stat.partition("(")[2].rpartition(")")[0]
    return found


def until(ready: Path) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not ready.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def ended(grove: Grove, way: str, count: int) -> dict[str, Any]:
    """One tree, ended in one way."""
    ready = grove.folder / "ready"
    ready.unlink(missing_ok=True)
    status = {"succeeded": "0", "failed": "3"}.get(way, "stay")
    words = (sys.executable, str(HERE / "thicket.py"), str(count), str(ready), status)
    if way == "coordinator killed":
        return killed(grove, words, ready)
    tree = grove.launch(*words)
    until(ready)
    if status != "stay":
        ending = tree.wait(PATIENCE_SECONDS)
        assert ending is not None
        assert ending.status == int(status), ending
    began = time.monotonic()
    report = tree.tear_down(0.3)
    seconds = time.monotonic() - began
    tree.close()
    return {"emptied": report.emptied, "left": len(report.left), "counted": report.counted, "took": seconds}


def killed(grove: Grove, words: tuple[str, ...], ready: Path) -> dict[str, Any]:
    """The coordinator is gone; the shim tears down, and is waited for by its place in the table."""
    order = grove.order(*words)
    last_words = Path(order.last_words)
    process = subprocess.Popen(
        [sys.executable, str(HERE / "coordinator_program.py"), "open", "exec " + " ".join(words)],
        env={**order.environment, "GRACE": "0.3", "LAST_WORDS": order.last_words},
    )
    until(ready)
    process.send_signal(signal.SIGKILL)
    process.wait()
    began = time.monotonic()
    until(last_words)
    seconds = time.monotonic() - began
    report = json.loads(last_words.read_text())["teardown"]
    return {"emptied": report["emptied"], "left": 0, "counted": report["counted"], "took": seconds}


def main() -> None:
    asked = json.loads(sys.stdin.read())
    bystanders = [subprocess.Popen(["sleep", str(LIFE_SECONDS * 10)]) for _ in range(2)]
    seen: dict[str, Any] = {"trees": 0, "left": [], "took": {}, "least": 10**6}
    with tempfile.TemporaryDirectory() as folder:
        grove = Grove(Path(folder))
        before = living()
        for _ in range(asked["repetitions"]):
            for way in WAYS:
                what = ended(grove, way, asked["processes"])
                end = time.monotonic() + PATIENCE_SECONDS
                while (left := set(living()) - set(before)) and time.monotonic() < end:
                    time.sleep(0.01)  # the shim itself takes a moment to be gone
                seen["trees"] += 1
                seen["least"] = min(seen["least"], what["counted"])
                seen["took"][way] = max(seen["took"].get(way, 0.0), round(what["took"], 2))
                if left or what["left"] or not what["emptied"]:
                    seen["left"].append([way, sorted(left), what])
        grove.close()
    seen["bystanders"] = [each.poll() is None for each in bystanders]
    for each in bystanders:
        each.kill()
        each.wait()
    print(json.dumps(seen))


if __name__ == "__main__":
    os.environ.pop("RUNCOORD_COOKIE", None)
    main()
