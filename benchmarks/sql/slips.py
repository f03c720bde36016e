"""SQL: which wrong statements the check refuses, by the kind of slip that they make.

A slip counts as wrong where its result differs from the right one on the two databases that the
check looks at, or on any that no task was chosen by: eight of the schema, four with many rows on
the edge of what is asked for, sixteen of few rows; of a change, where other rows are left.

Run: `python -m benchmarks.sql.slips [tasks] [seed]`
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from synth.envs.sql.database.edges import on_edges
from synth.envs.sql.database.engines import Sqlite
from synth.envs.sql.database.results import StatementError, fingerprint
from synth.envs.sql.database.schema import Database
from synth.envs.sql.database.small import small
from synth.envs.sql.database.sources import Made, SqlConfig
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.slips.mutants import KINDS, mutants
from synth.envs.sql.world import WORLD
from synth.schemas import AgentTurn, Task, ToolCall, canonical_json
from synth.stats.intervals import clopper_pearson

TASKS, SEED = 1000, 7
NEAR_MISSES = 5
ELSEWHERE, EDGES, SMALL = range(9001, 9009), 4, range(9101, 9117)
"""Databases of a task's schema that nothing was chosen by, those of them that are moved, and those
of few rows.
"""
GROUPS = {
    "joins": ("join", "existence"),
    "DISTINCT": ("distinct",),
    "dates": ("date", "late"),
    "nulls": ("null",),
    "aggregates": ("aggregate",),
}
"""The kinds of mutants that every task set must refuse, and the slips that make them."""


class SlipCounts:
    """Wrong statements by the kind of slip, those that passed among them, and per task."""

    def __init__(self) -> None:
        self.wrong: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()
        self.by_task: list[int] = []

    def line(self, name: str, kinds: Sequence[str]) -> str:
        """Refused of wrong, with the exact one-sided lower bound."""
        wrong = sum(self.wrong[kind] for kind in kinds)
        refused = wrong - sum(self.passed[kind] for kind in kinds)
        bound = clopper_pearson(refused, wrong, 0.9)[0] if wrong else 0.0
        share = f"{100 * refused / wrong:.2f} %" if wrong else "-"
        return f"| {name} | {refused:,} of {wrong:,} | {share} | {100 * bound:.2f} % |"


async def passes(task: Task, tool: str, sql: str) -> bool:
    """Whether one statement, and a word that it is done, solve a task."""
    env = WORLD.open(task.env_config)
    try:
        await env.reset(task)
        arguments = canonical_json({"sql": sql}).decode()
        await env.step(AgentTurn(tool_calls=(ToolCall.received("c", tool, arguments),)))
        await env.step(AgentTurn("It is done."))
        return (await env.check()).passed is True
    finally:
        await env.close()


def elsewhere(source: Made, seed: int, right: str) -> list[Database]:
    """Databases that nothing was chosen by."""
    large = [source.database(seed, number) for number in ELSEWHERE]
    moved = [on_edges(one, right, 9000 + at) for at, one in enumerate(large[:EDGES])]
    return [*large, *moved, *(small(large[0], right, number) for number in SMALL)]


def wrong_slips(task: Task) -> Iterator[tuple[str, str]]:
    """(kind of slip, statement) of those that can be run and are wrong somewhere."""
    source, right = Made(SqlConfig()), str(task.script["sql"])
    databases = TaskDatabases(source, task.seed, int(task.script["other"]))
    others = list(map(Sqlite, elsewhere(source, task.seed, right)))
    ordered = "in_order" in str(task.check)

    def prints(sql: str) -> object:
        if task.script["kind"] == "change":
            return databases.after([sql])
        every = [*databases.both(sql), *(one.query(sql) for one in others)]
        return [fingerprint(one, ordered=ordered) for one in every]

    expected = prints(right)
    for kind, slip in mutants(databases.database, right):
        try:
            if prints(slip) != expected:
                yield kind, slip
        except StatementError:
            continue

    databases.close()
    for one in others:
        one.close()


def counted(tasks: Sequence[Task]) -> SlipCounts:
    """All wrong statements of all tasks, given to the check."""
    counts = SlipCounts()

    for task in tasks:
        tool = "change" if task.script["kind"] == "change" else "answer"
        refused = 0
        for kind, slip in wrong_slips(task):
            passed = asyncio.run(passes(task, tool, slip))
            counts.wrong[kind] += 1
            counts.passed[kind] += passed
            refused += not passed

        counts.by_task.append(refused)

    return counts


def main() -> None:
    """Prints the table."""
    given = [int(one) for one in sys.argv[1:]]
    count, seed = (*given, *(TASKS, SEED)[len(given) :])
    counts = counted(WORLD.make_tasks({}, seed, count))
    print("| slips | refused | | at least (one-sided 95 %) |\n|---|---|---|---|")
    for name, kinds in GROUPS.items():
        print(counts.line(name, kinds))

    for kind in KINDS:
        print(counts.line(kind, (kind,)))

    print(counts.line("all", tuple(KINDS)))
    enough = sum(refused >= NEAR_MISSES for refused in counts.by_task)
    print(f"tasks with {NEAR_MISSES} refused near misses: {enough} of {len(counts.by_task)}")


if __name__ == "__main__":
    main()
