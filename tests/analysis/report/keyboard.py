"""A page in a browser whose keys are pressed, told by Chromium's DevTools protocol over a pipe."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self

from tests.analysis.report.browser import find_browser

__all__ = ["Keyboard"]

_TAB = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
_ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
_KEYS = {"Tab": _TAB, "Shift+Tab": {**_TAB, "modifiers": 8}, "Enter": _ENTER}


class Keyboard:
    """A browser that shows a page, with nothing focused.

    Parameters
    ----------
    page : Path
    profile : Path
    """

    def __init__(self, page: Path, profile: Path, width: int = 1280) -> None:
        self._count, self._session, self._rest = 0, "", b""
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--remote-debugging-pipe", f"--user-data-dir={profile}"]
        command += [f"--window-size={width},900", "about:blank"]
        # commands are read from descriptor 3 and answers are written to 4
        given = f"exec 3<&{to_browser} 4>&{from_browser}; exec " + '"$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", given, "bash", *command],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        target = self._ask("Target.createTarget", url=page.as_uri())["targetId"]
        found = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        while not self.ask("location.protocol === 'file:' && document.readyState === 'complete'"):
            pass

    def press(self, keys: str) -> None:
        """Press and release Tab, Shift+Tab or Enter."""
        key = _KEYS[keys]
        down = "keyDown" if "text" in key else "rawKeyDown"
        self._ask("Input.dispatchKeyEvent", type=down, **key)
        up = {name: value for name, value in key.items() if name != "text"}
        self._ask("Input.dispatchKeyEvent", type="keyUp", **up)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        asked = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._write, json.dumps(asked).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            read = os.read(self._read, 1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._write)
        os.close(self._read)
