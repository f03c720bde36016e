"""One worker of a run: it claims what nobody has in hand, until nothing is left; and what of a
run that nobody watches is tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from synth.claims import Units
from synth.engine.numbers import short_duration
from synth.engine.progress import Progress
from synth.engine.runs.runner import plain
from synth.flows.own.bindings import SaidByUser
from synth.flows.own.own_flow import what_runs
from synth.flows.own.run_folder import begun
from synth.flows.own.run_record import record_of, stored_flow
from synth.flows.synthesize import Done, synthesize
from synth.ledger.ledger import StoredLedger
from synth.ledger.storage import Storage
from synth.schemas import ConfigError, DamagedError, Flow, SynthError, content_hash

T = TypeVar("T")


async def work(
    flow: Flow | None,
    url: str,
    progress: Progress,
    *,
    units: Units | None = None,
    said: Mapping[str, SaidByUser] | None = None,
) -> Done:
    """Claims, plays and commits units of the run at `url`; with a `flow` it begins one that is not
    there.

    Without a `flow` the run's own is taken, where it may say what runs. Raises `ConfigError` where
    the run is of another flow.
    """
    if flow is None:
        flow, said = _of_run(StoredLedger(url), said)
    else:
        _refuse_another(url, flow)
    return await synthesize(flow, url, progress, said=said, units=units)


def _of_run(
    ledger: StoredLedger, said: Mapping[str, SaidByUser] | None
) -> tuple[Flow, Mapping[str, SaidByUser] | None]:
    """The flow that lies in a run, and how its environments are started: what a run holds is data,
    so it names nothing that runs, unless the run was made here by the same words.
    """
    flow, record = stored_flow(ledger), record_of(ledger)
    if flow is None:
        raise ConfigError(
            f"{ledger.storage.url}: no flow was begun on it; name one: --flow FLOW.yaml"
        )
    for words in what_runs(ledger.state.flow or {}):
        if record is None or content_hash(words) not in record.runs:
            raise ConfigError(
                f"{ledger.storage.url}: was not begun on this machine, and its flow says what runs "
                f"({words.partition(': ')[0][:120]}); name the file that you began it with: "
                "--flow FLOW.yaml"
            )
    return flow, {**(record.said if record else {}), **(said or {})}


def _refuse_another(url: str, flow: Flow) -> None:
    """Raises `ConfigError` where a run at `url` has another flow than this one."""
    theirs = StoredLedger(url).state.flow if begun(Storage(url)) else None
    ours = plain(flow.model_dump(mode="json"))
    if theirs is not None and theirs != ours:
        differs = next(key for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key))
        raise ConfigError(
            f"{url}: is a run of {theirs.get('name')!r} with other settings than this flow "
            f"({differs}); give the file and the --set that it was begun with"
        )


async def again_after(
    work: Callable[[], Awaitable[T]],
    what: str,
    say: Callable[[str], None],
    waits_s: tuple[float, ...],
) -> T:
    """Awaits `work()`, again after each of `waits_s` where what went wrong passes. Raises what the
    last try has raised.
    """
    for wait_s in waits_s:
        try:
            return await work()
        except (ConfigError, DamagedError):  # for the user to mend
            raise
        except (SynthError, OSError) as error:
            say(f"{what}: {error}; tried again in {short_duration(wait_s)}")
        await asyncio.sleep(wait_s)
    return await work()
