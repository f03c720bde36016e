"""Slots filled side by side: every episode on its own, faults retried by class in the same slot."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from synth.boundary import NotStarted
from synth.ledger.storage.journal import Event, Journal
from synth.models.admission import AdmittedChat, ConcurrencyLimit
from synth.rollout.attempt import run_attempt
from synth.rollout.episode import UNWATCHED, EpisodeSpec, Host
from synth.rollout.resumption import Resumption
from synth.schemas import ChatModel, Env, Fault, Trajectory
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
Events = Mapping[tuple[str, int], Sequence[Event]]
"""What the journal holds, by slot and attempt."""


async def no_claim(slot_id: str, fill: Fill) -> list[Trajectory]:
    """What `fill` gives, for slots whose shard is held as a whole."""
    return await fill()


async def fill_slot(
    work: EpisodeSpec,
    open_world: OpenWorld,
    model: ChatModel | None,
    journal: Journal,
    events: Events,
    host: Host,
) -> list[Trajectory]:
    """All attempts made at one slot; the last is valid, or its class allows no more of them, or no
    new one may start.
    """
    attempts: list[Trajectory] = []
    while True:
        attempt = work.first_attempt + len(attempts)
        told = events.get((work.slot_id, attempt), ())
        resumption = Resumption(work.slot_id, attempt, told, journal)
        gated = model
        if isinstance(model, AdmittedChat) and not resumption.replies:
            gated = model.for_episode(host.may_start)
        try:
            trajectory = await run_attempt(work, lambda: open_world(work), gated, resumption, host)
        except NotStarted:
            return attempts
        attempts.append(trajectory)
        fault = trajectory.fault
        if fault is None:
            return attempts
        of_class = sum(one.fault is fault for one in attempts)
        if of_class > RETRIES[fault] or not host.may_start():
            return attempts


async def run_slots(
    works: Sequence[EpisodeSpec],
    open_world: OpenWorld,
    model: ChatModel | None,
    journal: Journal,
    events: Events,
    *,
    live_episodes: int,
    host: Host = UNWATCHED,
    finished: Callable[[Sequence[Trajectory]], None] = lambda attempts: None,
    places: ConcurrencyLimit | None = None,
    held: Callable[[str, Fill], Awaitable[list[Trajectory]]] = no_claim,
) -> list[Trajectory]:
    """Fills the slots, at most `live_episodes` at a time; results in the order of `works`, whatever
    order they end in.

    The host is asked whether one may start before each attempt, and again when its first call to
    the model is admitted: ceilings stop new work and let running episodes finish. Slots that were
    not started are not in the result. `places` bound the episodes that are under way here and in
    other calls with the same places. `held` has a slot filled while it is held here, and gives
    nothing where another worker holds it.
    """
    done: dict[int, list[Trajectory]] = {}
    waiting = iter(enumerate(works))
    places = places or ConcurrencyLimit(live_episodes)

    async def worker() -> None:
        for index, work in waiting:
            async with places:
                if not host.may_start():
                    return
                fill = partial(fill_slot, work, open_world, model, journal, events, host)
                attempts = await held(work.slot_id, fill)
            if attempts:
                done[index] = attempts
                finished(attempts)
            await asyncio.sleep(0)

    await run_workers(min(live_episodes, len(works)), worker)
    return [trajectory for index in sorted(done) for trajectory in done[index]]
