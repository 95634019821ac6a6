"""The page: one file without anything outside of it, made of a few assets and the data."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

SCRIPTS = ("page.js", "gate.js")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def page(data: Mapping[str, Any], counts: str) -> str:
    """The whole report as HTML. ``data`` holds plain JSON types, ``counts`` is the run in one line."""
    assets = files("pytest_runcoord.html_report") / "assets"
    values = {
        "title": html.escape(str(data["title"])),
        "counts": html.escape(counts),
        "style": (assets / "page.css").read_text("utf-8"),
        "script": "\n".join((assets / name).read_text("utf-8") for name in SCRIPTS),
        "data": as_script(data),
    }
    # In one pass: what is put in is never searched for places.
    return _PLACE.sub(lambda found: values[found[1]], (assets / "page.html").read_text("utf-8"))


def as_script(data: Mapping[str, Any]) -> str:
    """JSON that may stand inside of a script element, whatever the texts in it are."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # Neither an end tag nor the begin of a comment; half a surrogate pair is no text that a file can hold.
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "backslashreplace").decode()
