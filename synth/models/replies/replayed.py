"""A reply that was given before, to another conversation: a cache or a proxy in front of the server
mixed them up.
"""

from collections import OrderedDict

import msgspec

from synth.schemas import Messages

MOST = 16_384
"""Replies that are remembered, the latest ones."""
_ENCODER = msgspec.json.Encoder()


class SeenReplies:
    """The latest replies by their id. One with the id and the very bytes of an earlier reply to
    other messages is a replay.

    An id that stood over different replies in different conversations is none, and nothing is
    concluded from it any more; nor from the only id that a server has given so far, which may be
    all that it ever gives. The same messages may get the same reply again, as from a deterministic
    server.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[str, tuple[int, int] | None] = OrderedDict()

    def replayed(self, reply_id: object, body: bytes, messages: Messages) -> bool:
        """Whether this is such a reply; else it is remembered."""
        if not isinstance(reply_id, str) or not reply_id or self._seen.get(reply_id, ()) is None:
            return False
        content, asked = hash(body), hash(_ENCODER.encode(messages))
        before = self._seen.setdefault(reply_id, (content, asked))
        if len(self._seen) > MOST:
            self._seen.popitem(last=False)
        if before is None or before[1] == asked:
            return False
        if before[0] != content:
            self._seen[reply_id] = None
            return False
        return len(self._seen) > 1
