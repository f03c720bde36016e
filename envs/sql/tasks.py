"""Tasks by seed: questions, changes, and queries of somebody else that are to be put right.

Sources: rewinding a right query to a wrong one, with a complaint written from the difference of
their results, is SQL-Rewind of SWE-SQL (arXiv 2506.18951).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from random import Random

from synth.envs.sql.database.results import Result, StatementError, on_the_edge
from synth.envs.sql.database.sources import DatabaseSource, Kind, SqlConfig
from synth.envs.sql.database.task_databases import ANSWERED, TaskDatabases, check_of
from synth.envs.sql.drawing import Drawing
from synth.envs.sql.expert import GIVEN
from synth.envs.sql.near_misses import NEAR_MISSES, OF_PLAIN, print_of_small, prints_of, telling
from synth.envs.sql.request import SqlRequest, grammar, sql_of
from synth.envs.sql.slips.complaints import complaint
from synth.envs.sql.slips.mutants import mutants
from synth.envs.sql.words import vocabulary
from synth.schemas import Check, Facts, RowPredicate, Task

_MOST_CHANGED = 12
_MOST_ROWS = 60
_TRIES, _TRIES_OF_A_DATABASE = 400, 40
_PER_DATABASE = 4
_PLAIN_ONE_IN = 5
"""Of so many tasks one may ask about columns of one table alone, which a template answers."""
Drawn = tuple[str, Check, str, SqlRequest, tuple[int, ...]]
"""A goal, its check, the statement that solves it, what is asked, and the small databases that an
answer is tried on.
"""


def made(
    source: DatabaseSource, config: SqlConfig, seed: int, count: int, name: str
) -> Iterator[Task]:
    """`count` tasks, four of a database; the same ones each time."""
    kinds: Sequence[Kind] = config.kinds
    if config.engine != "sqlite":
        kinds = ("question", "repair")

    said: set[str] = set()

    for number in range(20 * count + 100):
        if len(said) >= count:
            return

        at = (seed * 1_000_003 + number // _PER_DATABASE) % 2**31
        drawer = Drawer(source, config, Random(f"sql tasks {seed} {number}"), at)
        may_be_plain = number % _PLAIN_ONE_IN == 0
        task = drawer.task(kinds[number % len(kinds)], name, may_be_plain=may_be_plain)

        if task is not None and task.goal not in said:
            said.add(task.goal)
            yield task


class Drawer:
    """Draws tasks over one database."""

    def __init__(self, source: DatabaseSource, config: SqlConfig, draw: Random, seed: int) -> None:
        self._source, self._config, self._draw, self._seed = source, config, draw, seed
        self._least = 0
        self._near_misses = OF_PLAIN if config.plain else NEAR_MISSES
        self._take(1)

    @property
    def _refers(self) -> bool:
        """Whether references can be followed at all, at this level and in this database."""
        if self._config.plain:
            return False
        columns = (column for table in self._database.tables for column in table.columns)
        return round(2 * self._config.level) > 0 and any(one.kind == "ref" for one in columns)

    def _take(self, other: int) -> None:
        """Takes another database to stand beside the task's own."""
        self._other = other
        self._databases = TaskDatabases(self._source, self._seed, other)
        self._database = self._databases.database
        self._words = vocabulary(self._database)
        plain = self._config.plain
        self._drawing = Drawing(self._databases, self._config.level, self._draw, plain=plain)

    def task(self, kind: Kind, name: str, *, may_be_plain: bool) -> Task | None:
        """A task of a kind; None where none was found."""
        makers: Mapping[str, Callable[[], Drawn | None]] = {
            "question": self._question,
            "change": self._change,
            "repair": self._repair,
        }

        self._least = 0 if may_be_plain or not self._refers else 1

        for attempt in range(1, _TRIES + 1):
            if attempt % _TRIES_OF_A_DATABASE == 0:
                self._take(self._other + 1)

            try:
                found = makers[kind]()
            except (StatementError, KeyError, IndexError):
                continue

            if found is not None:
                goal, check, sql, asked, small = found
                told = {"other": self._other, "kind": kind, "sql": sql}
                return Task.identified(
                    env=name,
                    env_config=self._config.pinned(self._source),
                    goal=goal,
                    seed=self._seed,
                    check=check,
                    gold=None,
                    script={**told, **({"small": list(small)} if small else {})},
                    difficulty={"kind": kind, "form": asked.form, "tier": asked.references},
                )

        return None

    def _question(self) -> Drawn | None:
        """A question, if its answer tells right from wrong."""
        asked = self._far_enough(self._drawing.question())
        return self._told(asked, sql_of(self._database, asked))

    def _far_enough(self, asked: SqlRequest) -> SqlRequest:
        """A request that follows enough references. Raises `IndexError` for another."""
        if asked.references < self._least:
            raise IndexError("columns of one table")

        return asked

    def _told(self, asked: SqlRequest, sql: str) -> Drawn | None:
        """A question in words, whose answer no slip gives and no other rows."""
        main, other = self._databases.both(sql)
        said, prints = self._words.write(asked), prints_of(asked, [main, other])

        if (
            not 0 < len(main.rows) <= _MOST_ROWS
            or not other.rows
            or prints[0] == prints[1]
            or any(map(on_the_edge, (main, other)))
            or _says_little(main)
            or asked != self._words.read(said)
            or (small := telling(self._databases, asked, sql, self._near_misses)) is None
        ):
            return None

        if any(isinstance(cell, float) for row in main.rows for cell in row):
            said += grammar().figures

        where = {"main": prints[0], "other": prints[1], **self._on_small(asked, sql, small)}

        return said, _check_of(asked, where), sql, asked, tuple(small)

    def _on_small(self, asked: SqlRequest, sql: str, few: Sequence[int]) -> Mapping[str, str]:
        """What is right on small databases, by the names that facts have for them."""
        found = dict[str, str]()
        for number in few:
            with closing(self._databases.small(sql, number)) as one:
                found[f"small_{number}"] = print_of_small(asked, one.query(sql))

        return found

    def _repair(self) -> Drawn | None:
        """A question with a wrong query, and a complaint about what that gives."""
        asked = self._far_enough(self._drawing.question())
        found = self._told(asked, sql_of(self._database, asked))
        if found is None:
            return None

        said, check, sql, _, small = found
        right = self._databases.main.query(sql)
        complaints = [
            (slip, said_of_it)
            for _, slip in mutants(self._database, sql)
            if (said_of_it := complaint(self._databases, slip, right, asked)) is not None
        ]
        if not complaints:
            return None

        slip, said_of_it = self._draw.choice(complaints)

        return f"{said}{GIVEN}{slip} It is wrong: {said_of_it}", check, sql, asked, small

    def _change(self) -> Drawn | None:
        """A change, if enough changes that are nearly right end otherwise."""
        change = self._far_enough(self._drawing.change())
        said, sql = self._words.write(change), sql_of(self._database, change)
        if change != self._words.read(said):
            return None

        right = self._databases.after([sql])
        check = check_of(self._databases.start, right)
        if check is None or len(check.required) > _MOST_CHANGED:
            return None

        slips = mutants(self._database, sql)
        near_misses = sum(self._ends_otherwise(slip, right) for _, slip in slips)

        return (said, check, sql, change, ()) if near_misses >= self._near_misses else None

    def _ends_otherwise(self, sql: str, right: Facts) -> bool:
        """Whether a change can be made, and leaves other rows than the right one."""
        try:
            return self._databases.after([sql]) != right
        except StatementError:
            return False


def _check_of(asked: SqlRequest, where: Mapping[str, str]) -> Check:
    """What an answer must give, by the database that it is tried on."""
    suffix = "_in_order" if asked.ordered else ""
    told = {"id": "0", **{f"{name}{suffix}": one for name, one in where.items()}}
    return Check(required=(RowPredicate("answer", told),), free=ANSWERED)


def _says_little(result: Result) -> bool:
    """Whether an answer is nothing, or nothing but zero."""
    return len(result.rows) == 1 and all(cell in (None, 0, 0.0) for cell in result.rows[0])
