"""Trajectories as ATIF v1.7 documents, one file each; what the format has no place for stands in
`extra.synth`.
"""

from typing import Any

from synth.exporters import facts
from synth.exporters.forms.columns import Column, plain_text
from synth.exporters.kind import Form, NotRepresentableError
from synth.exporters.sft_rows import SftRow
from synth.importers.interchange.atif import OWN as OWN
from synth.schemas.messages import ENVIRONMENT_NAME, SYSTEM_NAME, to_messages
from synth.schemas.model import Message
from synth.schemas.printable import in_file_name
from synth.schemas.trajectory import Observation, SampledBy, Source, Trajectory, Turn

VERSION = "ATIF-v1.7"
_TOKENS = ("prompt_token_ids", "completion_token_ids", "logprobs")
LACKS = (facts.SPELLING, facts.TOOL_NAMES, facts.ORDER, facts.HIDDEN, facts.RAW)


def _document(row: SftRow) -> dict[str, Any]:
    """The trajectory in ATIF's keys. Raises `NotRepresentableError` for calls without a JSON object as
    arguments.
    """
    trajectory = row.trajectory
    steps: list[dict[str, Any]] = []
    if trajectory.system_prompt is not None:
        steps.append({"source": "system", "message": trajectory.system_prompt})
    steps += [_heard(observation) for observation in trajectory.opening]
    for turn in trajectory.turns:
        steps += _steps(turn, row)
    if steps and trajectory.system_prompt is None and steps[0]["source"] == "system":
        steps[0]["source"] = "user"  # readers take a first step of the system for its prompt
    for number, step in enumerate(steps, start=1):
        step["step_id"] = number
    agent = {
        "name": OWN,
        "version": "0",
        "model_name": trajectory.model,
        "tool_definitions": list(trajectory.tools) or None,
    }
    totals = trajectory.totals
    final = {f"total_{name}": getattr(totals, name) for name in facts.COUNTED}
    return {
        "schema_version": VERSION,
        "session_id": trajectory.trajectory_id,
        "trajectory_id": trajectory.trajectory_id,
        "agent": _known(agent),
        "steps": steps,
        "final_metrics": _known({**final, "total_steps": len(steps)}),
        "extra": {OWN: _own(trajectory)},
    }


def _own(trajectory: Trajectory) -> dict[str, Any]:
    """What ATIF has no place for."""
    own = {
        name: getattr(trajectory, name)
        for name in (*facts.LINEAGE, "reward", "weights_id")
        if name not in ("trajectory_id", "model")
    }
    return facts.present(
        {**own, "check_result": trajectory.check_result, "sampling": trajectory.sampling or None}
    )


def _steps(turn: Turn, row: SftRow) -> list[dict[str, Any]]:
    """A turn's step, with the tools' answers in it, and a step for each thing that somebody else
    said after it.
    """
    calls = []
    for call in turn.tool_calls:
        if call.parse_error is not None:
            raise NotRepresentableError("broken_arguments")
        calls.append(
            {"tool_call_id": call.call_id, "function_name": call.name, "arguments": call.parsed()}
        )
    asked = {call.call_id for call in turn.tool_calls}
    results = []
    for observation in turn.observations:
        if observation.source is Source.TOOL:
            if observation.call_id is not None and observation.call_id not in asked:
                raise NotRepresentableError("result_of_an_earlier_step")
            result = {
                "source_call_id": observation.call_id,
                "content": observation.content,
                "extra": {OWN: {"error": True}} if observation.error else None,
            }
            results.append(_known(result))
    by_model = turn.sampled_by is SampledBy.POLICY and turn.usage is not None
    own = facts.present(
        {
            "mask": row.masked.get(turn.index),
            "sampled_by": None if turn.sampled_by is SampledBy.POLICY else turn.sampled_by,
            **{name: getattr(turn, name) for name in ("agent", "state_key", "reward", "injected")},
        }
    )
    step: dict[str, Any] = {
        "source": "agent",
        "message": turn.content or "",
        "reasoning_content": turn.thought if _with_thoughts(row) else None,
        "tool_calls": calls or None,
        "observation": {"results": results} if results else None,
        "metrics": _metrics(turn, by_model=by_model) or None,
        "llm_call_count": 1 if by_model else None,
        "extra": {OWN: own} if own else None,
    }
    return [_known(step), *(_heard(o) for o in turn.observations if o.source is not Source.TOOL)]


def _metrics(turn: Turn, *, by_model: bool) -> Message:
    known = {name: getattr(turn.usage, name) for name in facts.COUNTED} if by_model else {}
    ids = {name: getattr(turn, name) for name in _TOKENS}
    return _known({**known, **ids})


def _heard(observation: Observation) -> dict[str, Any]:
    """Users speak as users, the world as the system."""
    by_user = observation.source is Source.USER
    name = observation.name if by_user else observation.name or ENVIRONMENT_NAME
    heard = {"source": "user" if by_user else "system", "message": observation.content}
    if name is None or (name == SYSTEM_NAME and not by_user):
        return heard
    return heard | {"extra": {OWN: {"name": name}}}


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _with_thoughts(row: SftRow) -> bool:
    return any(message.get("reasoning_content") for message in row.messages)


def told(row: SftRow) -> facts.RenderedChat:
    """What a row tells, for a reader to be compared with: the whole trajectory."""
    trajectory = row.trajectory
    messages = to_messages(trajectory, thoughts=_with_thoughts(row))
    return facts.RenderedChat(
        messages, list(trajectory.tools), row.masked, facts.known_of(trajectory)
    )


SFT = Form(
    name="atif",
    columns=(
        Column("name", "string", lambda row: f"{in_file_name(row.trajectory.trajectory_id)}.json"),
        Column("text", "string", lambda row: plain_text(_document(row))),
    ),
    guide=f"""`FOLDER/traces/*.json`: one {VERSION} document per trajectory. Outcome, reward, lineage and masks stand in
`extra.{OWN}` of the document and of its steps, because the format has no place for them. `synth
import FOLDER/traces --into RUN` reads it.
""",
    masks=True,
    joins=False,
    # where tools and others answer in turns, tools come first
    unsaid=lambda row: facts.lost(told(row), LACKS),
    layout="files",
)
