"""Echo episodes of 8 calls driven against a chat server, in a process of their own: by the rollout
loop with an engine, or by hand.

Run by the benchmarks: `python -m benchmarks.driven_episodes DRIVER URL EPISODES IN_FLIGHT`; prints
wall, CPU and memory as JSON.
"""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import aiohttp
import msgspec

from benchmarks.command_line import ROOT
from benchmarks.fixed_latency_server import MODEL
from synth.engine.runs.event_loop import gc_paused
from synth.envs.echo import SYSTEM_PROMPT, TOOLS, WORLD
from synth.ledger.storage.journal import Journal
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.policies.chat import chat_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.schemas.task import Task

CALLS = 8
"""Per episode: seven words and `finish`."""
BARE = "bare"
"""The driver that is no engine: an aiohttp loop."""
POLICY = chat_policy({}, model_name=MODEL, sampling={})
LIMITS = Limits(stuck_after=CALLS + 1)
"""Drawn words may repeat: nothing here counts as stuck."""


class Driven(msgspec.Struct, frozen=True):
    """All episodes driven once: wall time, CPU time of the client, memory at its peak and before it
    began (imports, tasks).
    """

    wall_s: float
    cpu_s: float
    peak_mb: float
    before_mb: float


def tasks(episodes: int) -> list[Task]:
    """The episodes' tasks, the same in every process."""
    return list(WORLD.make_tasks({"turns": CALLS - 1}, 0, episodes))


async def rolled_out(
    engine: str, url: str, episodes: Sequence[Task], in_flight: int, folder: Path
) -> None:
    """`run_slots` with the engine and a journal, all episodes live, `in_flight` calls admitted;
    garbage as `synth run` collects it.
    """
    model = open_model(
        ModelSettings(engine=engine, model=MODEL, base_url=url, max_in_flight=in_flight)
    )
    journal = Journal(folder / "replies.jsonl")
    works = [
        EpisodeSpec(
            slot_id=task.task_id,
            task=task,
            trial=0,
            seed=0,
            synthesizer="rollout",
            policy=POLICY,
            limits=LIMITS,
        )
        for task in episodes
    ]
    with gc_paused():
        trajectories = await run_slots(
            works,
            lambda work: WORLD.open(work.task.env_config),
            model,
            journal,
            {},
            live_episodes=len(works),
        )
    journal.close(discard=True)
    await model.close()
    unsolved = next((t.fault_detail or t.outcome for t in trajectories if t.reward != 1.0), None)
    if unsolved is not None or sum(len(t.turns) for t in trajectories) != CALLS * len(episodes):
        raise RuntimeError(f"an episode did not go as planned: {unsolved}")


async def by_hand(url: str, episodes: Sequence[Task], in_flight: int) -> None:
    """The same conversations by hand: encode, post, decode, answer with a constant; no world, no
    record, no error handling.
    """
    gate, target = asyncio.Semaphore(in_flight), f"{url}/chat/completions"
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode
    headers = {"Content-Type": "application/json"}

    async def episode(session: aiohttp.ClientSession, task: Task) -> None:
        messages: list[Any] = [
            {"role": "system", "content": SYSTEM_PROMPT},
            {"role": "user", "content": task.goal},
        ]
        for _ in range(CALLS):
            body = encode({"model": MODEL, "messages": messages, "tools": TOOLS})
            async with gate, session.post(target, data=body, headers=headers) as reply:
                message = decode(await reply.read())["choices"][0]["message"]
            call = message["tool_calls"][0]
            messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": "Done."}]

    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        asyncio.TaskGroup() as group,
    ):
        for task in episodes:
            group.create_task(episode(session, task))


def driven(driver: str, url: str, episodes: int, in_flight: int) -> Driven:
    """One run in a fresh process. Raises `RuntimeError` where it ends otherwise than planned."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.driven_episodes",
        driver,
        url,
        str(episodes),
        str(in_flight),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[1:])}: {done.stderr[-2000:]}")
    return msgspec.json.decode(done.stdout, type=Driven)


def main(driver: str, url: str, episodes: str, in_flight: str) -> None:
    """Drives once, after one episode that is not counted: it imports what is imported late."""
    found, limit = tasks(int(episodes)), int(in_flight)
    with tempfile.TemporaryDirectory() as name:

        async def run(part: Sequence[Task]) -> None:
            await (
                by_hand(url, part, limit)
                if driver == BARE
                else rolled_out(driver, url, part, limit, Path(name))
            )

        asyncio.run(run(found[:1]))
        before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        wall, cpu = perf_counter(), process_time()
        asyncio.run(run(found))
        wall, cpu = perf_counter() - wall, process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_mb": peak / 1e6, "before_mb": before / 1e6})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
