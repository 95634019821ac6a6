"""Writes the output that commands give now into the pages that show it.

``python tests/docs/capture.py [PAGE ...]``; without pages all of them. Look at what it changed before you
commit it: that a page is current does not make it right.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.blocks import blocks_of, page_path, pages
from docs.sessions import Correction, Session


def capture(page: str) -> int:
    """Bring one page up to date; gives how many outputs were changed."""
    corrections: list[Correction] = []
    with tempfile.TemporaryDirectory() as directory, Session(Path(directory), corrections) as session:
        for block in blocks_of(page):
            session.follow(block)
    text = page_path(page).read_text("utf-8")
    for each in reversed(corrections):
        text = text[: each.begin] + each.output.strip("\n") + "\n" + text[each.end :]
    page_path(page).write_text(text, "utf-8")
    return len(corrections)


if __name__ == "__main__":
    for page in sys.argv[1:] or pages():
        print(f"{page}: {capture(page)} outputs changed")
