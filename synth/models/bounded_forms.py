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

    texts, lists = list(_texts(schema, False)), list(_lists(schema))
    if not texts:
        return sampling

    room = sampling.max_tokens * CHARACTERS - sum(len(key) + 6 for key in _keys(schema))
    share = max(room // len(texts), SHORTEST)
    for text, listed in texts:
        text["maxLength"] = max(share // FEWEST, SHORTEST) if listed else share
    for one in lists:
        one["maxItems"] = max(FEWEST, share // EACH)
    return replace(sampling, extra={**sampling.extra, FORM: form})


def _below(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that stand directly in one, its items aside."""
    for name in _MEMBERS:
        members = schema.get(name)
        yield from members.values() if isinstance(members, dict) else ()
    for name in _CHOICES:
        choices = schema.get(name)
        yield from choices if isinstance(choices, list) else ()


def _texts(schema: Any, listed: bool) -> Iterator[tuple[dict[str, Any], bool]]:
    """Texts that may be of any length; True for those of a list."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "string" and _FIXED.isdisjoint(schema):
        yield schema, listed
    for one in _below(schema):
        yield from _texts(one, listed)
    yield from _texts(schema.get("items"), True)


def _lists(schema: Any) -> Iterator[dict[str, Any]]:
    """Lists that may be of any length."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "array" and "maxItems" not in schema:
        yield schema
    for one in (*_below(schema), schema.get("items")):
        yield from _lists(one)


def _keys(schema: Any) -> Iterator[str]:
    """The names of all members."""
    if isinstance(schema, dict):
        members = schema.get("properties")
        yield from members if isinstance(members, dict) else ()
        for one in (*_below(schema), schema.get("items")):
            yield from _keys(one)
