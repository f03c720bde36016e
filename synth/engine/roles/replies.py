"""What a role's reply is asked to look like, and what it says: read strictly where it can be,
leniently where that has one meaning, refused where the model refuses.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from synth.models.reply_health import CUT_OFF, mask_of
from synth.schemas import Completion
from synth.text.refusals import refuses
from synth.text.replies.answers import one_of
from synth.text.replies.fitted import NoFitError
from synth.text.replies.objects import objects_in, said

T = TypeVar("T")
IN_PROSE = "json_in_prose"
WITHOUT_JSON = "answer_without_json"
REFUSED = "refused"
"""With this begins why a reply could not be read that refuses to answer."""


class UnreadableError(ValueError):
    """A reply is not what was asked for; the message says why in one line, to the model too."""


def response_form(
    name: str, kind: type[Any], *, least: int = 0, most: int | None = None
) -> Mapping[str, Any]:
    """The `response_format` that holds a server of OpenAI's form to a struct's type, each of its
    lists to so many items: a small model that is held to a form alone leaves them empty.

    `strict` where its schema closes every object, as OpenAI wants it: not where arguments of any
    tool may stand in it.
    """
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    schema = {**parts.pop(root["$ref"].rpartition("/")[2]), **({"$defs": parts} if parts else {})}
    closed = all([_closed(one) for one in (schema, *parts.values())])
    for one in schema["properties"].values():
        if one.get("type") == "array":
            one |= {"minItems": least} if least else {}
            one |= {"maxItems": most} if most is not None else {}
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": closed, "schema": schema},
    }


def _closed(schema: dict[str, Any]) -> bool:
    """Closes an object's schema, all its keys required; False where one of them is open."""
    properties = schema.get("properties", {})
    schema.pop("title", None)
    schema.pop("description", None)
    schema |= {"required": list(properties), "additionalProperties": False}
    for one in properties.values():
        one.pop("default", None)
    return not any(one.get("type") == "object" for one in properties.values())


def answer_text(completion: Completion) -> str:
    """The text that a role answered with, without thinking; the end of its thinking where the
    server put all of the reply there.
    """
    content = completion.content or ""
    if content.strip() or not completion.thought:
        return content
    found, _ = objects_in(completion.thought)
    ends = completion.thought.rstrip().rstrip("`").rstrip().endswith("}")
    return completion.thought if found and ends else content


def json_reply(completion: Completion, kind: type[T]) -> T:
    """The one JSON object in a reply, of a struct's type. Raises `UnreadableError`."""
    try:
        return one_of(answer_text(completion), kind)[0]
    except (NoFitError, UnicodeEncodeError, RecursionError) as error:
        raise UnreadableError(str(error)[:300]) from error


def why_unusable(completion: Completion) -> str | None:
    """Why a reply is none that could be read: it was cut off, or a filter or its model refused."""
    ended = mask_of(completion.finish_reason)
    if ended == CUT_OFF:
        return "it was cut off at the token limit"
    if ended is not None:
        return f"{REFUSED}: it was cut off by a content filter"
    if "refusal_as_content" in completion.repairs:
        return f"{REFUSED}: {_short(completion)}"
    return None


def refusal_in(completion: Completion) -> str | None:
    """A reply that could not be read and refuses in words, as why it could not."""
    text = said(completion.content or "")
    return f"{REFUSED}: {_short(completion)}" if refuses(text) else None


def mended_in(completion: Completion, *, form: bool) -> tuple[str, ...]:
    """What a lenient reader had to do with the JSON of a reply; `form`: JSON was asked for, and an
    answer was read.
    """
    text = answer_text(completion)
    found, mended = objects_in(text)
    if not found:
        return (WITHOUT_JSON,) if form else ()
    bare = said(text).strip()
    prose = not (bare.startswith(("{", "[")) and bare.endswith(("}", "]")))
    return (*mended, IN_PROSE) if prose and not mended else mended


def _short(completion: Completion) -> str:
    return " ".join((completion.content or "").split())[:200]
