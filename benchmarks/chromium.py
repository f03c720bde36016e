"""A Chromium of this machine, driven through its own protocol: pages as a person gets them, keys as
they are pressed.
"""

import asyncio
import base64
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
PATIENCE_S = 30
_NAMED = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, "")}


class Page:
    """A tab. `console` collects what the page or the browser says: errors, warnings, refusals."""

    def __init__(self, socket: "aiohttp.ClientWebSocketResponse") -> None:
        self._socket = socket
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._events: dict[str, asyncio.Event] = {}
        self._number = 0
        self.console: list[str] = []
        self.requests: list[str] = []

    async def listen(self) -> None:
        """Takes what the browser sends until it closes."""
        async for message in self._socket:
            said = message.json()
            if "id" in said:
                future = self._waiting.pop(said["id"])
                if "error" in said:
                    future.set_exception(RuntimeError(str(said["error"])))
                else:
                    future.set_result(said["result"])
            elif said["method"] in (
                "Runtime.exceptionThrown",
                "Runtime.consoleAPICalled",
                "Log.entryAdded",
            ):
                self.console.append(str(said["params"]))
            elif said["method"] == "Network.requestWillBeSent":
                self.requests.append(said["params"]["request"]["url"])
            elif said["method"] == "Page.loadEventFired":
                self._events.setdefault("load", asyncio.Event()).set()

    async def send(self, method: str, **params: Any) -> Any:
        """Asks the browser for something; its answer."""
        self._number += 1
        future = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        return await asyncio.wait_for(future, PATIENCE_S)

    async def open(self, url: str) -> None:
        """Goes to an address and waits until it is loaded."""
        event = self._events["load"] = asyncio.Event()
        await self.send("Page.navigate", url=url)
        await asyncio.wait_for(event.wait(), PATIENCE_S)

    async def value(self, expression: str) -> Any:
        """What an expression (or the promise that it gives) comes to in the page."""
        answer = await self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Waits for an expression to be true. Raises `TimeoutError`."""
        look = (
            f"(done => {{ const found = {expression}; if (found) done(found); else "
            "setTimeout(look, 20, done); })"
        )
        try:
            return await self.value(f"new Promise(done => {{ const look = {look}; look(done); }})")
        except TimeoutError as error:
            raise TimeoutError(
                f"{expression} never came true; the console: {self.console}"
            ) from error

    async def press(self, *keys: str) -> None:
        """Presses keys one after the other: letters, Enter, Escape, Tab."""
        for key in keys:
            code, number, text = (
                _NAMED[key] if key in _NAMED else (f"Key{key.upper()}", ord(key.upper()), key)
            )
            named = {"key": key, "code": code, "windowsVirtualKeyCode": number}
            await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
            await self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    async def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode((await self.send("Page.captureScreenshot", format="png"))["data"])

    async def sized(self, width: int, height: int = 1000) -> None:
        """The size of the window, in CSS pixels."""
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def preferring(self, scheme: str) -> None:
        """What the reader's system prefers: light or dark."""
        await self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )


@asynccontextmanager
async def chromium() -> AsyncIterator[Page]:
    """A browser with an empty profile, ended afterwards. Raises `RuntimeError` where none is
    installed.
    """
    if CHROMIUM is None:
        raise RuntimeError("no Chromium on the PATH: apt-get install chromium")
    with tempfile.TemporaryDirectory() as profile:
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
        ]
        process = await asyncio.create_subprocess_exec(
            CHROMIUM,
            *flags,
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            port = await asyncio.wait_for(_port(process), PATIENCE_S)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                    (tab,) = [one for one in await answer.json() if one["type"] == "page"]
                async with session.ws_connect(
                    tab["webSocketDebuggerUrl"], max_msg_size=0
                ) as socket:
                    page = Page(socket)
                    listening = asyncio.create_task(page.listen())
                    for domain in ("Page", "Runtime", "Log", "Network"):
                        await page.send(f"{domain}.enable")
                    yield page
                    listening.cancel()
        finally:
            process.kill()
            await process.wait()
            await asyncio.sleep(0.2)  # its children let go of the profile


async def _port(process: asyncio.subprocess.Process) -> int:
    """The port that the browser has chosen, which it says on stderr."""
    assert process.stderr is not None
    said = b""
    async for line in process.stderr:
        said += line
        if match := re.search(rb"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line):
            return int(match[1])
    raise RuntimeError(f"Chromium ended: {said.decode(errors='replace')[-2000:]}")
