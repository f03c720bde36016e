"""What an exploration of a folder has achieved, as a goal in words: one sentence per row of the
difference, never from the calls.
"""

import json
from collections.abc import Mapping
from urllib.parse import unquote

from synth.envs.data_file import data_file
from synth.envs.echo_check import rows_of
from synth.envs.episode import instructions
from synth.envs.fact_pattern import matches_any
from synth.envs.mcp.settings import McpConfig
from synth.envs.mcp.state.folder import PLACES
from synth.schemas import Draft, Facts, NoGoal, Scalar, Window

LONGEST_GOAL = 4000
Row = tuple[str, str]
"""Table and key."""
WORDINGS: Mapping[str, Mapping[str, str]] = data_file("mcp/goals")
_TOLD = {"file": "content", "table": "columns"}
"""The column that must be the only one for a row to be told."""


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
        change = "gone" if row not in after else "changed" if row in before else "new"
        columns = after.get(row) or before[row]
        sentence = _sentence(row, change, columns)
        # a file name that is no text cannot be told either
        if sentence is None or "\ufffd" in unquote(row[1]):
            return NoGoal("content_not_tellable")
        said.append(sentence)
        kinds.append(f"{row[0]} {change} {' '.join(sorted(columns))}")

    goal = " ".join(said)
    if not said:
        return NoGoal("undone_again")
    if len(goal) > LONGEST_GOAL:
        return NoGoal("too_long_to_tell")

    return Draft(
        goal=goal,
        low_level=instructions(window),
        structure="; ".join(sorted(kinds)),
        free=settings.free,
    )


def _rows(facts: Facts, free: tuple[str, ...]) -> dict[Row, Mapping[str, Scalar]]:
    """The rows that a goal may tell, by table and key, without what says where they stand."""

    told = {
        path.replace("/@", "/"): value
        for path, value in facts.items()
        if not matches_any((*free, *PLACES), path)
    }
    return {
        (table, key): columns
        for table, rows in rows_of(told).items()
        for key, columns in rows.items()
    }


def _sentence(row: Row, change: str, columns: Mapping[str, Scalar]) -> str | None:
    """One row in words; None where its content cannot be told."""

    table, key = row
    if change != "gone" and table == "file" and columns.get("is") in ("records", "database"):
        change = "there"  # what it holds is told by rows of its own
    elif (change != "gone" and table in _TOLD and set(columns) != {_TOLD[table]}) or (
        table == "table" and "columns" not in columns
    ):
        return None

    wording = WORDINGS[table].get(change)
    if wording is None:
        return None

    file, title = [unquote(part) for part in f"{key}:".split(":")[:2]]

    return wording.format(
        name=unquote(key),
        file=file,
        table=f"table {title} of {file}",
        fields=_fields(columns),
        content=json.dumps(columns.get("content"), ensure_ascii=False),
        columns=columns.get("columns"),
    )


def _fields(columns: Mapping[str, Scalar]) -> str:
    told = [f"{name} {_value(value)}" for name, value in sorted(columns.items())]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def _value(value: Scalar) -> str:
    if value is None:
        return "null"

    quoted = isinstance(value, str) and value[:1] not in "[{"

    return json.dumps(value, ensure_ascii=False) if quoted else str(value)
