"""Logs of requests and responses: `{request: {...}, response: {...}}` under the usual names, a
request with its response's keys beside it, or the API's own stored objects.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from synth.importers.agents.response_items import are_items
from synth.importers.chats.columns import chat_of, is_chat, names_of, parsed
from synth.importers.chats.envelopes import speaker_of
from synth.importers.records import (
    UNEXPECTED,
    Entry,
    Format,
    ImportSettings,
    Object,
    Record,
    Records,
    Rejection,
    inside,
    is_object,
)
from synth.importers.traces.calls import ModelCall, conversations
from synth.importers.traces.chunks import assembled
from synth.importers.traces.sides import about, given, held_items, sent, with_usage

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
_SESSIONS = ("conversation_id", "session_id", "thread_id", "sessionId", "conversationId")
EDITED_MASK = "edited_context"
"""Mask of answers to less than what the request shows: some of it was taken out on the way."""
_REMEMBERED = 10_000
"""Answers of the Responses API that later ones may go on with."""


def request_and_response(value: Any) -> tuple[Object, Object] | None:
    """Both sides of a record; None where one of them is missing."""
    if not isinstance(value, dict):
        return None

    request = answers_of(next((value[key] for key in _REQUESTS if _asks(value.get(key))), None))
    if not _asks(request):
        request = value if _asks(value) else None
    told = answers_of(next((value[key] for key in _RESPONSES if value.get(key)), None))
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


def _has_no_answer(value: Any) -> bool:
    """Whether a record holds a request, and an error or nothing in the response's place."""
    if not isinstance(value, dict):
        return False
    asked = next((value[key] for key in _REQUESTS[:2] if _asks(value.get(key))), None)
    key = next((key for key in _RESPONSES[:2] if key in value), None)
    return asked is not None and key is not None and (not value[key] or bool(_error(value)))


def answers_of(value: Any) -> Any:
    """A side without its envelope: `{status_code, body}`, or JSON text; a stream as the answer that
    it adds up to.
    """
    value = _whole(parsed(value))
    held = (value.get(key) for key in _BODIES) if isinstance(value, dict) else ()
    body = _whole(parsed(next((one for one in held if one is not None), None)))
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


def _is_responses(value: Any) -> bool:
    """The Responses API: an `output` of items, or an `input` that holds the answers."""
    sides = request_and_response(value)
    if sides is None:
        return held_items(value) is not None
    return sides[1].get("object", "response") == "response" and isinstance(
        sides[1].get("output"), list
    )


def _is_any(value: Any) -> bool:
    return request_and_response(value) is not None or _has_no_answer(value)


class _LogReader:
    """Reads the calls of one file; a response may go on with an earlier one of the same file."""

    def __init__(self) -> None:
        self.after: dict[str, list[Object]] = {}

    def calls(self, record: Record) -> Iterator[ModelCall | Rejection]:
        """One call, or as many as the response has answers."""
        value = record.value
        sides = request_and_response(value)
        if sides is None and (held := held_items(value)) is not None:
            first = next(at for at, one in enumerate(held) if one["role"] == "assistant")
            yield ModelCall(
                record=record,
                sent=held[:first],
                given=held[first:],
                names=names_of(value),
                **about(value, {}),
            )
            return
        if sides is None:
            yield record.rejected("bad_record", _missing(value))
            return

        request, response = sides
        before = request.get("previous_response_id") or response.get("previous_response_id")
        stated = {"instructions": response.get("instructions")} | request
        messages = sent(stated, self.after.get(str(before)))
        if before and str(before) not in self.after:
            yield record.rejected(
                "no_history", f"it goes on with {before}, which stands nowhere before it"
            )
            return

        answers = _thinned(given(response), response)
        if not any(answers):
            yield record.rejected("no_turns", _missing(value, "an answer that says nothing"))
            return
        session = next(filter(None, map(partial(_session, value, request), _SESSIONS)), None)
        for place, answer in enumerate(answers):
            part = record if len(answers) == 1 else record.part(f"choices/{place}", answer)
            yield ModelCall(
                record=part,
                sent=messages,
                given=with_usage(answer, response),
                group=session,
                names=names_of(value),
                **_of_call(value, request, response),
            )

        if answers and isinstance(response.get("id"), str):
            self.after[response["id"]] = [*messages, *answers[0]]
            if len(self.after) > _REMEMBERED:
                del self.after[next(iter(self.after))]


def _thinned(answers: list[list[Object]], response: Object) -> list[list[Object]]:
    """The answers, without loss where the provider took results of tools, or thoughts, out of the
    context that the request shows.
    """
    edits = inside(response, "context_management.applied_edits", list) or []
    if any(str(inside(one, "type")).startswith("clear_") for one in edits):
        for message in (one for answer in answers for one in answer):
            if message["role"] == "assistant":
                message["note"]["mask"] = message["note"].get("mask") or EDITED_MASK
    return answers


def _of_call(value: Object, request: Object, response: Object) -> Object:
    """What is told of a call: Bedrock names the model beside both sides."""
    found = about({"tools": response.get("tools")} | request, response)
    named = inside(value, "modelId", str)
    return found if found["model"] or not named else found | {"model": named}


def _session(value: Object, request: Object, key: str) -> str | None:
    for holder in (value, value.get("metadata"), request, request.get("metadata")):
        found = inside(holder, key)
        if isinstance(found, str) and found:
            return found
    return None


_ERRORS = (
    *("error", "response.error", "errorCode", "errorMessage", "response.body.error"),
    *("result.error", "res.error"),
)


def _error(value: Any) -> Any:
    """What a call that failed has in its answer's place."""
    return next(filter(None, (inside(value, place) for place in _ERRORS)), None)


def _missing(value: Any, otherwise: str = "not a request with its response") -> str:
    if _error(value):
        return "a call that failed: no answer of the model"
    if is_object(value, "custom_id", response=dict):
        return "an answer of a batch whose custom_id no request of this import has"
    if _has_no_answer(value):
        return "a call without its answer"
    if is_answered(value):
        return "a response without what was sent: log the request too, or its `input`"
    return otherwise


def _read(name: str) -> Callable[[Records, ImportSettings], Iterator[Entry]]:
    def read(records: Records, settings: ImportSettings) -> Iterator[Entry]:
        return conversations(name, _LogReader().calls, records, settings)

    return read


RESPONSES = Format(_is_responses, _read("openai_responses"))
LOGS = Format(_is_any, _read("api_logs"))
