"""Calls of a model as chains: each call repeats what came before it.

A call goes on with a conversation of its group (a trace, a session) whose messages it begins with.
Where it begins with none, it opens a conversation of its own: a sub-agent, a compacted context.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from synth.importers.chats.columns import parsed
from synth.importers.hosted.searches import BESIDE
from synth.importers.records import Object
from synth.importers.traces.model_call import ModelCall
from synth.schemas import content_hash


class CallChain(msgspec.Struct):
    """Calls of which each sent all that the one before it sent and got; `keys` are those of its
    `messages`.
    """

    keys: list[str]
    messages: list[Object]
    calls: list[ModelCall]


def chained(calls: Sequence[ModelCall]) -> list[CallChain]:
    """The calls as chains, each of which sends all that the one before it sent and got."""
    chains: list[CallChain] = []
    by_end: dict[tuple[int, str], CallChain] = {}

    for call in calls:
        sent = [message_key(one) for one in call.sent]
        digests = beginnings(sent)
        before = next(
            (by_end[at] for at in reversed(list(enumerate(digests))) if at in by_end), None
        )
        if before is None:
            before = CallChain([], [], [])
            chains.append(before)
        else:
            del by_end[len(before.keys), beginnings(before.keys)[-1]]

        # what was sent is a copy of what came back: the original has its usage and thoughts
        before.messages += call.sent[len(before.keys) :] + call.given
        before.keys = sent + [message_key(one) for one in call.given if not one.get(BESIDE)]
        before.calls.append(call)
        by_end[len(before.keys), beginnings(before.keys)[-1]] = before

    return chains


def message_key(message: Object) -> str:
    """What a message says, whoever wrote it down: nothing and no text are the same."""
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        arguments = function.get("arguments")
        calls.append([function.get("name"), parsed(arguments) or {}])

    role = "system" if message["role"] == "developer" else message["role"]
    return content_hash([role, (message.get("content") or "").strip(), calls])


def beginnings(values: Iterable[Any], empty: str = "") -> list[str]:
    """A hash of each beginning of a list, first that of the `empty` one."""
    grown = accumulate(values, lambda before, one: content_hash([before, one]), initial=empty)
    return list(grown)
