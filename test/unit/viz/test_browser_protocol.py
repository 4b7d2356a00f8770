"""Messages of a browser that are no answers: a stand-in for one, which speaks on the descriptors 3 and 4."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tirx.viz.browser import Browser, BrowserError

_PROGRAM = """#!{python} -IS
import json, os, sys
answers = {{
    "Target.getTargets": {{"targetInfos": [{{"type": "page", "targetId": "t"}}]}},
    "Target.attachToTarget": {{"sessionId": "s"}},
    "Page.navigate": {{"errorText": "no such page"}},
}}
buffer = b""
while data := os.read(3, 65536):
    buffer += data
    while b"\\0" in buffer:
        line, _, buffer = buffer.partition(b"\\0")
        message = json.loads(line)
        answer, asked = {{}}, message["params"].get("expression", "")
        if asked == "end" or "--window-size=1,1" in sys.argv:
            sys.exit()
        if asked == "nothing":
            continue
        if asked == "throw":
            answer = {{"result": {{"exceptionDetails": {{"text": "thrown"}}}}}}
        elif asked == "wrong":
            answer = {{"error": {{"message": "what?"}}}}
        else:
            answer = {{"result": answers.get(message["method"], {{"result": {{"value": False}}}})}}
        os.write(4, json.dumps({{"id": message["id"], **answer}}).encode() + b"\\0")
"""


def test_what_a_browser_does_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "browser"
    program.write_text(_PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("TIRX_BROWSER", str(program))
    with pytest.raises(BrowserError, match="the browser ended"):
        Browser((1, 1))
    with Browser() as browser:
        for expression, message in (("throw", "^thrown$"), ("wrong", r"^Runtime.evaluate: what\?$")):
            with pytest.raises(BrowserError, match=message):
                browser.evaluate(expression)
        with pytest.raises(BrowserError, match="^cannot open file:x: no such page$"):
            browser.open("file:x")
        browser._timeout = 0.05  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(BrowserError, match="^the page does not get to false: no error$"):
            browser.wait("false")
        with pytest.raises(BrowserError, match="^Runtime.evaluate: no answer after 0.05 s$"):
            browser.evaluate("nothing")
        browser._timeout = 60  # pyright: ignore[reportPrivateUsage]
        for _ in range(2):  # no answer, and then nobody who reads
            with pytest.raises(BrowserError, match="^the browser ended$"):
                browser.evaluate("end")
            browser._process.wait()  # pyright: ignore[reportPrivateUsage]
