"""A turn of a clean trajectory at which a mistake could be made, and what the agent had seen by
then.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from synth.schemas.canonical import canonical_json, content_hash
from synth.schemas.check import Scalar
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import SampledBy, Source, ToolCall, ToolSchema, Trajectory, Turn
from synth.text.provenance.arguments import Argument, exempt, parameters, permitted, scalars
from synth.text.provenance.effect import (
    TALKING_VERBS,
    effectful_by_name,
    first_word,
    read_only_hint,
)
from synth.text.provenance.seen import stands
from synth.text.transcript.acts import act_digest

_DEEPEST = 30


class InjectionTranscript:
    """What a clean trajectory shows and uses, turn by turn, read once."""

    def __init__(self, twin: Trajectory) -> None:
        self.tools: Mapping[str, ToolSchema] = {
            str(tool.get("function", tool).get("name")): tool for tool in twin.tools
        }
        shown = [(-1, o) for o in twin.opening] + [
            (turn.index, o) for turn in twin.turns for o in turn.observations
        ]
        pieces = [(-1, twin.system_prompt or ""), *((at, o.content) for at, o in shown)]
        self._folded = [(at, text.casefold()) for at, text in pieces]
        json_like = [
            (at, o.content) for at, o in shown if o.content[:1] in ("{", "[") and not o.error
        ]
        self._entries = [
            (at, key, value) for at, content in json_like for key, value in _entries(content)
        ]
        self.used: dict[str, list[Scalar]] = {}
        """What the calls give under each argument name, anywhere."""
        for call in (call for turn in twin.turns for call in turn.tool_calls):
            for argument in (a for a in self.scalars(call) if not a.path.endswith("#key")):
                self.used.setdefault(argument.name, []).append(argument.value)

    def scalars(self, call: ToolCall) -> list[Argument]:
        """A call's scalars; none where it cannot be read."""
        return (
            []
            if call.parse_error is not None
            else scalars(call.parsed(), parameters(self.tools.get(call.name)))
        )

    def heard_before(self, turn: int) -> str:
        """All that was shown before a turn, folded for search."""
        return "\n".join(text for at, text in self._folded if at < turn)

    def keyed_before(self, turn: int) -> Mapping[str, Sequence[Scalar]]:
        """Scalars of the JSON answers before a turn, by key."""
        found: dict[str, dict[Scalar, None]] = {}
        for at, key, value in self._entries:
            if at >= turn:
                break
            found.setdefault(key, {})[value] = None
        return {key: tuple(values) for key, values in found.items()}


