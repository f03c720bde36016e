"""What leases cost where nobody else works: a local run of short episodes, its claims made in
storage and looked up, against granted ones.

Run: `python -m benchmarks.lease_overhead`
"""

import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from time import perf_counter, process_time
from typing import Any

from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from synth.claims.claims import Lease
from synth.claims.slots import PeerClaims
from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.ledger.log.state import LedgerState
from synth.schemas.flow import Flow

ROUNDS, TASKS, TRIALS = 5, 100, 4
WORLDS: dict[str, dict[str, Any]] = {
    "echo": {"name": "echo", "turns": 3},
    "storefront": {"name": "storefront"},
}


@contextlib.contextmanager
def granted() -> Iterator[None]:
    """Meanwhile every episode is granted without a request to the storage."""
    claim, look = PeerClaims.claim, PeerClaims.look

    async def at_once(self: PeerClaims, slot_id: str, *, anew: bool = False) -> Lease:
        return Lease(slot_id, 0, self.leases.holder())

    async def unlooked(self: PeerClaims) -> LedgerState:
        return self.leases.ledger.state

    PeerClaims.claim, PeerClaims.look = at_once, unlooked  # type: ignore[method-assign]
    try:
        yield
    finally:
        PeerClaims.claim, PeerClaims.look = claim, look  # type: ignore[method-assign]


def run_once(world: dict[str, Any]) -> tuple[float, float]:
    """Seconds and seconds of CPU of one run."""
    flow = Flow.model_validate(
        {
            "name": "leases",
            "env": world | {"tasks": TASKS},
            "models": {"explorer": {"policy": "expert"}},
            "stages": [{"rollout": {"trials": TRIALS}}],
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
        began, cpu = perf_counter(), process_time()
        asyncio.run(synthesize(flow, f"{folder}/run", PlainProgress(StringIO())))
        return perf_counter() - began, process_time() - cpu


def measure() -> Report:
    """Both in turn, each world by itself."""
    figures = []
    for name, world in WORLDS.items():
        run_once(world)
        leased, free = [], []
        for _ in range(ROUNDS):
            leased.append(run_once(world))
            with granted():
                free.append(run_once(world))
        for what, at in (("wall time", 0), ("CPU", 1)):
            with_leases, without = (
                statistics.median(times[at] for times in found) for found in (leased, free)
            )
            ratio = statistics.median(
                one[at] / other[at] for one, other in zip(leased, free, strict=True)
            )
            figures += [
                Figure(f"{name}: {what} with leases over without", ratio, "x"),
                Figure(
                    f"{name}: {what} of a lease, per episode",
                    1e6 * (with_leases - without) / (TASKS * TRIALS),
                    "us",
                ),
                Figure(
                    f"{name}: {what} per episode with leases",
                    1e6 * with_leases / (TASKS * TRIALS),
                    "us",
                ),
            ]
    how = (
        f"{TASKS * TRIALS} episodes of the expert, committed in shards of 200 on a local "
        f"disk; medians of {ROUNDS} pairs of runs in turn."
    )
    return Report("Overhead of leases", figures, how)


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
