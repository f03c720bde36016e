"""Chat messages in OpenAI's form <-> what a trajectory holds, in both directions.

What a model cannot see (rewards, state keys, masks, `Observation.error`, `raw`) has no place in a
message. One assistant message is
one turn; what follows it, up to the next assistant message, are that turn's observations.
"""

import json
from collections.abc import Mapping, Sequence
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
        opening = msgspec.structs.replace(
            opening, system_prompt="\n\n".join(filter(None, (opening.system_prompt, guidance.text)))
        )
        at = None
    messages = _system_message(opening.system_prompt)
    greeted = greeting_turn(opening)
    if greeted is None:
        messages.extend(observation_message(o) for o in opening.observations)
    elif not (turns and turns[0].sampled_by is SampledBy.CANNED):
        messages.extend(turn_messages(greeted))
    for index, turn in enumerate(turns):
        if guidance is not None and index == at:
            messages.append({"role": "system", "content": guidance.text})
        messages.extend(turn_messages(turn, thoughts=thoughts))
    if guidance is not None and at is not None and at >= len(turns):
        messages.append({"role": "system", "content": guidance.text})
    return messages


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
    messages = _system_message(trajectory.system_prompt)
    messages.extend(observation_message(o) for o in trajectory.opening)
    for turn in trajectory.turns:
        messages.extend(turn_messages(turn, thoughts=thoughts))
    return messages


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
    if observation.source is Source.TOOL:
        message: Message = {"role": "tool", "content": observation.content}
        if observation.call_id is not None:
            message["tool_call_id"] = observation.call_id
    elif observation.source is Source.ENVIRONMENT:
        if observation.name == SYSTEM_NAME:
            return {"role": "system", "content": observation.content}
        return {"role": "user", "name": ENVIRONMENT_NAME, "content": observation.content}
    else:
        message = {"role": "user", "content": observation.content}
    if observation.name is not None:
        message["name"] = observation.name
    return message


def _system_message(system_prompt: str | None) -> list[Message]:
    return [] if system_prompt is None else [{"role": "system", "content": system_prompt}]


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
    opening: tuple[Observation, ...] = ()
    turns: list[Turn] = []
    pending: list[Observation] = []
    heard = False
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, Mapping) else None
        if role == "assistant":
            opening, pending = _close(turns, opening, pending), []
            greeting = not heard and _is_greeting(messages, index)
            turns.append(_read_turn(message, len(turns), index, greeting))
        elif role in ("system", "developer"):
            if index == 0:
                system_prompt = _text(message, index) or ""
            else:
                pending.append(
                    Observation(_text(message, index) or "", Source.ENVIRONMENT, name=SYSTEM_NAME)
                )
        elif role in ("user", "tool", "function"):
            heard = True
            pending.append(_read_observation(message, index, role))
        else:
            raise ValueError(
                f"message {index}: role {role!r} is none of system, developer, user, assistant, "
                "tool, function"
            )
    opening = _close(turns, opening, pending)
    return Conversation(system_prompt, opening, tuple(turns), _unresolved(opening, turns))


def _close(
    turns: list[Turn], opening: tuple[Observation, ...], pending: list[Observation]
) -> tuple[Observation, ...]:
    """Gives what was heard since the last assistant message to its turn, or to the opening; returns
    the opening.
    """
    if not turns:
        return tuple(pending)
    if pending:
        turns[-1] = msgspec.structs.replace(
            turns[-1], observations=_linked(turns[-1].tool_calls, pending)
        )
    return opening


def _is_greeting(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Whether an assistant message that nobody spoke before calls nothing and is answered by a
    user.
    """
    message = messages[index]
    if message.get("tool_calls") or message.get("function_call"):
        return False
    following = messages[index + 1] if index + 1 < len(messages) else None
    return isinstance(following, Mapping) and following.get("role") == "user"


def _linked(
    calls: tuple[ToolCall, ...], observations: Sequence[Observation]
) -> tuple[Observation, ...]:
    """Observations with a call id on every tool result that can have one: first unanswered call of
    that name, else the first.
    """
    results = [o for o in observations if o.source is Source.TOOL]
    if all(o.call_id is not None for o in results):
        return tuple(observations)
    answered = {o.call_id for o in results}
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
    if role == "user":
        if name == ENVIRONMENT_NAME:
            return Observation(content, Source.ENVIRONMENT, error=error)
        return Observation(content, Source.USER, name=name, error=error)
    return Observation(
        content, Source.TOOL, _string(message, "tool_call_id", index) or None, name, error
    )


def _text(message: Mapping[str, Any], index: int) -> str | None:
    """The content: a string, null, or a list of text parts (joined). Raises `ValueError` for
    anything else.
    """
    content = message.get("content")
    if content is None or isinstance(content, str):
        return None if content is None else valid_text(content)
    if not isinstance(content, list | tuple):
        raise ValueError(f"message {index}: content is {type(content).__name__}, not text")
    for part in content:
        if not (
            isinstance(part, Mapping)
            and part.get("type") == "text"
            and isinstance(part.get("text"), str)
        ):
            kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
            raise ValueError(f"message {index}: content part of type {kind!r} is not text")
    return valid_text("".join(part["text"] for part in content))


def _string(holder: Mapping[str, Any], key: str, index: int) -> str | None:
    value = holder.get(key)
    if value is None or isinstance(value, str):
        return None if value is None else valid_text(value)
    raise ValueError(f"message {index}: {key} is {type(value).__name__}, not text")
