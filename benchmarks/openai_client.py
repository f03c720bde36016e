"""OpenAI engine: whole episodes against a server with a fixed latency, next to a bare aiohttp loop that sends the same requests.

Run: `python -m benchmarks.openai_client`
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import aiohttp
import msgspec

from benchmarks.chat_endpoint import chat_endpoint
from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from envs.echo import SYSTEM_PROMPT, TOOLS, WORLD
from schemas.model import ChatModel
from schemas.task import Task
from synth.ledger.journal import Journal
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.policies.chat import chat_policy
from synth.rollout.episode import Work
from synth.rollout.limits import Limits
from synth.rollout.slots import fill_slots

CALLS = 8
"""Per episode: seven words and `finish`."""
MODEL = "benchmark"
POLICY = chat_policy({}, model_name=MODEL, sampling={})
LIMITS = Limits(stuck_after=CALLS + 1)
"""Drawn words may repeat: nothing here counts as stuck."""


@dataclass(frozen=True, slots=True)
class Driven:
    """All episodes driven once: wall time, and CPU time of the client's process."""

    wall_s: float
    cpu_s: float


async def rolled_out(url: str, tasks: Sequence[Task], in_flight: int, folder: Path) -> None:
    """`fill_slots` with the engine and a journal, all episodes live, `in_flight` calls admitted."""
    model: ChatModel = open_model(ModelSettings(model=MODEL, base_url=url, max_in_flight=in_flight))
    journal = Journal(folder / "openai.jsonl")
    works = [Work(slot_id=task.task_id, task=task, trial=0, seed=0, synthesizer="rollout", policy=POLICY, limits=LIMITS) for task in tasks]
    trajectories = await fill_slots(
        works,
        lambda work: WORLD.open(work.task.env_config),
        model,
        journal,
        {},
        live_episodes=len(works),
        may_start=lambda: True,
        finished=lambda _: None,
    )
    journal.close(discard=True)
    await model.close()
    unsolved = next((t.fault_detail or t.outcome for t in trajectories if t.reward != 1.0), None)
    if unsolved is not None or sum(len(t.turns) for t in trajectories) != CALLS * len(tasks):
        raise RuntimeError(f"an episode did not go as planned: {unsolved}")


async def bare_aiohttp(url: str, tasks: Sequence[Task], in_flight: int) -> None:
    """The same conversations by hand: encode, post, decode, answer with a constant; no world, no record, no error handling."""
    gate, target = asyncio.Semaphore(in_flight), f"{url}/chat/completions"
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode
    headers = {"Content-Type": "application/json"}

    async def episode(session: aiohttp.ClientSession, task: Task) -> None:
        messages: list[Any] = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": task.goal}]
        for _ in range(CALLS):
            body = encode({"model": MODEL, "messages": messages, "tools": TOOLS})
            async with gate, session.post(target, data=body, headers=headers) as reply:
                message = decode(await reply.read())["choices"][0]["message"]
            call = message["tool_calls"][0]
            messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": "Done."}]

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session, asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(episode(session, task))


def driven(run: Callable[[], Awaitable[None]]) -> Driven:
    """Runs a coroutine in a loop of its own."""
    wall, cpu = perf_counter(), process_time()
    asyncio.run(_awaited(run))
    return Driven(perf_counter() - wall, process_time() - cpu)


async def _awaited(run: Callable[[], Awaitable[None]]) -> None:
    await run()


def figures(latency_ms: float, episodes: int, in_flight: int, rounds: int) -> list[Figure]:
    """Both drivers turn by turn; a fresh server for each run, so that none pays for the one before."""
    tasks = list(WORLD.make_tasks({"turns": CALLS - 1}, 0, episodes))
    calls = episodes * CALLS
    ideal_s = calls * latency_ms / 1000 / min(in_flight, episodes)
    ours, bare = [], []
    with tempfile.TemporaryDirectory() as name:
        with chat_endpoint(0) as url:  # not counted: it imports the openai package
            driven(lambda: rolled_out(url, tasks[:1], in_flight, Path(name)))
            driven(lambda: bare_aiohttp(url, tasks[:1], in_flight))
        for _ in range(rounds):
            with chat_endpoint(latency_ms) as url:
                ours.append(driven(lambda: rolled_out(url, tasks, in_flight, Path(name))))
            with chat_endpoint(latency_ms) as url:
                bare.append(driven(lambda: bare_aiohttp(url, tasks, in_flight)))
    found = []
    for driver, runs in (("rollout with the openai engine", ours), ("bare aiohttp loop", bare)):
        found += [
            Figure(f"{in_flight} in flight, {driver}: ideal wall / wall", ideal_s / median(run.wall_s for run in runs)),
            Figure(f"{in_flight} in flight, {driver}: client CPU per call", median(run.cpu_s for run in runs) / calls * 1000, "ms"),
        ]
    wall = median(run.wall_s for run in bare) / median(run.wall_s for run in ours)
    cpu = median(run.cpu_s for run in ours) / median(run.cpu_s for run in bare)
    found.append(Figure(f"{in_flight} in flight, rollout / bare loop: efficiency", wall, "x"))
    found.append(Figure(f"{in_flight} in flight, rollout / bare loop: client CPU", cpu, "x"))
    return found


def measure(latency_ms: float = 300, episodes: int = 512, in_flight: Sequence[int] = (64, 256), rounds: int = 3) -> Report:
    """Every number of calls in flight in turn."""
    return Report(
        "OpenAI engine",
        [figure for limit in in_flight for figure in figures(latency_ms, episodes, limit, rounds)],
        f"{episodes} echo episodes x {CALLS} calls, {latency_ms:g} ms fixed latency, server in a process of its own on the same cores; "
        f"ideal wall = calls x latency / in flight; medians of {rounds} runs in turn.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
