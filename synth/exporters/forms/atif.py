"""Trajectories as ATIF v1.7 documents, one file each; what the format has no place for stands in
`extra.synth`.
"""

from typing import Any

from synth.exporters import facts
from synth.exporters.exact_json import plain_text
from synth.exporters.form import NotRepresentableError, form
from synth.exporters.kinds.sft_rows import SftRow
from synth.importers.atif import OWN as OWN
from synth.schemas.messages import ENVIRONMENT_NAME, SYSTEM_NAME, to_messages
from synth.schemas.printable import in_file_name
from synth.schemas.trajectory import Observation, SampledBy, Source, Turn

VERSION = "ATIF-v1.7"
_ELSEWHERE = ("trajectory_id", "model")
"""Parts of the lineage for which ATIF has keys of its own."""


def _document(row: SftRow) -> dict[str, Any]:
    """The trajectory in ATIF's keys. Raises `NotRepresentableError` for calls without a JSON object
    as arguments.
    """
    trajectory = row.trajectory
    steps: list[dict[str, Any]] = []
    if trajectory.system_prompt is not None:
        steps.append({"source": "system", "message": trajectory.system_prompt})

    steps += map(_heard, trajectory.opening)
    if steps and trajectory.system_prompt is None and steps[0]["source"] == "system":
        steps[0]["source"] = "user"  # readers take a first step of the system for its prompt

    # what tools answered stands in the step, what others said in steps of its own
    for turn in trajectory.turns:
        steps.append(_step(turn, row))
        steps += [_heard(one) for one in turn.observations if one.source is not Source.TOOL]

    for number, step in enumerate(steps, start=1):
        step["step_id"] = number

    totals = {f"total_{name}": getattr(trajectory.totals, name) for name in facts.COUNTED}
    own = [name for name in facts.LINEAGE if name not in _ELSEWHERE]

    return {
        "schema_version": VERSION,
        "session_id": trajectory.trajectory_id,
        "trajectory_id": trajectory.trajectory_id,
        "agent": _known(
            name=OWN,
            version="0",
            model_name=trajectory.model,
            tool_definitions=list(trajectory.tools) or None,
        ),
        "steps": steps,
        "final_metrics": _known(**totals, total_steps=len(steps)),
        "extra": {
            OWN: facts.of(trajectory, (*own, "reward", "weights_id", "check_result", "sampling"))
        },
    }


def _step(turn: Turn, row: SftRow) -> dict[str, Any]:
    """A turn, with the tools' answers in it."""
    calls = []

    for call in turn.tool_calls:
        if call.parse_error is not None:
            raise NotRepresentableError("broken_arguments")

        calls.append(
            {"tool_call_id": call.call_id, "function_name": call.name, "arguments": call.parsed()}
        )

    # a result without an id belongs to the step that it stands in
    asked = {None, *(call.call_id for call in turn.tool_calls)}
    results = [
        _known(
            source_call_id=one.call_id,
            content=one.content,
            extra={OWN: {"error": True}} if one.error else None,
        )
        for one in turn.observations
        if one.source is Source.TOOL
    ]
    if any(one.get("source_call_id") not in asked for one in results):
        raise NotRepresentableError("result_of_an_earlier_step")

    by_policy = turn.sampled_by is SampledBy.POLICY
    by_model = by_policy and turn.usage is not None
    own = facts.present(
        {
            "mask": row.masked.get(turn.index),
            "sampled_by": None if by_policy else turn.sampled_by,
            **facts.of(turn, ("agent", "state_key", "reward", "injected")),
        }
    )

    used = {name: getattr(turn.usage, name) for name in facts.COUNTED} if by_model else {}
    # token ids are kept of turns without usage too
    tokens = {name: getattr(turn, name) for name in facts.OF_TURNS[facts.TOKENS]}

    return _known(
        source="agent",
        message=turn.content or "",
        reasoning_content=turn.thought if _with_thoughts(row) else None,
        tool_calls=calls or None,
        observation={"results": results} if results else None,
        metrics=_known(**used, **tokens) or None,
        llm_call_count=1 if by_model else None,
        extra={OWN: own} if own else None,
    )


def _heard(observation: Observation) -> dict[str, Any]:
    """Users speak as users, the world as the system."""
    by_user = observation.source is Source.USER
    # the importer takes a nameless step of the system for the world's own word
    name = observation.name if by_user else observation.name or ENVIRONMENT_NAME
    heard = {"source": "user" if by_user else "system", "message": observation.content}
    if name is None or (name == SYSTEM_NAME and not by_user):
        return heard

    return heard | {"extra": {OWN: {"name": name}}}


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _with_thoughts(row: SftRow) -> bool:
    return any(message.get("reasoning_content") for message in row.messages)


def _told(row: SftRow) -> facts.RenderedChat:
    """The whole trajectory."""
    messages = to_messages(row.trajectory, thoughts=_with_thoughts(row))
    return facts.rendered(row.trajectory, messages, row.masked)


SFT = form(
    "atif",
    "sft",
    {
        "name": lambda row: f"{in_file_name(row.trajectory.trajectory_id)}.json",
        "text": lambda row: plain_text(_document(row)),
    },
    told=_told,
)
