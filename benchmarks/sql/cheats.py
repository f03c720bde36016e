"""Cheats: episodes that end well only if the check has a hole. Some know what solves the task."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from synth.envs.sql.database.schema import quoted
from synth.envs.sql.database.sources import DatabaseSource
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.request import literal
from synth.schemas import AgentTurn, Task, ToolCall, canonical_json

SOLVED = "SOLVED"
_FILE = Path(__file__).with_name("cheats.yaml")
_Turn = str | tuple[tuple[str, str], ...]


@cache
def told() -> Mapping[str, tuple[_Turn, ...]]:
    """The cheats of the file, which says what stands in it."""
    return msgspec.yaml.decode(_FILE.read_bytes(), type=dict[str, tuple[_Turn, ...]])


def cheats(
    task: Task, source: DatabaseSource, solved: Sequence[AgentTurn]
) -> Iterator[tuple[str, Sequence[AgentTurn]]]:
    """(name, the turns) for each cheat; `solved` are turns that solve the task."""
    slots = _slots(task, source)

    for name, turns in told().items():
        made: list[AgentTurn] = []
        for turn in turns:
            made += solved if turn == SOLVED else [_turn(turn, slots, len(made))]

        yield name, made


def _turn(turn: _Turn, slots: Mapping[str, str], at: int) -> AgentTurn:
    """A turn of the file with this task's statements."""
    if isinstance(turn, str):
        return AgentTurn(turn.format(**slots))

    calls = []
    for place, (tool, sql) in enumerate(turn):
        arguments = canonical_json({"sql": sql.format(**slots)}).decode()
        name = slots["other"] if tool == "other" else tool
        calls.append(ToolCall.received(f"cheat_{at}_{place}", name, arguments))

    return AgentTurn(tool_calls=tuple(calls))


def _slots(task: Task, source: DatabaseSource) -> dict[str, str]:
    """What a cheat knows of the task and of the database that it sees."""
    right, other = str(task.script["sql"]), int(task.script["other"])
    is_change = task.script["kind"] == "change"
    databases = TaskDatabases(source, task.seed, other)

    try:
        rows = () if is_change else databases.main.query(right).rows
    finally:
        databases.close()

    written = (f"SELECT {', '.join(map(literal, row))}" for row in rows)
    database = databases.database
    unneeded = (one for one in database.tables[::-1] if not [*database.children(one)])
    table = next(unneeded)
    keys = sorted(int(str(row[0])) for row in database.rows[table.name])
    listed = ",".join(map(str, keys))
    name, key = quoted(table.name), quoted(table.key)
    in_order = f"SELECT group_concat(k) FROM (SELECT {key} AS k FROM {name} ORDER BY {key})"

    return {
        "right": right,
        "values": " UNION ALL ".join(written) or "SELECT 1",
        "first": literal(rows[0][0]) if rows else "1",
        "other": "answer" if is_change else "change",
        "table": name,
        "key": key,
        "column": quoted(table.columns[-1].name),
        "copied": ", ".join(quoted(one.name) for one in table.columns),
        "largest": str(keys[-1]),
        "identity": f"({in_order}) = '{listed}'",
    }
