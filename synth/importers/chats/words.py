"""The words of chats, as `chats.toml` lists them."""

import tomllib
from importlib.resources import files
from typing import Any

_LISTED: dict[str, Any] = tomllib.loads(
    (files("synth.importers.chats") / "chats.toml").read_text("utf-8")
)


def listed(table: str, key: str) -> tuple[str, ...]:
    """The words under a key of a table, in their order."""
    return tuple(_LISTED[table][key].split())


def by_word(table: str) -> dict[str, str]:
    """For each word of a table, the key that it stands under."""
    return {word: key for key, words in _LISTED[table].items() for word in words.split()}


ROLES = by_word("roles")
"""Our role for each name of one."""
CALLING = frozenset(listed("calling", "names"))
"""Names of roles whose content is a call."""
PARTS = by_word("parts")
"""What each kind of content is: texts, thoughts, calls, results, opaque, silent."""
COLUMNS = {name: listed("columns", name) for name in _LISTED["columns"]}
"""Under which keys a record has what."""
GENERAL = listed("verdicts", "general")
"""Names that a verdict may have, and anything else too."""
VERDICTS = (*COLUMNS["success"], *listed("verdicts", "names"), *GENERAL)
"""What columns of labels and scores are called that hold verdicts, the likeliest first."""
NAMES = listed("names", "keys")
"""Keys that name a record."""
ENDS = by_word("ends")
"""How an attempt ended, for each word of it in lower case."""
