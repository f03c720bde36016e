"""Reads goals without the world's grammar: opening words, cuts of the text, queries within queries.

It shares nothing with `synth.envs.sql.words` and `request`, so that both can be held against each
other. With `deepest` it follows fewer references, and leaves conditions out that it cannot say: the
text-to-SQL bots by which tasks are told apart.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.sql.told_schema import ToldSchema, ToldTable, UnreadError

ALL = 9
"""More references than any goal follows."""
_NEXT = re.compile(r" and (?=whose |that have )")
_COMPARED = {"more than ": ">", "less than ": "<"}
_ROUNDED = " Give figures to two decimals at least."
_VALUES = re.compile(r"\bthe ")


class Reader:
    """Turns goals into statements, for one schema."""

    def __init__(self, ddl: str, deepest: int = ALL) -> None:
        self._schema, self._deepest = ToldSchema(ddl), deepest

    def statements(self, goal: str) -> list[tuple[str, str]]:
        """(tool, statement) for each sentence of a goal. Raises `UnreadError`."""
        return [self._statement(line) for line in goal.splitlines() if line.strip()]

    def _statement(self, line: str) -> tuple[str, str]:
        """The statement of one sentence, without what is said around it."""
        said = line.split(" I was given this query: ")[0].removesuffix(_ROUNDED)

        for opening, read in self._openings():
            found = re.fullmatch(opening, said)
            if found is not None:
                tool = "change" if opening.split()[0] in ("Set", "Empty", "Remove", "Add") else ""
                return tool or "answer", read(*found.groups())

        raise UnreadError(said)

    def _openings(self) -> Iterator[tuple[str, Callable[..., str]]]:
        """What a sentence looks like, the more special before the more general."""
        yield (
            r"List the id and the (.+) of all (.+) that have no (.+)\.",
            partial(self._kin, "NOT "),
        )
        yield (
            r"List the id and the (.+) of all (.+) that have at least one of the (.+), each once\.",
            partial(self._kin, ""),
        )
        yield r"List the (.+) and the (.+) of all (.+), one row for each of them\.", self._pairs
        yield r"List the (.+?) of all (.+), one row for each of them\.", self._list
        yield r"Which values of the (.+) have at least (\d+) (.+)\? Give .+", self._frequent
        yield r"Which values of the (.+) occur among the (.+)\? List .+", self._distinct
        yield r"Which (\d+) (.+) have the highest (.+)\? Give .+", self._top
        yield r"How many different values of the (.+) occur among the (.+)\? .+", self._different
        yield r"How many (.+) are there\?", self._count
        for word, name in (("total", "SUM"), ("highest", "MAX"), ("lowest", "MIN")):
            yield rf"What is the {word} (.+?) of all (.+)\?", partial(self._figure, name)
        yield r"What is the average (.+?) of all (.+), among .+\?", partial(self._figure, "AVG")
        yield r"For each (.+), give the \1 and the number of (.+)\. Leave .+", self._groups
        yield r"For each (.+), give the \1 and the total (.+) of its (.+)\. Leave .+", self._totals
        yield r"Set the (.+?) to (.+) in all (.+)\.", self._set
        yield r"Empty the (.+?) of all (.+)\.", self._empty
        yield r"Remove all (.+)\.", self._remove
        yield r"Add one to the (.+?): (.+)\. Leave the rest of it empty\.", self._add

    def _rows(self, text: str) -> tuple[ToldTable, str]:
        """The table that a text begins with, and its rows that are meant."""
        table, rest = self._schema.table_of(text)
        tests = self._tests(table, rest, "r")
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return table, f'"{table.name}" AS r{where}'

    def _tests(self, table: ToldTable, text: str, row: str) -> list[str]:
        """Conditions; those that this reader cannot say are left out, unless it follows all."""
        found = []
        for part in _NEXT.split(text) if text else ():
            try:
                found.append(self._test(table, part, row))
            except UnreadError:
                if self._deepest == ALL:
                    raise

        return found

    def _test(self, table: ToldTable, text: str, row: str) -> str:
        """One condition."""
        for opening, test in (("that have no ", "IS NULL"), ("that have some ", "IS NOT NULL")):
            if text.startswith(opening):
                return f"{self._named(table, text.removeprefix(opening), row)[0]} {test}"

        said = text.removeprefix("whose ")
        for cut in re.finditer(" is ", said):
            try:
                column, kind = self._named(table, said[: cut.start()], row)
            except UnreadError:
                continue

            return _compared(column, kind, said[cut.end() :])

        raise UnreadError(text)

    def _named(self, table: ToldTable, says: str, row: str = "r") -> tuple[str, str]:
        return self._schema.column(table, says, self._deepest, row)

    def _of(self, text: str, *columns: str) -> tuple[list[str], str]:
        """Columns of the rows that a text means, and these rows."""
        table, rows = self._rows(text)
        return [self._named(table, one)[0] for one in columns], rows

    def _kin(self, negated: str, shown: str, many: str, children: str) -> str:
        """Rows that have some of another table, or none."""
        if self._deepest < 1:
            raise UnreadError(children)

        table, _ = self._schema.table_of(many)
        child, rest = self._schema.table_of(children)
        via = self._schema.child(table, child)
        tests = [f'k."{via}" IS NOT NULL', *self._tests(child, rest, "k")]
        others = f'SELECT k."{via}" FROM "{child.name}" AS k WHERE {" AND ".join(tests)}'
        column, _ = self._named(table, shown)

        return (
            f'SELECT r."{table.key}", {column} FROM "{table.name}" AS r '
            f'WHERE r."{table.key}" {negated}IN ({others})'
        )

    def _pairs(self, one: str, other: str, many: str) -> str:
        (first, second), rows = self._of(many, one, other)
        return f"SELECT {first}, {second} FROM {rows}"

    def _list(self, shown: str, many: str) -> str:
        (column,), rows = self._of(many, shown)
        return f"SELECT {column} FROM {rows}"

    def _distinct(self, shown: str, many: str) -> str:
        return f"SELECT v FROM ({self._valued(shown, many)}) WHERE v IS NOT NULL GROUP BY v"

    def _different(self, shown: str, many: str) -> str:
        return f"SELECT COUNT(*) FROM ({self._distinct(shown, many)})"

    def _valued(self, shown: str, many: str) -> str:
        (column,), rows = self._of(many, shown)
        return f"SELECT {column} AS v FROM {rows}"

    def _frequent(self, group: str, least: str, many: str) -> str:
        return f"SELECT v, n FROM ({self._groups(group, many)}) WHERE n >= {least}"

    def _groups(self, group: str, many: str) -> str:
        inner = self._valued(group, many)
        return f"SELECT v, COUNT(*) AS n FROM ({inner}) WHERE v IS NOT NULL GROUP BY v"

    def _totals(self, group: str, summed: str, many: str) -> str:
        (one, other), rows = self._of(many, group, summed)
        inner = f"SELECT {one} AS v, {other} AS w FROM {rows}"
        return f"SELECT v, SUM(w) FROM ({inner}) WHERE v IS NOT NULL GROUP BY v"

    def _top(self, n: str, many: str, by: str) -> str:
        (key, column), rows = self._of(many, "id", by)
        inner = f"SELECT {key} AS k, {column} AS v FROM {rows}"
        return f"SELECT k, v FROM ({inner}) WHERE v IS NOT NULL ORDER BY v DESC, k LIMIT {n}"

    def _count(self, many: str) -> str:
        return f"SELECT COUNT(*) FROM {self._rows(many)[1]}"

    def _figure(self, name: str, shown: str, many: str) -> str:
        return f"SELECT {name}(v) FROM ({self._valued(shown, many)})"

    def _set(self, shown: str, value: str, many: str) -> str:
        table, rows = self._rows(many)
        own = table.columns[shown]
        return _updated(rows, own.name, _value(value, own.type))

    def _empty(self, shown: str, many: str) -> str:
        table, rows = self._rows(many)
        return _updated(rows, table.columns[shown].name, "NULL")

    def _remove(self, many: str) -> str:
        return f"DELETE FROM {self._rows(many)[1]}"

    def _add(self, many: str, told: str) -> str:
        table, _ = self._schema.table_of(many)
        names, values = [], []
        for part in _VALUES.split(told)[1:]:
            text = part.strip().removesuffix(",")
            phrase = max((p for p in ("id", *table.columns) if text.startswith(f"{p} ")), key=len)
            own = table.columns.get(phrase)
            names.append(_quoted(own.name if own else table.key))
            values.append(_value(text.removeprefix(f"{phrase} "), own.type if own else "INTEGER"))

        return f'INSERT INTO "{table.name}" ({", ".join(names)}) VALUES ({", ".join(values)})'


def _updated(rows: str, column: str, value: str) -> str:
    """The statement that puts a value into a column of rows."""
    return f"UPDATE {rows.replace(' AS r', f' AS r SET {_quoted(column)} = {value}', 1)}"


def _compared(column: str, kind: str, said: str) -> str:
    """A column held against what a condition says after `is`."""
    if said.startswith("there, but not "):
        return f"({column} IS NOT NULL AND {column} <> {_value(said[15:], kind)})"

    if said.startswith("one of "):
        return f"({' OR '.join(f'{column} = {_value(one, kind)}' for one in said[7:].split(', '))})"

    for words, sign in _COMPARED.items():
        if said.startswith(words):
            return f"{column} {sign} {_value(said.removeprefix(words), kind)}"

    low, both, high = said.removeprefix("from ").partition(" up to and including ")
    if both:
        return f"({column} >= {_value(low, kind)} AND {column} <= {_value(high, kind)})"

    return f"{column} = {_value(said, kind)}"


def _value(text: str, kind: str) -> str:
    return text if kind in ("INTEGER", "DOUBLE") else "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return f'"{name}"'
