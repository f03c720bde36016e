"""Tasks: right for who is right, on another database too, and for nobody else."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from synth.envs.sql.database.results import Result, StatementError
from synth.envs.sql.database.sources import Made, SqlConfig
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.expert import GIVEN
from synth.envs.sql.slips.mutants import mutants
from synth.envs.sql.world import WORLD
from synth.schemas.canonical import canonical_json
from synth.schemas.check import CheckResult
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

pytestmark = pytest.mark.slow  # tasks are made of databases

CHECKED = ("other", "small", "sql")
"""Of a script, what the check compares answers by: the expert reads the goal alone."""

FEW = 12
"""Tasks that a quick test looks at."""


@cache
def tasks(count: int = 24, **config: Any) -> Sequence[Task]:
    return WORLD.make_tasks({**config}, 11, count)


def call(tool: str, sql: str) -> AgentTurn:
    return AgentTurn(
        tool_calls=(ToolCall.received("c", tool, canonical_json({"sql": sql}).decode()),)
    )


def verdict(task: Task, *turns: AgentTurn) -> CheckResult:
    async def played() -> CheckResult:
        env = WORLD.open(task.env_config)
        await env.reset(task)
        for turn in turns:
            await env.step(turn)
        found = await env.check()
        await env.close()
        return found

    return asyncio.run(played())


def expert(task: Task, profile: str = "correct") -> bool:
    async def played() -> bool:
        env = WORLD.open(task.env_config)
        await env.reset(task)
        for _ in range(20):
            if (await env.step(await env.expert(profile, 1))).done:
                break
        found = await env.check()
        await env.close()
        return found.passed

    return asyncio.run(played())


def test_a_seed_gives_the_same_tasks_of_all_kinds_and_no_goal_twice() -> None:
    made = tasks()
    assert WORLD.make_tasks({}, 11, 24) == made
    assert WORLD.make_tasks({}, 11, 10) == made[:10]
    kinds = Counter(task.script["kind"] for task in made)
    assert all(kinds[kind] >= 5 for kind in ("question", "change", "repair"))
    assert len({task.goal for task in made}) == 24


def test_the_expert_solves_every_task_from_the_words_of_its_goal() -> None:
    for task in tasks():
        bare = Task.identified(
            env=task.env,
            goal=task.goal,
            env_config=task.env_config,
            seed=task.seed,
            check=task.check,
            script={name: task.script[name] for name in CHECKED if name in task.script},
        )
        assert expert(bare), task.goal


def test_another_goal_in_the_same_task_is_not_solved() -> None:
    made = tasks()
    for task, other in zip(made, made[4:], strict=False):
        swapped = Task.identified(
            env=task.env,
            goal=other.goal,
            env_config=task.env_config,
            seed=task.seed,
            check=task.check,
            script=task.script,
        )
        assert not expert(swapped), (task.goal, other.goal)


def test_a_goal_of_other_words_is_not_understood() -> None:
    for goal in ("Qx zvv blorp.", "", "How many are there?", tasks(FEW)[0].goal[::-1]):
        task = tasks(FEW)[0]
        nonsense = Task.identified(
            env=task.env, goal=goal, seed=task.seed, check=task.check, script=task.script
        )
        assert not expert(nonsense)


def test_what_was_seen_here_is_no_answer() -> None:
    questions = [task for task in tasks(FEW) if task.script["kind"] != "change"]
    assert not any(expert(task, "hard_codes") for task in questions)


def test_doing_nothing_passes_nothing_and_something_else_breaks_an_answer() -> None:
    for task in tasks(FEW):
        assert not verdict(task, AgentTurn("It is done.")).passed
    task = next(task for task in tasks(FEW) if task.script["kind"] == "question")
    sql = str(task.script["sql"])
    assert verdict(task, call("answer", sql)).passed
    table = Made(SqlConfig()).database(task.seed).tables[-1]
    spoilt = verdict(
        task,
        call(
            "change", f'DELETE FROM "{table.name}" WHERE id = (SELECT min(id) FROM "{table.name}")'
        ),
        call("answer", sql),
    )
    assert not spoilt.passed


def values(result: Result) -> list[str]:
    return sorted(
        repr([round(float(one), 2) if isinstance(one, int | float) else one for one in row])
        for row in result.rows
    )


def test_every_slip_that_shows_anywhere_is_refused() -> None:
    """Slips are worked out by sqlglot, results by SQLite: the check knows neither."""
    tried = shown = refused = 0
    for task in tasks():
        if task.script["kind"] == "change":
            continue
        source = Made(SqlConfig())
        bench = TaskDatabases(source, task.seed, int(task.script["other"]))
        right = str(task.script["sql"])
        for _, slip in mutants(bench.database, right):
            tried += 1
            try:
                here = [values(one) for one in bench.probes(slip)]
            except StatementError:
                continue
            if here == [values(one) for one in bench.probes(right)]:
                continue  # no rows tell the two apart, or their order alone
            shown += 1
            passed = verdict(task, call("answer", slip)).passed
            assert not passed, (task.goal, slip)
            refused += not passed
        bench.close()
    assert tried > 48
    assert refused == shown > 24


@pytest.mark.parametrize("kind", ["repair"])
def test_a_complaint_tells_of_the_difference_that_is_there(kind: str) -> None:
    for task in tasks(12, kinds=(kind,)):
        assert GIVEN in task.goal
        given = task.goal.partition(GIVEN)[2].partition(" It is wrong: ")[0]
        assert not verdict(task, call("answer", given)).passed
        assert verdict(task, call("answer", str(task.script["sql"]))).passed


@pytest.mark.nightly
def test_duckdb_answers_the_same_questions() -> None:
    for task in tasks(12, engine="duckdb"):
        assert task.script["kind"] != "change"
        assert expert(task), task.goal


@pytest.mark.nightly
def test_levels_ask_for_more() -> None:
    easy, hard = tasks(24, level=0.0), tasks(24, level=1.0)
    length = [sum(len(str(task.script["sql"])) for task in made) for made in (easy, hard)]
    joins = [sum(str(task.script["sql"]).count("JOIN") for task in made) for made in (easy, hard)]
    assert length[0] < length[1]
    assert joins[0] < joins[1]
