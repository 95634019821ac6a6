"""A Chromium without a window, driven over two pipes: the page as people get it, and what it complains of."""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 60.0
"""Far more than any answer takes, also on a machine that is busy."""
KEYS = {
    "ArrowDown": 40,
    "ArrowUp": 38,
    "End": 35,
    "Enter": 13,
    "Escape": 27,
    "Home": 36,
    "Tab": 9,
    "/": 191,
    "]": 221,
    "[": 219,
}
PUTS_IN_PLACE = """
import fcntl, os, sys
high = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]]
for place, each in enumerate(high, start=3):
    os.dup2(each, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The protocol is spoken over descriptors 3 and 4."""
TEXTS = {"Enter": "\r", "/": "/", "]": "]", "[": "["}


def program() -> str | None:
    """The browser that is installed here."""
    return next((found for found in map(shutil.which, NAMES) if found), None)


class Browser:
    """One browser with one page. ``complaints`` are errors of scripts and of the console; ``requests`` every
    address that was asked for."""

    def __init__(self, path: str, profile: Path) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        ours, theirs = os.pipe(), os.pipe()  # to the browser, from the browser
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-S", "-c", PUTS_IN_PLACE, str(ours[0]), str(theirs[1])),
                path,
                "--headless=new",
                "--remote-debugging-pipe",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
                f"--user-data-dir={profile}",
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
                "about:blank",
            ],
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(profile), "DBUS_SESSION_BUS_ADDRESS": "disabled:"},
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = ours[1], theirs[0]
        self._rest = b""
        self._number = 0
        self._session = ""
        try:
            [page] = [
                each for each in self._ask("Target.getTargets")["targetInfos"] if each["type"] == "page"
            ]
            attached = self._ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self._ask(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser; it ends by itself when nobody speaks to it, and is killed if it does not."""
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # --- the page ---

    def look_like(self, width: int, height: int, *, dark: bool = False) -> None:
        """The size of the window, and the colours that the reader prefers."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = "dark" if dark else "light"
        self._ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path: Path, place: str = "") -> None:
        """Load a file and wait until its script has drawn it."""
        self._ask("Page.navigate", url="about:blank")
        self._ask("Page.navigate", url=f"{path.as_uri()}{place}")
        self.wait_for("document.documentElement?.dataset.ready === 'yes'")

    def wait_for(self, condition: str) -> None:
        end = time.monotonic() + SECONDS
        while not self.value(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"never became true: {condition}; complaints: {self.complaints}")

    def value(self, script: str) -> Any:
        """What an expression in the page gives, as a JSON value."""
        answer = self._ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key as a person presses it."""
        about: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": TEXTS[key]} if key in TEXTS else {}
        self._ask("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        self._ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text: str) -> None:
        self._ask("Input.insertText", text=text)

    def point_at(self, selector: str) -> None:
        """Move the pointer over the middle of an element."""
        x, y = self.value(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self._ask("Page.captureScreenshot", format="png")["data"])

    # --- the protocol ---

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            said["sessionId"] = self._session
        os.write(self._to, json.dumps(said).encode() + b"\0")
        while True:
            heard = self._hear()
            if heard.get("id") == self._number:
                if "error" in heard:
                    raise RuntimeError(f"{method}: {heard['error']}")
                answer: dict[str, Any] = heard["result"]
                return answer
            self._note(heard)

    def _hear(self) -> dict[str, Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            while b"\0" not in self._rest:
                if not selector.select(SECONDS):
                    raise TimeoutError(f"the browser did not answer within {SECONDS:g} s")
                data = os.read(self._from, 1 << 16)
                if not data:
                    raise RuntimeError(f"the browser ended with {self._process.wait(10)}")
                self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        heard: dict[str, Any] = json.loads(message)
        return heard

    def _note(self, heard: dict[str, Any]) -> None:
        method, params = heard.get("method"), heard.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(each.get("value", "")) for each in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
