"""What is asked is read back as it was meant."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.envs.sql.database.results import StatementError
from synth.envs.sql.database.sources import Made, SqlConfig
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.drawing import Drawing
from synth.envs.sql.request import Condition, SqlRequest, sql_of
from synth.envs.sql.words import vocabulary

SOURCE = Made(SqlConfig(domain="clinic", tables=7))
DATABASES = TaskDatabases(SOURCE, 4, 1)
WORDS = vocabulary(DATABASES.database)


@given(st.integers(0, 10_000), st.booleans())
def test_what_is_drawn_and_said_is_understood(seed: int, change: bool) -> None:
    drawing = Drawing(DATABASES, 1.0, random.Random(seed))
    try:
        asked = drawing.change() if change else drawing.question()
    except (IndexError, StatementError):
        return
    assert WORDS.read(WORDS.write(asked)) == asked


@given(st.text(max_size=200))
def test_other_texts_mean_nothing(text: str) -> None:
    assert WORDS.read(text) is None


def column(table: str, phrase: str) -> tuple[str, ...]:
    return WORDS.paths[table][phrase]


def test_a_question_reads_as_a_person_would_put_it() -> None:
    asked = SqlRequest(
        form="count",
        many="visits",
        which=(
            Condition("equal", column("visits", "patient's city"), ("Arlen",)),
            Condition("between", column("visits", "date"), ("2024-01-05", "2024-02-01")),
        ),
    )
    assert WORDS.write(asked) == (
        "How many visits whose patient's city is Arlen and whose date is from 2024-01-05 up to and "
        "including 2024-02-01 are there?"
    )
    rows, names = DATABASES.database.rows, DATABASES.database.table("visits").names
    cities = dict(zip((row[0] for row in rows["patients"]), rows["patients"], strict=True))
    city = DATABASES.database.table("patients").names.index(column("patients", "city")[0])
    by = {name: place for place, name in enumerate(names)}
    expected = sum(
        cities[row[by[column("visits", "patient's id")[0]]]][city] == "Arlen"
        and "2024-01-05" <= str(row[by[column("visits", "date")[0]]]) <= "2024-02-01"
        for row in rows["visits"]
    )
    found = DATABASES.main.query(sql_of(DATABASES.database, asked)).rows
    assert found == ((expected,),)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            SqlRequest(
                form="set",
                many="visits",
                values=((column("visits", "state")[0], "paid"),),
                which=(Condition("among", ("id",), (3, 7)),),
            ),
            "Set the state to paid in all visits whose id is one of 3, 7.",
        ),
        (
            SqlRequest(
                form="clear",
                many="visits",
                values=((column("visits", "doctor")[0], None),),
                which=(Condition("there", column("visits", "doctor")),),
            ),
            "Empty the doctor of all visits that have some doctor.",
        ),
        (
            SqlRequest(
                form="add", many="wards", values=(("id", 9), (column("wards", "floor")[0], 2))
            ),
            "Add one to the wards: the id 9, the floor 2. Leave the rest of it empty.",
        ),
    ],
)
def test_a_change_reads_as_a_person_would_put_it(change: SqlRequest, said: str) -> None:
    assert WORDS.write(change) == said
    assert WORDS.read(said) == change


def test_a_value_with_a_quote_stays_a_value() -> None:
    change = SqlRequest(
        form="set",
        many="wards",
        values=((column("wards", "title")[0], "x' OR '1'='1"),),
        which=(Condition("equal", ("id",), (1,)),),
    )
    assert sql_of(DATABASES.database, change).count("''") == 4
