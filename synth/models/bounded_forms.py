"""A form whose texts fit the tokens that a reply may have: vLLM holds a reply to `maxLength` too,
and a small model that is held to a form without it runs on in a text until it is cut off.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from msgspec.structs import replace

from synth.models.refused_features import FORM
from synth.schemas import Sampling

CHARACTERS = 2
"""Per token, as a small model writes: English has four, noise and numbers one or two."""
SHORTEST = 24
"""The least characters that a text is left."""
FEWEST, EACH = 4, 40
"""A list has room for so many items, or for one per so many characters of its share."""
_FIXED = frozenset({"enum", "const", "pattern", "format", "maxLength", "minLength"})
_MEMBERS = ("properties", "$defs")
_CHOICES = ("anyOf", "oneOf", "allOf")


def bounded(sampling: Sampling) -> Sampling:
    """The same, with every free text of its JSON form bounded by its share of `max_tokens`; texts
    that are bounded already, and replies without a limit or a form, stay as they are.
    """
    form = deepcopy(sampling.extra.get(FORM))
    held = form.get("json_schema") if isinstance(form, Mapping) else None
    schema = held.get("schema") if isinstance(held, Mapping) else None
    if sampling.max_tokens is None or not isinstance(schema, dict):
        return sampling

    parts = list(_parts(schema))
    texts = [(part, listed) for part, listed in parts if _is_free_text(part)]
    if not texts:
        return sampling

    names = [name for part, _ in parts for name in _mapping(part, "properties")]
    room = sampling.max_tokens * CHARACTERS - sum(len(name) + 6 for name in names)
    share = max(room // len(texts), SHORTEST)
    for text, listed in texts:
        text["maxLength"] = max(share // FEWEST, SHORTEST) if listed else share
    for part, _ in parts:
        if part.get("type") == "array" and "maxItems" not in part:
            part["maxItems"] = max(FEWEST, share // EACH)
    return replace(sampling, extra={**sampling.extra, FORM: form})


def _parts(schema: Any, listed: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """A schema and all that stand in it; True for what stands in a list."""
    if not isinstance(schema, dict):
        return

    yield schema, listed
    for name in _MEMBERS:
        for member in _mapping(schema, name).values():
            yield from _parts(member, listed)
    for name in _CHOICES:
        choices = schema.get(name)
        for choice in choices if isinstance(choices, list) else ():
            yield from _parts(choice, listed)
    yield from _parts(schema.get("items"), True)


def _mapping(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What a schema has under a name; nothing where that is no mapping."""
    found = schema.get(name)
    return found if isinstance(found, dict) else {}


def _is_free_text(schema: Mapping[str, Any]) -> bool:
    """Whether a text may be of any length."""
    return schema.get("type") == "string" and _FIXED.isdisjoint(schema)
