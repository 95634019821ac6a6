"""Says what a built wheel lacks: the scenarios of the checkout, file for file, and the marks of types.

Usage: python check_wheel.py WHEEL CHECKOUT
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

SCENARIO = "*.runcoord.yaml"
ALWAYS = (
    "runcoord/py.typed",
    "pytest_runcoord/py.typed",
    "runcoord/__init__.py",
    "pytest_runcoord/plugin.py",
    "pytest_runcoord/html_report/assets/page.css",
    "pytest_runcoord/html_report/assets/page.html",
    "pytest_runcoord/html_report/assets/page.js",
    "pytest_runcoord/starting/files/subject.py.txt",
)


def main(wheel: str, checkout: str) -> str | None:
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    scenarios = Path(checkout, "scenarios")
    wanted = [
        f"pytest_runcoord/scenarios/{path.relative_to(scenarios).as_posix()}"
        for path in scenarios.rglob(SCENARIO)
    ]
    if not wanted:
        return f"{scenarios} holds no {SCENARIO}: there is nothing to ship"
    missing = sorted({*wanted, *ALWAYS} - inside)
    if missing:
        return f"{wheel} lacks:\n  " + "\n  ".join(missing)
    print(f"{Path(wheel).name}: {len(inside)} files, {len(wanted)} scenario files, both packages typed")
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
