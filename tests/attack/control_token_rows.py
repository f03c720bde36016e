"""Rows of every kind from one ledger written by hand, and each text in them that a stranger could
have written.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from synth.exporters.form import Form
from synth.exporters.kind import RowSettings
from synth.exporters.registry import FORMS, form_of, kind_of
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Score, StoredLedger
from synth.schemas.check import Check, RowPredicate
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.text.control_tokens import families
from tests.synth.pairs.planted import accepted, act, fork_of_one_tool, planted, run
from tests.trajectories import TOOLS, make_trajectory

TOKENS = sorted({token for tokens in families().values() for token in tokens})
IDS: dict[str, Any] = {
    "prompt_token_ids": (1, 2),
    "completion_token_ids": (3, 4),
    "logprobs": (-0.5, -0.25),
}
FIXED = ("role", "type")
"""Keys of messages and schemas whose texts no stranger writes."""
LABEL = {
    "status": "confirmed",
    "side": "agent",
    "description": "cancels the wrong order",
    "mode": "FM-1.1",
    "strategy": "rule",
}


def task(**fields: Any) -> Task:
    checked = Check(required=(RowPredicate("orders", {"id": "O-1"}),))
    given = {
        "env": "echo",
        "goal": "Bring it.",
        "check": checked,
        "split": "train",
        "script": {"lines": ["Please."]},
    }
    return Task.identified(**{**given, **fields})


def solved(slot: str = "solved", **fields: Any) -> Trajectory:
    """A success with a thought, a call that is answered, and an answer that stands on what the tool
    gave.
    """
    call = ToolCall.received("c1", "look", '{"where": "shelf", "deep": {"n": 0.30}}')
    seen = Observation("order O-42460 costs 1417.5", call_id="c1", name="look")
    turns = (
        Turn(index=0, thought="look first", tool_calls=(call,), observations=(seen,), **IDS),
        Turn(index=1, content="Order O-42460 costs 1417.5.", **IDS),
    )
    opening = (
        Observation("What does it cost?", Source.USER),
        Observation("It rains.", Source.ENVIRONMENT),
    )
    given = {"opening": opening, "task_id": task().task_id, "model": "m", **fields}
    return msgspec.structs.replace(make_trajectory(slot, **given), turns=turns)


def failed(slot: str) -> Trajectory:
    lost = msgspec.structs.replace(solved(slot), outcome=Outcome.FAILURE, reward=0.0)
    return msgspec.structs.replace(lost, check_result=None)


def ledger_of(folder: Path) -> StoredLedger:
    """Something of every kind."""
    told = {
        "tools": TOOLS,
        "system_prompt": "Help.",
        "opening": (Observation("Bring the lamp, or the chair.", Source.USER),),
    }
    base, good = fork_of_one_tool("a", task=task().task_id, **told)
    passed, lost, won = (
        run("passed", act(0), solved=True, task=task().task_id, **told),
        failed("lost"),
        solved(),
    )
    scores = [accepted(base, 1, good), Score(lost.trajectory_id, "injection", 1.0, 1, LABEL)]
    parted = _parted(task(goal="Bring that.").task_id)
    tasks = [task(), task(goal="Bring that.")]
    return planted(folder, [base, good, passed, lost, won, *parted], scores, tasks=tasks)


def _parted(task_id: str) -> tuple[Trajectory, Trajectory]:
    """Two trials of a task that part at their first act, and end otherwise."""
    won, lost = solved("parted-won", task_id=task_id), failed("parted-lost")
    other = ToolCall.received("c1", "look", '{"where": "floor", "deep": {"n": 0.30}}')
    first = msgspec.structs.replace(lost.turns[0], tool_calls=(other,))
    turns = (first, msgspec.structs.replace(lost.turns[1], content="There is none."))
    return won, msgspec.structs.replace(lost, task_id=task_id, turns=turns, trial=1)


def tally_of(kind: str, form: str | None = None, **settings: Any) -> ExportCounts:
    from synth.exporters.kinds.control_tokens import marking

    chosen = RowSettings(form=form, **settings)
    return ExportCounts(kind_of(kind), chosen, marking(form_of(kind, form), chosen))


def a_row(ledger: StoredLedger, kind: str, form: str | None = None) -> Any:
    """The clean row of most text."""
    tally = tally_of(kind, form)
    return max(tally.kind.rows(ledger, tally), key=lambda row: len(repr(row)))


def forms() -> list[tuple[str, str]]:
    """Kinds with their forms; Axolotl's pairs hold no calls, which all of these have."""
    return [(kind, form) for kind, form in FORMS if (kind, form) != ("dpo", "axolotl")]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """(path, text) of each text in a JSON value, keys of arguments and properties among them
    (`("key", name)` at the path's end).
    """
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        open_keys = bool(path) and path[-1] in ("arguments", "properties", "deep")
        for key, item in value.items():
            if open_keys:
                yield (*path, ("key", key)), key
            if key not in FIXED:
                yield from leaves(item, (*path, key))
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from leaves(item, (*path, at))


