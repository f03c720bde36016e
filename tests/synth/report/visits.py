"""Visits of a page in a real Chromium."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.chromium import Page, chromium

LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8").strip()
"""What a page looks like: its boxes, colours and width, and what it loaded."""


def visited(
    page_file: Path,
    visit: Callable[[Page], Awaitable[Any]],
    *,
    scheme: str = "light",
    width: int = 1400,
) -> Any:
    """What a visit comes to; the console stays silent and nothing is asked for but the page
    itself.
    """

    async def visiting() -> Any:
        async with chromium() as page:
            await page.sized(width)
            await page.preferring(scheme)
            await page.open(page_file.as_uri())
            await page.until("document.documentElement.dataset.ready")
            found = await visit(page)
            assert page.console == []
            assert [
                url
                for url in page.requests
                if url != page_file.as_uri() and not url.startswith(("data:", "blob:"))
            ] == []
            return found

    return asyncio.run(visiting())


async def look(page: Page) -> Any:
    return await page.value(LOOK)
