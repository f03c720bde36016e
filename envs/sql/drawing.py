"""Draws questions and changes over one database."""

import random

from synth.envs.sql.base.facts import Tried
from synth.envs.sql.base.schema import ColumnSpec, TableSpec
from synth.envs.sql.language.question import Condition, Path, Question, RowChange, query_of
from synth.envs.sql.language.words import grammar, vocabulary
from synth.schemas.check import Scalar


class Drawing:
    """Draws by chance; what comes of it nobody has looked at yet."""

    def __init__(self, tried: Tried, level: float, draw: random.Random) -> None:
        self._tried, self._level, self._draw = tried, level, draw
        self._database = tried.database
        self._words = vocabulary(self._database)

    def _table(self) -> TableSpec:
        return self._draw.choice(self._database.tables)

    def _path(self, table: TableSpec, *kinds: str, filled: bool = False) -> Path:
        """A column of these kinds, or of all that are no keys, that can be reached and named.
        Raises `IndexError` where there is none.
        """
        deepest = 1 + round(2 * self._level)
        found = []
        for path in self._words.paths[table.name].values():
            column = self._words.column(table.name, path)
            wanted = column.kind in kinds if kinds else column.kind not in ("ref", "key")
            if wanted and len(path) <= deepest and not (filled and column.nulls):
                found.append(path)
        return self._draw.choice(found)

    def question(self) -> Question:
        """A question with words of its own. Raises `IndexError` where the draw leads nowhere."""
        form = self._draw.choice(list(grammar()["questions"]))
        table = self._table()
        numbers, words = ("number", "money"), ("one_of", "text")
        child = ""
        slots: dict[str, Path] = {}
        if form in ("without", "with"):
            children = [one.name for one, _ in self._database.children(table)]
            single = [one for one in children if children.count(one) == 1 and one != table.name]
            child = self._draw.choice(single)
        if form in ("total", "average", "highest", "lowest", "top", "total_per_group"):
            slots["of"] = self._path(table, *numbers, filled=form in ("top", "total_per_group"))
        elif form in ("distinct", "count_distinct"):
            slots["of"] = self._path(table, *words, "person", "label", "date")
        elif form in ("list", "pairs", "without", "with"):
            slots["of"] = self._path(table)
        if form == "pairs":
            slots["also"] = self._path(table)
            if slots["also"] == slots["of"]:
                raise IndexError("one column twice")
        if form in ("per_group", "total_per_group", "frequent_groups"):
            slots["group"] = self._path(table, *words, "person", "label")
        n = self._draw.randint(2, 5) if form in ("top", "frequent_groups") else 0
        which = self._conditions(self._database.table(child) if child else table)
        return Question(form=form, many=table.name, child=child, n=n, which=which, **slots)

    def _conditions(self, table: TableSpec) -> tuple[Condition, ...]:
        most = 1 + round(2 * self._level)
        found: dict[Path, Condition] = {}
        for _ in range(self._draw.randint(min(1, most - 1), most)):
            one = self._condition(
                table, self._path(table, "one_of", "text", "number", "money", "date", "ref")
            )
            if one is not None:
                found.setdefault(one.of, one)
        return tuple(found.values())

    def _condition(self, table: TableSpec, path: Path) -> Condition | None:
        column = self._words.column(table.name, path)
        if column.nulls and len(path) == 1 and self._draw.random() < 0.4:
            return Condition(self._draw.choice(("empty", "there")), path)
        if column.kind == "ref":
            return None
        values = self._values(table, path, column)
        one = self._draw.choice(values)
        if column.kind == "date":
            low, high = sorted(self._draw.sample(values, 2), key=str)
            return Condition("between", path, (low, high))
        if column.numeric:
            return Condition(self._draw.choice(("more", "less")), path, (one,))
        form = self._draw.choice(("equal", "equal", "other", "among"))
        if form == "among" and len(values) > 2:
            some = self._draw.sample(values, 2)
            return Condition(form, path, tuple(sorted(some, key=str)))
        form = "equal" if form == "among" else form
        return Condition(form, path, (one,))

    def _values(self, table: TableSpec, path: Path, column: ColumnSpec) -> list[Scalar]:
        asked = Question(form="distinct", many=table.name, of=path)
        return [row[0] for row in self._tried.main.query(query_of(self._database, asked)).rows]

    def change(self) -> RowChange:
        """A change that conditions, or a key, tell. Raises `IndexError` likewise."""
        form = self._draw.choice(("set", "set", "set", "clear", "remove", "add"))
        table = self._table()
        if form == "add":
            return RowChange(form=form, many=table.name, values=self._new_row(table))
        which = self._conditions(table)
        if not which:
            raise IndexError("all rows are not meant")
        if form == "remove":
            return RowChange(form=form, many=table.name, which=which)
        own = [
            column
            for column in table.columns
            if (column.nulls if form == "clear" else column.kind in ("one_of", "number", "date"))
            and (column.name,) in self._words.paths[table.name].values()
        ]
        column = self._draw.choice(own)
        value = None
        if form == "set":
            value = self._draw.choice(self._values(table, (column.name,), column))
        return RowChange(form=form, many=table.name, of=(column.name,), value=value, which=which)

    def _new_row(self, table: TableSpec) -> tuple[tuple[str, Scalar], ...]:
        ids = {row[0] for row in self._database.rows[table.name]}
        key = self._draw.choice([one for one in range(1, 3 * len(ids) + 9) if one not in ids])
        values: list[tuple[str, Scalar]] = [(table.key, key)]
        for column in table.columns:
            if column.nulls and self._draw.random() < 0.5:
                continue
            path = (column.name,)
            values.append((column.name, self._draw.choice(self._values(table, path, column))))
        return tuple(values)
