"""What an answer gives on the other databases that it is tried on than the agent's."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

import msgspec

from synth.envs.sql.database.results import (
    Result,
    StatementError,
    fingerprints,
    with_nothing_as_zero,
)
from synth.envs.sql.database.schema import Database
from synth.envs.sql.database.small import MOST_SMALL, small
from synth.envs.sql.database.sources import DatabaseSource, SqlConfig
from synth.schemas import Task


class Beside(msgspec.Struct, frozen=True):
    """Which databases these are: `other` is the number of a large one, `few` are those of small
    ones, which are made for the right statement, `right`.
    """

    other: int = 1
    few: tuple[int, ...] = ()
    right: str = ""


def beside(task: Task | None) -> Beside:
    """What a task says of them; what is no number is passed over, and more than a check looks
    at.
    """
    script = task.script if task else {}
    other, few = script.get("other", 1), script.get("small", ())
    numbers = [one for one in few if isinstance(one, int)] if isinstance(few, list) else []

    return Beside(
        other if isinstance(other, int) else 1,
        tuple(numbers[:MOST_SMALL]),
        str(script.get("sql", "")),
    )


def given_by(
    sql: str, config: SqlConfig, source: DatabaseSource, seed: int, place: Beside
) -> dict[str, str]:
    """`other`, `small_3` and so on, each with what an answer's result there is compared by."""
    found = dict[str, str]()
    for name, database, said in _databases(source, seed, place):
        with closing(config.opened(database)) as opened:
            try:
                prints: Mapping[str, str] = fingerprints(said(opened.query(sql)))
            except StatementError:
                prints = {"": "refused"}

        found |= {f"{name}{kind}": value for kind, value in prints.items()}

    return found


def _databases(
    source: DatabaseSource, seed: int, place: Beside
) -> Iterator[tuple[str, Database, Callable[[Result], Result]]]:
    """(name, database, how a result is read there)."""
    other = source.database(seed, place.other)
    yield "other", other, lambda result: result
    for number in place.few:
        yield f"small_{number}", small(other, place.right, number), with_nothing_as_zero
