"""When two turns of different trials are the same: canonical keys of actions, observations and
states (methods: our definition).

`action_key`: tool and canonical arguments, reasoning left out; `observation_key`: the answer
without its volatile spans; `state_key`: the
world's own logical key where it gives one, else the observation and the last `history` turn keys;
`turn_key`: action and observation.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from synth.schemas.canonical import content_hash
from synth.schemas.trajectory import SampledBy, ToolCall, ToolSchema, Trajectory, Turn
from synth.topology.volatile import Masking, Volatile
from synth.topology.volatile_fields import tool_of

CANON_VERSION = "1"
Level = Literal["exact", "state", "semantic"]
"""How turns are merged: by action and observation, by the tools called and the world's logical
state after them, or by what they say
(`synth.topology.semantic`).
"""


class TurnKeys(msgspec.Struct, frozen=True):
    """The keys of one turn; `parts` are what they were made of, so that any merge can be explained.
    `merged`: the node at level semantic,
    where it holds turns of several keys.
    """

    action: str
    observation: str
    state: str
    turn: str
    tools: tuple[str, ...]
    parts: tuple[str, str]
    merged: str | None = None

    def node(self, level: Level) -> str:
        """The node of the turn graph that the turn belongs to."""
        if level == "state":
            return content_hash([self.tools, self.state])
        return self.merged if level == "semantic" and self.merged is not None else self.turn


def trajectory_keys(
    trajectory: Trajectory, volatile: Volatile | None = None, history: int = 1
) -> list[TurnKeys]:
    """One per turn that an agent took: canned turns are none.

    `history` turns enter the state key where the world gives no logical key: 0 where an observation
    shows the whole state.
    """
    masking = Masking(volatile or Volatile())
    schemas = {
        tool["function"]["name"]: tool["function"].get("parameters", {})
        for tool in trajectory.tools
        if "function" in tool
    }
    for observation in trajectory.opening:
        masking.text(observation.as_given().content)  # identifiers that it shows are numbered first
    keys: list[TurnKeys] = []
    for turn in trajectory.turns:
        if turn.sampled_by is SampledBy.CANNED:
            continue
        keys.append(_turn_keys(turn, schemas, masking, keys, history))
    return keys


def _turn_keys(
    turn: Turn,
    schemas: Mapping[str, Any],
    masking: Masking,
    before: Sequence[TurnKeys],
    history: int,
) -> TurnKeys:
    action = _action(turn, schemas, masking)
    called = {call.call_id: call.name for call in turn.tool_calls}
    given = [o.as_given() for o in turn.observations]
    observation = [
        [o.source, o.error, masking.answer(tool_of(o, called), o.content)] for o in given
    ]
    action_key, observation_key = content_hash(action), content_hash(observation)
    turn_key = content_hash([action_key, observation_key])
    past = [keys.turn for keys in before[len(before) - history :]] if history else []
    state_key = (
        turn.state_key if turn.state_key is not None else content_hash([observation_key, past])
    )
    tools = tuple(call.name for call in turn.tool_calls) or ("says",)
    parts = (msgspec.json.encode(action).decode(), msgspec.json.encode(observation).decode())
    return TurnKeys(action_key, observation_key, state_key, turn_key, tools, parts)


def _action(turn: Turn, schemas: Mapping[str, Any], masking: Masking) -> list[Any]:
    """The calls; where there are none, what was said, letter case and white space aside."""
    if not turn.tool_calls:
        return ["says", masking.text(turn.content or "").casefold()]
    return [
        [call.name, canonical_arguments(call, schemas.get(call.name, {}))]
        for call in turn.tool_calls
    ]


def canonical_arguments(call: ToolCall, parameters: ToolSchema) -> Any:
    """The arguments with the schema's defaults filled in, numbers in one form, strings without
    stray white space, sets in one order.

    A list is a set where its schema says `uniqueItems`. Arguments that are no JSON object are their
    own text.
    """
    if call.parse_error is not None:
        return call.arguments
    given = call.parsed()
    properties = (
        parameters.get("properties", {})
        if isinstance(parameters.get("properties", {}), dict)
        else {}
    )
    filled = {
        name: schema["default"]
        for name, schema in properties.items()
        if isinstance(schema, dict) and "default" in schema
    }
    return {
        name: _canonical(value, properties.get(name, {}))
        for name, value in sorted({**filled, **given}.items())
    }


def _canonical(value: Any, schema: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        inner = schema.get("properties", {}) if isinstance(schema, dict) else {}
        return {key: _canonical(item, inner.get(key, {})) for key, item in sorted(value.items())}
    if isinstance(value, list):
        items = schema.get("items", {}) if isinstance(schema, dict) else {}
        found = [_canonical(item, items) for item in value]
        unordered = isinstance(schema, dict) and schema.get("uniqueItems") is True
        return (
            sorted(found, key=lambda item: msgspec.json.encode(item, order="deterministic"))
            if unordered
            else found
        )
    return value


def explained(one: TurnKeys, other: TurnKeys) -> Iterator[str]:
    """Why two turns are, or are not, the same: a line for each key, with the parts where they
    differ.
    """
    for what, equal in (
        ("action", one.action == other.action),
        ("observation", one.observation == other.observation),
        ("state", one.state == other.state),
    ):
        if equal:
            yield f"{what}: equal"
        elif what == "state":
            yield f"state: {one.state} | {other.state}"
        else:
            at = ("action", "observation").index(what)
            yield f"{what}: {one.parts[at]} | {other.parts[at]}"
