"""A schema as an agent reads it: from the text of `CREATE TABLE` and its comments, and no more."""

import re
from typing import NamedTuple

_TABLE = re.compile(r'CREATE TABLE "(?P<name>\w+)" \(  -- (?P<many>.+)')
_KEY = re.compile(r'  "(?P<key>\w+)" INTEGER PRIMARY KEY')
_COLUMN = re.compile(
    r'  "(?P<name>\w+)" (?P<type>\w+)(?: NOT NULL)?'
    r'(?: REFERENCES "(?P<to>\w+)")?,?  -- (?P<says>.+)'
)


class UnreadError(Exception):
    """What is asked cannot be said in SQL by this reader."""


class ToldColumn(NamedTuple):
    """A column: its name, its type, and the table that it refers to, if any."""

    name: str
    type: str
    to: str | None


class ToldTable(NamedTuple):
    """A table: its name, its key, and its columns by what their comments say."""

    name: str
    key: str
    columns: dict[str, ToldColumn]


class ToldSchema:
    """All tables, by the words for their rows."""

    def __init__(self, ddl: str) -> None:
        self.by_words: dict[str, ToldTable] = {}
        for text in ddl.split("\n\n"):
            head, key, *lines = text.splitlines()
            opened, keyed = _TABLE.match(head), _KEY.match(key)
            if opened is None or keyed is None:
                raise UnreadError(head)

            table = ToldTable(opened["name"], keyed["key"], {})
            for found in filter(None, map(_COLUMN.match, lines)):
                table.columns[found["says"]] = ToldColumn(found["name"], found["type"], found["to"])

            self.by_words[opened["many"]] = table

        self._by_name = {table.name: table for table in self.by_words.values()}

    def table_of(self, words: str) -> tuple[ToldTable, str]:
        """The table whose rows a text begins with, and the rest of the text."""
        for many in sorted(self.by_words, key=len, reverse=True):
            if words == many or words.startswith(f"{many} "):
                return self.by_words[many], words.removeprefix(many).strip()

        raise UnreadError(words)

    def column(self, table: ToldTable, says: str, deepest: int, row: str = "r") -> tuple[str, str]:
        """(SQL, type) of a column of a row, through at most so many references.

        A referred column is a query of its own for each row, where the planner joins tables.
        """
        if says == "id":
            return f'{row}."{table.key}"', "INTEGER"

        if says in table.columns:
            own = table.columns[says]
            return f'{row}."{own.name}"', own.type

        for phrase, one in table.columns.items():
            if one.to is None or not says.startswith(f"{phrase}'s ") or deepest < 1:
                continue

            other, inner = self._by_name[one.to], f"{row}r"
            rest = says.removeprefix(f"{phrase}'s ")
            try:
                found, kind = self.column(other, rest, deepest - 1, inner)
            except UnreadError:
                continue

            same = f'{inner}."{other.key}" = {row}."{one.name}"'
            return f'(SELECT {found} FROM "{other.name}" AS {inner} WHERE {same})', kind

        raise UnreadError(says)

    def child(self, parent: ToldTable, child: ToldTable) -> str:
        """The column of a table that refers to another one."""
        found = [one.name for one in child.columns.values() if one.to == parent.name]
        if len(found) != 1:
            raise UnreadError(child.name)

        return found[0]
