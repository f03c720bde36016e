"""Attribution rows in the form of Who&When: `mistake_step` is the index of a message of `history`,
as text.

The format knows agents, a terminal and somebody without a name: the terminal says what tools and
the world said, nobody what users said, and calls are words of the turn that made them. Our own
columns (from `label` on) stand behind those of the format.
"""

from collections.abc import Iterable
from typing import Any

from synth.exporters import facts
from synth.exporters.exact_json import plain_text
from synth.exporters.form import form
from synth.exporters.kinds.attribution import AttributionRow
from synth.exporters.kinds.memory import question_of
from synth.schemas import Observation, Source, ToolCall, given, to_messages

TERMINAL = "Computer_terminal"
"""The format's name for what is no agent."""
WORLD = "a fault of the world: nobody is the mistaken agent, for whom readers of Who&When ask"


def history(row: AttributionRow) -> list[dict[str, Any]]:
    """The messages, without the system prompt; calls are written out, since there is no tool
    role.
    """
    # positions are counted over these messages, so none may be left out
    said = [_heard(observation) for observation in row.trajectory.opening]

    for turn in row.trajectory.turns:
        words = _said(turn.content, turn.tool_calls, "\n")
        said.append({"content": words, "role": "assistant", "name": turn.agent or "agent"})
        said += [_heard(observation) for observation in turn.observations]

    return said


def _heard(observation: Observation) -> dict[str, Any]:
    """A name that is not the terminal's would be read as an agent's."""
    by_user = {"content": observation.content, "role": "user"}
    return by_user if observation.source is Source.USER else by_user | {"name": TERMINAL}


def _said(content: str | None, calls: Iterable[ToolCall], between: str) -> str:
    """A turn in words: its text, then its calls as they were received."""
    written = [f"{call.name} {call.arguments}" for call in calls]
    return between.join([*([content] if content else []), *written])


def _step(row: AttributionRow) -> int:
    """Where in the history the turn of the cause stands."""
    # each turn is one message, and each observation another
    before = row.trajectory.turns[: row.cause.turn]
    return len(row.trajectory.opening) + sum(1 + len(turn.observations) for turn in before)


def _fault_step(row: AttributionRow) -> str | None:
    """The observation of the turn that a fault was planted in, else its first."""
    if row.cause.by_agent:
        return None
    # of several answers the one that the fault was planted in
    planted = [o.planted is not None for o in row.blamed.observations]
    return str(_step(row) + 1 + (planted.index(True) if True in planted else 0))


def _truth(row: AttributionRow) -> str | None:
    """The known answer or actions; else the check, by which the run failed."""
    task = row.task
    if task is None:
        return None
    # some tasks know their answer, some only what would check it
    if isinstance(answer := task.script.get("answer"), str):
        return answer

    # gold actions say more than the check that they pass
    known = task.check if task.gold is None else task.gold

    return None if known is None else plain_text(known)


def _reason(row: AttributionRow) -> str:
    """What the label says of the mistake, and what continuations say of the label."""
    label, counts = row.cause.label, ""
    # what a test has counted is told with the label, where there was one
    passed, failed = given(label.q_pos), given(label.q_neg)

    if passed is not None and failed is not None:
        counts = (
            f" With another act there {passed:.0%} of {label.n_pos} continuations "
            f"pass, with this one {failed:.0%} of {label.n_neg}."
        )

    what, act = given(label.description), given(label.correction)
    if what is None and act is not None:
        what = f"should have been {_said(act.content, act.tool_calls, '; ')}"

    return f"{what or row.cause.metric}.{counts}"


def _status(row: AttributionRow) -> str:
    """As its stage called it; one that no test decided is weak."""
    return "confirmed" if row.cause.confirmed else str(given(row.cause.label.status) or "weak")


ATTRIBUTION = form(
    "who_and_when",
    "attribution",
    {
        "question": lambda row: question_of(row.trajectory, row.task),
        "ground_truth": _truth,
        "mistake_agent": lambda row: (row.blamed.agent or "agent") if row.cause.by_agent else None,
        "mistake_step": lambda row: str(_step(row)) if row.cause.by_agent else None,
        "mistake_reason": _reason,
        "is_correct": lambda row: False,
        "history": history,
        "label_status": _status,
        "fault_step": _fault_step,
    },
    told=lambda row: facts.rendered(row.trajectory, to_messages(row.trajectory), {}),
    loses=lambda row: () if row.cause.by_agent else (WORLD,),
)
