"""Episodes of very different lengths on many workers: how long their places stand idle, taken one
by one or as whole shards.

The code that hands out episodes is the one of a run (`synth.engine.runs.slot_scheduler`,
`synth.claims`), with claims and commits in a run directory; the episodes are waits. Time is
simulated: a loop whose clock jumps to what comes next, so that a request costs none of it.
"""

import asyncio
import math
import random
import selectors
import tempfile
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmarks.figures import Figure
from benchmarks.recorded_episodes import recorded_episodes
from synth.claims import Leases
from synth.engine.context import Run
from synth.engine.progress import PlainProgress
from synth.engine.runs import slot_scheduler
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.models.admission import ConcurrencyLimit
from synth.schemas.canonical import trajectory_id
from synth.schemas.flow import Flow, Plan, PlannedSlot, Shard
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import run_workers

MOST = 100
"""Workers: a thousand take more than a quarter of an hour."""
PER_WORKER, PER_SHARD, LIVE = 4, 50, 10
"""Shards for each worker, episodes in one, episodes that a worker plays at a time."""
MEDIAN_S, SIGMA, LONGEST_S = 60.0, 1.2, 900.0
"""Of an episode: log-normal, cut off by a limit on its time."""
SLOW, SLOWER = 0.1, 2.0
"""Share of workers whose episodes take so many times as long."""
AT_ONCE = LIVE // PER_SHARD + 4
"""Shards that a worker begins side by side, as a rollout does."""
FIRST_LOOK_S, LAST_LOOK_S = 1.0, 20.0
"""A worker that finds nothing looks again after the first, and ever later until the last."""
REF = StageRef("rollout", "benchmark")
Play = Callable[[str], Awaitable[list[Trajectory]]]


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: its clock jumps to the end of every wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.now_s += timeout or 0.0
        return super().select(0)


def jumping_loop() -> asyncio.AbstractEventLoop:
    """A loop on simulated time."""
    selector = _Jumping()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now_s  # type: ignore[method-assign]
    return loop


class Worker:
    """One of many, with `LIVE` places; `played` holds from when to when each episode lasted."""

    def __init__(self, number: int, ledger: StoredLedger, like: Trajectory) -> None:
        draws = random.Random(f"worker {number}")
        self.slower = SLOWER if draws.random() < SLOW else 1.0
        self.played: list[tuple[float, float]] = []
        self.places = ConcurrencyLimit(LIVE)
        self._like = like
        flow = Flow(name="benchmark", lease_s=86_400)
        self.run = Run(ledger, flow, {}, _none, _none, _none, PlainProgress(StringIO()))

    async def play(self, slot_id: str) -> list[Trajectory]:
        """A wait as long as the episode takes this worker."""
        took_s = (
            min(LONGEST_S, MEDIAN_S * math.exp(SIGMA * random.Random(slot_id).gauss(0, 1)))
            * self.slower
        )
        began_s = asyncio.get_running_loop().time()
        self.played.append((began_s, began_s + took_s))
        await asyncio.sleep(took_s)
        return [replace(self._like, slot_id=slot_id, trajectory_id=trajectory_id(slot_id, 0))]

    async def each(self, slots: Sequence[PlannedSlot], play: Play) -> list[Trajectory]:
        """The slots, as many at a time as there are places."""
        done, waiting = list[Trajectory](), iter(slots)

        async def place() -> None:
            for slot in waiting:
                async with self.places:
                    done.extend(await play(slot.slot_id))

        await run_workers(min(LIVE, len(slots)), place)
        return done

    async def one_by_one(self, plan: Plan) -> None:
        """As a run does."""
        leases = self.run.leases = Leases(self.run.ledger, term_s=86_400)
        leases._over.set()  # no signs of life: nobody dies here
        stage: Any = _Rollout(self)
        try:
            await slot_scheduler.do_shards(self.run, stage, REF, plan)
        finally:
            leases.close()

    async def whole_shards(self, waiting: "deque[Shard]", at_once: int) -> None:
        """Each shard that nobody has taken, played to its end."""

        async def worker() -> None:
            while waiting:
                shard = waiting.popleft()
                self.run.ledger.commit(REF, trajectories=await self.each(shard.items, self.play))

        await run_workers(at_once, worker)