class InjectionPoint:
    """Before turn `turn` of `twin`; `affordances` are what could be done there, where the world
    says it.
    """

    def __init__(
        self,
        twin: Trajectory,
        turn: int,
        affordances: Sequence[AgentTurn] = (),
        transcript: InjectionTranscript | None = None,
    ) -> None:
        self.twin = twin
        self.index = turn
        self.turn = twin.turns[turn]
        self.affordances = affordances
        self._transcript = transcript or InjectionTranscript(twin)
        self._tools = self._transcript.tools

    @property
    def before(self) -> tuple[Turn, ...]:
        """The turns before it that the agent decided."""
        return tuple(
            turn
            for turn in self.twin.turns[: self.index]
            if turn.sampled_by is not SampledBy.CANNED
        )

    @property
    def after(self) -> tuple[Turn, ...]:
        """The turns that the twin went on with."""
        return self.twin.turns[self.index + 1 :]

    @cached_property
    def heard(self) -> str:
        """All that the agent had been shown, folded for search."""
        return self._transcript.heard_before(self.index)

    def seen(self, value: Scalar) -> bool:
        """Whether a value stands in what the agent had been shown."""
        return stands(self.heard, written(value).casefold(), number=isinstance(value, int | float))

    def changes(self, call: ToolCall) -> bool:
        """Whether a call changes something: what the tool is annotated with, else the verb of its
        name.
        """
        hint = read_only_hint(self._tools.get(call.name))
        return effectful_by_name(call.name) if hint is None else not hint

    def talks(self, call: ToolCall) -> bool:
        """Whether a call only speaks, by the verb of its name."""
        return first_word(call.name) in TALKING_VERBS

    def writes(self, turn: Turn) -> tuple[ToolCall, ...]:
        """The calls of a turn that change something, and can be read."""
        return tuple(
            call for call in turn.tool_calls if call.parse_error is None and self.changes(call)
        )

    def names(self, call: ToolCall) -> list[Argument]:
        """What a call names: its scalars without free text."""
        return [
            a
            for a in self._scalars(call)
            if not exempt(a) and not a.path.endswith("#key") and not isinstance(a.value, bool)
        ]

    def texts(self, call: ToolCall) -> list[Argument]:
        """What a call says in words of the agent's own."""
        return [
            a
            for a in self._scalars(call)
            if isinstance(a.value, str) and exempt(a) and a.value.strip()
        ]

    def _scalars(self, call: ToolCall) -> list[Argument]:
        return self._transcript.scalars(call)

    def others(self, argument: Argument) -> list[Scalar]:
        """Values that could stand in the argument's place: what its schema names, else what was
        shown under a key under which its own
        value was shown too, or under its name, or what the clean run used there. In the order in
        which they came up, without its own.
        """
        choice = permitted(argument.schema)
        kinds = (
            [key for key, values in self._keyed.items() if argument.value in values]
            if isinstance(argument.value, str)
            else []
        )
        shown = [value for key in [*kinds, argument.name] for value in self._keyed.get(key, ())]
        found = choice or [*shown, *self._transcript.used.get(argument.name, ())]
        alike = [
            value
            for value in dict.fromkeys(found)
            if isinstance(value, type(argument.value)) and value != argument.value
        ]
        return [value for value in alike if choice or self.seen(value)]

    def choices(self, calls: Sequence[ToolCall]) -> list[tuple[ToolCall, Argument, Scalar]]:
        """What of these calls could have another value, and which."""
        return [
            (call, argument, value)
            for call in calls
            for argument in self.names(call)
            for value in self.others(argument)
        ]

    @cached_property
    def _keyed(self) -> Mapping[str, Sequence[Scalar]]:
        """Scalars of all JSON answers so far, by key."""
        return self._transcript.keyed_before(self.index)

    def fresh(self, call: ToolCall, arguments: Mapping[str, Any] | None = None) -> ToolCall:
        """The call under an id of its own, with other arguments where given."""
        text = call.arguments if arguments is None else canonical_json(arguments).decode()
        return ToolCall.received(
            f"call_{content_hash([self.twin.trajectory_id, self.index, call.name, text], size=4)}",
            call.name,
            text,
        )

    def changed(self, call: ToolCall, argument: Argument, value: Scalar) -> ToolCall:
        """The call with another value in one place."""
        return self.fresh(call, with_value(call.parsed(), argument.path, value))


def with_value(arguments: Mapping[str, Any], path: str, value: Scalar) -> dict[str, Any]:
    """The arguments with another scalar at a path as `scalars` names it. Raises `KeyError` for a
    path that they do not have.
    """
    hits: list[str] = []

    def rebuilt(node: Any, here: str) -> Any:
        if isinstance(node, Mapping):
            return {
                key: rebuilt(entry, f"{here}.{key}" if here else key) for key, entry in node.items()
            }
        if isinstance(node, list):
            return [rebuilt(entry, f"{here}[{at}]") for at, entry in enumerate(node)]
        if here != path:
            return node
        hits.append(here)
        return value

    changed: dict[str, Any] = rebuilt(arguments, "")
    if not hits:
        raise KeyError(path)
    return changed


def _entries(content: str) -> Iterator[tuple[str, Scalar]]:
    """(key, scalar) of a JSON text; members of a list stand under the list's key in the singular;
    nothing of other texts.
    """
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return
    yield from _scalars_by_key(document, "", 0)


def _scalars_by_key(node: Any, key: str, depth: int) -> Iterator[tuple[str, Scalar]]:
    if depth > _DEEPEST:
        return
    if isinstance(node, dict):
        for name, entry in node.items():
            yield from _scalars_by_key(entry, name, depth + 1)
    elif isinstance(node, list):
        for entry in node:
            yield from _scalars_by_key(entry, key.removesuffix("s"), depth + 1)
    elif node is not None and key:
        yield key, node


def written(value: Scalar) -> str:
    """A scalar as it stands in a text."""
    return value if isinstance(value, str) else canonical_json(value).decode()


def same_act(one: AgentTurn, other: AgentTurn) -> bool:
    """Whether two turns do the same: equal calls, or else equal words; call ids, spelling of JSON
    and thoughts aside.
    """
    return act_digest(one) == act_digest(other)


def answered_by_user(turn: Turn) -> bool:
    """Whether a user spoke after a turn."""
    return any(o.source is Source.USER for o in turn.observations)
