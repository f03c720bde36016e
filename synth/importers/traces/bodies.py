"""The two sides of a logged call: what was sent and what came back, out of their envelopes; or why
one of them is missing.
"""

from contextlib import suppress
from typing import Any

from synth.importers.agents.response_items import are_items
from synth.importers.chats.columns import chat_of, is_chat, opened, parsed
from synth.importers.chats.envelopes import speaker_of
from synth.importers.records import UNEXPECTED, Object, first_inside, first_of, inside, is_object
from synth.importers.traces.chunks import assembled

_REQUESTS = (
    *("request", "req", "input", "inputs", "kwargs", "request_body", "requestBody", "params"),
    "item",
)


_BODIES = ("body", "inputBodyJson", "outputBodyJson")
"""Where a side's envelope has it: HTTP, Bedrock's log of invocations."""


_RESPONSES = (
    *("response", "res", "output", "outputs", "completion", "response_body", "responseBody"),
    *("result", "reply", "sample"),
)


def request_and_response(value: Any) -> tuple[Object, Object] | None:
    """Both sides of a record; None where one of them is missing."""
    if not isinstance(value, dict):
        return None

    request = answers_of(next(filter(_asks, map(value.get, _REQUESTS)), None))
    if not _asks(request):
        request = value if _asks(value) else None
    told = answers_of(next(filter(None, map(value.get, _RESPONSES)), None))
    response = told if is_answered(told) else _plain_answer(request, told)
    if response is None:
        response = value if is_answered(value) else None

    if response is None or request is None:
        return None
    return (request, response) if request is not response or _is_stored(value) else None


def _plain_answer(request: Any, told: Any) -> Object | None:
    """The answer that logs keep as a text or as one message, where the request waits for one."""
    waiting = _waiting(request)
    if waiting is None or speaker_of(waiting[-1]) == "assistant":
        return None
    if isinstance(told, list) and are_items(told):
        return {"object": "response", "output": told}
    if is_object(told, messages=list) and len(told["messages"]) == 1:
        told = told["messages"]
    if isinstance(told, list) and len(told) == 1:
        told = told[0]
    if isinstance(told, str) and told:
        return {"role": "assistant", "content": told}
    return told if isinstance(told, dict) and speaker_of(told) == "assistant" else None


def _waiting(request: Any) -> list[Any] | None:
    """The messages of a request, under whichever key they are sent."""
    if not isinstance(request, dict):
        return None
    items = parsed(request.get("input"))
    return chat_of(request) or (items if is_chat(items) else None)


def has_no_answer(value: Any) -> bool:
    """Whether a record holds a request, and an error or nothing in the response's place."""
    if not isinstance(value, dict):
        return False
    asked = any(map(_asks, map(value.get, _REQUESTS[:2])))
    key = next((key for key in _RESPONSES[:2] if key in value), None)
    return asked and key is not None and (not value[key] or bool(_error(value)))


def answers_of(value: Any) -> Any:
    """A side without its envelope: `{status_code, body}`, or JSON text; a stream as the answer that
    it adds up to.
    """
    value = _whole(opened(value))
    held = first_of(value, _BODIES) if isinstance(value, dict) else None
    body = _whole(parsed(held))
    return body if isinstance(body, dict) else value


def _whole(value: Any) -> Any:
    # a stream that cannot be put together is no answer
    with suppress(ValueError, *UNEXPECTED):
        return assembled(value)
    return None


def _asks(value: Any) -> bool:
    value = answers_of(value)
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("contents"), list) or chat_of(value) is not None:
        return True
    items = value.get("input")
    return is_chat(items) or (
        isinstance(items, str | list) and ("model" in value or "output" in value)
    )


def is_answered(value: Any) -> bool:
    """Whether a value is a response of one of the APIs."""
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), list) for key in ("choices", "candidates")):
        return True
    if is_object(inside(value, "output.message"), "content", role=str):  # Converse
        return True
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return True
    is_message = value.get("role") == "assistant" and "content" in value
    return is_message and ("stop_reason" in value or "tool_calls" in value or "model" in value)


def _is_stored(value: Object) -> bool:
    """Whether one object holds both sides: a stored response with its input, or a chat with
    choices.
    """
    return "choices" in value or "candidates" in value or value.get("object") == "response"


_ERRORS = (
    *("error", "response.error", "errorCode", "errorMessage", "response.body.error"),
    *("result.error", "res.error"),
)


def _error(value: Any) -> Any:
    """What a call that failed has in its answer's place."""
    return first_inside(value, _ERRORS)


def missing(value: Any, otherwise: str = "not a request with its response") -> str:
    if _error(value):
        return "a call that failed: no answer of the model"
    if is_object(value, "custom_id", response=dict):
        return "an answer of a batch whose custom_id no request of this import has"
    if has_no_answer(value):
        return "a call without its answer"
    if is_answered(value):
        return "a response without what was sent: log the request too, or its `input`"
    return otherwise
