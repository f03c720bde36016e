"""The lines of a batch: a request in one file, and its answer in another one."""

from typing import Any

from synth.importers.records import Object, inside, is_object


def is_request(value: Any) -> bool:
    """Whether a record is a line of a batch's input: OpenAI's, or Anthropic's."""
    named = is_object(value, custom_id=str)
    return named and (is_object(value, "method", "url", body=dict) or is_object(value, params=dict))


def body_of(request: Object) -> Any:
    """What a batch's request sends."""
    return request["body"] if "body" in request else request["params"]


def is_answer(value: Any) -> bool:
    """Whether a record is a line of a batch's output, which repeats no request."""
    asked = ("request", "body", "params", "input", "messages")
    answered = ("response", "result", "error")
    return (
        is_object(value, custom_id=str)
        and any(isinstance(value.get(key), dict) for key in answered)
        and not any(key in value for key in asked)
    )


def sides_of(answer: Object) -> Object:
    """The answer as a log has it; Anthropic's stands in `result.message`."""
    if "result" not in answer:
        return answer
    failed = inside(answer, "result.error") or inside(answer, "result.type")
    message = inside(answer, "result.message")
    told: Object = {"response": message} if message else {"response": None, "error": failed}
    return {key: one for key, one in answer.items() if key != "result"} | told
