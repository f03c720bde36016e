"""Chat messages in OpenAI's form <-> what a trajectory holds, in both directions.

What a model cannot see (rewards, state keys, masks, `Observation.error`, `raw`) has no place in a
message. One assistant message is
one turn; what follows it, up to the next assistant message, are that turn's observations.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from synth.schemas.canonical import valid_text
from synth.schemas.environment import Opening
from synth.schemas.model import Message
from synth.schemas.policy import Guidance
from synth.schemas.trajectory import Observation, SampledBy, Source, ToolCall, Trajectory, Turn

ENVIRONMENT_NAME = "environment"
"""The `name` under which the world itself speaks in the role of the user."""
SYSTEM_NAME = "system"
"""`Observation.name` of a system message in mid-conversation."""
GREETING_MASK = "canned_greeting"
PROVIDER_MASK = "provider_run"
"""Mask of answers whose calls the provider ran: their tools have no schema, and the log holds
neither how the model wrote them nor, as a rule, all that it was told.
"""


class Conversation(msgspec.Struct, frozen=True):
    """Messages as read; `unresolved` counts tool results that answer no call seen before them."""

    system_prompt: str | None
    opening: tuple[Observation, ...]
    turns: tuple[Turn, ...]
    unresolved: int = 0


def view_messages(
    opening: Opening,
    turns: Sequence[Turn],
    *,
    thoughts: bool = False,
    guidance: Guidance | None = None,
) -> list[Message]:
    """What the model sees next; past thoughts only where `thoughts` is set.

    A greeting comes before the opening's observations. Where the turns begin with the recorded
    greeting (`greeting_turn`), that turn
    stands for the greeting and those observations. Guidance for the first turn goes into the system
    prompt, for a later one it is a
    system message of its own before it (R3L, arXiv 2601.03715).
    """
    at = None if guidance is None else guidance.turn
    if guidance is not None and all(
        turn.sampled_by is SampledBy.CANNED for turn in turns[: guidance.turn]
    ):
        prompt = "\n\n".join(filter(None, (opening.system_prompt, guidance.text)))
        opening, at = msgspec.structs.replace(opening, system_prompt=prompt), None

    messages = _before_turns(opening.system_prompt, opening.observations)
    greeted = greeting_turn(opening)
    if greeted is not None:
        begun = turns and turns[0].sampled_by is SampledBy.CANNED
        messages = _before_turns(opening.system_prompt, ())
        messages.extend(() if begun else turn_messages(greeted))

    parts = [turn_messages(turn, thoughts=thoughts) for turn in turns]
    if guidance is not None and at is not None:
        parts.insert(at, [{"role": "system", "content": guidance.text}])
    return [*messages, *chain.from_iterable(parts)]


def greeting_turn(opening: Opening) -> Turn | None:
    """The turn as which a canned greeting is recorded, with the observations that followed it; None
    where there is no greeting.
    """
    if opening.greeting is None:
        return None
    return Turn(
        index=0,
        content=opening.greeting,
        observations=opening.observations,
        sampled_by=SampledBy.CANNED,
        mask=GREETING_MASK,
    )


def to_messages(trajectory: Trajectory, *, thoughts: bool = True) -> list[Message]:
    """The whole trajectory as messages: system prompt, opening, then each turn with its
    observations.
    """
    messages = _before_turns(trajectory.system_prompt, trajectory.opening)
    parts = (turn_messages(turn, thoughts=thoughts) for turn in trajectory.turns)
    return [*messages, *chain.from_iterable(parts)]


def turn_messages(turn: Turn, *, thoughts: bool = True) -> list[Message]:
    """The assistant message of a turn, and its observations."""
    message: Message = {"role": "assistant", "content": turn.content}
    if turn.agent is not None:
        message["name"] = turn.agent
    if thoughts and turn.thought is not None:
        message["reasoning_content"] = turn.thought
    if turn.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in turn.tool_calls
        ]
    return [message, *(observation_message(o) for o in turn.observations)]


def observation_message(observation: Observation) -> Message:
    """One observation as a message: role tool, user, user named "environment", or system in
    mid-conversation.
    """
    content = observation.content
    if observation.source is Source.ENVIRONMENT:
        if observation.name == SYSTEM_NAME:
            return {"role": "system", "content": content}
        return {"role": "user", "name": ENVIRONMENT_NAME, "content": content}
    by_tool = observation.source is Source.TOOL
    call_id = observation.call_id if by_tool else None
    message = {"role": "tool" if by_tool else "user", "content": content}
    more = {"tool_call_id": call_id, "name": observation.name}
    return {**message, **{key: value for key, value in more.items() if value is not None}}


def _before_turns(system_prompt: str | None, observations: Sequence[Observation]) -> list[Message]:
    system = [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
    return [*system, *map(observation_message, observations)]


def from_messages(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Reads messages back; keys that it does not know (`raw`, `refusal: null`, indices) are left
    out.

    A system or developer message that comes first is the system prompt, a later one an observation.
    An assistant message without
    calls that stands before any user or tool message, and is followed by a user's, is a canned
    greeting. Calls without an id get
    `call_{turn}_{i}`; results without one are linked by order (and name) to the calls of their turn
    that nothing else answers.
    Lone surrogates become U+FFFD. Raises `ValueError` (one line, with the message's index) for what
    has no place in this form.
    """
    system_prompt: str | None = None
    turns: list[Turn] = []
    # what was heard before the first assistant message, and after each
    heard: list[list[Observation]] = [[]]
    greets = True
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, Mapping) else None
        if role == "assistant":
            greeting = greets and _is_greeting(messages, index)
            turns.append(_read_turn(message, len(turns), index, greeting))
            heard.append([])
        elif role in ("system", "developer"):
            text = _text(message, index) or ""
            if index == 0:
                system_prompt = text
            else:
                heard[-1].append(Observation(text, Source.ENVIRONMENT, name=SYSTEM_NAME))
        elif role in ("user", "tool", "function"):
            greets = False
            heard[-1].append(_read_observation(message, index, role))
        else:
            raise ValueError(
                f"message {index}: role {role!r} is none of system, developer, user, assistant, "
                "tool, function"
            )
    opening, *answers = map(tuple, heard)
    answered = tuple(
        msgspec.structs.replace(turn, observations=_linked(turn.tool_calls, answer))
        for turn, answer in zip(turns, answers, strict=True)
    )
    return Conversation(system_prompt, opening, answered, _unresolved(opening, answered))


