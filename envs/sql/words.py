"""Questions and changes in words, and read back from them: one line of data/grammar.yaml each."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from msgspec.structs import replace

from synth.envs.sql.database.schema import ColumnSpec, Database, TableSpec, is_day
from synth.envs.sql.request import Condition, Path, SqlRequest, grammar
from synth.schemas import Scalar

DEEPEST = 3
"""Columns in a path."""
_AND = re.compile(r" and (?=whose |that have )")
_COLUMNS = ("of", "also", "group")
_SLOT = re.compile(r"\{(\w+)\}")


class Vocabulary:
    """What the tables and columns of a database are called."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables = {table.many: table for table in database.tables}
        self.nouns = {table.name: table.many for table in database.tables}
        """Tables -> what several of their rows are called."""
        self.paths = {table.name: dict(self._named_paths(table)) for table in database.tables}
        self._phrases = {
            name: {path: phrase for phrase, path in paths.items()}
            for name, paths in self.paths.items()
        }

        tables = any_of(self._tables)
        phrases = any_of(phrase for paths in self.paths.values() for phrase in paths)
        slots = {"many": tables, "child": tables, "of": phrases, "also": phrases, "group": phrases}
        slots |= {"n": r"\d+", "which": r"(?: (?:whose|that have) .+?)?"}
        forms = {**grammar().requests, **grammar().conditions}
        self._patterns = {name: _pattern(form.says, slots) for name, form in forms.items()}

    def _named_paths(self, table: TableSpec, depth: int = 1) -> Iterator[tuple[str, Path]]:
        """Phrases of a table's own and referred columns; those that mean two things are none."""
        found: dict[str, list[Path]] = {"id": [(table.key,)]}

        for column in table.columns:
            found.setdefault(column.phrase, []).append((column.name,))
            target = self._database.target(table, column.name)

            if target is not None and depth < DEEPEST:
                for phrase, path in self._named_paths(target, depth + 1):
                    found.setdefault(f"{column.phrase}'s {phrase}", []).append((column.name, *path))

        yield from ((phrase, paths[0]) for phrase, paths in found.items() if len(paths) == 1)

    def column(self, table: str, path: Path) -> ColumnSpec:
        """The column at the end of a path."""
        found = self._database.table(table)
        for name in path[:-1]:
            found = self._database.target(found, name) or found

        return found.column(path[-1])

    def write(self, request: SqlRequest) -> str:
        """A question or change in words. Raises `KeyError` for a path that has none."""
        phrases = self._phrases[request.many]
        which = " and ".join(
            self._condition(request.child or request.many, one) for one in request.which
        )
        slots = {slot: phrases[path] for slot, path in request.columns.items()}
        values = [(phrases[(name,)], _shown(value)) for name, value in request.values]
        if values:
            slots |= {"of": values[0][0], "value": values[0][1]}

        return (
            grammar()
            .requests[request.form]
            .says.format(
                many=self._database.table(request.many).many,
                child=self._database.table(request.child).many if request.child else "",
                n=request.n,
                which=f" {which}" if which else "",
                values=", ".join(f"the {phrase} {value}" for phrase, value in values),
                **slots,
            )
        )

    def _condition(self, table: str, one: Condition) -> str:
        """A condition in words."""
        values = list(map(_shown, one.values)) or [""]
        return (
            grammar()
            .conditions[one.form]
            .says.format(
                of=self._phrases[table][one.of],
                value=values[0],
                until=values[-1],
                values=", ".join(values),
            )
        )

    def read(self, text: str) -> SqlRequest | None:
        """What a text asks for; None where it is none of the grammar, or means nothing here."""
        for form in grammar().requests:
            match = self._patterns[form].fullmatch(text)
            try:
                if match is not None:
                    return self._request(form, match.groupdict())
            except (KeyError, ValueError):
                continue

        return None

    def _request(self, form: str, slots: Mapping[str, str]) -> SqlRequest:
        """A request from the slots of its line. Raises `KeyError` and `ValueError`."""
        table = self._tables[slots["many"]].name
        child = self._tables[slots["child"]].name if "child" in slots else ""
        which = _AND.split(slots["which"].strip()) if slots.get("which") else []
        found = SqlRequest(
            form=form,
            many=table,
            child=child,
            n=int(slots.get("n") or 0),
            which=tuple(self._read_condition(child or table, part) for part in which),
        )
        columns = {slot: self.paths[table][slots[slot]] for slot in _COLUMNS if slot in slots}
        if form in grammar().questions:
            return replace(found, **columns)

        return replace(found, values=tuple(self._new_values(table, columns.values(), slots)))

    def _new_values(
        self, table: str, columns: Iterable[Path], slots: Mapping[str, str]
    ) -> Iterator[tuple[str, Scalar]]:
        """What columns are to hold after a change. Raises `KeyError` and `ValueError`."""
        if "values" in slots:
            yield from (self._pair(table, one) for one in slots["values"].split(", "))
            return

        # a change is of the table's own columns: a longer path is none that can be changed
        for (column,) in columns:
            told = slots.get("value")
            yield column, None if told is None else _value(self.column(table, (column,)), told)

    def _pair(self, table: str, told: str) -> tuple[str, Scalar]:
        """A column and its value out of `the date of birth 2001-04-03`."""
        own = [(phrase, path) for phrase, path in self.paths[table].items() if len(path) == 1]

        for phrase, path in sorted(own, key=lambda one: -len(one[0])):
            if told.startswith(f"the {phrase} "):
                value = told.removeprefix(f"the {phrase} ")
                return path[0], _value(self.column(table, path), value)

        raise ValueError(told)

    def _read_condition(self, table: str, text: str) -> Condition:
        """A condition read back. Raises `ValueError` where it is none."""
        for form in grammar().conditions:
            match = self._patterns[form].fullmatch(text)
            if match is None or match["of"] not in self.paths[table]:
                continue

            path, slots = self.paths[table][match["of"]], match.groupdict()
            told = [slots[slot] for slot in ("value", "until") if slot in slots]
            if "values" in slots:
                told = slots["values"].split(", ")

            column = self.column(table, path)

            return Condition(form, path, tuple(_value(column, one) for one in told))

        raise ValueError(text)


def any_of(words: Iterable[str]) -> str:
    """A pattern of any of these, the longest first; of nothing where there are none."""
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(map(re.escape, ordered)) or r"(?!)"


def _pattern(text: str, slots: Mapping[str, str]) -> re.Pattern[str]:
    """What reads a line of the grammar; a slot that stands in it twice says the same twice."""
    words, names = _SLOT.split(text)[::2], _SLOT.findall(text)
    made = re.escape(words[0])

    for at, name in enumerate(names):
        again = name in names[:at]
        made += f"(?P={name})" if again else f"(?P<{name}>{slots.get(name, '.+?')})"
        made += re.escape(words[at + 1])

    return re.compile(made)


@lru_cache(maxsize=64)
def _of_tables(tables: tuple[TableSpec, ...]) -> Vocabulary:
    return Vocabulary(Database(tables, {}))


def vocabulary(database: Database) -> Vocabulary:
    """What the tables and columns of a database are called."""
    return _of_tables(database.tables)


def _shown(value: Scalar) -> str:
    """A value in words; nothing where there is none."""
    return "" if value is None else str(value)


def _value(column: ColumnSpec, text: str) -> Scalar:
    """A value as its column holds it. Raises `ValueError`."""
    if column.kind in ("number", "ref", "key"):
        return int(text)

    if column.kind == "date" and not is_day(text):
        raise ValueError(text)

    return float(text) if column.kind == "money" else text
