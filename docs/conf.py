"""Sphinx configuration; warnings are errors in CI."""

from __future__ import annotations

import re
from pathlib import Path

_version_file = Path(__file__).parent.parent / "src" / "runcoord" / "_version.py"
_version = re.search(r'^__version__ = "(.+)"$', _version_file.read_text("utf-8"), re.MULTILINE)
if _version is None:
    raise ValueError(f'{_version_file}: no line like __version__ = "1.2.3"')

project = "runcoord"
author = "The runcoord maintainers"
project_copyright = author
release = version = _version.group(1)

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"runcoord {release}"
