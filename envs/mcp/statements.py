"""SQL statements that could be called now, drawn from the tables that the folder's databases
hold.
"""

from collections.abc import Mapping, Sequence
from random import Random
from urllib.parse import unquote

from synth.envs.data_file import data_file
from synth.envs.echo_check import rows_of
from synth.envs.mcp.state.tables import TABLE
from synth.schemas import Facts, Scalar

HINTS: Mapping[str, Sequence[str]] = data_file("mcp/proposing")
Row = Mapping[str, Scalar]


def hinted(name: str, kind: str) -> bool:
    """Whether the name of a parameter, tool or column hints at a kind of `data/proposing.yaml`."""
    return any(hint in name.lower() for hint in HINTS[kind])


class Tables:
    """The tables in a folder's facts (envs/mcp/state/tables.py): their columns and rows."""

    def __init__(self, facts: Facts) -> None:
        tables, found = rows_of(facts).get("table", {}), rows_of(facts).get("row", {})
        self.rows: dict[str, list[Row]] = {}
        self.columns = {
            _title(key): [part.split()[0] for part in str(row["columns"]).split(", ") if part]
            for key, row in tables.items()
            if "columns" in row
        }

        for title, key in sorted((_title(key), key) for key in found):
            told = {
                name.removeprefix("@"): each for name, each in found[key].items() if name != TABLE
            }
            self.rows.setdefault(title, []).append(told)
            self.columns[title] = list(told)

    @property
    def titles(self) -> list[str]:
        """Their names."""
        return sorted(self.columns)


def statement(tool: str, tables: Tables, words: Sequence[str], draw: Random) -> str:
    """One that fits the tool's name: a new table, a change of rows, or a look at some."""

    if hinted(tool, "makes") or not tables.titles:
        return (
            f"CREATE TABLE {draw.choice(words)} (id INTEGER PRIMARY KEY, name TEXT, amount INTEGER)"
        )

    title = draw.choice(tables.titles)
    rows, columns = tables.rows.get(title, []), tables.columns[title]
    if hinted(tool, "reads") or (not hinted(tool, "writes") and draw.random() < 0.5):
        row = draw.choice(rows) if rows and draw.random() < 0.5 else None
        return f"SELECT * FROM {_name(title)}{_where(row, columns)}"

    def fresh(column: str) -> str:
        return _literal(_fresh(column, rows, words, draw))

    kind = draw.choice(("insert", "update", "update", "delete")) if rows else "insert"
    if kind == "insert":
        values, names = ", ".join(map(fresh, columns)), ", ".join(map(_name, columns))
        return f"INSERT INTO {_name(title)} ({names}) VALUES ({values})"

    row = draw.choice(rows)
    if kind == "delete":
        return f"DELETE FROM {_name(title)}{_where(row, columns)}"
    column = draw.choice(columns[1:] or columns)

    return f"UPDATE {_name(title)} SET {_name(column)} = {fresh(column)}{_where(row, columns)}"


def _fresh(column: str, rows: Sequence[Row], words: Sequence[str], draw: Random) -> Scalar:
    """A value of the kind that stands in a column: the next number of one that counts, words for
    words.
    """

    there = [row.get(column) for row in rows if row.get(column) is not None]
    numbers = [value for value in there if isinstance(value, int | float)]
    if f"_{column.lower()}".endswith("_id"):
        return int(max(numbers)) + 1 if numbers else draw.randint(1, 99)
    if numbers or (not there and hinted(column, "numbers")):
        return draw.randint(1, 99)

    return draw.choice(words).capitalize()


def _where(row: Row | None, columns: Sequence[str]) -> str:
    if row is None:
        return ""

    value = row.get(columns[0])
    is_it = "IS NULL" if value is None else f"= {_literal(value)}"

    return f" WHERE {_name(columns[0])} {is_it}"


def _name(text: str) -> str:
    return text if text.isidentifier() and text.isascii() else '"' + text.replace('"', '""') + '"'


def _literal(value: Scalar) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _title(key: str) -> str:
    return unquote(key.split(":")[1])
