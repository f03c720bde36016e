"""Plain tasks: one table, one condition at most, all called as the schema calls it."""

import pytest

from synth.envs.sql.database.sources import Made, SqlConfig
from synth.schemas.task import Task
from tests.envs.sql.test_tasks import call, expert, tasks, verdict

PLAIN = {"plain": True, "tables": 3}
SIMPLE = {"list", "count", "total", "highest", "lowest"}


def plain(count: int = 12) -> list[Task]:
    return list(tasks(count, kinds=("question",), **PLAIN))


@pytest.mark.slow
def test_a_plain_question_names_a_table_and_columns_of_the_schema_and_nothing_else() -> None:
    forms = set()
    for task in plain():
        forms.add(task.difficulty["form"])
        database = Made(SqlConfig(**PLAIN)).database(task.seed)
        sql = str(task.script["sql"])
        assert sql.count('"') in (4, 6) or task.difficulty["form"] == "count", sql
        assert "JOIN" not in sql
        assert " AND " not in sql
        (table,) = [one for one in database.tables if f'FROM "{one.name}" ' in sql]
        assert table.name in task.goal
        for name in sql.split('t."')[1:]:
            assert name.partition('"')[0] in task.goal
    assert forms <= SIMPLE
    assert len(forms) >= 4


@pytest.mark.slow
def test_one_statement_in_plain_sql_answers_it_and_slips_of_it_do_not() -> None:
    for task in plain(12):
        written = str(task.script["sql"]).replace('t."', '"').replace(" AS t", "")
        assert verdict(task, call("answer", written)).passed
        table = written.partition('FROM "')[2].partition('"')[0]
        assert not verdict(task, call("answer", f'SELECT * FROM "{table}"')).passed
        assert expert(task)


@pytest.mark.slow
def test_changes_and_repairs_may_be_plain_too() -> None:
    made = tasks(12, **PLAIN)
    assert {task.difficulty["kind"] for task in made} == {"question", "change", "repair"}
    assert all(task.difficulty["tier"] == 0 and expert(task) for task in made)


@pytest.mark.slow
def test_the_setting_stands_in_the_tasks_that_need_it_alone() -> None:
    assert all(task.env_config["plain"] is True for task in plain(3))
    assert SqlConfig().pinned(Made(SqlConfig())).keys() == {"tables", "engine"}
