"""One answer to several calls, where it is a list of as many: each call's own part of it, to the
byte. Harnesses of calls in texts (ToolACE, BFCL) answer a turn at once.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice

from synth.importers.records import Object

WRITTEN = "written_"
"""How ids of calls begin that stood in a text."""
_DECODER = json.JSONDecoder()


def dealt(messages: Sequence[Object]) -> Iterator[Object]:
    """The messages of a builder, with such answers as one for each call."""
    calls: list[str] = []
    for at, message in enumerate(messages):
        told = islice(messages, at + 1, at + 2)
        alone = message["role"] == "tool" and not any(one["role"] == "tool" for one in told)
        parts = _parts(message["content"] or "") if alone and len(calls) > 1 else []
        if parts and len(parts) == len(calls) and message["tool_call_id"] == calls[0]:
            yield from (
                message | {"content": part, "tool_call_id": call}
                for part, call in zip(parts, calls, strict=True)
            )
        else:
            yield message
        made = [str(call["id"]) for call in message.get("tool_calls") or ()]
        calls = made if made and made[0].startswith(WRITTEN) else []


def _parts(text: str) -> list[str]:
    """The elements of a list as they are written; none where the text is anything else."""
    told = text.strip()
    if not told.startswith("["):
        return []
    found, at = [], 1
    try:
        while True:
            at += len(told[at:]) - len(told[at:].lstrip())
            _, end = _DECODER.raw_decode(told, at)
            found.append(told[at:end])
            rest = told[end:].lstrip()
            if rest == "]":
                return found
            if not rest.startswith(","):
                return []
            at = len(told) - len(rest) + 1
    except (ValueError, RecursionError):
        return []
