"""An episode as check and planner read it: turns with what was answered, without what the world
could not read.
"""

from collections.abc import Iterable

import msgspec

from synth.envs.storefront.customer.customer import GOODBYE, OUT_OF_PATIENCE
from synth.envs.storefront.tools.arguments import MAX_TEXT
from synth.envs.storefront.tools.schemas import FACTS, TALKS
from synth.schemas.canonical import valid_text
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn

MAX_CALLS = 32
LONGEST_NAME = 64
_ARGUMENTS = msgspec.json.Decoder(dict[str, object])


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn of the agent and the world's answers to it."""

    turn: AgentTurn
    observations: tuple[Observation, ...]


def legible(turn: AgentTurn) -> AgentTurn:
    """The turn as the world takes it: no thought, no text beyond 20,000 characters, no lone
    surrogates.
    """
    content = turn.content
    if content is not None:
        content = valid_text(content) if len(content) <= MAX_TEXT else None
    calls = tuple(
        ToolCall(
            valid_text(call.call_id),
            valid_text(call.name[:LONGEST_NAME]),
            _legible_arguments(call.arguments),
            call.parse_error,
        )
        for call in turn.tool_calls[:MAX_CALLS]
    )
    return AgentTurn(content, calls)


def _legible_arguments(arguments: str) -> str:
    return valid_text(arguments) if len(arguments) <= MAX_TEXT else ""


def decoded(arguments: str) -> dict[str, object] | None:
    """The arguments as an object, or None where they are no JSON object."""
    try:
        return _ARGUMENTS.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def answered(exchange: Exchange) -> list[tuple[ToolCall, Observation]]:
    """The calls that succeeded, each with its observation, in order."""
    tools = [
        observation for observation in exchange.observations if observation.source is Source.TOOL
    ]
    pairs = zip(exchange.turn.tool_calls, tools, strict=False)
    return [(call, observation) for call, observation in pairs if not observation.error]


def utterances(exchange: Exchange) -> list[str]:
    """What the customer said in answer."""
    return [
        observation.content
        for observation in exchange.observations
        if observation.source is Source.USER
    ]


def messages(exchange: Exchange) -> list[str]:
    """What the agent said to the customer: its text, and the messages of talk tools that were
    accepted.
    """
    said = (
        [exchange.turn.content] if exchange.turn.content and exchange.turn.content.strip() else []
    )
    for call, _ in answered(exchange):
        if call.name in TALKS:
            said.append(words_of(call))
    return said


def words_of(call: ToolCall) -> str:
    """What the customer reads of a talk tool: the facts that it tells, and its message."""
    arguments = decoded(call.arguments) or {}
    told = [str(arguments[name]) for name in ("about", *FACTS) if name in arguments]
    return " ".join([*told, str(arguments.get("message", ""))]).strip()


def ends(exchange: Exchange) -> bool:
    """Whether the conversation is over after this exchange."""
    return any(call.name == "finish" for call, _ in answered(exchange)) or bool(
        {GOODBYE, OUT_OF_PATIENCE} & set(utterances(exchange))
    )


def recorded(trajectory: Trajectory) -> list[Exchange]:
    """A stored trajectory as exchanges in the customer's scripted words, up to the end of the
    conversation.
    """
    return exchanged(trajectory.turns)


def exchanged(turns: Iterable[Turn]) -> list[Exchange]:
    """Stored turns as exchanges in the customer's scripted words, up to the end of the
    conversation.
    """
    return until_end(
        Exchange(
            legible(AgentTurn(turn.content, turn.tool_calls)),
            tuple(seen.as_given() for seen in turn.observations),
        )
        for turn in turns
    )


def until_end(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Exchanges up to and with the one that ends the conversation."""
    kept: list[Exchange] = []
    for exchange in exchanges:
        kept.append(exchange)
        if ends(exchange):
            break
    return kept
