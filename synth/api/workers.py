"""Who is at work on which run, how far, what has died; and flows on the schedules of a Prefect
server.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from synth.api.waiting import waited
from synth.claims.workers import Heartbeat, heartbeats, lives
from synth.engine.numbers import counted_noun, short_duration
from synth.engine.runs.beating import remembered
from synth.engine.tally import ended_in_faults
from synth.flows.data_folder import refuse_to_start_in_data
from synth.flows.deployments.deployment import Deployment, register
from synth.flows.deployments.schedules import Scheduled, close_dead, open_urls, schedules
from synth.flows.deployments.settings import (
    in_words,
    refuse_bad_schedule,
    refuse_bad_url,
    refuse_unknown,
    settled,
)
from synth.flows.deployments.settings import job_variables as read_variables
from synth.flows.own.flow_file import flow_of, override, read_content, read_yaml
from synth.flows.own.own_flow import flow_path, in_file, refuse_what_a_run_says
from synth.flows.prefect import users_api, users_server
from synth.ledger.storage import Storage
from synth.schemas import ConfigError, SynthError

SHOWN = 20
"""Runs, the latest; `every` shows the others too."""
Worker = tuple[Heartbeat, list[Heartbeat]]
"""Who is or was at work, among all who were on that run."""


@dataclass(frozen=True)
class WorkStatus:
    """What was found: `lines` for a person, `notes` on what to do, and `as_json` for programs."""

    workers: list[Worker]
    schedules: list[Scheduled]
    server: str | None
    problem: str | None
    closed: list[Heartbeat]

    def as_json(self) -> dict[str, Any]:
        """Every record whole, with its state as it is now."""
        return {
            "runs": [_as_json(beat) for beat, _ in self.workers],
            "schedules": [msgspec.to_builtins(one) for one in self.schedules],
            "server": self.server,
            "closed": [beat.id for beat in self.closed],
            "problem": self.problem,
        }

    @property
    def lines(self) -> list[str]:
        """A line for each worker and each schedule."""
        runs = [_worker_line(*one) for one in self.workers]
        none = "no runs that this machine knows; `synth run FLOW.yaml` makes one"
        return [*(runs or [none]), *map(_schedule_line, self.schedules)]

    @property
    def notes(self) -> Iterator[str]:
        """What is to be closed, and why there are no schedules."""
        if any(_is_stale(*one) for one in self.workers):
            yield "close what has died, and go on: synth status --reap"
        if self.problem is not None:
            yield self.problem
        elif self.server is None:
            yield "schedules: PREFECT_API_URL is not set (docs/deployments.md)"


def status(
    run_dir: Path | str | None = None,
    *,
    reap: bool = False,
    every: bool = False,
    told: Callable[[str], None] = lambda line: None,
) -> WorkStatus:
    """Who is at work on one run, or on the latest that this machine has worked on (`every` one of
    them), and the schedules of the server that PREFECT_API_URL names.

    With `reap` what was killed is closed, in the run and at the server. `told` is given what could
    not be read. Raises `ConfigError` where nobody has worked on the run.
    """
    api, problem = users_server()
    one = None if run_dir is None else str(run_dir)
    urls = [one] if one is not None else list(remembered())
    if api is not None and one is None:
        urls = list(dict.fromkeys([*urls, *waited(open_urls())]))
    closed = waited(close_dead(urls, told, api)) if reap else []
    by_run: list[list[Heartbeat]] = []
    for url in urls:
        try:
            by_run.append(heartbeats(Storage(url), None if reap else told))
        except SynthError as error:
            told(str(error))
    runs = sorted(filter(None, by_run), key=lambda beats: max(beat.beat for beat in beats))
    if one is not None and not runs:
        raise ConfigError(
            f"{one}: nobody has worked on a run there; `synth status` lists those that this "
            "machine knows"
        )
    runs = runs if every or one is not None else runs[-SHOWN:]
    workers = [
        (beat, beats) for beats in runs for beat in (beats if one is not None else _latest(beats))
    ]
    scheduled = waited(schedules()) if api is not None and one is None else []
    return WorkStatus(workers, scheduled, api, problem, closed)


def _latest(beats: list[Heartbeat]) -> list[Heartbeat]:
    """Those at work by their records, but for the dead whose work another has completed; where
    there are none, who was there last.
    """
    left = [beat for beat in beats if not _was_completed(beat, beats)]
    return [beat for beat in left if beat.state == "running"] or [
        max(left, key=lambda beat: beat.beat)
    ]


def _was_completed(beat: Heartbeat, beats: Iterable[Heartbeat]) -> bool:
    """Whether it died, and the run was completed all the same."""
    died = beat.state == "crashed" or _state(beat) in ("dead", "silent")
    return died and any(
        other.state == "completed" and other.id != beat.id and other.beat >= beat.began
        for other in beats
    )


def _how_far(beat: Heartbeat) -> str:
    """How far the run is; a run that is completed has no stage under way."""
    if beat.state == "completed":
        return (
            f"all of its {counted_noun(beat.stages_done, 'stage')} done"
            if beat.stages_done
            else "nothing is left to do"
        )
    stages = f"{counted_noun(beat.stages_done, 'stage')} done" if beat.stages_done else ""
    of = f" of {beat.total:,}" if beat.total else ""
    stage = f"{beat.stage}: {beat.done:,}{of} {beat.unit}" if beat.stage else ""
    return "; ".join(part for part in (stage, stages) if part) or "nothing begun"


def _state(beat: Heartbeat) -> str:
    """As recorded, but for one that is dead or silent."""
    if beat.state != "running":
        return beat.state
    return {True: "running", False: "dead", None: "silent"}[lives(beat)]


def _as_json(beat: Heartbeat) -> dict[str, Any]:
    """The whole record, and its state as it is now."""
    return {
        **msgspec.structs.asdict(beat),
        "state": _state(beat),
        "silent_s": round(max(0.0, time.time() - beat.beat), 1),
    }


def _is_stale(beat: Heartbeat, beats: list[Heartbeat]) -> bool:
    """Whether something died that nobody closed; the server has those at work that it started."""
    return (_state(beat) in ("dead", "silent") and not _was_completed(beat, beats)) or any(
        other.state == "running" and other.flow_run is not None and _was_completed(other, beats)
        for other in beats
    )


def _worker_line(beat: Heartbeat, beats: list[Heartbeat]) -> str:
    now, state, far = time.time(), _state(beat), _how_far(beat)
    completed = _was_completed(beat, beats)
    what = f"was at {far}; another process completed the run" if completed else far
    faults = f", {ended_in_faults(beat.faults)}" if beat.faults else ""
    stands = state == "running" and now - beat.moved > 60
    still = f", nothing has moved for {short_duration(now - beat.moved)}" if stands else ""
    why = f"  {beat.message}" if beat.message else ""
    died = sum(_was_completed(other, beats) for other in beats)
    if died and beat.state == "completed":
        why += f" ({counted_noun(died, 'other process', 'other processes')} died at it)"
    ago = short_duration(max(0.0, now - beat.beat))
    return f"{state:<12} {beat.url}  {what}{faults}, {ago} ago{still}{why}"


def _schedule_line(one: Scheduled) -> str:
    when = f"next {one.next_firing}" if one.next_firing else "nothing is due"
    last = (
        f"last {one.last_state} ({one.last_fired}, {one.last_url})"
        if one.last_state
        else "has not run"
    )
    paused = ", paused" if one.paused else ""
    workers = counted_noun(one.workers, "worker") + (
        "" if one.workers else f" (prefect worker start --pool {one.pool})"
    )
    schedule = ", ".join(one.schedules) or "no schedule"
    return f"schedule     {one.name}: {schedule}{paused}; {when}; {last}; {workers}"


def deploy(
    flow: Path | str,
    *,
    set: Sequence[str] = (),
    cron: str | None = None,
    interval: float | None = None,
    timezone: str = "UTC",
    name: str | None = None,
    work_pool: str | None = None,
    run_dir: str = "runs/{name}-{date}",
    workers: int = 1,
    job_variables: Sequence[str] = (),
    notify: str | None = None,
    pause: bool = False,
    dry_run: bool = False,
) -> list[str]:
    """Registers a flow on the server that PREFECT_API_URL names, with a schedule, and gives what a
    person is told of it; with `dry_run` what would be. The arguments are the options of
    `synth deploy`. Raises `ConfigError`, and `SynthError` where the server refuses.
    """
    from synth.flows.resolve import resolve

    path = flow_path(flow)
    refuse_to_start_in_data("a worker of Prefect")
    refuse_what_a_run_says(path)
    content = read_content(path)
    for written in set:
        override(content, written, read_yaml)
    chosen = flow_of(content, (), str(path))
    with in_file(path):
        _, stages = resolve(chosen)
    refuse_bad_schedule(cron, interval, timezone)
    refuse_unknown(run_dir)
    job = read_variables(job_variables)
    if notify is not None:
        refuse_bad_url(notify)
    order = Deployment(
        name=name or chosen.name,
        content=content,
        run_dir=run_dir,
        workers=workers,
        cron=cron,
        interval_s=interval,
        timezone=timezone,
        pool=work_pool,
        paused=pause,
        folder=str(path.parent.absolute()),
        cwd=str(Path.cwd()),
        notify=notify,
        job=job,
    )
    paused = ", paused" if pause else ""
    shared = f", {workers} flow runs at a time" if workers > 1 else ""
    if dry_run:
        lies = run_dir if work_pool is not None else settled(run_dir, remote=False)
        return [
            f"synth/{order.name}: would run {order.when()}{paused}, by workers of "
            f"{work_pool or 'the process pool synth'}{shared}",
            f"into      {lies}",
            f"stages    {', '.join(stage.name for stage in stages)}",
            *([f"job       {in_words(job)}"] if job else []),
            f"notify    {'a webhook' if notify else 'nobody (see --notify)'}",
        ]
    api = users_api()
    from synth.flows.deployment_run import synth

    done = waited(register(order, synth))
    kind = " --type process" if done.pool_type == "process" else ""
    return [
        f"synth/{order.name}: registered at {api}: {order.when()}{paused}, by workers of "
        f"{done.pool} ({done.pool_type}){shared}",
        f"into      {done.run_dir}",
        f"worker    prefect worker start --pool {done.pool}{kind}",
        f"once now  prefect deployment run {done.full_name} --param overrides='[\"env.tasks=5\"]'",
        "look      synth status",
    ]
