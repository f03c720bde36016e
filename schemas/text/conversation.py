"""Chat messages in OpenAI's form, read as what a trajectory holds.

One assistant message is one turn; what follows it, up to the next assistant message, are that
turn's observations.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.schemas.canonical import valid_text
from synth.schemas.text.messages import ENVIRONMENT_NAME, GREETING_MASK, SYSTEM_NAME
from synth.schemas.trajectory import Observation, SampledBy, Source, ToolCall, Turn


class Conversation(msgspec.Struct, frozen=True):
    """Messages as read; `unresolved` counts tool results that answer no call seen before them."""

    system_prompt: str | None
    opening: tuple[Observation, ...]
    turns: tuple[Turn, ...]
    unresolved: int = 0


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
