"""Attribution rows in the form of Who&When: `mistake_step` is the index of a message of `history`,
as text.
"""

from functools import partial
from typing import Any

from synth.exporters import facts
from synth.exporters.attribution import AttributionRow
from synth.exporters.forms.columns import Column, messages, plain_text, taken
from synth.exporters.kind import Form
from synth.schemas.labels import given
from synth.schemas.messages import to_messages
from synth.schemas.trajectory import Observation, Source, Turn

TERMINAL = "Computer_terminal"
"""The format's name for what is no agent."""
WORLD = "a fault of the world: nobody is the mistaken agent, for whom readers of Who&When ask"
LACKS = (
    *(facts.SYSTEM, facts.SCHEMAS, facts.THOUGHTS, facts.CALLS, facts.SPEAKERS, facts.MIDWAY),
    *(facts.REWARD, facts.CHECK, facts.TURN_VALUES, facts.TOKENS, facts.USAGE, facts.AUTHORS),
    *(facts.ERRORS, facts.HIDDEN, facts.RAW),
)


def _history(row: AttributionRow) -> list[dict[str, Any]]:
    """The messages, without the system prompt; calls are written out, since there is no tool
    role.
    """
    history = [_heard(observation) for observation in row.trajectory.opening]
    for turn in row.trajectory.turns:
        said = _said(turn.content, [(call.name, call.arguments) for call in turn.tool_calls], "\n")
        history.append({"content": said, "role": "assistant", "name": turn.agent or "agent"})
        history += [_heard(observation) for observation in turn.observations]
    return history


def _heard(observation: Observation) -> dict[str, Any]:
    """A name that is not the terminal's would be read as an agent's."""
    by_user = {"content": observation.content, "role": "user"}
    return by_user if observation.source is Source.USER else by_user | {"name": TERMINAL}


def _said(content: str | None, calls: list[tuple[str, str]], between: str) -> str:
    written = [f"{name} {arguments}" for name, arguments in calls]
    return between.join([*([content] if content else []), *written])


def _step(row: AttributionRow) -> int:
    """Where in the history the turn of the cause stands."""
    before = row.trajectory.turns[: row.cause.turn]
    return len(row.trajectory.opening) + sum(1 + len(turn.observations) for turn in before)


def _blamed(row: AttributionRow) -> Turn:
    return row.trajectory.turns[row.cause.turn]


def _fault_step(row: AttributionRow) -> str | None:
    """The observation of the turn that a fault was planted in, else its first."""
    if row.cause.by_agent:
        return None
    planted = [o.planted is not None for o in _blamed(row).observations]
    return str(_step(row) + 1 + (planted.index(True) if True in planted else 0))


def _question(row: AttributionRow) -> str:
    if row.task is not None and row.task.goal:
        return row.task.goal
    opening = row.trajectory.opening
    return "\n\n".join(one.content for one in opening if one.source is Source.USER)


def _truth(row: AttributionRow) -> str | None:
    """The known answer or actions; else the check, by which the run failed."""
    task = row.task
    if task is None:
        return None
    if isinstance(answer := task.script.get("answer"), str):
        return answer
    known = task.check if task.gold is None else task.gold
    return None if known is None else plain_text(known)


def _reason(row: AttributionRow) -> str:
    label, counts = row.cause.label, ""
    passed, failed = given(label.q_pos), given(label.q_neg)
    if passed is not None and failed is not None:
        counts = (
            f" With another act there {passed:.0%} of {label.n_pos} continuations "
            f"pass, with this one {failed:.0%} of {label.n_neg}."
        )
    what, act = given(label.description), given(label.correction)
    if what is None and act is not None:
        calls = [(call.name, call.arguments) for call in act.tool_calls]
        what = f"should have been {_said(act.content, calls, '; ')}"
    return f"{what or row.cause.metric}.{counts}"


def _status(row: AttributionRow) -> str:
    return "confirmed" if row.cause.confirmed else str(given(row.cause.label.status) or "weak")


def _of_label(name: str, row: AttributionRow) -> Any:
    return given(getattr(row.cause.label, name))


def told(row: AttributionRow) -> facts.RenderedChat:
    """What a row tells."""
    trajectory = row.trajectory
    known = facts.known_of(trajectory)
    return facts.RenderedChat(to_messages(trajectory), list(trajectory.tools), {}, known)


ATTRIBUTION = Form(
    name="who_and_when",
    columns=(
        Column("question", "string", _question),
        Column("question_ID", "string", lambda row: row.trajectory.trajectory_id),
        Column("ground_truth", "string", _truth),
        Column(
            "mistake_agent",
            "string",
            lambda row: (_blamed(row).agent or "agent") if row.cause.by_agent else None,
        ),
        Column(
            "mistake_step", "string", lambda row: str(_step(row)) if row.cause.by_agent else None
        ),
        Column("mistake_reason", "string", _reason),
        Column("is_correct", "bool", lambda row: False),
        messages("history", _history),
        Column("label", "string", lambda row: row.cause.metric),
        Column("label_status", "string", _status),
        Column("fault_step", "string", _fault_step),
        *(
            Column(name, "string", partial(_of_label, name))
            for name in ("strategy", "mode", "clean_twin_id")
        ),
        Column("evidence", "string", lambda row: plain_text(row.cause.label)),
        *taken("string", "trajectory", "trajectory_id", "task_id", "synthesizer", "policy"),
        *taken("string", "trajectory", "model", "authorship", "benchmark", "split"),
    ),
    guide="""```python
from datasets import load_dataset

rows = load_dataset("FOLDER", split="train")
confirmed = rows.filter(lambda row: row["label_status"] == "confirmed" and row["mistake_agent"] is not None)
```
""",
    unsaid=lambda row: (
        *facts.lost(told(row), LACKS),
        *(() if row.cause.by_agent else (WORLD,)),
    ),
)
