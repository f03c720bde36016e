"""When two turns of different trials are the same: canonical keys of actions, observations and
states (methods: our definition).

- `action_key`: tool and canonical arguments, reasoning left out.
- `observation_key`: the answer without its nondeterministic spans.
- `state_key`: the environment's own logical key where it gives one, else the observation and the
  last `history` turn keys.
- `turn_key`: action and observation.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from synth.schemas import SampledBy, ToolCall, Trajectory, Turn, content_hash
from synth.text.provenance.arguments import under
from synth.topology.nondeterminism.fields import tool_of
from synth.topology.nondeterminism.masking import Masking, Nondeterminism

CANON_VERSION = "1"
"""Of these rules: graphs of two versions cannot be compared."""
Level = Literal["exact", "state", "semantic"]
"""How turns are merged: by action and observation, by the tools called and the logical state of the
environment after them, or by what they say (`synth.topology.semantic`).
"""


class TurnKeys(msgspec.Struct, frozen=True):
    """The keys of one turn; `parts` are what they were made of, so that any merge can be explained,
    and `taken` is the turn itself. `merged`: the node at level semantic, where it holds turns of
    several keys.
    """

    action: str
    observation: str
    state: str
    turn: str
    tools: tuple[str, ...]
    parts: tuple[str, str]
    taken: Turn
    merged: str | None = None

    def node(self, level: Level) -> str:
        """The node of the turn graph that the turn belongs to."""
        if level == "state":
            return content_hash([self.tools, self.state])
        return self.merged if level == "semantic" and self.merged is not None else self.turn


def trajectory_keys(
    trajectory: Trajectory, nondeterminism: Nondeterminism | None = None, history: int = 1
) -> list[TurnKeys]:
    """One per turn that an agent took: canned turns are none.

    `history` turns enter the state key where the environment gives no logical key: 0 where an
    observation shows the whole state.
    """
    masking = Masking(nondeterminism or Nondeterminism())
    functions = [tool["function"] for tool in trajectory.tools if "function" in tool]
    schemas = {function["name"]: function.get("parameters", {}) for function in functions}
    for observation in trajectory.opening:
        masking.text(observation.as_given().content)  # identifiers that it shows are numbered first

    keys: list[TurnKeys] = []
    for turn in trajectory.turns:
        if turn.sampled_by is not SampledBy.CANNED:
            past = [one.turn for one in keys[len(keys) - history :]] if history else []
            keys.append(_turn_keys(turn, schemas, masking, past))

    return keys


def _turn_keys(
    turn: Turn, schemas: Mapping[str, Any], masking: Masking, past: Sequence[str]
) -> TurnKeys:
    action = _action(turn, schemas, masking)

    # as the environment gave them, before a fault was planted in what the agent was shown
    called = {call.call_id: call.name for call in turn.tool_calls}
    observation = [
        [given.source, given.error, masking.answer(tool_of(given, called), given.content)]
        for given in (one.as_given() for one in turn.observations)
    ]

    action_key, observation_key = content_hash(action), content_hash(observation)
    state = turn.state_key
    return TurnKeys(
        action_key,
        observation_key,
        state if state is not None else content_hash([observation_key, past]),
        content_hash([action_key, observation_key]),
        tuple(call.name for call in turn.tool_calls) or ("says",),
        (msgspec.json.encode(action).decode(), msgspec.json.encode(observation).decode()),
        turn,
    )


def _action(turn: Turn, schemas: Mapping[str, Any], masking: Masking) -> list[Any]:
    """The calls; where there are none, what was said, letter case and white space aside.

    Text beside calls is left out: it is said to nobody, or says what the calls do.
    """
    if not turn.tool_calls:
        return ["says", masking.text(turn.content or "").casefold()]
    return [[call.name, _arguments(call, schemas.get(call.name, {}))] for call in turn.tool_calls]


def _arguments(call: ToolCall, parameters: Mapping[str, Any]) -> Any:
    """The arguments with the schema's defaults filled in, numbers in one form, strings without
    stray white space, sets in one order.

    A list is a set where its schema says `uniqueItems`. Arguments that are no JSON object are their
    own text.
    """
    if call.parse_error is not None:
        return call.arguments

    filled = {
        name: schema["default"]
        for name, schema in under(parameters, "properties").items()
        if isinstance(schema, dict) and "default" in schema
    }
    return _canonical({**filled, **call.parsed()}, parameters)


def _canonical(value: Any, schema: Any) -> Any:
    """A value in the one form that all its spellings have, by what its schema says of it."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, float) and value.is_integer():
        return int(value)  # JSON has one kind of number
    if isinstance(value, dict):
        inner = under(schema, "properties")
        return {key: _canonical(value[key], inner.get(key)) for key in sorted(value)}

    if isinstance(value, list):
        found = [_canonical(item, under(schema, "items")) for item in value]
        if isinstance(schema, dict) and schema.get("uniqueItems") is True:
            found.sort(key=lambda item: msgspec.json.encode(item, order="deterministic"))
        return found

    return value


def explained(one: TurnKeys, other: TurnKeys) -> Iterator[str]:
    """Why two turns are, or are not, the same: a line for each key, with the parts where they
    differ. A state has no parts: its key alone is shown.
    """
    of_one, of_other = ((*keys.parts, keys.state) for keys in (one, other))
    for what, part, other_part in zip(
        ("action", "observation", "state"), of_one, of_other, strict=True
    ):
        equal = getattr(one, what) == getattr(other, what)
        yield f"{what}: equal" if equal else f"{what}: {part} | {other_part}"
