"""The world `tau2`: which tasks there are, who passes them, what branching costs, how many logged
trials can be done again. Needs the extra `tau2` and its package.

Run: `python -m benchmarks.tau2_world [tasks | branching | logs | confirmed | talks]`
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread

from benchmarks.foreign.confirmed import lines
from synth import import_trajectories
from synth.api.curation import confirm
from synth.envs.episode import call_turn
from synth.envs.tau2 import SPEC, WORLD
from synth.envs.tau2.logs import DOMAINS, redone, relived, task_of
from synth.envs.tau2.package import SOLO, domain
from synth.envs.tau2.tasks import TRANSFER, hands_over, made_task
from synth.importers.load import entries_of
from synth.importers.records import Imported, ImportSettings
from synth.schemas import AgentTurn, Env, Task

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FAMILIES = [
    "tau2_airline",
    "tau2_retail",
    "tau2_retail_multi",
    "tau2_grok",
    "tau2_telecom",
    "tau2_es",
]
MOST_TURNS, EPISODES = 60, 30
ENDS = AgentTurn("Is there anything else?")
TRANSFER_NOW = call_turn(0, TRANSFER, {"summary": "The customer needs a person."})


async def plays(task: Task, who: str, seed: int = 0) -> bool:
    """Whether somebody passes: `gold`, `nothing`, `transfer`, `random` (any call that makes sense,
    to the end of the turns or of the ticket).
    """
    env: Env = WORLD.open(task.env_config)
    await env.reset(task)
    draw = Random(f"{task.task_id} {seed}")
    for _ in range(MOST_TURNS if who in ("gold", "random") else 1):
        turn = {"gold": await env.expert(), "transfer": TRANSFER_NOW}.get(who, ENDS)
        if who == "random":
            turn = draw.choice(list(await env.affordances()) or [ENDS])
        if (await env.step(turn)).done or not turn.tool_calls:
            break
    return (await env.check()).passed is True


def tasks() -> Iterator[str]:
    """All tasks of the domains, and who passes them."""
    yield "| domain | tasks | left out | gold | nothing | a transfer | random |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    for name in DOMAINS:
        known = domain(name)
        ids = known.splits["base"] if name in SOLO else known.ids
        made = [made_task(SPEC.name, name, identity) for identity in ids]
        left = Counter(one for one in made if isinstance(one, str))
        handed = [one for one in made if isinstance(one, Task) and hands_over(one)]
        left += Counter({"solved_by_a_transfer": len(handed)})
        found = [one for one in made if isinstance(one, Task) and one not in handed]
        passed = {who: passes(found, who) for who in ("gold", "nothing", "transfer")}
        told = ", ".join(f"{count} {why}" for why, count in left.most_common()) or "none"
        at_random = f"{passes(found, 'random')}" if name in SOLO else "-"
        yield (
            f"| {name} | {len(found)} | {told} | {passed['gold']} | {passed['nothing']} "
            f"| {passed['transfer']} | {at_random} |"
        )


def passes(found: list[Task], who: str) -> int:
    """How many of them somebody passes."""
    return sum(asyncio.run(plays(one, who)) for one in found)


def branching() -> Iterator[str]:
    """What an episode begins with and a snapshot costs, after the gold actions but the last."""
    yield (
        "| domain | a copy of its databases, ms | begin, ms | step, ms | snapshot, ms "
        "| restore, ms | bytes | actions before |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name in DOMAINS:
        made = WORLD.make_tasks({"domain": name}, 7, EPISODES)
        found = [asyncio.run(branched(task)) for task in made]
        columns = [median(column) for column in zip(*found, strict=True)]
        columns.insert(0, copied(name))
        yield f"| {name} | {' | '.join(f'{one:.3g}' for one in columns)} |"


def copied(name: str) -> float:
    """Milliseconds that a deep copy of a domain's databases takes, of three the least."""
    known, times = domain(name), []
    for _ in range(3):
        before = time.perf_counter()
        deepcopy(known.databases)
        times.append(1000 * (time.perf_counter() - before))
    return min(times)


