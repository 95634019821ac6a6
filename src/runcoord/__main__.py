"""``python -m runcoord``: the command line."""

from __future__ import annotations

from runcoord.cli import main

if __name__ == "__main__":
    main()
