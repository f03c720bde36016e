"""Attribution rows in the form of Who&When: `mistake_step` is the index of a message of `history`,
as text.
"""

from typing import Any

import msgspec
import pyarrow as pa

from synth.exporters import facts
from synth.exporters.attribution import AttributionRow
from synth.exporters.json_columns import plain_text, text
from synth.exporters.kind import Form
from synth.schemas.messages import to_messages
from synth.schemas.trajectory import Observation, Source, Trajectory, Turn

TERMINAL = "Computer_terminal"
"""The format's name for what is no agent."""
_LINEAGE = (
    "trajectory_id",
    "task_id",
    "synthesizer",
    "policy",
    "model",
    "authorship",
    "benchmark",
    "split",
)

WORLD = "a fault of the world: nobody is the mistaken agent, for whom readers of Who&When ask"
LACKS = (
    *(
        facts.SYSTEM,
        facts.SCHEMAS,
        facts.THOUGHTS,
        facts.CALLS,
        facts.SPEAKERS,
        facts.MIDWAY,
        facts.REWARD,
        facts.CHECK,
    ),
    *(
        facts.TURN_VALUES,
        facts.TOKENS,
        facts.USAGE,
        facts.AUTHORS,
        facts.ERRORS,
        facts.HIDDEN,
        facts.RAW,
    ),
)


def attribution_schema() -> pa.Schema:
    """Who&When's keys first, then the label's own."""
    from datasets import Features, Json, List, Value

    words = Value("string")
    first = {
        name: words
        for name in (
            "question",
            "question_ID",
            "ground_truth",
            "mistake_agent",
            "mistake_step",
            "mistake_reason",
        )
    }
    own = {
        name: words
        for name in (
            "label",
            "label_status",
            "fault_step",
            "strategy",
            "mode",
            "clean_twin_id",
            "evidence",
            *_LINEAGE,
        )
    }
    features = Features({**first, "is_correct": Value("bool"), "history": List(Json()), **own})
    schema: pa.Schema = features.arrow_schema
    return schema


def attribution_record(row: AttributionRow) -> dict[str, Any]:
    """One failed run in these columns; of a fault of the world, nobody is the mistaken agent."""
    trajectory, cause, detail = row.trajectory, row.cause, row.cause.detail
    history, places = _history(trajectory)
    step = places[cause.turn]
    blamed = trajectory.turns[cause.turn]
    return {
        "question": _question(row),
        "question_ID": trajectory.trajectory_id,
        "ground_truth": _truth(row),
        "is_correct": False,
        "history": [text(message) for message in history],
        "mistake_agent": _speaker(blamed) if cause.by_agent else None,
        "mistake_step": str(step) if cause.by_agent else None,
        "mistake_reason": _reason(row),
        "label": cause.metric,
        "label_status": "confirmed" if cause.confirmed else str(detail.get("status", "weak")),
        "fault_step": None if cause.by_agent else str(step + 1 + _planted(blamed)),
        "strategy": detail.get("strategy"),
        "mode": detail.get("mode"),
        "clean_twin_id": detail.get("clean_twin_id"),
        "evidence": plain_text(detail),
        **{column: getattr(trajectory, column) for column in _LINEAGE},
    }


def _history(trajectory: Trajectory) -> tuple[list[dict[str, Any]], list[int]]:
    """The messages, without the system prompt, and the place of each turn's own; calls are written
    out, since there is no tool role.
    """
    history = [_heard(observation) for observation in trajectory.opening]
    places = []
    for turn in trajectory.turns:
        places.append(len(history))
        history.append({"content": _said(turn), "role": "assistant", "name": _speaker(turn)})
        history += [_heard(observation) for observation in turn.observations]
    return history, places


def _heard(observation: Observation) -> dict[str, Any]:
    """A name that is not the terminal's would be read as an agent's."""
    by_user = {"content": observation.content, "role": "user"}
    return by_user if observation.source is Source.USER else by_user | {"name": TERMINAL}


def _said(turn: Turn) -> str:
    return "\n".join(
        [
            *([turn.content] if turn.content else []),
            *(f"{call.name} {call.arguments}" for call in turn.tool_calls),
        ]
    )


def _speaker(turn: Turn) -> str:
    return turn.agent or "agent"


def _planted(turn: Turn) -> int:
    """Which of a turn's observations a fault was planted in."""
    return next(
        (at for at, observation in enumerate(turn.observations) if observation.planted is not None),
        0,
    )


def _question(row: AttributionRow) -> str:
    if row.task is not None and row.task.goal:
        return row.task.goal
    return "\n\n".join(
        observation.content
        for observation in row.trajectory.opening
        if observation.source is Source.USER
    )


def _truth(row: AttributionRow) -> str | None:
    """The known answer or actions; else the check, by which the run failed."""
    task = row.task
    if task is None:
        return None
    if isinstance(answer := task.script.get("answer"), str):
        return answer
    return (
        plain_text(task.gold)
        if task.gold is not None
        else None
        if task.check is None
        else plain_text(task.check)
    )


def _reason(row: AttributionRow) -> str:
    detail = row.cause.detail
    counts = ""
    if {"q_pos", "n_pos", "q_neg", "n_neg"} <= set(detail):
        counts = (
            f" With another act there {detail['q_pos']:.0%} of {detail['n_pos']} continuations "
            f"pass, with this one {detail['q_neg']:.0%} "
            f"of {detail['n_neg']}."
        )
    what = detail.get("description")
    if what is None and "correction" in detail:
        what = f"should have been {_act(msgspec.to_builtins(detail['correction']))}"
    return f"{what or row.cause.metric}.{counts}"


def _act(turn: dict[str, Any]) -> str:
    calls = [f"{call['name']} {call['arguments']}" for call in turn.get("tool_calls", ())]
    return "; ".join([*([turn["content"]] if turn.get("content") else []), *calls])


def told(row: AttributionRow) -> facts.Told:
    """What a row tells."""
    trajectory = row.trajectory
    return facts.Told(
        to_messages(trajectory), list(trajectory.tools), {}, facts.known_of(trajectory)
    )


def unsaid(row: AttributionRow) -> tuple[str, ...]:
    """What is lost of a row: calls and answers are text, there is no tool role."""
    return (*facts.lost(told(row), LACKS), *(() if row.cause.by_agent else (WORLD,)))


def attribution_training(folder: str) -> str:
    """How it is read."""
    return f"""```python
from datasets import load_dataset

rows = load_dataset("{folder}", split="train")
confirmed = rows.filter(lambda row: row["label_status"] == "confirmed" and row["mistake_agent"] is not None)
```
"""


ATTRIBUTION = Form(
    name="who_and_when",
    schema=attribution_schema,
    record=attribution_record,
    training=attribution_training,
    unsaid=unsaid,
)
