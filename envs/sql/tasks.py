"""Tasks by seed: questions, changes, and queries of somebody else that are to be put right.

Sources: rewinding a right query to a wrong one, with a complaint written from the difference of
their results, is SQL-Rewind of SWE-SQL (arXiv 2506.18951).
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.envs.sql.base.facts import ANSWERED, Tried
from synth.envs.sql.base.results import Result, StatementError, fingerprint, on_the_edge
from synth.envs.sql.base.sources import DatabaseSource, SqlConfig
from synth.envs.sql.drawing import Drawing
from synth.envs.sql.language.mutants import mutants
from synth.envs.sql.language.question import Question, query_of, statement_of
from synth.envs.sql.language.words import grammar, same, vocabulary
from synth.envs.sql.solving import GIVEN
from synth.schemas.check import Check, Facts, RowPredicate, Scalar
from synth.schemas.task import Task

_MOST_CHANGED = 12
_MOST_ROWS = 60
_TRIES = 400
NEAR_MISSES = 5
"""Statements that are nearly right, and end otherwise, which a task has at least."""
_PER_DATABASE = 4
_FLOAT_FORMS = ("total", "average", "highest", "lowest", "total_per_group", "top", "list", "pairs")


class Drawer:
    """Draws tasks over one database."""

    def __init__(
        self, source: DatabaseSource, config: SqlConfig, draw: random.Random, seed: int
    ) -> None:
        self._source, self._config, self._draw, self._seed = source, config, draw, seed
        self._other = 0
        self._turn_to(1)

    def _turn_to(self, other: int) -> None:
        self._other = other
        self._tried = Tried(self._source, self._seed, other)
        self._database = self._tried.database
        self._words = vocabulary(self._database)
        self._drawing = Drawing(self._tried, self._config.level, self._draw)

    def task(self, kind: str, name: str) -> Task | None:
        """A task of a kind; None where none was found."""
        make = {"question": self._question, "change": self._change, "repair": self._repair}[kind]
        for attempt in range(_TRIES):
            if attempt % 40 == 39:
                self._turn_to(self._other + 1)
            try:
                found = make()
            except (StatementError, KeyError, IndexError):
                continue
            if found is not None:
                goal, check, gold = found
                return Task.identified(
                    env=name,
                    env_config=self._config.pinned(self._source),
                    goal=goal,
                    seed=self._seed,
                    check=check,
                    gold=None,
                    script={"other": self._other, "kind": kind, "sql": gold},
                )
        return None

    def _question(self) -> tuple[str, Check, str] | None:
        found = self._asked()
        return None if found is None else (found[0], self._answer(found[1], found[2]), found[2])

    def _answer(self, asked: Question, sql: str) -> Check:
        main, other = self._tried.both(sql)
        kind = "_in_order" if asked.ordered else ""
        prints = {
            f"main{kind}": fingerprint(main, ordered=asked.ordered),
            f"other{kind}": fingerprint(other, ordered=asked.ordered),
        }
        return Check(required=(RowPredicate("answer", {"id": "0", **prints}),), free=ANSWERED)

    def _asked(self) -> tuple[str, Question, str] | None:
        """A question in words, whose answer no slip gives and no other rows."""
        asked = self._drawing.question()
        sql = query_of(self._database, asked)
        main, other = self._tried.both(sql)
        prints = [fingerprint(one, ordered=asked.ordered) for one in (main, other)]
        said = self._words.write(asked)
        if (
            not 0 < len(main.rows) <= _MOST_ROWS
            or not other.rows
            or prints[0] == prints[1]
            or any(on_the_edge(one) for one in (main, other))
            or _says_little(main)
            or not same(asked, self._words.read(said))
            or not self._told_apart(asked, sql, prints)
        ):
            return None
        figures = any(isinstance(cell, float) for row in main.rows for cell in row)
        return said + (grammar()["figures"] if figures else ""), asked, sql

    def _told_apart(self, asked: Question, sql: str, prints: Sequence[str]) -> bool:
        """Whether every slip that any rows show is shown by these two databases, and there are
        enough of them.
        """
        right, shown = None, 0
        for _, slip in mutants(self._database, sql):
            try:
                if self._prints(slip, asked, self._tried.both) != list(prints):
                    shown += 1
                    continue
                right = right or self._prints(sql, asked, self._tried.probes)
                if self._prints(slip, asked, self._tried.probes) != right:
                    return False
            except StatementError:
                continue
        return shown >= NEAR_MISSES

    def _prints(self, sql: str, asked: Question, run: Any) -> list[str]:
        return [fingerprint(one, ordered=asked.ordered) for one in run(sql)]

    def _repair(self) -> tuple[str, Check, str] | None:
        found = self._asked()
        if found is None:
            return None
        said, asked, sql = found
        right, _ = self._tried.both(sql)
        wrong = [
            (slip, complaint)
            for _, slip in mutants(self._database, sql)
            if (complaint := self._complaint(slip, right, asked)) is not None
        ]
        if not wrong:
            return None
        slip, complaint = self._draw.choice(wrong)
        return f"{said}{GIVEN}{slip} It is wrong: {complaint}", self._answer(asked, sql), sql

    def _ends(self, sql: str) -> Facts:
        """What a change leaves, nothing where it is refused."""
        try:
            return self._tried.after([sql])
        except StatementError:
            return self._tried.start

    def _complaint(self, slip: str, right: Result, asked: Question) -> str | None:
        """What somebody who knows the right result says of a wrong one; None where both agree."""
        try:
            wrong, _ = self._tried.both(slip)
        except StatementError:
            return None
        ordered = asked.ordered
        if fingerprint(wrong, ordered=ordered) == fingerprint(right, ordered=ordered):
            return None
        if len(right.rows) == len(wrong.rows) == len(right.columns) == 1:
            return f"it gives {wrong.rows[0][0]}, and I know that it is {right.rows[0][0]}."
        missing = _beyond(right.rows, wrong.rows)
        extra = _beyond(wrong.rows, right.rows)
        told = [
            f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} {what}, such as {_told(rows[0])}"
            for rows, what in ((missing, "missing"), (extra, "too many"))
            if rows
        ]
        return f"{'; '.join(told)}." if told else "the rows are right, their order is not."

    def _change(self) -> tuple[str, Check, str] | None:
        change = self._drawing.change()
        said = self._words.write(change)
        if not same(change, self._words.read(said)):
            return None
        sql = statement_of(self._database, change)
        check = self._tried.check_of([sql])
        if check is None or not 0 < len(check.required) <= _MOST_CHANGED:
            return None
        right = self._tried.after([sql])
        if sum(self._ends(slip) != right for _, slip in mutants(self._database, sql)) < NEAR_MISSES:
            return None
        return said, check, sql


def _says_little(result: Result) -> bool:
    """Whether an answer is nothing, or nothing but zero."""
    return len(result.rows) == 1 and all(cell in (None, 0, 0.0) for cell in result.rows[0])


def _beyond(rows: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    left = list(others)
    found = []
    for row in rows:
        if row in left:
            left.remove(row)
        else:
            found.append(row)
    return found


def _told(row: Sequence[Scalar]) -> str:
    return ", ".join("nothing" if cell is None else str(cell) for cell in row)


def made(
    source: DatabaseSource, config: Mapping[str, Any], seed: int, count: int, name: str
) -> Iterator[Task]:
    """`count` tasks, four of a database; the same ones each time."""
    settings = SqlConfig.model_validate(dict(config))
    kinds = settings.kinds if settings.engine == "sqlite" else ("question", "repair")
    number, given = 0, 0
    said: set[str] = set()
    while given < count and number < 20 * count + 100:
        draw = random.Random(f"sql tasks {seed} {number}")
        at = (seed * 1_000_003 + number // _PER_DATABASE) % 2**31
        drawer = Drawer(source, settings, draw, at)
        task = drawer.task(kinds[number % len(kinds)], name)
        number += 1
        if task is not None and task.goal not in said:
            given += 1
            said.add(task.goal)
            yield task
