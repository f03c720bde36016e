"""LangGraph: states of threads with their messages. A history holds many states of one thread, each
of which grew out of an earlier one: those that none goes on from are the conversations.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from synth.importers.attempt import in_order
from synth.importers.chats.columns import is_chat
from synth.importers.chats.record import chats
from synth.importers.records import (
    Entry,
    Format,
    ImportSettings,
    Record,
    Records,
    Rejection,
    each,
    first_inside,
    inside,
    is_object,
)
from synth.importers.traces.chains import beginnings
from synth.schemas import content_hash

_MESSAGES = ("values.messages", "values.channel_values.messages", "channel_values.messages")
_THREADS = ("thread_id", "config.configurable.thread_id", "metadata.thread_id", "thread_ts")


def recognises(value: Any) -> bool:
    """A state with messages among its values."""
    return is_object(value) and _messages(value) is not None


def _messages(value: Any) -> list[Any] | None:
    found = (inside(value, path, list) for path in _MESSAGES)
    return next((one for one in found if is_chat(one)), None)


def _states(records: Records, settings: ImportSettings) -> Iterator[Entry]:
    """The conversations of a file, which is read whole before the first is given."""
    kept: list[tuple[Record, list[str]]] = []
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue
        messages = _messages(record.value)
        if messages is None:  # the first states of a thread hold none yet
            if "values" not in record.value:
                yield record.rejected("bad_record", "a state without messages")
            continue
        kept.append((record, beginnings(messages, content_hash([_thread(record.value)]))))

    grown = {one for _, hashes in kept for one in hashes[:-1]}
    ends: set[str] = set()
    for record, hashes in kept:
        if hashes[-1] in grown or hashes[-1] in ends:
            continue
        ends.add(hashes[-1])
        told = record.value | {"messages": _messages(record.value)}
        part = Record(record.file, record.sha, record.locator, told, record.content)
        yield from each([part], partial(chats, settings=settings, name="langgraph"))


def _thread(value: Any) -> str:
    return str(first_inside(value, _THREADS) or "")


FORMAT = Format(recognises, lambda records, settings: in_order(_states(records, settings)))
