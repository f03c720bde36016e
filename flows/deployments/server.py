"""What a Prefect server is told of a run: progress, funnel, links. Where it does not answer the run
goes on.
"""

import asyncio
import contextlib
import queue
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from synth.engine.context import Run
from synth.engine.funnel import funnel_markdown
from synth.engine.numbers import short_duration
from synth.engine.progress import Progress
from synth.engine.runs.beating import under_way
from synth.flows.prefect import healthy
from synth.ledger.storage import Storage
from synth.schemas import SynthError, in_code

LOOK_EVERY_S = 5.0
PROGRESS_EVERY_S = 15.0
REPORTS_WITHIN_S = 900.0
"""How long a run that is over waits for a server that does not answer, so that it can say so."""
_BY_OUTCOME = '"SELECT outcome, count(*) FROM trajectories GROUP BY ALL"'


class ToldServer:
    """Told what a run does, as far as it answers: nothing here stops a run."""

    def __init__(self, api: str, progress: Progress) -> None:
        self._api, self._answers, self._say = api, True, progress.say

    @contextlib.asynccontextmanager
    async def watched(self, url: str) -> AsyncIterator[None]:
        """Looks after the server and tells it the progress; at its end waits until the server can
        be told how it went.
        """
        tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._tell_progress(url))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if not isinstance(sys.exception(), asyncio.CancelledError):
                await self._wait()

    async def results(self, run: Run, reports: Mapping[str, Mapping[str, Any]]) -> None:
        """The funnel, and where everything lies."""
        from prefect.artifacts import acreate_markdown_artifact

        artifacts = {"funnel": funnel_markdown(reports), "links": _links(run, reports)}
        for key, markdown in artifacts.items():
            said = f"{key.capitalize()} of {run.ledger.storage.url}"
            await self._tell(
                acreate_markdown_artifact(key=key, markdown=markdown, description=said)
            )

    async def _look(self) -> bool:
        self._answers = await asyncio.to_thread(healthy, self._api)
        return self._answers

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            before = self._answers
            if await self._look() != before:
                self._say(
                    f"Prefect: the server at {self._api} "
                    + (
                        "does not answer; the run goes on, and reports when it does"
                        if before
                        else "answers again"
                    )
                )

    async def _tell_progress(self, url: str) -> None:
        from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact

        artifact, told, began = None, "", time.time()
        while True:
            await asyncio.sleep(PROGRESS_EVERY_S)
            with contextlib.suppress(SynthError):
                now = await asyncio.to_thread(under_way, Storage(url), began)
                if now is None or now.line == told:
                    continue
                told, share = now.line, 100 * now.done / now.total
                if artifact is not None:
                    update = aupdate_progress_artifact(artifact, progress=share, description=told)
                    await self._tell(update)
                else:
                    artifact = await self._tell(
                        acreate_progress_artifact(progress=share, key="progress", description=told)
                    )

    async def _tell(self, told: Coroutine[Any, Any, Any]) -> Any:
        """What the server gives back, None where it cannot be told."""
        import httpx

        if not self._answers:
            told.close()
            return None
        try:
            return await told
        except (httpx.HTTPError, OSError, RuntimeError) as error:
            self._say(
                f"Prefect: not told ({type(error).__name__}); the ledger holds it all the same"
            )
            return None

    async def _wait(self) -> None:
        deadline = time.monotonic() + REPORTS_WITHIN_S
        if await self._look():
            return
        self._say(
            f"Prefect: the work is over and in the ledger; waits up to "
            f"{short_duration(REPORTS_WITHIN_S)} for the server at {self._api} to tell it so"
        )
        while time.monotonic() < deadline:
            await asyncio.sleep(LOOK_EVERY_S)
            if await self._look():
                return
        self._say(
            "Prefect: still no answer; `synth status --reap` tells it how this run ended, once it "
            "is back"
        )
        _forget_events()


def _forget_events() -> None:
    """Drops the events that wait to be sent: at its end the process would try each for 7 s."""
    from prefect.events.worker import EventsWorker

    for worker in list(EventsWorker._instances.values()):  # type: ignore[misc]
        if isinstance(worker, EventsWorker):
            with contextlib.suppress(queue.Empty):
                while True:
                    event = worker._queue.get_nowait()
                    worker._queue.task_done()
                    if event is not None:
                        worker._on_item_dropped(event)


def _links(run: Run, reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A list: the ledger, its datasets, its report page."""
    storage = run.ledger.storage

    def link(name: str) -> str:
        if storage.local:
            return Path(storage.root, name).absolute().as_uri()
        return f"{storage.url}/{quote(name)}".rstrip("/")

    lines = [f"- ledger: {link('')} ({in_code(f'synth sql {storage.url} {_BY_OUTCOME}')})"]
    for report in reports.values():
        datasets = report["datasets"] if report["kind"] == "export" else ()
        lines += [f"- dataset: {link(f'datasets/{name}')}" for name in datasets]
        if report["kind"] == "report":
            lines.append(f"- report: {link(report['path'])}")
    return "\n".join([*lines, f"- cost: {link('cost.json')}"]) + "\n"
