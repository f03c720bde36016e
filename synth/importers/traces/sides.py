"""What a call sent, and what came back, of any API: Chat Completions, Responses, Anthropic,
Gemini, or a framework's own record of them.
"""

from typing import Any

from synth.importers.agents.response_items import ITEM_TYPES, ResponseItems, are_items
from synth.importers.attempt import End, stated_end
from synth.importers.chats.columns import is_chat, opened
from synth.importers.chats.dialogue import dialogue
from synth.importers.chats.tools import tools_in_items, tools_of
from synth.importers.hosted.searches import executed, resting_on, searched
from synth.importers.records import Object, first_inside, first_of, inside, is_object
from synth.importers.traces.model_call import used

_SYSTEM = ("system", "instructions", "system_prompt", "systemInstruction", "system_instruction")
_SENT = ("messages", "contents", "input", "prompt", "input_messages", "chat_history")
_GIVEN = ("choices", "output", "candidates", "generations", "content", "message", "messages")
_PARAMETERS = (
    *("model_parameters", "modelParameters", "optional_params", "invocation_params"),
    *("parameters", "params", "generation_config", "generationConfig"),
    "inferenceConfig",
)
_SAMPLING = (
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "max_output_tokens"),
    *("topP", "maxTokens"),
)


def sent(value: Any, history: list[Object] | None = None) -> list[Object]:
    """The messages that a request holds, in a builder's form, behind a `history` where it goes on
    with one. Empty where it holds none. Raises `ValueError`.
    """
    value = opened(value)
    system: Any = None
    if isinstance(value, dict):
        system = next(filter(None, map(value.get, _SYSTEM)), None)
        if is_object(system, parts=list):
            system = system["parts"]
        value = opened(first_of(value, _SENT))
        if is_object(value, messages=list):
            return sent(value if system is None else {"system": system} | value, history)

    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # LangChain sends batches, of one

    if isinstance(value, str):
        value = [{"role": "user", "content": value}] if value else []
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"the request's messages are {type(value).__name__}, no list")

    if _is_items(value):
        read = _items(value)
        first = [] if system is None else dialogue([], system, actions=False).messages
        return [*(history or first), *read]
    return [*(history or []), *dialogue(value, None if history else system, actions=False).messages]


def given(value: Any) -> list[list[Object]]:
    """The answers that a response holds, each as messages: several where several were asked for.
    Raises `ValueError`.
    """
    value = opened(value)
    if isinstance(value, str):
        value = [{"role": "assistant", "content": value}] if value else []
    if isinstance(value, list):
        value = {"output": value} if _is_items(value) else {"messages": value}
    if not isinstance(value, dict):
        return []

    key = next((key for key in _GIVEN if value.get(key)), None)
    held = opened(value[key]) if key is not None else None
    listed = _listed(key, held, value) if isinstance(held, list) else None
    if listed is not None:
        return listed
    if key in ("output", "message") and held is not value:
        return given(held) if not is_object(held, role=str) else [_one(held)]
    return [_one(value)] if "content" in value or "tool_calls" in value or "kwargs" in value else []


def _listed(key: str | None, held: list[Any], response: Object) -> list[list[Object]] | None:
    """The answers in a list of the response; None where it holds none."""
    if key == "choices":
        told = (one.get("message") or one.get("delta") or one for one in held)
        return [[*executed(one), *resting_on(_one(one), response)] for one in told]
    if key == "candidates":
        return [[*searched(one), *_one(one.get("content") or {})] for one in held]
    if key == "generations":
        flat = held[0] if held and isinstance(held[0], list) else held
        return [_one(one.get("message") or one) for one in flat]
    if key == "output" and _is_items(held):
        return [_items(held)]
    if key == "messages":
        return [dialogue(held[-1:], actions=False).messages] if is_chat(held) else []
    return None


def unanswered(failed: Any) -> str:
    """Why a call has no answer."""
    return f"a call that {'failed' if failed else 'has no output'}: no answer of the model"


def _one(message: Any) -> list[Object]:
    """One answer; the model's where it names no speaker."""
    if isinstance(message, dict) and not any(
        key in message for key in ("role", "type", "kwargs", "data", "message", "id")
    ):
        message = {"role": "assistant"} | message
    if inside(message, "type") == "message":
        message = {"role": "assistant"} | message
    read = dialogue([message], actions=False).messages
    if any(one["role"] not in ("assistant", "tool") for one in read):
        raise ValueError("the response holds no answer of the model")
    return read


def held_items(value: Any) -> list[Object] | None:
    """The messages of a request to the Responses API whose own input holds what the model answered,
    or of such an input alone: a conversation that was kept as the client sent it.
    """
    is_alone = not (isinstance(value, dict) and value.get("output"))
    items = value.get("input") if is_object(value, input=list) and is_alone else None
    if isinstance(value, list) and are_items(value):
        items = value
    if not items or not (_is_items(items) or is_chat(items)):
        return None
    answers = {"function_call", "reasoning", "custom_tool_call"}
    answered = (one.get("type") in answers or one.get("role") == "assistant" for one in items)
    return sent(value) if any(answered) else None


def _is_items(value: list[Any]) -> bool:
    """Whether a list holds items of the Responses API, and no chat messages."""
    return any(
        is_object(one, type=str)
        and one["type"] in ITEM_TYPES
        and ("role" not in one or one["type"] == "message")
        and not ("id" in one and "content" not in one and one["type"] == "message")
        for one in value
    )


def _items(value: list[Any]) -> list[Object]:
    items = ResponseItems(is_harness=lambda text: False)
    for one in value:
        if not items.add(one):
            items.leave(one)
    return items.chat.messages


def about(request: Any, response: Any) -> Object:
    """Model, tools, sampling and end of a call, as arguments of `ModelCall`."""
    asked: Object = request if isinstance(request, dict) else {}
    for key in _PARAMETERS:  # proxies keep them apart from the messages
        if isinstance(asked.get(key), dict):
            asked = asked[key] | {name: one for name, one in asked.items() if one is not None}
    answered: Object = response if isinstance(response, dict) else {}
    declared = (asked.get("tools"), asked.get("functions"), inside(asked, "toolConfig.tools"))
    model = first_inside(answered, ("model", "modelVersion"), str) or inside(asked, "model", str)

    return {
        "model": model or None,
        "tools": (*tools_of(next(filter(None, declared), ())), *tools_in_items(asked, answered)),
        "sampling": {key: asked[key] for key in _SAMPLING if asked.get(key) is not None},
        **_ended(answered),
    }


def _ended(response: Object) -> dict[str, End]:
    """A limit of tokens, where the answer broke off at one; all else leaves the end open."""
    reasons = (
        inside(response, "choices.0.finish_reason"),
        response.get("stop_reason"),
        response.get("stopReason"),
        inside(response, "incomplete_details.reason"),
        inside(response, "candidates.0.finishReason"),
    )
    words = {str(one).lower() for one in reasons if one}
    cut = words & {"length", "max_tokens", "max_output_tokens"}
    return {"end": stated_end("length")} if cut else {}


def with_usage(messages: list[Object], response: Any) -> list[Object]:
    """The answer, with the tokens that the response counts on its first message of the model."""
    counts = response if isinstance(response, dict) else {}
    keys = ("usage", "usageMetadata", "usage_metadata", "token_usage", "usageDetails")
    usage = used(first_of(counts, keys, dict))
    for message in messages:
        if message["role"] == "assistant" and usage is not None:
            message["note"]["usage"] = usage
            break

    return messages
