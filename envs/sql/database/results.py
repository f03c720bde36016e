"""What a statement gives, how results are compared, and what no statement may do."""

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from itertools import permutations
from typing import Any

import msgspec
import sqlglot
from sqlglot import exp

from synth.envs.sql.database.schema import Row
from synth.schemas import Scalar, canonical_json, content_hash, valid_text

MOST_ROWS = 5000
LONGEST_VALUE = 100_000
SHOWN_ROWS, SHOWN_CHARACTERS = 50, 300
_PERMUTED = 4
"""Columns up to which their order does not matter."""


class StatementError(Exception):
    """Why a statement did not run, for who wrote it."""


class Result(msgspec.Struct, frozen=True):
    """What a statement gives."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def result_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Result:
    """Rows as a database gave them. Raises `StatementError` where they are too many."""
    if len(rows) > MOST_ROWS:
        raise StatementError(f"more than {MOST_ROWS} rows: ask for fewer, or add them up")

    return Result(tuple(names), tuple(tuple(map(_plain, row)) for row in rows))


def _plain(value: Any) -> Scalar:
    """A value that JSON holds."""
    if value is None or isinstance(value, int):
        return value

    if isinstance(value, float | Decimal) and math.isfinite(value):
        return float(value)

    text = value.isoformat() if isinstance(value, date) else str(value)

    return valid_text(text[:LONGEST_VALUE])


def fingerprint(result: Result, *, ordered: bool) -> str:
    """A hash of the rows by value.

    Numbers count to two decimals, rows in any order unless it was asked for, columns too as far as
    there are at most four.
    """
    rows = [tuple(map(_comparable, row)) for row in result.rows]
    width = len(result.columns)
    orders = permutations(range(width)) if width <= _PERMUTED else [tuple(range(width))]
    forms = [[tuple(row[place] for place in order) for row in rows] for order in orders]

    return content_hash(min(form if ordered else sorted(form) for form in forms))


def fingerprints(result: Result) -> dict[str, str]:
    """What an answer is compared by: its rows in any order, and in theirs."""
    return {
        "": fingerprint(result, ordered=False),
        "_in_order": fingerprint(result, ordered=True),
    }


def _comparable(value: Scalar) -> tuple[str, str]:
    """A value so that equal ones are equal text, and any two can be put in order."""
    if value is None:
        return "", ""

    if isinstance(value, str):
        return "t", value

    # zero is added, since -0.0 is another text
    return "n", f"{round(float(value), 2) + 0.0:.2f}" if math.isfinite(value) else str(value)


def with_nothing_as_zero(result: Result) -> Result:
    """A result in which a total of no rows is zero, as it is to some readers, and none to
    others.
    """
    return msgspec.structs.replace(result, rows=((0,),)) if result.rows == ((None,),) else result


def on_the_edge(result: Result) -> bool:
    """Whether a number lies where rounding to two decimals goes either way."""
    numbers = (cell for row in result.rows for cell in row if isinstance(cell, float))
    return any(abs(abs(one) * 100 % 1 - 0.5) < 1e-6 for one in numbers)


def shown(result: Result) -> str:
    """Rows as JSON, a line each."""
    rows = [result.columns, *(map(_cut, row) for row in result.rows[:SHOWN_ROWS])]
    lines = [canonical_json(list(row)).decode() for row in rows]
    left = len(result.rows) - SHOWN_ROWS

    return "\n".join([*lines, f"({left} more rows)"] if left > 0 else lines)


def _cut(cell: Scalar) -> Scalar:
    """A value as far as it is shown."""
    is_long = isinstance(cell, str) and len(cell) > SHOWN_CHARACTERS
    return f"{str(cell)[:SHOWN_CHARACTERS]}..." if is_long else cell


LONGEST_STATEMENT = 20_000
_NAMES = (
    "random randomblob changes total_changes last_insert_rowid load_extension sqlite_version "
    "sqlite_source_id readfile writefile edit fts3_tokenizer uuid gen_random_uuid now today "
    "getenv current_setting setseed rand nextval get_current_time get_current_timestamp "
    "transaction_timestamp current_localtime current_localtimestamp currval txid_current"
)
REFUSED_FUNCTIONS = frozenset(_NAMES.split())
"""Functions whose value the database does not determine, or that reach out of it."""
_MEANINGS = {
    "not authorized": "this is not allowed here",
    "interrupted": "this takes too long: ask for less",
    "INTERRUPT": "this takes too long: ask for less",
}


def statement_error(error: Exception, before: str = "") -> StatementError:
    """An engine's error in one line, with what it means here."""
    if isinstance(error, StatementError):
        return error

    text = " ".join(str(error).split())
    meanings = [meaning for sign, meaning in _MEANINGS.items() if sign in text]

    return StatementError(before + valid_text("; ".join([text[:300], *meanings[:1]])))


def refuse_undetermined(sql: str, dialect: str) -> None:
    """Raises `StatementError` for what is no single SELECT, or asks for the time or for chance."""
    if len(sql) > LONGEST_STATEMENT:
        raise StatementError(f"the statement is longer than {LONGEST_STATEMENT} characters")

    try:
        (tree,) = sqlglot.parse(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError) as error:
        raise statement_error(error, "give one SELECT that can be read: ") from error

    if not isinstance(tree, exp.Query):
        raise StatementError("only reading is possible here: give one SELECT")

    for node in tree.walk():
        name = node.name if isinstance(node, exp.Anonymous) else ""
        name = (name or (node.sql_name() if isinstance(node, exp.Func) else "")).lower()
        if name in REFUSED_FUNCTIONS or name.startswith("current_"):
            raise StatementError(f"the function {name} is not available")