def _is_greeting(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Whether an assistant message that nobody spoke before calls nothing and is answered by a
    user, at once or behind others of its kind.
    """
    for message in messages[index:]:
        role = message.get("role") if isinstance(message, Mapping) else None
        if role != "assistant" or message.get("tool_calls") or message.get("function_call"):
            return role == "user"
    return False


def _linked(
    calls: tuple[ToolCall, ...], observations: Sequence[Observation]
) -> tuple[Observation, ...]:
    """Observations with a call id on every tool result that can have one: first unanswered call of
    that name, else the first.
    """
    answered = {o.call_id for o in observations if o.source is Source.TOOL}
    open_calls = [call for call in calls if call.call_id not in answered]
    linked = []
    for observation in observations:
        if observation.source is Source.TOOL and observation.call_id is None and open_calls:
            same_name = [call for call in open_calls if call.name == observation.name]
            call = (same_name or open_calls)[0]
            open_calls.remove(call)
            observation = msgspec.structs.replace(observation, call_id=call.call_id)
        linked.append(observation)
    return tuple(linked)


def _unresolved(opening: Sequence[Observation], turns: Sequence[Turn]) -> int:
    """Tool results that answer no call of their turn or of an earlier one."""
    count = sum(o.source is Source.TOOL for o in opening)
    known: set[str | None] = set()
    for turn in turns:
        known.update(call.call_id for call in turn.tool_calls)
        count += sum(o.source is Source.TOOL and o.call_id not in known for o in turn.observations)
    return count


def _read_turn(message: Mapping[str, Any], turn: int, index: int, greeting: bool) -> Turn:
    content = _text(message, index)
    if content is None and isinstance(message.get("refusal"), str):
        content = valid_text(message["refusal"])
    return Turn(
        index=turn,
        content=content,
        tool_calls=_read_calls(message, turn, index),
        thought=_string(message, "reasoning_content", index),
        agent=_string(message, "name", index),
        sampled_by=SampledBy.CANNED if greeting else SampledBy.POLICY,
        mask=GREETING_MASK if greeting else None,
    )


def _read_calls(message: Mapping[str, Any], turn: int, index: int) -> tuple[ToolCall, ...]:
    """The calls of an assistant message; the legacy `function_call` is read where there are no
    `tool_calls`.
    """
    calls = message.get("tool_calls")
    if not calls and message.get("function_call"):
        calls = [{"function": message["function_call"]}]
    if calls is None:
        return ()
    if not isinstance(calls, list | tuple):
        raise ValueError(f"message {index}: tool_calls is no list")
    read = []
    for i, call in enumerate(calls):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise ValueError(f"message {index}: tool_calls[{i}] has no function with a name")
        call_id = _string(call, "id", index) or f"call_{turn}_{i}"
        read.append(
            ToolCall.received(
                call_id, valid_text(function["name"]), _arguments(function.get("arguments"), index)
            )
        )
    return tuple(read)


def _arguments(arguments: Any, index: int) -> str:
    """The arguments' text as received; objects (sources that parsed them) as JSON in their own key
    order, nothing as `{}`.
    """
    if isinstance(arguments, str):
        return valid_text(arguments)
    try:
        return valid_text(json.dumps({} if arguments is None else arguments, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"message {index}: arguments are no JSON value: {error}") from error


def _read_observation(message: Mapping[str, Any], index: int, role: str) -> Observation:
    content = _text(message, index) or ""
    name = _string(message, "name", index)
    error = bool(message.get("error"))
    if role != "user":
        call_id = _string(message, "tool_call_id", index) or None
        return Observation(content, Source.TOOL, call_id, name, error)
    if name == ENVIRONMENT_NAME:
        return Observation(content, Source.ENVIRONMENT, error=error)
    return Observation(content, Source.USER, name=name, error=error)


def _text(message: Mapping[str, Any], index: int) -> str | None:
    """The content: a string, null, or a list of text parts (joined). Raises `ValueError` for
    anything else.
    """
    content = message.get("content")
    if not isinstance(content, list | tuple):
        return _as_text(content, "content", index)
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        if kind != "text" or not isinstance(part.get("text"), str):
            raise ValueError(f"message {index}: content part of type {kind!r} is not text")
    return valid_text("".join(part["text"] for part in content))


def _string(holder: Mapping[str, Any], key: str, index: int) -> str | None:
    return _as_text(holder.get(key), key, index)


def _as_text(value: Any, what: str, index: int) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else valid_text(value)
    raise ValueError(f"message {index}: {what} is {type(value).__name__}, not text")
