"""Trajectories as ATIF v1.7 documents, one file each; what the format has no place for stands in
`extra.synth`.

Each document holds the whole trajectory, whatever of it carries loss: the masks of a row are named
in its steps, and what was said after the last turn stays. Our importer reads the documents again,
which is what the proof of this form looks at.
"""

from typing import Any

from synth.exporters import facts
from synth.exporters.exact_json import plain_text
from synth.exporters.form import NotRepresentableError, form
from synth.exporters.kinds.sft_rows import SftRow
from synth.importers.interchange.atif import OWN as OWN
from synth.schemas import (
    ENVIRONMENT_NAME,
    SYSTEM_NAME,
    Observation,
    SampledBy,
    Source,
    Turn,
    in_file_name,
    to_messages,
)

VERSION = "ATIF-v1.7"
_ELSEWHERE = ("trajectory_id", "model")
"""Parts of the lineage for which ATIF has keys of its own."""


def _document(row: SftRow) -> dict[str, Any]:
    """The trajectory in ATIF's keys. Raises `NotRepresentableError` for calls without a JSON object
    as arguments.
    """
    trajectory = row.trajectory
    steps = _steps(row)

    # names under which the format has what all turns used
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
        # what has no place in the format stands under our own name
        "extra": {
            OWN: facts.of(trajectory, (*own, "reward", "weights_id", "check_result", "sampling"))
        },
    }


def _steps(row: SftRow) -> list[dict[str, Any]]:
    """All that was said and done, in order and numbered from 1.

    What tools answered stands in the step that called them, what others said in steps of its own.
    """
    trajectory = row.trajectory
    steps: list[dict[str, Any]] = []
    if trajectory.system_prompt is not None:
        steps.append({"source": "system", "message": trajectory.system_prompt})

    steps += map(_heard, trajectory.opening)
    if steps and trajectory.system_prompt is None and steps[0]["source"] == "system":
        steps[0]["source"] = "user"  # readers take a first step of the system for its prompt

    for turn in trajectory.turns:
        steps.append(_step(turn, row))
        steps += [_heard(one) for one in turn.observations if one.source is not Source.TOOL]

    return [step | {"step_id": number} for number, step in enumerate(steps, start=1)]


def _step(turn: Turn, row: SftRow) -> dict[str, Any]:
    """A turn, with the tools' answers in it; keys without a value are left out.

    Raises `NotRepresentableError` for broken arguments, and for an answer to an earlier turn.
    """
    # a turn that no model was asked for has no calls of one, and used nothing
    by_policy = turn.sampled_by is SampledBy.POLICY
    by_model = by_policy and turn.usage is not None
    # no reader of the format looks for these, but our own importer reads the mask
    own = facts.present(
        {
            "mask": row.masked.get(turn.index),
            "sampled_by": None if by_policy else turn.sampled_by,
            **facts.of(turn, ("agent", "state_key", "reward", "injected")),
        }
    )

    # token ids are kept of turns without usage too
    used = {name: getattr(turn.usage, name) for name in facts.COUNTED} if by_model else {}
    tokens = {name: getattr(turn, name) for name in facts.OF_TURNS[facts.TOKENS]}
    calls, results = _calls(turn), _results(turn)

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


def _calls(turn: Turn) -> list[dict[str, Any]]:
    """Arguments are objects in this format, so text that is none has no place."""
    if any(call.parse_error is not None for call in turn.tool_calls):
        raise NotRepresentableError("broken_arguments")

    return [
        {"tool_call_id": call.call_id, "function_name": call.name, "arguments": call.parsed()}
        for call in turn.tool_calls
    ]


def _results(turn: Turn) -> list[dict[str, Any]]:
    """A result without an id belongs to the step that it stands in."""
    # an answer that comes turns later has no step to stand in
    asked = {None, *(call.call_id for call in turn.tool_calls)}
    answers = [one for one in turn.observations if one.source is Source.TOOL]
    if any(one.call_id not in asked for one in answers):
        raise NotRepresentableError("result_of_an_earlier_step")

    return [
        # that a tool answered with an error has no key of its own
        _known(
            source_call_id=one.call_id,
            content=one.content,
            extra={OWN: {"error": True}} if one.error else None,
        )
        for one in answers
    ]


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
    """The keys that have a value: the format allows none that is null."""
    return {name: value for name, value in values.items() if value is not None}


def _with_thoughts(row: SftRow) -> bool:
    """Whether the row was made with thoughts: the document is made from its trajectory."""
    return any(message.get("reasoning_content") for message in row.messages)


def _told(row: SftRow) -> facts.RenderedChat:
    """The whole trajectory."""
    messages = to_messages(row.trajectory, thoughts=_with_thoughts(row))
    return facts.rendered(row.trajectory, messages, row.masked)


# documents are made from trajectories, so that nothing of a row's messages is joined
SFT = form(
    "atif",
    "sft",
    {
        "name": lambda row: f"{in_file_name(row.trajectory.trajectory_id)}.json",
        "text": lambda row: plain_text(_document(row)),
    },
    told=_told,
)
