"""Projects whose report is made: some scenarios that pass, fail, are wrong, are skipped, or are hostile."""

from __future__ import annotations

import html.parser
import json
from pathlib import Path
from typing import Any

from plugin.scenario_files import DELIVERING, FAILING, VARIANTS, WRONG

HOSTILE = """\
runcoord: 1
scenario: hostile-text
says: "</script><script>document.title='owned'</script> & <!-- <b>bold</b>"
steps:
  - open: gw1
  - submit: {run: r1, task: "</script><img src=x onerror=document.title='owned'>"}
"""
NEEDS_ROOT = """\
runcoord: 1
scenario: not-for-real
says: The real tier runs on the default store only.
axes: {store: [memory], tier: [sim, real]}
steps:
  - open: gw1
"""


def write_project(directory: Path) -> None:
    for name, text in {
        "leases/failing": FAILING,
        "leases/stores": VARIANTS,
        "outbox/told": DELIVERING,
        "outbox/wrong": WRONG,
        "hostile": HOSTILE,
        "skipped": NEEDS_ROOT,
    }.items():
        path = directory / f"{name}.runcoord.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


class Page(html.parser.HTMLParser):
    """What a page consists of, as a parser sees it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._within = ""
        self.feed(path.read_text("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within = tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._within, data))

    @property
    def data(self) -> dict[str, Any]:
        places = [attrs.get("id") for tag, attrs in self.tags if tag == "script"]
        scripts = [text for tag, text in self.texts if tag == "script" and text.strip()]
        values: dict[str, Any] = json.loads(scripts[places.index("data")])
        return values

    def variant(self, scenario: str, variant: str = "default") -> dict[str, Any]:
        [found] = [
            each
            for each in self.data["variants"]
            if (each["scenario"], each["variant"]) == (scenario, variant)
        ]
        return dict(found)
