"""`synth status`: who is at work on which run, how far, what has died; and the schedules of a
Prefect server.
"""

import json
import time
from typing import TYPE_CHECKING, Any

import click

from synth.schemas.printable import ascii_json, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from synth.flows.deployment_overview import Scheduled
    from synth.leases.heartbeat import Heartbeat

SHOWN = 20
"""Runs, the latest; `--all` shows the others too."""


@click.command()
@click.option(
    "--run",
    "run_url",
    metavar="RUN",
    help="Only this run directory or URL, and all who have ever worked on it.",
)
@click.option(
    "--reap",
    is_flag=True,
    help="Close what was killed: in the run, and at the Prefect server, which leaves it RUNNING.",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help=f"All runs that this machine has worked on, not only the latest {SHOWN}.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def status(run_url: str | None, reap: bool, every: bool, as_json: bool) -> None:
    """Show runs and schedules. Runs need no server; schedules are those of the one that
    PREFECT_API_URL names.

    \b
    Example:  synth status
              synth status --run runs/quickstart --json
              synth status --reap
    """
    import asyncio

    from synth.flows.deployment_closing import close_dead
    from synth.flows.deployment_overview import open_urls, schedules
    from synth.flows.prefect_access import users_server
    from synth.leases.heartbeat import heartbeats, remembered
    from synth.ledger.storage import Storage
    from synth.schemas.errors import ConfigError, SynthError

    api, problem = users_server()
    urls = [run_url] if run_url is not None else list(remembered())
    if api is not None and run_url is None:
        urls = list(dict.fromkeys([*urls, *asyncio.run(open_urls())]))
    closed = asyncio.run(close_dead(urls, _warn, api)) if reap else []
    by_run: dict[str, list[Heartbeat]] = {}
    for url in urls:
        try:
            by_run[url] = heartbeats(Storage(url), None if reap else _warn)
        except SynthError as error:
            _warn(str(error))
    if run_url is not None and not by_run.get(run_url):
        raise ConfigError(
            f"{run_url}: nobody has worked on a run there; `synth status` lists those that this "
            "machine knows"
        )
    runs = sorted(
        (beats for beats in by_run.values() if beats),
        key=lambda beats: max(beat.beat for beat in beats),
    )
    if not every and run_url is None:
        runs = runs[-SHOWN:]
    shown = [
        (beat, beats)
        for beats in runs
        for beat in (beats if run_url is not None else _latest(beats))
    ]
    scheduled = asyncio.run(schedules()) if api is not None and run_url is None else []
    if as_json:
        found = {
            "runs": [_as_json(beat) for beat, _ in shown],
            "schedules": [_plain(one) for one in scheduled],
            "server": api,
        }
        click.echo(
            ascii_json(
                json.dumps(
                    {**found, "closed": [beat.id for beat in closed], "problem": problem}, indent=2
                )
            )
        )
        return
    _say(shown, scheduled, api, problem)


def _warn(line: str) -> None:
    click.echo(printable(line), err=True)


def _latest(beats: "list[Heartbeat]") -> "list[Heartbeat]":
    """Those at work by their records, but for the dead whose work another has completed; where
    there are none, who was there last.
    """
    left = [beat for beat in beats if not _was_completed(beat, beats)]
    return [beat for beat in left if beat.state == "running"] or [
        max(left, key=lambda beat: beat.beat)
    ]


def _was_completed(beat: "Heartbeat", beats: "Iterable[Heartbeat]") -> bool:
    """Whether it died, and the run was completed all the same."""
    from synth.leases.heartbeat import overtaken

    return (beat.state == "crashed" or _state(beat) in ("dead", "silent")) and overtaken(
        beat, beats
    )


def _how_far(beat: "Heartbeat") -> str:
    """How far the run is; a run that is completed has no stage under way."""
    from synth.engine.numbers import counted_noun

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


def _state(beat: "Heartbeat") -> str:
    """As recorded, but for one that is dead or silent."""
    from synth.leases.heartbeat import lives

    if beat.state != "running":
        return beat.state
    return {True: "running", False: "dead", None: "silent"}[lives(beat)]


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def _as_json(beat: "Heartbeat") -> dict[str, Any]:
    """The whole record, and its state as it is now."""
    import msgspec

    return {
        **msgspec.structs.asdict(beat),
        "state": _state(beat),
        "silent_s": round(max(0.0, time.time() - beat.beat), 1),
    }


def _say(
    shown: "list[tuple[Heartbeat, list[Heartbeat]]]",
    scheduled: "list[Scheduled]",
    api: str | None,
    problem: str | None,
) -> None:
    from synth.engine.numbers import counted_noun, short_duration
    from synth.engine.tally import ended_in_faults

    now, stale = time.time(), False
    for beat, beats in shown:
        state, completed = _state(beat), _was_completed(beat, beats)
        died = [other for other in beats if _was_completed(other, beats)]
        stale |= state in ("dead", "silent") and not completed
        stale |= any(
            other.state == "running" and other.flow_run is not None for other in died
        )  # the server still has it at work
        what = (
            f"was at {_how_far(beat)}; another process completed the run"
            if completed
            else _how_far(beat)
        )
        faults = f", {ended_in_faults(beat.faults)}" if beat.faults else ""
        still = (
            f", nothing has moved for {short_duration(now - beat.moved)}"
            if state == "running" and now - beat.moved > 60
            else ""
        )
        why = f"  {beat.message}" if beat.message else ""
        why += (
            f" ({counted_noun(len(died), 'other process', 'other processes')} died at it)"
            if died and beat.state == "completed"
            else ""
        )
        click.echo(
            printable(
                f"{state:<12} {beat.url}  {what}{faults}, "
                f"{short_duration(max(0.0, now - beat.beat))} ago{still}{why}"
            )
        )
    if not shown:
        click.echo("no runs that this machine knows; `synth run FLOW.yaml` makes one")
    for one in scheduled:
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
        click.echo(
            printable(
                f"schedule     {one.name}: {', '.join(one.schedules) or 'no schedule'}{paused}; "
                f"{when}; {last}; {workers}"
            )
        )
    if stale:
        click.echo("close what has died, and go on: synth status --reap", err=True)
    if problem is not None:
        click.echo(problem, err=True)
    elif api is None:
        click.echo("schedules: PREFECT_API_URL is not set (docs/deployments.md)", err=True)
