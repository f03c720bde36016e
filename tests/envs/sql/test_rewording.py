"""Changes of a database in anybody's words, read by its tables' and columns' names."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.envs.sql.database.results import StatementError
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.drawing import Drawing
from synth.envs.sql.rewording.reader import read, reworded
from synth.envs.sql.world import WORLD
from synth.schemas import Draft
from tests.envs.sql.test_words import SOURCE, WORDS

COLUMN, MANY = "insurer", "patients"
SET, REMOVE = (
    f"Set the {COLUMN} to Alba in all {MANY} whose id is 11.",
    f"Remove all {MANY} whose id is 86.",
)


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_what_is_drawn_and_said_is_understood_politely_and_otherwise_not(seed: int) -> None:
    drawing = Drawing(TaskDatabases(SOURCE, 4, 1), 1.0, random.Random(seed))
    try:
        asked = drawing.change()
    except (IndexError, StatementError):
        return

    line = WORDS.write(asked)
    assert read(line, WORDS) == asked
    if "not" not in line.split():
        assert read(f"Hello there. {line} Thank you very much!", WORDS) in (asked, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"Could you please change the {COLUMN} to Alba for all {MANY} whose id is 11?", SET),
        (f"For the {MANY} with id 11, please update the {COLUMN} to Alba. Thanks!", SET),
        (f"The {COLUMN} of the {MANY} whose id is 11 should be 'Alba'.", SET),
        (
            f"Hello, I have a job for you. Change the {COLUMN} of all {MANY} with id 11 to Alba.",
            SET,
        ),
        (f"Please make Alba the {COLUMN} of all {MANY} with id 11.", SET),
        (f"All {MANY} with id 11 should have their {COLUMN} set to Alba.", SET),
        (f"Every patient who has an id of 11 should get Alba as their {COLUMN}.", SET),
        (f"The {COLUMN} should be Alba for all {MANY} with id 11.", SET),
        (f"I need the {COLUMN} changed to Alba in all {MANY} that have an id of 11.", SET),
        (f"For {MANY} with id 11, the {COLUMN} should be set to Alba.", SET),
        (f"I'd like all {MANY} with id 86 removed.", REMOVE),
        (f"Please get rid of the {MANY} with id 86.", REMOVE),
        (f"All {MANY} with the id 86 should be deleted.", REMOVE),
    ],
)
def test_a_change_is_read_in_other_words(text: str, line: str) -> None:
    assert read(text, WORDS) == WORDS.read(line) is not None


@pytest.mark.slow
def test_rows_are_told_by_a_verb_that_stands_for_a_column() -> None:
    told = {"name": "named Hana Grau", "title": "titled Hana Grau"}
    read_so = 0
    for table, many in WORDS.nouns.items():
        for column, path in WORDS.paths[table].items():
            stem = column.removesuffix(" date").removesuffix("ing").removesuffix("e")
            of_day = column.endswith(" date") and " " not in stem and len(path) == 1
            words = f"{stem}ed on 2021-03-04" if of_day else told.get(column)
            if (
                words is None
                or len(path) > 1
                or (column == "title" and "name" in WORDS.paths[table])
            ):
                continue
            value = "2021-03-04" if of_day else "Hana Grau"
            line = f"Remove all {many} whose {column} is {value}."
            if WORDS.read(line) is not None:
                assert read(f"Please delete all {many} {words}.", WORDS) == WORDS.read(line)
                read_so += 1
    assert read_so >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        f"Could you put Alba as the {COLUMN} on every patient with the id 11?",
        f"Please enter the {COLUMN} Alba for each of the {MANY} that have 11 as their id.",
        f"Please have the {COLUMN} read Alba for the patient whose id is 11.",
        f"For the {COLUMN}, please write Alba for all {MANY} with 11 as their id.",
        f"I'd like the {COLUMN} to be Alba for every patient with id 11.",
        f"Give every patient that has the id 11 the {COLUMN} Alba.",
    ],
)
def test_a_value_is_put_down_for_rows_in_other_orders(text: str) -> None:
    assert read(text, WORDS) == WORDS.read(
        f"Set the {COLUMN} to Alba in all {MANY} whose id is 11."
    )


@pytest.mark.slow
def test_rows_are_told_by_two_columns_and_by_both() -> None:
    line = f"Remove all {MANY} whose id is 11 and whose {COLUMN} is Alba."
    assert WORDS.read(line) is not None
    for text in (
        f"Please delete every patient that has an id of 11 and an {COLUMN} of Alba.",
        f"Delete the {MANY} with id 11 and with the {COLUMN} Alba.",
    ):
        assert read(text, WORDS) == WORDS.read(line)
    assert read(f"Delete the {MANY} with id 11 or with the {COLUMN} Alba.", WORDS) != WORDS.read(
        line
    )


@pytest.mark.parametrize(
    "text",
    [
        f"Put Alba as the {COLUMN} on every patient with the id 11, not Hana.",
        f"Put the {COLUMN} of the {MANY} with id 11 down.",
        f"Write Alba for the {MANY} with id 11.",
        f"Do not remove the {MANY} with id 86.",
        f"Remove the {MANY} with id 86 and those with id 87.",
        f"Delete the {MANY}.",
        f"id 86 is {MANY} all whose Remove",
        f"Change the {COLUMN} to Alba for all {MANY}.",
        " ",
    ],
)
def test_what_says_another_thing_is_not_read_as_that_change(text: str) -> None:
    assert read(text, WORDS) not in (WORDS.read(SET), WORDS.read(REMOVE))


def test_the_amount_and_the_name_are_read_whole() -> None:
    got = read(f"Set the {COLUMN} to Hana Grau for the {MANY} with id 11, please.", WORDS)
    assert got == WORDS.read(f"Set the {COLUMN} to Hana Grau in all {MANY} whose id is 11.")


def test_a_models_words_are_refused_with_what_was_missing() -> None:
    assert WORLD.reword is not None
    draft = Draft(goal=REMOVE, low_level=(), structure="", seed=4)
    got = reworded(SOURCE, draft, ["Please get rid of the patient with id 86."])
    assert (got.worded, got.goal) == ("Please get rid of the patient with id 86.", REMOVE)

    with pytest.raises(ValueError, match="no change is read in it; it is to say: Remove all"):
        reworded(SOURCE, draft, ["Tidy up."])

    with pytest.raises(ValueError, match="2 lines for 1 changes"):
        reworded(SOURCE, draft, ["Tidy up.", "Now."])
