"""Snapshots of repositories: `python -m benchmarks.repo.state POOL [PREFIXES]`.

Walks of drawn commands and edits. Each prefix is restored from its snapshot into an instance that
was elsewhere, and compared with the same prefix done again from the start: state key, contents,
modes, links, directory and variables. Then what a snapshot and a restore take.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from random import Random
from statistics import median, quantiles
from typing import NamedTuple

from synth.envs.episode import call_turn
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.world import bound
from synth.schemas import AgentTurn, Env, Snapshot, Task

Prefix = tuple[str | None, str, Snapshot]
"""State key, what a look shows, and the snapshot before the look."""
TURNS = 20
LOOK = (
    "pwd; env | grep ^V | sort; find /repo \\( -type f -o -type l \\) | sort | "
    "while read -r f; do stat -c '%a %F %N' \"$f\"; done; "
    "find /repo -type f | sort | xargs -d '\\n' md5sum | md5sum"
)
COMMANDS = (
    "mkdir -p made/{n} && printf '%s\\0' {n} > made/{n}/data && cd made/{n}",
    "cd /repo; ls | head -3",
    'f=$(find /repo -type f | sort | sed -n {n}p); rm -f "$f"',
    'f=$(find /repo -type f | sort | sed -n {n}p); echo {n} >> "$f"',
    'f=$(find /repo -type f | sort | sed -n {n}p); chmod +x "$f"',
    'f=$(find /repo -type f | sort | sed -n {n}p); mv "$f" "$f.moved"',
    "ln -s {n} /repo/link{n}; ln /repo/README* /repo/hard{n}",
    "export V{n}={n}; unset V7",
    "rm -rf /repo/made; mkdir /repo/made; echo {n} > /repo/made/new",
)


def turns(draw: Random) -> list[AgentTurn]:
    """A walk."""
    drawn = [draw.choice(COMMANDS).format(n=draw.randrange(1, 9)) for _ in range(TURNS)]
    return [call_turn(at, "bash", {"command": one}) for at, one in enumerate(drawn)]


async def walked(env: Env, task: Task, walk: Sequence[AgentTurn]) -> list[Prefix]:
    """What there is after each turn."""
    await env.reset(task)
    found = []
    for turn in walk:
        key = (await env.step(turn)).state_key
        snapshot = await env.snapshot()
        found.append((key, await look(env), snapshot))

    return found


async def look(env: Env) -> str:
    """All of the tree that an agent can see."""
    seen = (await env.step(call_turn(99, "bash", {"command": LOOK}))).observations
    return seen[0].content


class Times(NamedTuple):
    """Milliseconds of snapshots, of restores into an open instance and into a new one."""

    snapshot: list[float]
    restore: list[float]
    fresh: list[float]

    def show(self) -> None:
        """Prints the medians and the 95th percentiles."""
        for name, ms in self._asdict().items():
            high = quantiles(ms, n=20)[-1] if len(ms) > 1 else ms[0]
            print(f"{name:<9} {median(ms):.2f} ms median, {high:.2f} ms p95")


async def restored_in(env: Env, snapshot: Snapshot) -> float:
    """The milliseconds that a restore takes."""
    began = time.perf_counter()
    await env.restore(snapshot)
    return 1000 * (time.perf_counter() - began)


async def same_again(used: Env, prefix: Prefix, again: Prefix, times: Times) -> bool:
    """Whether a prefix that is restored is the same as the one that was done again."""
    key, seen, snapshot = prefix
    times.restore.append(await restored_in(used, snapshot))
    began = time.perf_counter()
    now = await used.snapshot()
    times.snapshot.append(1000 * (time.perf_counter() - began))
    alike = await look(used) == seen == again[1] and key == again[0]
    return alike and now.blob == snapshot.blob


async def main(pool: str, prefixes: int) -> None:
    """Prints the figures."""
    world = bound(RepoSettings(pool=pool))
    tasks = world.make_tasks({}, 7, 1000)
    same = tried = 0
    times = Times([], [], [])
    used = world.open({"output_chars": 50_000})

    while tried < prefixes:
        draw = Random(f"repo state {tried}")
        task, walk = draw.choice(tasks), turns(draw)
        one, two = world.open({"output_chars": 50_000}), world.open({"output_chars": 50_000})
        first, again = await walked(one, task, walk), await walked(two, task, walk)
        order = list(range(len(walk)))
        draw.shuffle(order)

        for at in order[: prefixes - tried]:
            same += await same_again(used, first[at], again[at], times)
            tried += 1

        fresh = world.open({})
        times.fresh.append(await restored_in(fresh, first[-1][2]))
        for env in (one, two, fresh):
            await env.close()

    await used.close()
    print(f"restored = replayed: {same} of {tried} prefixes")
    times.show()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200))
