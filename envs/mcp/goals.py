"""What an exploration of a folder has achieved, as a goal in words: one sentence per row of the
difference, never from the calls.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import unquote

from synth.envs.fact_pattern import matches
from synth.envs.mcp.folder import PLACES
from synth.envs.mcp.settings import McpConfig
from synth.schemas.check import Facts, Scalar
from synth.schemas.reverse import Draft, NoGoal, Window

LONGEST_GOAL = 4000
Rows = Mapping[tuple[str, str], Mapping[str, Scalar]]


def write_goal(window: Window) -> Draft | NoGoal:
    """Every row that is other at the end than at the start is told, with its content; what was
    undone again is no goal.
    """
    settings = McpConfig.model_validate(dict(window.env_config))
    before, after = _rows(window.start, settings.free), _rows(window.end, settings.free)
    said: list[str] = []
    kinds: list[str] = []
    for row in sorted(before.keys() | after.keys()):
        if before.get(row) == after.get(row):
            continue
        if "%" in row[1] and "\ufffd" in unquote(row[1]):  # a name that is no text
            return NoGoal("content_not_tellable")
        sentence = (
            _gone(row, before[row])
            if row not in after
            else _there(row, after[row], known=row in before)
        )
        if sentence is None:
            return NoGoal("content_not_tellable")
        said.append(sentence)
        columns = sorted((after.get(row) or before[row]).keys())
        kinds.append(
            f"{row[0]} {'gone' if row not in after else 'changed' if row in before else 'new'} "
            f"{' '.join(columns)}"
        )
    if not said:
        return NoGoal("undone_again")
    goal = " ".join(said)
    if len(goal) > LONGEST_GOAL:
        return NoGoal("too_long_to_tell")
    calls = tuple(
        f"Call {call.name} with {call.arguments}."
        for operation in window.operations
        for call in operation.turn.tool_calls
    )
    return Draft(goal=goal, low_level=calls, structure="; ".join(sorted(kinds)), free=settings.free)


def _rows(facts: Facts, free: tuple[str, ...]) -> Rows:
    rows: defaultdict[tuple[str, str], dict[str, Scalar]] = defaultdict(dict)
    for path, value in facts.items():
        if not any(matches(pattern, path) for pattern in free):
            table, key, column = path.split("/", 2)
            if not any(matches(pattern, path) for pattern in PLACES):
                rows[(table, key)][column.removeprefix("@")] = value
    return rows


def _there(row: tuple[str, str], columns: Mapping[str, Scalar], *, known: bool) -> str | None:
    table, key = row
    if table == "folder":
        return f"There is to be a folder {unquote(key)}."
    if table == "record":
        return (
            f"In {unquote(key.partition(':')[0])} there is to be a record with {_fields(columns)}."
        )
    if table == "row":
        return f"In {_table(key)} there is to be a row with {_fields(columns)}."
    if table == "table":
        return (
            None
            if known or set(columns) != {"columns"}
            else f"There is to be a {_table(key)} with the columns {columns['columns']}."
        )
    if columns.get("is") in ("records", "database"):
        return f"The file {unquote(key)} is to be there."
    if set(columns) != {"content"}:
        return None
    is_to = "is to hold exactly" if known else "is to be made, holding exactly"
    text = json.dumps(columns["content"], ensure_ascii=False)
    return f"The file {unquote(key)} {is_to} this text, given as a JSON string: {text}."


def _table(key: str) -> str:
    file, title = key.split(":")[:2]
    return f"table {unquote(title)} of {unquote(file)}"


def _gone(row: tuple[str, str], columns: Mapping[str, Scalar]) -> str | None:
    table, key = row
    if table == "record":
        return (
            f"The record with {_fields(columns)} is to be gone from "
            f"{unquote(key.partition(':')[0])}."
        )
    if table == "row":
        return f"The row with {_fields(columns)} is to be gone from {_table(key)}."
    if table == "table":
        return f"There is to be no {_table(key)} any more." if "columns" in columns else None
    return f"The {table} {unquote(key)} is to be gone."


def _fields(columns: Mapping[str, Scalar]) -> str:
    told = [f"{name} {_value(value)}" for name, value in sorted(columns.items())]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def _value(value: Scalar) -> str:
    if value is None:
        return "null"
    return (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, str) and value[:1] not in "[{"
        else str(value)
    )
