"""The generated part of docs/reference/command-line.md. Run this file to write it anew."""

from __future__ import annotations

import sys
from pathlib import Path

from click.testing import CliRunner

from runcoord.cli.app import COMMANDS, App

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-line.md"
MARK = "% Below: written by `python tests/cli/command_line_page.py` from the program; a test compares.\n"
COLUMNS = 88
ENVIRONMENT = {"HOME": "/home/you", "XDG_DATA_HOME": "/home/you/.local/share", "RUNCOORD_STORE": None}


def help_text(*args: str) -> str:
    """What ``--help`` prints for a user called *you*, without commands of other packages."""
    result = CliRunner().invoke(
        App(source=lambda: ()),
        [*args, "--help"],
        prog_name="runcoord",
        env=ENVIRONMENT,
        terminal_width=COLUMNS,
    )
    assert result.exit_code == 0
    return result.stdout


def generated() -> str:
    parts = []
    for args in ([], *([name] for name in COMMANDS)):
        name = " ".join(["runcoord", *args])
        parts.append(f"\n### `{name}`\n\n```console\n$ {name} --help\n{help_text(*args)}```\n")
    return "".join(parts)


def page_with_generated_part(page: str) -> str:
    written, mark, _ = page.partition(MARK)
    assert mark, f"{PAGE.name} has lost the line that the generated part follows"
    return written + mark + generated()


if __name__ == "__main__":
    PAGE.write_text(page_with_generated_part(PAGE.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
