"""What may be asked of a ledger in SQL: one question, which changes nothing and can be
interrupted.
"""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import duckdb

from synth.ledger.tables import TABLES
from synth.schemas.errors import ConfigError

T = TypeVar("T")

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:ANALYZE\s+)?(?:\([^()]*\)\s*)?", re.IGNORECASE)
_READS = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}


def one_question(connection: "duckdb.DuckDBPyConnection", sql: str) -> str:
    """The statement itself. Raises `ConfigError` unless it is one SELECT, WITH, EXPLAIN, DESCRIBE,
    SHOW or SUMMARIZE.

    DuckDB takes COPY ... TO, INSERT, UPDATE and DELETE inside a WITH for a SELECT: those are looked
    for in the parsed statement.
    """
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        problem = "there is no statement" if not statements else f"{len(statements)} statements"
        raise ConfigError(
            f"sql: {problem}; give one, for instance: SELECT outcome, count(*) FROM trajectories "
            "GROUP BY outcome"
        )
    (statement,) = statements
    question = statement.query
    if statement.type.name == "EXPLAIN":
        question = _EXPLAIN.sub("", question, count=1)
    elif statement.type.name != "SELECT":
        raise _refused(statement.type.name)
    ((parsed,),) = connection.execute("SELECT json_serialize_sql(?)", [question]).fetchall()
    content = json.loads(parsed)
    if content["error"]:
        raise _refused(f"{statement.type.name} of this")
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
        for item in value.values():
            yield from _query_nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _query_nodes(item)
