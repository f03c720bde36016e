"""Draws questions and changes over one database."""

from random import Random

from synth.envs.sql.database.schema import ColumnSpec, TableSpec
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.request import Condition, Path, SqlRequest, grammar, sql_of
from synth.envs.sql.words import vocabulary
from synth.schemas import Scalar


class Drawing:
    """Draws by chance; what comes of it nobody has looked at yet.

    Its methods raise `IndexError` where the draw leads nowhere.
    """

    def __init__(
        self, databases: TaskDatabases, level: float, draw: Random, *, plain: bool = False
    ) -> None:
        self._databases, self._database = databases, databases.database
        self._draw = draw
        self._words = vocabulary(self._database)
        self._plain = plain
        self._deepest = 1 if plain else 1 + round(2 * level)

    def question(self) -> SqlRequest:
        """A question with words of its own."""
        forms = grammar().questions
        name = self._draw.choice([one for one in forms if forms[one].plain or not self._plain])
        form = grammar().questions[name]
        table = self._draw.choice(self._database.tables)
        child = self._child(table) if "{child}" in form.says else ""

        columns = {
            slot: self._path(table, kinds, filled=form.filled and slot == "of")
            for slot, kinds in form.draws.items()
        }
        of, also, group = (columns.get(slot, ()) for slot in ("of", "also", "group"))
        if also and also == of:
            raise IndexError("one column twice")

        n = self._draw.randint(2, 5) if "{n}" in form.says else 0

        return SqlRequest(
            form=name,
            many=table.name,
            of=of,
            also=also,
            group=group,
            child=child,
            n=n,
            which=self._which(table, child, of),
        )

    def _which(self, table: TableSpec, child: str, of: Path) -> tuple[Condition, ...]:
        """Conditions on the rows that are asked about. Raises `IndexError` where a plain question
        would ask for what it has said itself.
        """
        which = self._conditions_of(child, table) if child else self._conditions(table)
        if self._plain and any(one.of == of for one in which):
            raise IndexError("the column that is asked for")

        return which

    def _child(self, table: TableSpec) -> str:
        """A table that refers to this one by one column."""
        children = [one.name for one, _ in self._database.children(table)]
        single = [one for one in children if children.count(one) == 1 and one != table.name]

        return self._draw.choice(single)

    def _path(self, table: TableSpec, kinds: str, *, filled: bool = False) -> Path:
        """A column of these kinds that can be reached and named."""
        found = []

        for path in self._words.paths[table.name].values():
            column = self._words.column(table.name, path)
            fits = column.kind in grammar().kinds[kinds] and not (filled and column.nulls)
            if fits and len(path) <= self._deepest:
                found.append(path)

        return self._draw.choice(found)

    def _conditions(self, table: TableSpec) -> tuple[Condition, ...]:
        """Conditions on different columns, none where the level is low."""
        found: dict[Path, Condition] = {}
        kinds = "plain" if self._plain else "condition"
        for _ in range(self._draw.randint(min(1, self._deepest - 1), self._deepest)):
            one = self._condition(table, self._path(table, kinds))
            if one is not None:
                found.setdefault(one.of, one)

        return tuple(found.values())

    def _conditions_of(self, child: str, parent: TableSpec) -> tuple[Condition, ...]:
        """Conditions on rows of a child; none on the parent, which would be said in a circle."""
        table = self._database.table(child)
        via = {column for one, column in self._database.children(parent) if one.name == child}

        return tuple(one for one in self._conditions(table) if one.of[0] not in via)

    def _condition(self, table: TableSpec, path: Path) -> Condition | None:
        """A condition on a column; None for a reference that holds a value."""
        column = self._words.column(table.name, path)
        gaps = column.nulls and len(path) == 1 and not self._plain
        if gaps and self._draw.random() < 0.4:
            return Condition(self._draw.choice(("empty", "there")), path)

        if column.kind == "ref":
            return None

        values = self._values(table, path)
        one = self._draw.choice(values)

        if column.kind == "date":
            low, high = sorted(self._draw.sample(values, 2), key=str)
            return Condition("between", path, (low, high))

        if column.numeric:
            return Condition(self._draw.choice(("more", "less")), path, (one,))

        return self._word(path, values, one)

    def _word(self, path: Path, values: list[Scalar], one: Scalar) -> Condition:
        """A condition on a column of words, one of which it is about."""
        forms = ("equal",) if self._plain else ("equal", "equal", "other", "among")
        form = self._draw.choice(forms)

        if form == "among" and len(values) > 2:
            some = self._draw.sample(values, 2)
            return Condition(form, path, tuple(sorted(some, key=str)))

        return Condition("equal" if form == "among" else form, path, (one,))

    def _values(self, table: TableSpec, path: Path) -> list[Scalar]:
        """The values that a column has."""
        asked = SqlRequest(form="distinct", many=table.name, of=path)
        return [row[0] for row in self._databases.main.query(sql_of(self._database, asked)).rows]

    def change(self) -> SqlRequest:
        """A change that conditions, or a key, tell."""
        form = self._draw.choice(("set", "set", "set", "clear", "remove", "add"))
        table = self._draw.choice(self._database.tables)
        if form == "add":
            return SqlRequest(form=form, many=table.name, values=self._new_row(table))

        which = self._conditions(table)
        if not which:
            raise IndexError("all rows are not meant")

        values: tuple[tuple[str, Scalar], ...] = ()

        if form != "remove":
            own = [column for column in table.columns if self._may_change(form, table, column)]
            name = self._draw.choice(own).name
            value = self._draw.choice(self._values(table, (name,))) if form == "set" else None
            values = ((name, value),)

        return SqlRequest(form=form, many=table.name, values=values, which=which)

    def _may_change(self, form: str, table: TableSpec, column: ColumnSpec) -> bool:
        """Whether a form of change can be made to a column, and be said."""
        fits = column.nulls if form == "clear" else column.kind in ("one_of", "number", "date")
        return bool(fits) and (column.name,) in self._words.paths[table.name].values()

    def _new_row(self, table: TableSpec) -> tuple[tuple[str, Scalar], ...]:
        """A key that is free, and values as other rows have them."""
        ids = {row[0] for row in self._database.rows[table.name]}
        free = [one for one in range(1, 3 * len(ids) + 9) if one not in ids]
        values: list[tuple[str, Scalar]] = [(table.key, self._draw.choice(free))]

        for column in table.columns:
            if column.nulls and self._draw.random() < 0.5:
                continue

            value = self._draw.choice(self._values(table, (column.name,)))
            values.append((column.name, value))

        return tuple(values)
