"""Whole pytest runs: 1,000 scenarios against 1,000 trivial functions, and what loading the plugin adds."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import Ratio, compare

FILES, IN_A_FILE = 50, 20
"""Files, and scenarios or functions in each: 1,000 of each kind."""
LOADING_ROUNDS = 60
"""Pairs of empty runs; single ones differ by more than what the plugin adds."""
LOADING_SECONDS = 600
"""Real time for all of them: twenty times what they take."""
KEPT = {"PYTHONDONTWRITEBYTECODE": ""}
"""Compiled files are kept, as they are of an installed package; the round that warms up makes them."""

SCENARIO = """\
runcoord: 1
scenario: ten-steps-{number}
says: Ten steps in the life of two runs, with a crash between them.
given:
  destinations: {{chat: accepts}}
steps:
  - open: gw1
  - submit: {{run: r1, destination: chat, by: gw1}}
  - claim: {{run: r1, by: gw1}}
  - start: {{run: r1, by: gw1}}
  - crash: gw1
  - advance: 91s
  - open: gw2
  - recover: {{by: gw2}}
  - submit: {{run: r2, destination: chat, by: gw2}}
  - claim: {{run: r2, by: gw2}}
expect:
  - run: {{id: r1, outcome: interrupted}}
  - delivered: {{run: r1, to: chat, count: 1}}
axes: {{store: [{store}]}}
"""


def measure(directory: Path) -> list[Ratio]:
    """The ratios for both stores. Loading is printed by :func:`loading`, in milliseconds."""
    place = Path(tempfile.mkdtemp(dir=directory))
    try:
        functions = place / "functions"
        functions.mkdir()
        for file in range(FILES):
            body = "\n".join(
                f"def test_{number}() -> None:\n    assert True\n" for number in range(IN_A_FILE)
            )
            (functions / f"test_{file}.py").write_text(body)
        for store in ("memory", "default"):
            (place / store).mkdir()
            for file in range(FILES):
                documents = [SCENARIO.format(number=number, store=store) for number in range(IN_A_FILE)]
                (place / store / f"s{file}.runcoord.yaml").write_text("---\n".join(documents))
        trivial = lambda: _pytest(functions)  # noqa: E731
        return [
            compare(
                "1,000 scenarios, memory store",
                lambda: _pytest(place / "memory"),
                trivial,
                goal=4.0,
                rounds=5,
            ),
            compare(
                "1,000 scenarios, default store",
                lambda: _pytest(place / "default"),
                trivial,
                goal=12.0,
                rounds=5,
            ),
        ]
    finally:
        shutil.rmtree(place)


ALONE, AMONG_OTHERS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}


def loading() -> list[str]:
    """What the plugin adds to an empty run, in lines: as pytest finds it by itself, and named with ``-p``
    where it finds none.

    In the second case pytest looks through every installed distribution for the name, which is its own work
    and grows with their number; in the first it has done so anyway.
    """
    found = _added(AMONG_OTHERS, "-p no:runcoord", "")
    named = _added(ALONE, "", "-p runcoord")
    return [
        f"{'loading the plugin adds to an empty run':<52} {found:6.1f} ms   goal 10 ms",
        f"{'  and where -p names it, with finding it':<52} {named:6.1f} ms",
    ]


def _added(found: dict[str, str], without: str, with_it: str) -> float:
    """Milliseconds of processor time: the median of what it adds to each of many empty runs."""
    script = Path(__file__).parent / "empty_runs.py"
    told = subprocess.run(
        [sys.executable, str(script), str(LOADING_ROUNDS), without, with_it],
        env={**os.environ, **found, **KEPT},
        capture_output=True,
        text=True,
        check=False,
        timeout=LOADING_SECONDS,
    )
    if told.returncode:
        raise SystemExit(f"{script.name} ended with {told.returncode}:\n{told.stderr[-2000:]}")
    return statistics.median(map(float, told.stdout.split())) * 1e3


def _pytest(
    directory: Path, *options: str, codes: tuple[int, ...] = (0,), found: dict[str, str] = ALONE
) -> float:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(directory),
        *options,
    ]
    if not options and codes == (0,):
        command += ["-p", "runcoord"]
    environment = {**os.environ, **found, **KEPT}
    began = time.perf_counter()
    done = subprocess.run(
        [*command, str(directory)],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode not in codes:
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    return seconds
