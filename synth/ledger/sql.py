"""What may be asked of a ledger in SQL: one question, which changes nothing and can be
interrupted.
"""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import duckdb

from synth.ledger.ledger import StoredLedger
from synth.ledger.memory_database import quoted
from synth.ledger.tables import TABLES
from synth.ledger.views import Views
from synth.schemas import ConfigError

T = TypeVar("T")

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:ANALYZE\s+)?(?:\([^()]*\)\s*)?", re.IGNORECASE)
_READS = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}


def query(ledger: StoredLedger, sql: str) -> "duckdb.DuckDBPyConnection":
    """Asks one question over the views; what it returns gives the rows. Raises `ConfigError` for
    what is no question, `DamagedError`.

    The connection reads this run's files and nothing else.
    """
    connection = _reading_only(ledger)
    return answered(connection, lambda: connection.execute(_one_question(connection, sql)))


def relation(ledger: StoredLedger, sql: str) -> "duckdb.DuckDBPyRelation":
    """The same as a relation, whose rows are computed as they are fetched: `.pl()`, `.df()`,
    `.arrow()`, `.fetchall()`.
    """
    connection = _reading_only(ledger)
    return answered(connection, lambda: connection.sql(_one_question(connection, sql)))


def _reading_only(ledger: StoredLedger) -> "duckdb.DuckDBPyConnection":
    """A database of its own over all views, which reads this run's files, writes none, and cannot
    be told otherwise.
    """
    views = Views(ledger, apart=True)
    views.make()
    files = (file for shard in ledger.state.shards for file in shard.files.values())
    paths = sorted({quoted(ledger.storage.path(file.path)) for file in files})
    for setting in (
        f"allowed_paths = [{', '.join(paths)}]",
        "python_enable_replacements = false",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        views.database.execute(f"SET {setting}")
    return views.database


def _one_question(connection: "duckdb.DuckDBPyConnection", sql: str) -> str:
    """The statement itself. Raises `ConfigError` unless it is one SELECT, WITH, EXPLAIN, DESCRIBE,
    SHOW or SUMMARIZE.

    DuckDB takes COPY ... TO, INSERT, UPDATE and DELETE inside a WITH for a SELECT, so these are
    looked for in the parsed statement. The parser is the one that runs it: another one (sqlglot)
    takes EXPLAIN for a text, and refuses questions that DuckDB answers.
    """
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        problem = f"{len(statements)} statements" if statements else "there is no statement"
        raise ConfigError(
            f"sql: {problem}; give one, for instance: SELECT outcome, count(*) FROM trajectories "
            "GROUP BY outcome"
        )
    (statement,) = statements
    kind, question = statement.type.name, statement.query
    if kind == "EXPLAIN":
        question = _EXPLAIN.sub("", question, count=1)
    elif kind != "SELECT":
        raise _refused(kind)
    ((parsed,),) = connection.execute("SELECT json_serialize_sql(?)", [question]).fetchall()
    content = json.loads(parsed)
    if content["error"]:
        raise _refused(f"{kind} of this")
    for node in _query_nodes(content):
        if node not in _READS:
            raise _refused(node.removesuffix("_QUERY_NODE"))
    return str(statement.query)


def answered(connection: "duckdb.DuckDBPyConnection", call: Callable[[], T]) -> T:
    """What a call on the connection gives; it runs on a thread, for DuckDB looks for Ctrl-C in some
    of its loops only.

    To be put around every fetch too: rows are computed while they are fetched. Raises `ConfigError`
    with DuckDB's first line.
    """
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(call)
        try:
            return answer.result()
        except KeyboardInterrupt:
            while not answer.done():
                connection.interrupt()
                wait([answer], timeout=0.1)
            raise
        except duckdb.Error as error:
            raise ConfigError(
                f"sql: {str(error).splitlines()[0]}; tables: {', '.join(TABLES)}, each also as "
                "<table>_all, and spending"
            ) from error


def _refused(what: str) -> ConfigError:
    return ConfigError(
        f"sql: {what} is not allowed: a ledger is only read; ask with SELECT, WITH, EXPLAIN, "
        "DESCRIBE, SHOW or SUMMARIZE"
    )


def _query_nodes(value: Any) -> Iterator[str]:
    """The kinds of all parts of a WITH."""
    if isinstance(value, dict):
        if isinstance(value.get("query_node"), dict):
            yield str(value["query_node"].get("type"))
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _query_nodes(item)
