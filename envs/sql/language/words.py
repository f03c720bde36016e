"""Questions and changes in words, and read back from them: one line of data/grammar.yaml each."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import msgspec

from synth.envs.sql.base.schema import ColumnSpec, Database, TableSpec, is_day
from synth.envs.sql.language.question import Condition, Path, Question, RowChange
from synth.schemas.check import Scalar
from synth.schemas.yaml_text import read_yaml

DEEPEST = 3
_AND = re.compile(r" and (?=whose |that have )")


@cache
def grammar() -> Mapping[str, Any]:
    """The forms by group."""
    text = resources.files("synth.envs.sql").joinpath("data/grammar.yaml").read_text("utf-8")
    found: Mapping[str, Any] = read_yaml(text, "grammar.yaml")
    return found


class Vocabulary:
    """What the tables and columns of a database are called."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.tables = {table.many: table for table in database.tables}
        self.paths = {table.name: dict(self._paths(table)) for table in database.tables}
        self._phrases = {
            name: {path: phrase for phrase, path in paths.items()}
            for name, paths in self.paths.items()
        }
        phrases = {phrase for paths in self.paths.values() for phrase in paths}
        names: dict[str, Iterable[str]] = {"many": self.tables, "child": self.tables}
        names |= dict.fromkeys(("of", "also", "group"), phrases)
        self._slots = {
            slot: "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
            for slot, words in names.items()
        }
        self._slots |= {"n": r"\d+", "which": r"(?: (?:whose|that have) .+?)?"}
        self._forms = {
            (group, form): self._pattern(text)
            for group in ("questions", "changes", "conditions")
            for form, text in grammar()[group].items()
        }

    def _paths(self, table: TableSpec, depth: int = 1) -> Iterator[tuple[str, Path]]:
        """Phrases of a table's own and referred columns; those that mean two things are none."""
        found: dict[str, list[Path]] = {"id": [(table.key,)]}
        for column in table.columns:
            found.setdefault(column.phrase, []).append((column.name,))
            target = self.database.target(table, column.name)
            if target is not None and depth < DEEPEST:
                for phrase, path in self._paths(target, depth + 1):
                    found.setdefault(f"{column.phrase}'s {phrase}", []).append((column.name, *path))
        yield from ((phrase, paths[0]) for phrase, paths in found.items() if len(paths) == 1)

    def _pattern(self, text: str) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", text)
        seen: set[str] = set()
        made = ""
        for place, part in enumerate(parts):
            if place % 2 == 0:
                made += re.escape(part)
            elif part in seen:
                made += f"(?P={part})"
            else:
                seen.add(part)
                made += f"(?P<{part}>{self._slots.get(part, '.+?')})"
        return re.compile(made)

    def column(self, table: str, path: Path) -> ColumnSpec:
        """The column at the end of a path."""
        found = self.database.table(table)
        for name in path[:-1]:
            found = self.database.target(found, name) or found
        return found.column(path[-1])

    def write(self, asked: Question | RowChange) -> str:
        """A question or change in words. Raises `KeyError` for a path that has none."""
        group = "questions" if isinstance(asked, Question) else "changes"
        table = asked.many
        child = getattr(asked, "child", "")
        which = " and ".join(self._condition(child or table, one) for one in asked.which)
        slots = {
            "many": self.database.table(table).many,
            "which": f" {which}" if which else "",
            "child": self.database.table(child).many if child else "",
            "n": getattr(asked, "n", ""),
            "value": _shown(getattr(asked, "value", None)),
            "values": ", ".join(
                f"the {self._phrases[table][(name,)]} {_shown(value)}"
                for name, value in getattr(asked, "values", ())
            ),
        }
        for slot in ("of", "also", "group"):
            if path := getattr(asked, slot, ()):
                slots[slot] = self._phrases[table][path]
        return str(grammar()[group][asked.form]).format(**slots)

    def read(self, text: str) -> Question | RowChange | None:
        """What a text asks for; None where it is none of the grammar, or means nothing here."""
        for (group, form), pattern in self._forms.items():
            if group == "conditions" or (match := pattern.fullmatch(text)) is None:
                continue
            try:
                return self._read(group, form, match.groupdict())
            except (KeyError, ValueError):
                continue
        return None

    def _read(self, group: str, form: str, slots: Mapping[str, str]) -> Question | RowChange:
        table = self.tables[slots["many"]].name
        child = self.tables[slots["child"]].name if "child" in slots else ""
        paths = self.paths[table]
        found: dict[str, Any] = {
            slot: paths[slots[slot]] for slot in ("of", "also", "group") if slot in slots
        }
        found["which"] = self._which(child or table, slots.get("which", ""))
        if group == "questions":
            return Question(form=form, many=table, child=child, n=int(slots.get("n") or 0), **found)
        if "value" in slots:
            found["value"] = _value(self.column(table, found["of"]), slots["value"])
        if "values" in slots:
            pairs = [self._pair(table, told) for told in slots["values"].split(", ")]
            found["values"] = tuple(pairs)
        return RowChange(form=form, many=table, **found)

    def _pair(self, table: str, told: str) -> tuple[str, Scalar]:
        """A column and its value out of `the date of birth 2001-04-03`."""
        own = [(phrase, path) for phrase, path in self.paths[table].items() if len(path) == 1]
        for phrase, path in sorted(own, key=lambda one: -len(one[0])):
            if told.startswith(f"the {phrase} "):
                value = told.removeprefix(f"the {phrase} ")
                return path[0], _value(self.column(table, path), value)
        raise ValueError(told)

    def _condition(self, table: str, one: Condition) -> str:
        values = [_shown(value) for value in one.values]
        return str(grammar()["conditions"][one.form]).format(
            of=self._phrases[table][one.of],
            value=values[0] if values else "",
            until=values[-1] if values else "",
            values=", ".join(values),
        )

    def _which(self, table: str, text: str) -> tuple[Condition, ...]:
        return tuple(self._one(table, part) for part in _AND.split(text.strip())) if text else ()

    def _one(self, table: str, text: str) -> Condition:
        for form in grammar()["conditions"]:
            match = self._forms["conditions", form].fullmatch(text)
            if match is None or match["of"] not in self.paths[table]:
                continue
            path = self.paths[table][match["of"]]
            column, slots = self.column(table, path), match.groupdict()
            told = (
                slots["values"].split(", ")
                if "values" in slots
                else [slots[slot] for slot in ("value", "until") if slot in slots]
            )
            return Condition(form, path, tuple(_value(column, one) for one in told))
        raise ValueError(text)


@lru_cache(maxsize=64)
def _of(tables: tuple[TableSpec, ...]) -> Vocabulary:
    return Vocabulary(Database(tables, {}, {}))


def vocabulary(database: Database) -> Vocabulary:
    """What the tables and columns of a database are called."""
    return _of(database.tables)


def _shown(value: Scalar) -> str:
    return "" if value is None else str(value)


def _value(column: ColumnSpec, text: str) -> Scalar:
    """A value as its column holds it. Raises `ValueError`."""
    if column.kind in ("number", "ref", "key"):
        return int(text)
    if column.kind == "date" and not is_day(text):
        raise ValueError(text)
    return float(text) if column.kind == "money" else text


def same(one: Question | RowChange, other: Question | RowChange | None) -> bool:
    """Whether two mean the same, to the letter."""
    return other is not None and msgspec.to_builtins(one) == msgspec.to_builtins(other)
