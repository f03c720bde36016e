"""What is asked is read back as it was meant."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.envs.sql.base.facts import Tried
from synth.envs.sql.base.results import StatementError
from synth.envs.sql.base.sources import Made, SqlConfig
from synth.envs.sql.drawing import Drawing
from synth.envs.sql.language.question import Condition, Question, RowChange, query_of, statement_of
from synth.envs.sql.language.words import vocabulary

SOURCE = Made(SqlConfig(domain="clinic", tables=7))
TRIED = Tried(SOURCE, 4, 1)
WORDS = vocabulary(TRIED.database)


@given(st.integers(0, 10_000), st.booleans())
def test_what_is_drawn_and_said_is_understood(seed: int, change: bool) -> None:
    drawing = Drawing(TRIED, 1.0, random.Random(seed))
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
    asked = Question(
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
    rows, names = TRIED.database.rows, TRIED.database.table("visits").names
    cities = dict(zip((row[0] for row in rows["patients"]), rows["patients"], strict=True))
    city = TRIED.database.table("patients").names.index(column("patients", "city")[0])
    by = {name: place for place, name in enumerate(names)}
    expected = sum(
        cities[row[by[column("visits", "patient's id")[0]]]][city] == "Arlen"
        and "2024-01-05" <= str(row[by[column("visits", "date")[0]]]) <= "2024-02-01"
        for row in rows["visits"]
    )
    found = TRIED.main.query(query_of(TRIED.database, asked)).rows
    assert found == ((expected,),)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            RowChange(
                form="set",
                many="visits",
                of=column("visits", "state"),
                value="paid",
                which=(Condition("among", ("id",), (3, 7)),),
            ),
            "Set the state to paid in all visits whose id is one of 3, 7.",
        ),
        (
            RowChange(
                form="clear",
                many="visits",
                of=column("visits", "doctor"),
                which=(Condition("there", column("visits", "doctor")),),
            ),
            "Empty the doctor of all visits that have some doctor.",
        ),
        (
            RowChange(
                form="add", many="wards", values=(("id", 9), (column("wards", "floor")[0], 2))
            ),
            "Add one to the wards: the id 9, the floor 2. Leave the rest of it empty.",
        ),
    ],
)
def test_a_change_reads_as_a_person_would_put_it(change: RowChange, said: str) -> None:
    assert WORDS.write(change) == said
    assert WORDS.read(said) == change


def test_a_value_with_a_quote_stays_a_value() -> None:
    change = RowChange(
        form="set",
        many="wards",
        of=column("wards", "title"),
        value="x' OR '1'='1",
        which=(Condition("equal", ("id",), (1,)),),
    )
    assert statement_of(TRIED.database, change).count("''") == 4