async def branched(task: Task) -> tuple[float, ...]:
    """Milliseconds, bytes of the snapshot, and how many actions it stands after."""
    env, other = WORLD.open(task.env_config), WORLD.open(task.env_config)
    began = time.perf_counter()
    await env.reset(task)
    times = [time.perf_counter() - began]
    steps = [0.0]
    for _ in (task.gold or ())[:-1]:
        turn, before = await env.expert(), time.perf_counter()
        await env.step(turn)
        steps.append(time.perf_counter() - before)
    times.append(median(steps[1:] or steps))
    before = time.perf_counter()
    snapshot = await env.snapshot()
    times.append(time.perf_counter() - before)
    before = time.perf_counter()
    await other.restore(snapshot)
    times.append(time.perf_counter() - before)
    if await other.facts() != await env.facts():
        raise RuntimeError(f"{task.task_id}: the restored state is another one")
    return (*(1000 * one for one in times), float(len(snapshot.blob)), float(len(steps) - 1))


def logs() -> Iterator[str]:
    """Logged trials of each family: how many turns are answered as they were, how many become
    trials of the world, and why the others do not.
    """
    yield "| family | trials | with a task here | turns | answered as logged | relived | others |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for family in FAMILIES:
        yield asyncio.run(of_family(family))


async def of_family(family: str) -> str:
    """A line of that table."""
    trials, here, turns, same = 0, 0, 0, 0
    ended = Counter[str]()
    for entry in entries_of([DATA / family], "auto", ImportSettings()):
        if not isinstance(entry, Imported):
            continue
        trials += 1
        found = await relived(SPEC, entry.task, entry.trajectory)
        ended[found if isinstance(found, str) else ""] += 1
        task = task_of(SPEC, entry.task)
        if isinstance(task, Task) and entry.trajectory.turns:
            env = WORLD.open(task.env_config)
            await env.reset(task)
            again, _ = await redone(env, entry.trajectory)
            here, turns, same = (
                here + 1,
                turns + len(entry.trajectory.turns),
                same + len(again),
            )
    others = ", ".join(f"{count} {why}" for why, count in ended.most_common() if why)
    return f"| {family} | {trials} | {here} | {turns} | {same} | {ended['']} | {others or 'none'} |"


def confirmed() -> Iterator[str]:
    """Logs of a planner that errs on telecom's tickets, put to the test."""
    return lines({"tau2": {"tasks": 40}})


def talks() -> Iterator[str]:
    """Real talks put to the test: the authors' own actions play on after both acts, and a customer
    thanks. Who plays so passes after either act, so nothing is to be confirmed: it shows how many
    acts can be tested.
    """
    yield "| family | relived | acts tested | confirmed | not testable |"
    yield "|---|---:|---:|---:|---|"
    with TemporaryDirectory() as place, thankful() as url:
        for family in FAMILIES[:4]:
            run = Path(place) / family
            import_trajectories(DATA / family, into=run, quiet=True)
            given = {
                "models.explorer.policy": "expert",
                "models.user": {"model": "thankful", "base_url": url},
            }
            reports = confirm(run, set=given, quiet=True).reports
            tests = reports["critical_step"]
            lost = {
                why: count
                for why, count in tests["rejected"].items()
                if why not in ("no_effect", "weak")
            }
            told = ", ".join(f"{count} {why}" for why, count in lost.items()) or "none"
            done = tests["attempted"] - sum(lost.values())
            yield (
                f"| {family} | {reports['relive']['verified']} | {done} | {tests['verified']} "
                f"| {told} |"
            )


class _Thankful(BaseHTTPRequestHandler):
    """A chat server whose model says one thing."""

    def do_POST(self) -> None:
        """Thanks, and ends the talk."""
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "Thank you! ###STOP###"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        told = {"id": "1", "object": "chat.completion", "created": 0, "model": "thankful"}
        body = json.dumps({**told, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def thankful() -> Iterator[str]:
    """Its base URL, for as long as the `with` lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Thankful) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


if __name__ == "__main__":
    parts = {
        "tasks": tasks,
        "branching": branching,
        "logs": logs,
        "confirmed": confirmed,
        "talks": talks,
    }
    for part in sys.argv[1:] or parts:
        for row in parts[part]():
            print(row, flush=True)
        print()
