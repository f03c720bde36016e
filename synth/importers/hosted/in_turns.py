"""One message that holds what several turns of the model held: it called a tool of the provider,
was given the result, and went on; or its context was compacted, and it went on behind that.
"""

from typing import Any

from synth.importers.chats.said import CALLS, THOUGHTS
from synth.importers.contexts.compaction import ALL, COMPACTION, begun_by
from synth.importers.hosted.parts import is_result
from synth.importers.records import Object

_HELD = ("content", "parts")
_LAST = (*CALLS, "additional_kwargs")
"""What the model gave last."""


def in_turns(whole: Object, message: Object) -> list[Object]:
    """The messages that an answer stands for, in or out of its envelope; any other message stands
    for itself.
    """
    key = next((key for key in _HELD if isinstance(message.get(key), list)), None)
    if key is None:
        return [whole]

    pieces: list[list[Any]] = [[]]
    for part in message[key]:
        last = pieces[-1][-1] if pieces[-1] else None
        compacts = begun_by(part) is not None
        if last is not None and (
            compacts or begun_by(last) is not None or (is_result(last) and not is_result(part))
        ):
            pieces.append([])
        pieces[-1].append(part)

    if len(pieces) == 1 and not (pieces[0] and begun_by(pieces[0][0]) is not None):
        return [whole]
    return [_piece(message, key, pieces, at) for at in range(len(pieces))]


def _piece(message: Object, key: str, pieces: list[list[Any]], at: int) -> Object:
    summary = begun_by(pieces[at][0]) if pieces[at] else None
    if summary is not None:
        return {"role": "environment", "content": summary, COMPACTION: ALL}

    dropped = (*(() if at == 0 else THOUGHTS), *(() if at == len(pieces) - 1 else _LAST))
    kept = {name: one for name, one in message.items() if name not in dropped}
    return kept | {key: pieces[at]}
