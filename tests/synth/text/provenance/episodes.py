"""Short trajectories written by hand: what was said, called and answered."""

import json
from typing import Any

import msgspec

from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.text.provenance import ArgumentFinding, ProvenanceReport, provenance
from tests.trajectories import make_trajectory


def tool(name: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def called(
    name: str, answer: Any = None, *, error: bool = False, said: str | None = None, **arguments: Any
) -> Turn:
    """A turn of one call, with its answer (JSON unless it is text) and what the user said then."""
    call = ToolCall.received("c", name, json.dumps(arguments))
    observations = []
    if answer is not None:
        observations.append(
            Observation(
                answer if isinstance(answer, str) else json.dumps(answer),
                call_id="c",
                name=name,
                error=error,
            )
        )
    if said is not None:
        observations.append(Observation(said, Source.USER))
    return Turn(0, tool_calls=(call,), observations=tuple(observations))


def episode(
    *turns: Turn, goal: str = "Hello.", system: str = "Be kind.", tools: tuple[Any, ...] = ()
) -> Trajectory:
    numbered = tuple(
        Turn(at, t.content, t.tool_calls, t.observations) for at, t in enumerate(turns)
    )
    empty = make_trajectory(
        turns=0, system_prompt=system, tools=tools, opening=(Observation(goal, Source.USER),)
    )
    return msgspec.structs.replace(empty, turns=numbered)


def linted(
    *turns: Turn, goal: str = "Hello.", system: str = "Be kind.", tools: tuple[Any, ...] = ()
) -> ProvenanceReport:
    return provenance(episode(*turns, goal=goal, system=system, tools=tools))


def last(report: ProvenanceReport) -> ArgumentFinding:
    return report.findings[-1]
