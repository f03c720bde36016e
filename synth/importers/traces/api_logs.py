"""Logs of requests and responses: `{request: {...}, response: {...}}` under the usual names, a
request with its response's keys beside it, or the API's own stored objects.
"""

from collections.abc import Iterator
from typing import Any

from synth.importers.chats.columns import names_of
from synth.importers.records import Object, Record, inside
from synth.importers.traces.bodies import has_no_answer, missing, request_and_response
from synth.importers.traces.calls import Told, by_call
from synth.importers.traces.model_call import ModelCall
from synth.importers.traces.sides import about, given, held_items, sent, with_usage

_SESSIONS = ("conversation_id", "session_id", "thread_id", "sessionId", "conversationId")
EDITED_MASK = "edited_context"
"""Mask of answers to less than what the request shows: some of it was taken out on the way."""
_REMEMBERED = 10_000
"""Answers of the Responses API that later ones may go on with."""


def _is_responses(value: Any) -> bool:
    """The Responses API: an `output` of items, or an `input` that holds the answers."""
    sides = request_and_response(value)
    if sides is None:
        return held_items(value) is not None
    return sides[1].get("object", "response") == "response" and isinstance(
        sides[1].get("output"), list
    )


def _is_any(value: Any) -> bool:
    return request_and_response(value) is not None or has_no_answer(value)


class _LogReader:
    """Reads the calls of one file; a response may go on with an earlier one of the same file."""

    def __init__(self) -> None:
        self.after: dict[str, list[Object]] = {}

    def calls(self, record: Record) -> Iterator[Told]:
        """One call, or as many as the response has answers."""
        value = record.value
        sides = request_and_response(value)
        if sides is None:
            yield _kept_call(record) or record.rejected("bad_record", missing(value))
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
            yield record.rejected("no_turns", missing(value, "an answer that says nothing"))
            return
        session = _session(value, request)
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


def _kept_call(record: Record) -> ModelCall | None:
    """A conversation that was kept as the client sent it, as one call; None for anything else."""
    held = held_items(record.value)
    if held is None:
        return None
    first = next(at for at, one in enumerate(held) if one["role"] == "assistant")
    return ModelCall(
        record=record,
        sent=held[:first],
        given=held[first:],
        names=names_of(record.value),
        **about(record.value, {}),
    )


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


def _session(value: Object, request: Object) -> str | None:
    """What the log, else the request, calls the conversation."""
    holders = (value, value.get("metadata"), request, request.get("metadata"))
    named = (inside(holder, key, str) for key in _SESSIONS for holder in holders)
    return next(filter(None, named), None)


RESPONSES = by_call("openai_responses", _is_responses, lambda: _LogReader().calls)
LOGS = by_call("api_logs", _is_any, lambda: _LogReader().calls)
