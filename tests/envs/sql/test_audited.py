"""What benchmarks/sql measures at length, on few tasks: nobody cheats, no secret is seen, both
readers agree, and rows at the edge show what others hide.
"""

import asyncio
from collections.abc import Sequence
from functools import cache

import pytest

from benchmarks.sql.audit import RUNS, cheated, flaky, reads_alike, secrets
from benchmarks.sql.bots import BOTS
from benchmarks.sql.cheats import told
from benchmarks.sql.slips import wrong_slips
from benchmarks.sql.tasks import restored, solved
from synth.envs.sql.database.edges import on_edges
from synth.envs.sql.database.engines import Sqlite
from synth.envs.sql.database.sources import generated
from synth.envs.sql.world import WORLD
from synth.schemas import Task


@cache
def tasks(count: int = 12) -> Sequence[Task]:
    return WORLD.make_tasks({}, 5, count)


@pytest.mark.slow
def test_no_cheat_passes_and_there_are_twenty_of_them_at_least() -> None:
    assert len(told()) >= 20
    tried = len(told()) * len(tasks())
    assert f"0 of {tried} " in asyncio.run(cheated(tasks()))


@pytest.mark.slow
def test_no_observation_holds_a_word_of_the_second_database() -> None:
    said = asyncio.run(secrets(tasks()[:6]))
    assert said.startswith("canaries seen in 0 episodes")
    assert not said.endswith("; 0 answers changed")  # the canaries were there


@pytest.mark.slow
def test_a_verdict_is_the_same_in_every_run() -> None:
    assert RUNS == 5
    assert f"0 of {2 * len(tasks())} " in asyncio.run(flaky(tasks()))


@pytest.mark.slow
def test_two_readers_that_share_nothing_name_the_same_request() -> None:
    assert all(map(reads_alike, tasks()))


@pytest.mark.slow
def test_bots_that_follow_no_references_solve_the_plain_tasks_alone() -> None:
    plain = [task for task in tasks() if task.difficulty["tier"] == 0]
    assert len(plain) <= len(tasks()) / 3
    for task in tasks():
        assert asyncio.run(solved(task, BOTS["template, all references"]))
        if task in plain:
            assert asyncio.run(solved(task, BOTS["template, own columns"]))
    passed = [asyncio.run(solved(task, BOTS["template, own columns"])) for task in tasks()]
    assert sum(passed) <= len(plain) + 1
    assert not any(asyncio.run(solved(task, BOTS["first table"])) for task in tasks())


@pytest.mark.slow
def test_every_task_has_five_near_misses_that_can_be_run_and_are_wrong() -> None:
    assert all(len(list(wrong_slips(task))) >= 5 for task in tasks(6))


@pytest.mark.slow
def test_a_restored_database_is_the_one_that_was_left() -> None:
    same, tried = asyncio.run(restored(tasks(6)))
    assert same == tried >= 30


def test_rows_at_the_edge_show_a_day_that_others_hide() -> None:
    database = generated("clinic", 7, 3)
    table = next(one for one in database.tables if one.name == "visits")
    day = next(one.name for one in table.columns if one.phrase == "date")
    asked = f"""SELECT COUNT(*) FROM "visits" WHERE "{day}" BETWEEN '2023-01-01' AND '2023-02-01'"""
    slip = asked.replace("2023-02-01", "2023-01-31")
    assert Sqlite(database).query(asked) == Sqlite(database).query(slip)
    edged = Sqlite(on_edges(database, asked, 1))
    assert edged.query(asked) != edged.query(slip)
    assert on_edges(database, asked, 1) == on_edges(database, asked, 1)


@pytest.mark.slow
@pytest.mark.nightly
def test_no_goal_asks_in_a_circle_about_the_parents_of_a_child() -> None:
    for task in tasks(40):
        if task.difficulty["form"] in ("with", "without"):
            inner = str(task.script["sql"]).partition("EXISTS (")[2]
            via = inner.partition("WHERE c.")[2].partition(" ")[0]
            assert inner.count(f"c.{via}") == 1, task.goal
