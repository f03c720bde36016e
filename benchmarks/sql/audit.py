"""SQL: what `synth audit` does not ask. Cheats, secrets of the second database, flaky verdicts, two
readers of each goal, pass rates of two policies, distinct tasks, names of public benchmarks.

Run: `python -m benchmarks.sql.audit [tasks] [seed]`
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from benchmarks.shown_texts import texts_of
from benchmarks.sql.canaries import CANARY, canaried
from benchmarks.sql.cheats import cheats, told
from benchmarks.sql.public_names import PUBLIC
from benchmarks.sql.reader import Reader
from benchmarks.sql.told_schema import UnreadError
from synth.envs.bots import expert
from synth.envs.sql.database.results import StatementError, fingerprint
from synth.envs.sql.database.sources import Made, SqlConfig, domains
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.world import WORLD
from synth.envs.transcript import perform, play
from synth.policies.mixture import mixture_policy
from synth.schemas import Task
from synth.stats.intervals import clopper_pearson

TASKS, SEED = 1000, 7
RUNS, TRIALS, MOST_TURNS = 5, 8, 20
SOURCE = Made(SqlConfig())
NOISY = {
    "of": [
        {"policy": "expert", "profiles": "mixed", "weight": 0.8},
        {"policy": "random", "weight": 0.2},
    ]
}


def share(count: int, n: int) -> str:
    """A count with its exact 95 % interval."""
    low, high = clopper_pearson(count, n)
    return f"{count:,} of {n:,} ({100 * low:.2f} to {100 * high:.2f} %)"


async def cheated(tasks: Sequence[Task]) -> str:
    """Cheats that pass."""
    passed: Counter[str] = Counter()
    tried = 0

    for task in tasks:
        env = WORLD.open(task.env_config)
        solved = (await play(env, task, expert("correct"), seed=SEED)).actions
        for name, turns in cheats(task, SOURCE, solved):
            passed[name] += (await perform(env, task, turns)).verdict.passed is True
            tried += 1
        await env.close()

    found = {name: n for name, n in passed.items() if n}
    return f"{len(told())} cheats: {share(passed.total(), tried)} pass {found or ''}"


async def secrets(tasks: Sequence[Task]) -> str:
    """Episodes on a second database whose words are all canaries: who saw one."""
    leaked = seen = told_apart = 0

    for task in tasks:
        env = canaried(task)
        solved = await play(env, task, expert("correct"), seed=SEED)
        told_apart += not solved.verdict.passed
        every = [solved.actions, *(turns for _, turns in cheats(task, SOURCE, solved.actions))]
        for turns in every:
            texts = texts_of(await perform(env, task, turns))
            leaked += any(CANARY in text for text in texts)
            seen += len(texts)
        await env.close()

    return (
        f"canaries seen in {leaked} episodes, {seen:,} observations; {told_apart} answers changed"
    )


async def flaky(tasks: Sequence[Task]) -> str:
    """Verdicts that differ over runs of the same turns, or from what the record gives."""
    differing = tried = 0

    for at, task in enumerate(tasks):
        for profile in ("correct", "mixed"):
            verdicts = []
            for _ in range(RUNS):
                env = WORLD.open(task.env_config)
                verdicts.append((await play(env, task, expert(profile), seed=at)).verdict)
                await env.close()
            differing += any(one != verdicts[0] for one in verdicts)
            tried += 1

    return f"verdicts that change over {RUNS} runs: {share(differing, tried)}"


async def readers(tasks: Sequence[Task]) -> str:
    """Goals that a reader without the grammar understands as the planner does."""
    same = sum(map(reads_alike, tasks))
    return f"two readers name the same request: {share(same, len(tasks))}"


def reads_alike(task: Task) -> bool:
    """Whether the second reader's statement does what the planner's does, on six databases."""
    databases = TaskDatabases(SOURCE, task.seed, int(task.script["other"]))
    right, ordered = str(task.script["sql"]), "in_order" in str(task.check)

    def done(sql: str) -> object:
        if task.script["kind"] == "change":
            return databases.after([sql])
        every = [*databases.both(sql), *databases.probes(sql)]
        return [fingerprint(one, ordered=ordered) for one in every]

    try:
        ((_, sql),) = Reader(databases.database.ddl).statements(task.goal)
        return done(sql) == done(right)
    except (UnreadError, StatementError, ValueError):
        return False
    finally:
        databases.close()


async def histogram(tasks: Sequence[Task]) -> str:
    """How many of eight trials pass, task by task, for two policies."""
    noisy = mixture_policy(NOISY, model_name=None, sampling={}).open
    lines = []

    for name, choose in (("mixed", expert("mixed")), ("mixed, one turn in five at random", noisy)):
        rates: Counter[int] = Counter()
        for at, task in enumerate(tasks):
            env = WORLD.open(task.env_config)
            passed = 0
            for trial in range(TRIALS):
                seed = at * 1000 + trial
                played = await play(env, task, choose, seed=seed, max_turns=MOST_TURNS)
                passed += played.verdict.passed is True
            rates[passed] += 1
            await env.close()
        bars = ", ".join(f"{n}: {rates[n]}" for n in range(TRIALS + 1))
        lines.append(f"trials of {TRIALS} that pass, {name}: {bars}")

    return "\n".join(lines)


async def distinct(tasks: Sequence[Task]) -> str:
    """Different forms, and different statements once their values are left out."""
    goals = {task.goal for task in tasks}
    forms = Counter(str(task.difficulty["form"]) for task in tasks)
    masked = Counter(map(_masked, tasks))
    most = masked.most_common(1)[0][1]
    return (
        f"distinct: {len(goals)} goals, {len(forms)} forms (the most frequent "
        f"{forms.most_common(1)[0]}), {len(masked)} statements without their values (one at most "
        f"{most} times), {len({task.seed for task in tasks})} databases"
    )


def _masked(task: Task) -> str:
    tree = sqlglot.parse_one(str(task.script["sql"]), dialect="sqlite")
    for node in list(tree.find_all(exp.Literal)):
        node.replace(exp.Placeholder())

    return tree.sql(dialect="sqlite")


async def public(tasks: Sequence[Task]) -> str:
    """Names of public benchmarks' databases among ours; tasks stamped as theirs."""
    names = {*domains(), *(name for tables in domains().values() for name in tables)}
    stamped = sum(task.benchmark is not None for task in tasks)
    alike = sorted(names & PUBLIC)
    ids = {task.task_id for task in tasks}
    return (
        f"{len(ids)} task ids, each a hash of what is asked; databases named as one of "
        f"{len(PUBLIC)} public ones: {alike or 'none'}; tasks stamped as a benchmark's: {stamped}"
    )


PARTS: Mapping[str, Callable[[Sequence[Task]], Coroutine[Any, Any, str]]] = {
    "readers": readers,
    "distinct": distinct,
    "public": public,
    "histogram": histogram,
    "flaky": flaky,
    "secrets": secrets,
    "cheats": cheated,
}


def main() -> None:
    """Prints a line for each part."""
    given = [int(one) for one in sys.argv[1:]]
    count, seed = (*given, *(TASKS, SEED)[len(given) :])
    tasks = WORLD.make_tasks({}, seed, count)

    for part in PARTS.values():
        print(asyncio.run(part(tasks)), flush=True)


if __name__ == "__main__":
    main()
