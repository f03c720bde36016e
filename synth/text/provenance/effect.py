"""Which calls change something: what the world declares, what the tool's schema says, else the verb
of the tool's name.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from synth.schemas.trajectory import ToolSchema

Effectful = Callable[[str], bool]
"""Tool name -> whether a call of it changes something."""

_READING_VERBS = (
    "get list search find read look lookup show view check fetch query retrieve browse describe "
    "count compare calculate compute "
    "think quote track verify validate test inspect help open download estimate preview summarize "
    "grep cat ls head tail"
)
READING_VERBS = frozenset(_READING_VERBS.split())
"""First words of the names of tools that change nothing."""
_TALKING_VERBS = "ask reply say tell respond finish done answer greet explain"
TALKING_VERBS = frozenset(_TALKING_VERBS.split())
"""First words of the names of tools that only speak."""
_ASKS_SOMEBODY = re.compile(r"_with_(?:customer|user)$")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@lru_cache(maxsize=4096)
def effectful_by_name(tool: str) -> bool:
    """Heuristic: a tool changes something unless the first word of its name is a reading or talking
    verb, or its last words say that somebody is asked (`confirm_with_customer`).
    """
    return not _ASKS_SOMEBODY.search(tool) and first_word(tool) not in READING_VERBS | TALKING_VERBS


def first_word(tool: str) -> str:
    """The first word of a tool's name, in lower case and without what stands before the name; empty
    where it has none.
    """
    words = _WORD.findall(tool.rsplit(".", 1)[-1].rsplit("__", 1)[-1])
    return words[0].lower() if words else ""


def read_only_hint(schema: ToolSchema | None) -> bool | None:
    """MCP's `annotations.readOnlyHint` of a tool, None where it has none."""
    if schema is None:
        return None
    for holder in (schema, schema.get("function")):
        annotations: Any = holder.get("annotations") if isinstance(holder, dict) else None
        if isinstance(annotations, dict) and isinstance(annotations.get("readOnlyHint"), bool):
            return bool(annotations["readOnlyHint"])
    return None