def put(value: Any, path: tuple[Any, ...], change: Callable[[str], str]) -> Any:
    """The value with the text at the path changed."""
    if not path:
        return change(value)
    first, *rest = path
    if isinstance(first, tuple):
        return {change(key) if key == first[1] else key: item for key, item in value.items()}
    if isinstance(value, dict):
        return {
            key: put(item, tuple(rest), change) if key == first else item
            for key, item in value.items()
        }
    return type(value)(
        put(item, tuple(rest), change) if at == first else item for at, item in enumerate(value)
    )


def laced(row: Any, token: str) -> Iterator[tuple[str, Any]]:
    """(field and path, row) for each text of a row with the token put into it, in ways that differ
    by place.
    """
    for field in ("messages", "prompt", "answers", "tools"):
        if hasattr(row, field):
            for path, text in leaves(getattr(row, field)):
                yield (
                    f"{field}{path}",
                    msgspec.structs.replace(
                        row, **{field: put(getattr(row, field), path, _lace(token, path, text))}
                    ),
                )
    trajectory = getattr(row, "trajectory", None)
    if (
        trajectory is not None
        and "tools" not in row.__struct_fields__
        and not hasattr(row, "cause")
    ):
        for path, text in leaves(trajectory.tools):
            tools = put(trajectory.tools, path, _lace(token, path, text))
            yield (
                f"tools{path}",
                msgspec.structs.replace(
                    row, trajectory=msgspec.structs.replace(trajectory, tools=tools)
                ),
            )


def laced_trajectories(trajectory: Trajectory, token: str) -> Iterator[tuple[str, Trajectory]]:
    """The same for a trajectory; ids of calls aside, whose links would break."""
    whole = msgspec.to_builtins(trajectory)
    for field in ("system_prompt", "tools", "opening", "turns"):
        for path, text in leaves(whole[field], (field,)):
            if path[-1] not in ("call_id", "source", "sampled_by", "state_key"):
                laced_one = {**whole, field: put(whole[field], path[1:], _lace(token, path, text))}
                yield "/".join(map(str, path)), msgspec.convert(laced_one, Trajectory)


def _lace(token: str, path: tuple[Any, ...], text: str) -> Callable[[str], str]:
    """Arguments that are JSON text get it inside a string; a name is replaced; a text has it in its
    middle.
    """
    if path[-1] == "arguments":
        return lambda given: given.replace("shelf", f"a {token} b").replace("lamp", f"a {token} b")
    half = len(text) // 2
    return lambda given: f"{given[:half]}{token}{given[half:]}"


def texts_of(record: Any) -> Iterator[str]:
    """Every text of a record, and what those that are JSON mean."""
    for _, text in leaves(record):
        yield text
        if text[:1] in '{["':
            try:
                inside = msgspec.json.decode(text)
            except msgspec.DecodeError:
                continue
            if not isinstance(inside, str):
                yield from texts_of(inside)
                yield from (key for key in _keys(inside))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def tokens_in(record: dict[str, Any], form: Form) -> list[str]:
    """The tokens of the table that a record holds, asked without the scanner.

    LLaMA-Factory's rows hold some that it writes itself, around thoughts and calls.
    """
    own = (
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<tool_response>",
        "</tool_response>",
    )
    text = "\n".join(texts_of(record))
    return [
        token
        for token in TOKENS
        if token in text and not (form.name == "llamafactory" and token in own)
    ]
