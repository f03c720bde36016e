"""Files whose records are the messages of one chat, or of several that name theirs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from synth.importers.agents.response_items import are_items
from synth.importers.chats.columns import is_chat
from synth.importers.records import Record, Rejection, is_object

_CHATS = (
    *("conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "chat_id"),
    *("dialogue_id", "dialog_id", "trajectory_id", "episode_id"),
)


def whole_chat(
    whole: Record,
    first: Sequence[Record],
    rest: Iterable[Record | Rejection],
    *,
    broken: bool = False,
) -> Iterator[Record | Rejection] | None:
    """The chats of a file, each as one record; None where its `first` records are no messages. A
    message that cannot be read refuses the file: nobody knows what it said. `broken`: one before
    was.
    """
    values = [one.value for one in first]
    if len(first) < 2 or not (is_chat(values) or are_items(values)):
        return None
    if broken:
        return iter([whole.rejected("bad_record", _LOST)])
    return _chats(whole, first, rest)


_LOST = "a chat one message of which cannot be read"


def _chats(
    whole: Record, first: Sequence[Record], rest: Iterable[Record | Rejection]
) -> Iterator[Record | Rejection]:
    messages: list[Any] = [one.value for one in first]
    for record in rest:
        if isinstance(record, Rejection):
            yield record
            yield whole.rejected("bad_record", f"{_LOST}: {record.locator}")
            return
        messages.append(record.value)

    key = next((key for key in _CHATS if all(is_object(one, key) for one in messages)), None)
    if key is None:
        yield Record(whole.file, whole.sha, whole.locator, messages)
        return
    grouped: dict[str, list[Any]] = {}
    for message in messages:
        grouped.setdefault(str(message[key]), []).append(message)
    for name, said in grouped.items():
        yield whole.part(f"{key}/{name}", {"id": name, "messages": said})
