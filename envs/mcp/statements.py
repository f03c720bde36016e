"""SQL statements that could be called now, drawn from the tables that the folder's databases
hold.
"""

from collections.abc import Mapping, Sequence
from random import Random
from urllib.parse import unquote

from synth.envs.mcp.tables import TABLE
from synth.schemas.check import Facts, Scalar

PARAMETERS = ("query", "sql", "statement")
_WRITES, _MAKES, _READS = (
    ("write", "insert", "update", "delete", "exec", "modify"),
    ("create", "make"),
    ("read", "select", "list"),
)
Row = Mapping[str, Scalar]


class Tables:
    """The tables in a folder's facts (envs/mcp/tables.py): their columns and rows."""

    def __init__(self, facts: Facts) -> None:
        self.columns: dict[str, list[str]] = {}
        self.rows: dict[str, list[Row]] = {}
        rows: dict[tuple[str, str], dict[str, Scalar]] = {}
        for path, value in facts.items():
            kind, key, column = path.split("/", 2)
            if kind == "row":
                row = rows.setdefault((_title(key), key), {})
                row |= {} if column == TABLE else {column.removeprefix("@"): value}
            elif kind == "table" and column == "columns":
                self.columns[_title(key)] = [
                    part.split()[0] for part in str(value).split(", ") if part.split()
                ]
        for title, key in sorted(rows):
            self.rows.setdefault(title, []).append(rows[title, key])
            self.columns[title] = list(rows[title, key])

    @property
    def titles(self) -> list[str]:
        """Their names."""
        return sorted(self.columns)


def statement(tool: str, tables: Tables, words: Sequence[str], draw: Random) -> str:
    """One that fits the tool's name: a new table, a change of rows, or a look at some."""
    lowered = tool.lower()
    if any(word in lowered for word in _MAKES) or not tables.titles:
        return (
            f"CREATE TABLE {draw.choice(words)} (id INTEGER PRIMARY KEY, name TEXT, amount INTEGER)"
        )
    title = draw.choice(tables.titles)
    rows, columns = tables.rows.get(title, []), tables.columns[title]
    reads = any(word in lowered for word in _READS) or (
        not any(word in lowered for word in _WRITES) and draw.random() < 0.5
    )
    if reads:
        row = draw.choice(rows) if rows and draw.random() < 0.5 else None
        return f"SELECT * FROM {_name(title)}{_where(row, columns)}"
    kind = draw.choice(("insert", "update", "update", "delete")) if rows else "insert"
    if kind == "insert":
        fresh = ", ".join(_literal(_fresh(column, rows, words, draw)) for column in columns)
        return f"INSERT INTO {_name(title)} ({', '.join(map(_name, columns))}) VALUES ({fresh})"
    row = draw.choice(rows)
    if kind == "delete":
        return f"DELETE FROM {_name(title)}{_where(row, columns)}"
    column = draw.choice(columns[1:] or columns)
    return (
        f"UPDATE {_name(title)} SET {_name(column)} = "
        f"{_literal(_fresh(column, rows, words, draw))}{_where(row, columns)}"
    )


def _fresh(column: str, rows: Sequence[Row], words: Sequence[str], draw: Random) -> Scalar:
    """A value of the kind that stands in a column: the next number of one that counts, words for
    words.
    """
    there = [row.get(column) for row in rows if row.get(column) is not None]
    numbers = [value for value in there if isinstance(value, int | float)]
    if column.lower() == "id" or column.lower().endswith("_id"):
        return int(max(numbers)) + 1 if numbers else draw.randint(1, 99)
    if numbers or (
        not there
        and any(word in column.lower() for word in ("amount", "count", "number", "price", "year"))
    ):
        return draw.randint(1, 99)
    return draw.choice(words).capitalize()


def _where(row: Row | None, columns: Sequence[str]) -> str:
    if row is None:
        return ""
    value = row.get(columns[0])
    return (
        f" WHERE {_name(columns[0])} IS NULL"
        if value is None
        else f" WHERE {_name(columns[0])} = {_literal(value)}"
    )


def _name(text: str) -> str:
    return text if text.isidentifier() and text.isascii() else '"' + text.replace('"', '""') + '"'


def _literal(value: Scalar) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _title(key: str) -> str:
    return unquote(key.split(":")[1])
