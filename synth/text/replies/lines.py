"""Replies that hold their answer as YAML, as lines `name: value`, or as a Markdown table, in place
of JSON: read where each name stands in them once, and all do.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from synth.schemas import ConfigError, read_yaml
from synth.text.replies.loose_json import LooseJSONError, loose_json

IN_LINES = "json_read_from_lines"
_LINE = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?[*_`]{0,3}(?P<key>[A-Za-z][\w \-]{0,40}?)[*_`]{0,3}"
    r"[ \t]*(?:：[*_`]{0,3}(?P<wide>.*)|:[*_`]{0,3}(?:[ \t]+(?P<value>.*))?)"
)
_ROW = re.compile(
    r"[ \t]*\|[ \t]*[*_`]{0,3}(?P<key>[A-Za-z][\w \-]{0,40}?)[*_`]{0,3}[ \t]*\|"
    r"(?P<value>.*)\|[ \t]*"
)


def plain_key(key: str) -> str:
    """A key without what writers differ in: capitals, blanks, underscores, hyphens."""
    return re.sub(r"[\W_]+", "", key).casefold()


def in_lines(text: str, names: Sequence[str]) -> dict[str, Any] | None:
    """The values of a text by name; None where one of the names is missing or stands twice, and
    where JSON begins in the text: a part of it is never read.
    """
    if not names or text.lstrip().startswith(("{", "[", "｛", "［")):
        return None
    plain = {plain_key(name): name for name in names}
    for read in (_as_yaml, _as_table, _under_a_head, _as_lines):
        found = read(text, plain)
        if found is not None and found.keys() == set(names):
            return found
    return None


def _as_yaml(text: str, plain: dict[str, str]) -> dict[str, Any] | None:
    """The mapping that the whole of a text is."""
    try:
        value = read_yaml(text, "reply")
    except ConfigError:
        return None
    if not isinstance(value, dict) or not _is_json(value):
        return None
    return _named(list(value.items()), plain)


def _is_json(value: Any) -> bool:
    """Whether all keys in it are texts, and all values those of JSON."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError, RecursionError):
        return False


def _as_table(text: str, plain: dict[str, str]) -> dict[str, Any] | None:
    """A table of two columns."""
    rows = [row for line in text.splitlines() if (row := _ROW.fullmatch(line)) is not None]
    pairs = [(row["key"], _value(row["value"])) for row in rows if plain_key(row["key"]) in plain]
    return _named(pairs, plain)


def _under_a_head(text: str, plain: dict[str, str]) -> dict[str, Any] | None:
    """A table whose head has the names, and whose one other row the values."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    rows = [[cell.strip(" *_`") for cell in line.strip("|").split("|")] for line in lines]
    if len(rows) != 3 or not all(re.fullmatch(r":?-+:?", cell) for cell in rows[1]):
        return None
    head, _, values = rows
    return (
        None
        if len(head) != len(values)
        else _named(list(zip(head, map(_value, values), strict=True)), plain)
    )


def _as_lines(text: str, plain: dict[str, str]) -> dict[str, Any] | None:
    """Lines that begin with a name; what follows one in further lines belongs to it."""
    pairs = list[tuple[str, str]]()
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found is not None and plain_key(found["key"]) in plain:
            pairs.append((found["key"], found["value"] or found["wide"] or ""))
        elif pairs:
            pairs[-1] = pairs[-1][0], f"{pairs[-1][1]}\n{line}"
    return _named([(key, _value(value)) for key, value in pairs], plain)


def _named(pairs: Sequence[tuple[str, Any]], plain: dict[str, str]) -> dict[str, Any] | None:
    """By name; None where one stands twice, or there are others."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        name = plain.get(plain_key(key))
        if name is None or name in found:
            return None
        found[name] = value
    return found


def _value(written: str) -> Any:
    """JSON where the whole is JSON; else the text, without what it stands in."""
    text = written.strip()
    try:
        value, end = loose_json(text)
    except LooseJSONError:
        return text.strip("*_` \t\n")
    return value if not text[end:].strip() else text.strip("*_` \t\n")