class _Rollout:
    name = "rollout"

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker

    async def work(self, run: object, stage_key: str, shard: Shard) -> None:
        hand, worker = self._worker.run.hands[shard.name], self._worker
        done = await worker.each(
            hand.in_order(), lambda slot_id: hand.play(slot_id, lambda: worker.play(slot_id))
        )
        await hand.commit(REF, done)


def _none(*given: object) -> Any:
    raise RuntimeError("nothing is opened: episodes are waits")


def simulated(workers: int, *, stealing: bool) -> tuple[float, float, float, int, Counter[str]]:
    """Idle share of the places while there was something that nobody had begun, and until all was
    done; the seconds that took; commits;
    and requests by kind for each episode.
    """
    requests = Counter[str]()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        ledger = StoredLedger(folder, create=True)
        ledger.begin_stage(StageLine(REF.stage, REF.stage_key, {}))
        StoredLedger.journal_folder = property(lambda self: Path(state))  # type: ignore[assignment]
        for name in ("create", "read", "size", "replace"):
            setattr(ledger.storage, name, _counted(getattr(ledger.storage, name), name, requests))
        slots = [
            PlannedSlot(f"{number:09d}", "task", 0, 0)
            for number in range(workers * PER_WORKER * PER_SHARD)
        ]
        shards = [
            Shard(f"{at:09d}", slots[at : at + PER_SHARD]) for at in range(0, len(slots), PER_SHARD)
        ]
        (like,) = recorded_episodes(1, 0)
        made = [
            Worker(number, ledger, replace(like, turns=like.turns[:1])) for number in range(workers)
        ]
        plan, queue = Plan(shards, at_once=AT_ONCE, by_slot=True), deque(shards)

        async def everything() -> float:
            await asyncio.gather(
                *(
                    worker.one_by_one(plan) if stealing else worker.whole_shards(queue, AT_ONCE)
                    for worker in made
                )
            )
            return asyncio.get_running_loop().time()

        slot_scheduler.WAIT_S, slot_scheduler.longer = (
            FIRST_LOOK_S,
            lambda wait_s, ledger: min(LAST_LOOK_S, 1.5 * wait_s),
        )
        with asyncio.Runner(loop_factory=jumping_loop) as runner:
            took_s = runner.run(everything())
        filled = [record.slot_id for shard in ledger.state.shards for record in shard.slots]
        if sorted(filled) != [slot.slot_id for slot in slots]:
            raise RuntimeError(
                f"{len(filled)} slots filled, {len(set(filled))} of them different; {len(slots)} "
                "were planned"
            )
        each = Counter({name: round(count / len(slots), 2) for name, count in requests.items()})
        played = [times for worker in made for times in worker.played]
        return (
            _idle(played, max(began for began, _ in played), workers),
            _idle(played, took_s, workers),
            took_s,
            len(ledger.state.shards),
            each,
        )


def _idle(played: Sequence[tuple[float, float]], until_s: float, workers: int) -> float:
    return 1 - sum(min(end, until_s) - began for began, end in played) / (until_s * workers * LIVE)


def _counted(request: Callable[..., Any], name: str, requests: Counter[str]) -> Callable[..., Any]:
    def counting(*given: Any, **named: Any) -> Any:
        requests[name] += 1
        return request(*given, **named)

    return counting


def figures(workers: int) -> list[Figure]:
    """Both ways, one after the other, on the same episodes and workers."""
    found = []
    for how, stealing in (("whole shards", False), ("one by one", True)):
        idle, idle_whole, took_s, commits, each = simulated(workers, stealing=stealing)
        what = f"{workers} workers, {how}"
        found += [
            Figure(f"{what}: places idle until the last episode begins", 100 * idle, "%"),
            Figure(f"{what}: places idle until the last one ends", 100 * idle_whole, "%"),
            Figure(f"{what}: simulated time", took_s / 60, "min"),
            Figure(f"{what}: episodes in a commit", workers * PER_WORKER * PER_SHARD / commits),
            Figure(f"{what}: PUT per episode", each["create"] + each["replace"]),
            Figure(f"{what}: GET and HEAD per episode", each["read"] + each["size"]),
        ]
    return found
