"""Slots filled side by side: every episode on its own, faults retried by class in the same slot."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from synth.boundary import FaultError, NotStarted
from synth.ledger.storage.journal import Event, Journal
from synth.models.admission import AdmittedChat, ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec, Turned, run_attempt
from synth.rollout.resumption import Resumption
from synth.rollout.user_lines import Spoke
from synth.schemas.environment import Env
from synth.schemas.model import ChatModel
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import run_workers

RETRIES: Mapping[Fault, int] = {
    Fault.MODEL: 2,
    Fault.INFRASTRUCTURE: 2,
    Fault.TIMEOUT: 1,
    Fault.ENVIRONMENT: 1,
    Fault.USER_SIMULATOR: 2,
    Fault.PARSER: 1,
    Fault.DRIFT: 1,
    Fault.JUDGE: 1,
    Fault.BUDGET: 0,
}
"""Further attempts at a slot within one run, by the fault of the last attempt."""

RETRIED_BY_A_RERUN = frozenset(
    {Fault.MODEL, Fault.USER_SIMULATOR, Fault.INFRASTRUCTURE, Fault.TIMEOUT, Fault.BUDGET}
)
"""Faults whose cause may be gone when the user runs again; the others would only repeat themselves.
"""

OpenWorld = Callable[[EpisodeSpec], Env]
Fill = Callable[[], Awaitable[list[Trajectory]]]
"""Fills one slot: all attempts made at it."""


async def no_claim(slot_id: str, fill: Fill) -> list[Trajectory]:
    """What `fill` gives, for slots whose shard is held as a whole."""
    return await fill()


async def fill_slot(
    work: EpisodeSpec,
    open_world: OpenWorld,
    model: ChatModel | None,
    journal: Journal,
    events: Mapping[tuple[str, int], Sequence[Event]],
    *,
    may_start: Callable[[], bool],
    turned: Turned,
    faulted: Callable[[FaultError], None],
    spoke: Spoke = lambda usage: None,
) -> list[Trajectory]:
    """All attempts made at one slot; the last is valid, or its class allows no more of them, or no
    new one may start.
    """
    attempts: list[Trajectory] = []
    faults: dict[Fault, int] = {}
    while True:
        attempt = work.first_attempt + len(attempts)
        resumption = Resumption(
            work.slot_id, attempt, events.get((work.slot_id, attempt), ()), journal
        )
        gated = model
        if isinstance(model, AdmittedChat) and not resumption.replies:
            gated = model.for_episode(may_start)
        try:
            trajectory = await run_attempt(
                *(work, attempt, lambda: open_world(work), gated, resumption),
                turned=turned,
                faulted=faulted,
                spoke=spoke,
            )
        except NotStarted:
            return attempts
        attempts.append(trajectory)
        if trajectory.fault is None:
            return attempts
        faults[trajectory.fault] = faults.get(trajectory.fault, 0) + 1
        if faults[trajectory.fault] > RETRIES[trajectory.fault] or not may_start():
            return attempts


async def run_slots(
    works: Sequence[EpisodeSpec],
    open_world: OpenWorld,
    model: ChatModel | None,
    journal: Journal,
    events: Mapping[tuple[str, int], Sequence[Event]],
    *,
    live_episodes: int,
    may_start: Callable[[], bool],
    finished: Callable[[Sequence[Trajectory]], None],
    turned: Turned = lambda usage: None,
    faulted: Callable[[FaultError], None] = lambda error: None,
    spoke: Spoke = lambda usage: None,
    places: ConcurrencyLimit | None = None,
    held: Callable[[str, Fill], Awaitable[list[Trajectory]]] = no_claim,
) -> list[Trajectory]:
    """Fills the slots, at most `live_episodes` at a time; results in the order of `works`, whatever
    order they end in.

    `may_start` is asked before each attempt, and again when its first call to the model is
    admitted: ceilings stop new work and let
    running episodes finish. Slots that were not started are not in the result. `places` bound the
    episodes that are under way here
    and in other calls with the same places. `held` has a slot filled while it is held here, and
    gives nothing where another worker
    holds it.
    """
    done: dict[int, list[Trajectory]] = {}
    waiting = iter(enumerate(works))
    places = places or ConcurrencyLimit(live_episodes)

    async def worker() -> None:
        for index, work in waiting:
            async with places:
                if not may_start():
                    return
                common = partial(
                    fill_slot, may_start=may_start, turned=turned, faulted=faulted, spoke=spoke
                )
                attempts = await held(
                    work.slot_id, partial(common, work, open_world, model, journal, events)
                )
            if attempts:
                done[index] = attempts
                finished(attempts)
            await asyncio.sleep(0)

    await run_workers(min(live_episodes, len(works)), worker)
    return [trajectory for index in sorted(done) for trajectory in done[index]]
