"""A headless browser, for what only a browser can do: pictures as PNG and PDF, and the tests of the page.

It speaks the Chrome DevTools Protocol over two pipes, so that neither a port nor a package is needed.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")

_FLAGS = (
    "--headless",
    "--no-sandbox",  # containers have no user namespaces
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--mute-audio",
    "--remote-debugging-pipe",
)

# The protocol is on the file descriptors 3 and 4, which the two pipes become.
_EXEC = """\
import os, sys
os.dup2(int(sys.argv[1]), 63)
os.dup2(int(sys.argv[2]), 64)
os.dup2(63, 3)
os.dup2(64, 4)
os.closerange(5, 65)
os.execv(sys.argv[3], sys.argv[3:])
"""


class BrowserError(Exception):
    """No browser was found, or it does not do what was asked."""


def find_browser() -> str:
    """The path of Chromium, Chrome or Edge. `TIRX_BROWSER` names another. Raises BrowserError."""
    named = os.environ.get("TIRX_BROWSER")
    if named is not None:
        found = shutil.which(named)
        if found is None:
            raise BrowserError(f"expected a browser at TIRX_BROWSER, found no program '{named}'")
        return found
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    raise BrowserError(
        f"expected one of {', '.join(_NAMES)} on PATH, found none: PNG and PDF are drawn by a browser; "
        "install Chromium, set TIRX_BROWSER, or write .svg or .html, which need none"
    )


class Browser:
    """One page in a headless browser; a context manager. `timeout`: seconds that any one step may take."""

    def __init__(self, size: tuple[int, int] = (1440, 900), timeout: float = 60.0):
        self._timeout = timeout
        self._profile = tempfile.mkdtemp(prefix="tirx-browser-")
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        self._buffer = b""
        self._last = 0
        self.errors: list[str] = []
        """Exceptions and console errors of the page."""
        width, height = size
        command = [find_browser(), *_FLAGS, f"--user-data-dir={self._profile}", f"--window-size={width},{height}"]

        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _EXEC, str(to_read), str(to_write), *command, "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_read, to_write),
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        try:
            targets = self._send("Target.getTargets", session=None)["targetInfos"]
            target = next(each["targetId"] for each in targets if each["type"] == "page")
            attached = self._send("Target.attachToTarget", session=None, targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime"):
                self._send(f"{domain}.enable")
            self.resize(*size)
        except BaseException:
            self.close()
            raise

    _session: str | None = None

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the browser and everything that it started."""
        for descriptor in (self._to, self._from):
            os.close(descriptor)
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _send(self, method: str, session: str | None = "", **params: Any) -> dict[str, Any]:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        try:
            while data:
                data = data[os.write(self._to, data) :]
        except BrokenPipeError:
            raise BrowserError("the browser ended") from None
        deadline = time.monotonic() + self._timeout
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        if event.get("method") == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(" ".join(str(each.get("value", each.get("description"))) for each in params["args"]))

    def _receive(self, deadline: float, what: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise BrowserError(f"{what}: no answer after {self._timeout:g} s")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise BrowserError("the browser ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, url: str, ready: str = "document.documentElement?.dataset.ready === 'true'") -> None:
        """Opens a page and waits until the expression `ready` is true."""
        found = self._send("Page.navigate", url=url)
        if "errorText" in found:
            raise BrowserError(f"cannot open {url}: {found['errorText']}")
        self.wait(ready)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression as plain data; awaits promises. Raises BrowserError for an exception."""
        found = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Waits until an expression is true. Raises BrowserError for an error of the page, and after the timeout."""
        deadline = time.monotonic() + self._timeout
        while not self.evaluate(f"Boolean({expression})"):
            if self.errors or time.monotonic() > deadline:
                raise BrowserError(f"the page does not get to {expression}: {'; '.join(self.errors) or 'no error'}")
            time.sleep(0.02)

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """Sets the size of the page in CSS pixels."""
        self._send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def click(self, x: float, y: float) -> None:
        """Clicks at a place of the page, as a mouse does."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def press(self, key: str, text: str = "") -> None:
        """Presses a key by its name, such as ArrowRight; `text` is what it types."""
        self._send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self._send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, clip: Sequence[float] | None = None, *, fast: bool = False) -> bytes:
        """The page as PNG; `clip`: x, y, width and height of a part of it; `fast`: a larger file in less time."""
        params: dict[str, Any] = {"format": "png", "captureBeyondViewport": clip is not None, "optimizeForSpeed": fast}
        if clip is not None:
            params["clip"] = dict(zip(("x", "y", "width", "height"), clip, strict=True), scale=1)
        return base64.b64decode(self._send("Page.captureScreenshot", **params)["data"])

    def pdf(self, width: float, height: float) -> bytes:
        """The page as PDF, on paper of a size in inches."""
        found = self._send(
            *("Page.printToPDF",), printBackground=True, paperWidth=width, paperHeight=height,
            marginTop=0, marginBottom=0, marginLeft=0, marginRight=0, pageRanges="1"
        )  # fmt: skip
        return base64.b64decode(found["data"])


def draw_svg(svg: str, kind: str, size: tuple[float, float], browser: Browser | None = None) -> bytes:
    """An SVG of a size in pixels as PNG (of twice the size, unless it is large) or PDF. Raises BrowserError.

    browser: one that is open already, which loses its page.
    """
    width, height = (max(1, round(each)) for each in size)
    if browser is None:
        with Browser((width, height)) as opened:
            return draw_svg(svg, kind, size, opened)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "picture.html"
        style = "<style>@page { margin: 0 } body { margin: 0; background: #fff } svg { display: block }</style>"
        path.write_text(f"<!doctype html><meta charset=utf-8>{style}{svg}", encoding="utf-8")
        browser.open(path.as_uri(), "document.readyState === 'complete'")
        if kind == "pdf":
            return browser.pdf(width / 96, (height + 1) / 96)
        browser.resize(width, height, 2 if width * height < 4_000_000 else 1)
        return browser.screenshot((0, 0, width, height))
