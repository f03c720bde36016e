"""Which calls change something.

The world declares it, or the tool's schema says it, else the verb of the tool's name.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from synth.schemas import ToolSchema

Effectful = Callable[[str], bool]
"""Tool name -> whether a call of it changes something."""

_READING_VERBS = (
    "get list search find read look lookup show view check fetch query retrieve browse describe "
    "count compare calculate compute think quote track verify validate test inspect help open "
    "download estimate preview summarize grep cat ls head tail"
)
READING_VERBS = frozenset(_READING_VERBS.split())
"""First words of the names of tools that change nothing."""
_TALKING_VERBS_WORDS = "ask reply say tell respond finish done answer greet explain"
TALKING_VERBS = frozenset(_TALKING_VERBS_WORDS.split())
"""First words of the names of tools that only speak."""
_ASKS_SOMEBODY = re.compile(r"_with_(?:customer|user)$")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@lru_cache(maxsize=4096)
def effectful_by_name(tool: str) -> bool:
    """Heuristic: whether a tool changes something, by its name.

    It does unless the first word is a reading or talking verb, or the last words say that somebody
    is asked (`confirm_with_customer`).
    """
    return not _ASKS_SOMEBODY.search(tool) and first_word(tool) not in READING_VERBS | TALKING_VERBS


def first_word(tool: str) -> str:
    """The first word of a tool's name, in small letters; empty where it has none.

    A module or server that stands before the name is no part of it.
    """
    words = _WORD.findall(tool.rsplit(".", 1)[-1].rsplit("__", 1)[-1])
    return words[0].lower() if words else ""


def read_only_hint(schema: ToolSchema | None) -> bool | None:
    """MCP's `annotations.readOnlyHint` of a tool, None where it has none."""
    for holder in (schema, (schema or {}).get("function")):
        annotations: Any = holder.get("annotations") if isinstance(holder, dict) else None
        if isinstance(annotations, dict) and isinstance(annotations.get("readOnlyHint"), bool):
            return bool(annotations["readOnlyHint"])

    return None


def changes(tool: str, schema: ToolSchema | None) -> bool:
    """Whether a tool changes something: by its hint, else by its name."""
    hint = read_only_hint(schema)
    return effectful_by_name(tool) if hint is None else not hint
