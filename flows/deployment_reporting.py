"""What a Prefect server is told of a run: shards as task runs, progress, funnel, links; where it
does not answer the run goes on.
"""

import asyncio
import contextlib
import queue
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from synth.engine.beating import BeatingProgress
from synth.engine.context import Run
from synth.engine.funnel import funnel_markdown
from synth.engine.numbers import short_duration
from synth.engine.progress import Progress
from synth.engine.runner import WorkShard
from synth.flows.deployment_retries import again_after
from synth.flows.prefect_access import healthy
from synth.schemas.printable import in_code
from synth.schemas.stage import Shard, Stage

_BY_OUTCOME = '"SELECT outcome, count(*) FROM trajectories GROUP BY ALL"'
MOST_TASK_RUNS = 500
"""Of one flow run: each costs Prefect's server about 21 KB and 5 ms. Further shards are done
without a record of their own.
"""
LOOK_EVERY_S = 5.0
PROGRESS_EVERY_S = 15.0
REPORTS_WITHIN_S = 900.0
"""How long a run that is over waits for a server that does not answer, so that it can say so."""


class Reporting:
    """Tells the server at `api` what a run does, as far as it answers. The ledger is the truth:
    nothing here stops a run.
    """

    def __init__(self, api: str, progress: Progress) -> None:
        self.api = api
        self.answers = True
        self._progress = progress
        self._tasks = 0
        self._run: Run | None = None

    def as_tasks(self, run: Run) -> WorkShard:
        """How a shard is done: as a task run while the server answers, and tried again where what
        went wrong passes.
        """
        from prefect import task as prefect_task
        from prefect.cache_policies import NO_CACHE

        @prefect_task(persist_result=False, cache_policy=NO_CACHE)
        async def shard(work: Callable[[], Awaitable[None]]) -> None:
            await work()

        self._run = run

        async def work(stage: Stage[Run], stage_key: str, part: Shard) -> None:
            async def done() -> None:
                await again_after(
                    lambda: stage.work(run, stage_key, part),
                    f"{stage.name}-{part.name[:8]}",
                    run.progress.say,
                )

            # a task's events are kept for a server that is away, and each holds up the end of the
            # process for seconds
            if not self.answers or self._tasks >= MOST_TASK_RUNS:
                await done()
                return
            self._tasks += 1
            await shard.with_options(
                name=stage.name, task_run_name=f"{stage.name}-{part.name[:8]}"
            )(done)

        return work

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Looks after the server and tells it the progress; at its end waits until the server can
        be told how it went.
        """
        tasks = [asyncio.create_task(self._look()), asyncio.create_task(self._tell_progress())]
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

        url = run.ledger.storage.url
        funnel, links = funnel_markdown(reports), _links(run, reports)
        await self._tell(
            acreate_markdown_artifact(key="funnel", markdown=funnel, description=f"Funnel of {url}")
        )
        await self._tell(
            acreate_markdown_artifact(
                key="links", markdown=links, description=f"Where {url} keeps what it holds"
            )
        )

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            before, self.answers = self.answers, await asyncio.to_thread(healthy, self.api)
            if before and not self.answers:
                self._progress.say(
                    f"Prefect: the server at {self.api} does not answer; the run goes on, and "
                    "reports when it does"
                )
            elif self.answers and not before:
                self._progress.say(f"Prefect: the server at {self.api} answers again")

    async def _tell_progress(self) -> None:
        from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact

        artifact: Any = None
        told: tuple[str, int] | None = None
        while True:
            await asyncio.sleep(PROGRESS_EVERY_S)
            if self._run is None or not isinstance(self._run.progress, BeatingProgress):
                continue
            now = self._run.progress.leases.tell()
            if not now.total or told == (now.stage, now.done):
                continue
            told, share = (now.stage, now.done), min(100.0, 100 * now.done / now.total)
            said = f"{now.stage}: {now.done:,} of {now.total:,} {now.unit}, {now.faults:,} faults"
            if artifact is None:
                artifact = await self._tell(
                    acreate_progress_artifact(progress=share, key="progress", description=said)
                )
            else:
                await self._tell(
                    aupdate_progress_artifact(artifact, progress=share, description=said)
                )

    async def _tell(self, told: Coroutine[Any, Any, Any]) -> Any:
        """What the server gives back, None where it cannot be told."""
        import httpx

        if not self.answers:
            told.close()
            return None
        try:
            return await told
        except (httpx.HTTPError, OSError, RuntimeError) as error:
            self._progress.say(
                f"Prefect: not told ({type(error).__name__}); the ledger holds it all the same"
            )
            return None

    async def _wait(self) -> None:
        self.answers = await asyncio.to_thread(healthy, self.api)
        deadline = time.monotonic() + REPORTS_WITHIN_S
        if not self.answers:
            waits = short_duration(REPORTS_WITHIN_S)
            self._progress.say(
                f"Prefect: the work is over and in the ledger; waits up to {waits} for the server "
                f"at {self.api} to tell it so"
            )
        while not self.answers and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_EVERY_S)
            self.answers = await asyncio.to_thread(healthy, self.api)
        if not self.answers:
            self._progress.say(
                "Prefect: still no answer; `synth status --reap` tells it how this run ended, "
                "once it is back"
            )
            _forget_events()


def _forget_events() -> None:
    """Drops the events that wait to be sent: at its end the process would try each of them for 7 s,
    a thousand for hours.
    """
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
        return (
            Path(storage.root, name).absolute().as_uri()
            if storage.local
            else f"{storage.url}/{quote(name)}".rstrip("/")
        )

    lines = [f"- ledger: {link('')} ({in_code(f'synth sql {storage.url} {_BY_OUTCOME}')})"]
    for report in reports.values():
        if report["kind"] == "export":
            lines += [f"- dataset: {link(f'datasets/{name}')}" for name in report["datasets"]]
        elif report["kind"] == "report":
            lines.append(f"- report: {link(report['path'])}")
    lines.append(f"- cost: {link('cost.json')}")
    return "\n".join(lines) + "\n"
