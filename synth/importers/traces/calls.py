"""Calls of a model -> conversations: each call repeats what came before it, so that the longest
ones hold the others.

A call goes on with a conversation of its group (a trace, a session) whose messages it begins with.
Where it begins with none, it opens a conversation of its own: a sub-agent, a compacted context.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.actions.reading import read_actions
from synth.importers.attempt import OPEN_END, End, count_labels, entry
from synth.importers.chats.columns import parsed
from synth.importers.contexts.compaction import CONTINUED, answered_in, goes_on
from synth.importers.conversation import ConversationBuilder, counted, goal_of, usage_of
from synth.importers.hosted.searches import BESIDE
from synth.importers.records import (
    UNEXPECTED,
    Entry,
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    Records,
    Rejection,
    explained,
    joined_record,
)
from synth.importers.traces.notes import TraceNote, TraceNotes
from synth.schemas import Usage, content_hash

_MOST_CALLS = 20_000
"""Calls without a group that are held: these are closed together, in the order of the file."""
_OPEN = 2_000
"""Groups that are held open: beyond that the one that was quiet for longest is closed."""


class ModelCall(msgspec.Struct, kw_only=True):
    """One call: the messages that it sent, and what came back, in a builder's form. `group` is the
    trace or session that it belongs to, `order` its place there.
    """

    record: Record
    sent: list[Object]
    given: list[Object]
    group: str | None = None
    order: Any = None
    tools: tuple[Object, ...] = ()
    model: str | None = None
    sampling: Object = {}
    passed: bool | None = None
    reward: float | None = None
    end: End = OPEN_END
    marks: list[ImportedLabel] = []
    names: tuple[str, ...] = ()
    """What the trace or the call is called."""
    whole: bool = False
    """Not a call, but a whole conversation: it stands where the group has no calls."""


class _Chain(msgspec.Struct):
    keys: list[str]
    messages: list[Object]
    calls: list[ModelCall]


Read = Callable[[Record], "Iterator[ModelCall | TraceNote | Rejection]"]


def conversations(
    name: str, read: Read, records: Records, settings: ImportSettings
) -> Iterator[Entry]:
    """The conversations that the calls of a file add up to, group by group."""
    groups: OrderedDict[str, list[ModelCall]] = OrderedDict()
    first: Record | None = None
    notes, told = TraceNotes(), False

    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue

        try:
            found = list(read(record))
        except (ValueError, *UNEXPECTED) as error:
            yield record.rejected("bad_record", explained(error))
            continue

        first = first or record
        for call in found:
            if isinstance(call, TraceNote):
                notes.take(call)
                continue
            told = True
            if isinstance(call, Rejection):
                yield call
                continue
            group = call.group or ""
            groups.setdefault(group, []).append(call)
            groups.move_to_end(group)
            if len(groups[group]) >= _MOST_CALLS:
                yield from _closed(name, groups.pop(group), settings, notes)
            elif len(groups) > _OPEN:
                yield from _closed(name, groups.popitem(last=False)[1], settings, notes)

    for calls in groups.values():
        yield from _closed(name, calls, settings, notes)
    if first is not None and not told:
        yield first.rejected("no_calls", "no call of a model in this record, nor in any after it")


def _closed(
    name: str, calls: list[ModelCall], settings: ImportSettings, notes: TraceNotes
) -> Iterator[Entry]:
    """The conversations of one group, in the order in which they began."""
    calls = [call for call in calls if not call.whole] or calls
    if all(call.order is not None for call in calls):
        calls = sorted(calls, key=lambda call: _moment(str(call.order)))

    parts = ((call, part) for call in calls for part in answered_in(call.sent, call.given))
    chains = chained([replace(call, sent=sent, given=given) for call, (sent, given) in parts])
    for chain, inner in zip(chains, _inner(chains, calls), strict=True):
        last = chain.calls[-1]
        try:
            yield _entry(name, chain, settings, notes, inner=inner)
        except (ValueError, *UNEXPECTED) as error:
            yield last.record.rejected("bad_record", explained(error))


def _inner(chains: Sequence[_Chain], calls: Sequence[ModelCall]) -> list[bool]:
    """Which conversations began and ended while another one was under way: a sub-agent's, a call on
    the side. What is said of the whole is said of the other. Calls without a group are of runs that
    have nothing to do with each other.
    """
    if not (calls and calls[0].group):
        return [False] * len(chains)
    at = {id(call.record): place for place, call in enumerate(calls)}
    spans = [(at[id(one.calls[0].record)], at[id(one.calls[-1].record)]) for one in chains]
    inner, latest = dict[tuple[int, int], bool](), -1
    for _, alike in groupby(sorted(spans), key=itemgetter(0)):
        begun_at_once = list(alike)
        inner |= {span: span[1] < latest for span in begun_at_once}
        latest = max(latest, begun_at_once[-1][1])  # the end of what began before the next ones
    return [inner[span] for span in spans]


def _moment(order: str) -> str:
    """A time that sorts as text: a count of digits, or ISO 8601."""
    return order.zfill(24) if order.isdigit() else order.removesuffix("Z")


def chained(calls: Sequence[ModelCall]) -> list[_Chain]:
    """The calls as chains, each of which sends all that the one before it sent and got."""
    chains: list[_Chain] = []
    by_end: dict[tuple[int, str], _Chain] = {}

    for call in calls:
        sent = [message_key(one) for one in call.sent]
        digests = _prefixes(sent)
        before = next(
            (by_end[at] for at in reversed(list(enumerate(digests))) if at in by_end), None
        )
        if before is None:
            before = _Chain([], [], [])
            chains.append(before)
        else:
            del by_end[len(before.keys), _prefixes(before.keys)[-1]]

        # what was sent is a copy of what came back: the original has its usage and thoughts
        before.messages += call.sent[len(before.keys) :] + call.given
        before.keys = sent + [message_key(one) for one in call.given if not one.get(BESIDE)]
        before.calls.append(call)
        by_end[len(before.keys), _prefixes(before.keys)[-1]] = before

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


def _prefixes(keys: Sequence[str]) -> list[str]:
    """A hash of each beginning, the empty one first."""
    found = [""]
    for key in keys:
        found.append(content_hash([found[-1], key]))
    return found


def _entry(
    name: str, chain: _Chain, settings: ImportSettings, notes: TraceNotes, *, inner: bool
) -> Entry:
    """The trajectory of a chain; a group's own verdict is that of its last call that has one, and
    none of an `inner` conversation's.
    """
    calls, last = chain.calls, chain.calls[-1]
    builder = ConversationBuilder.of(chain.messages)
    read_actions(builder.messages)
    given = {id(one) for call in calls for one in call.given}

    # an answer whose call is not in the log was not seen to be sampled here
    unseen = sum(one["role"] == "assistant" and id(one) not in given for one in builder.messages)
    conversation = builder.conversation()
    prompt = conversation.system_prompt or ""
    record = last.record if len(calls) == 1 else _together(calls)
    reward = next((one.reward for one in reversed(calls) if one.reward is not None), None)
    passed = next((one.passed for one in reversed(calls) if one.passed is not None), None)
    called = tuple(dict.fromkeys(name for call in calls for name in call.names))
    noted, named = notes.of(called)
    marks: list[ImportedLabel] = []
    for mark in (mark for call in (*calls, None) for mark in (call.marks if call else noted)):
        mark = msgspec.structs.replace(mark, score=None) if inner else mark
        marks += [] if mark in marks else [mark]  # each call of a trace repeats the trace's

    return entry(
        record,
        name,
        conversation,
        env=f"{name}/{CONTINUED}" if goes_on(chain.messages) else None,
        goal=goal_of(conversation),
        task={"env_config": {"system_prompt": content_hash(prompt)}},
        passed=settings.passed(reward) if passed is None else passed,
        reward=reward,
        end=last.end,
        model=next((one.model for one in reversed(calls) if one.model), None),
        sampling=last.sampling,
        tools=next((one.tools for one in reversed(calls) if one.tools), ()),
        marks=[*marks, *count_labels(conversation, answers_without_a_call=unseen)],
        no_turns="no answer of the model",
        names=(*called, *named),
    )


def _together(calls: Sequence[ModelCall]) -> Record:
    """The records of a conversation as one, at the place of the last: in a log that has grown, a
    conversation that went on is another one.
    """
    records = list({id(call.record): call.record for call in calls}.values())
    return joined_record(records, records[-1].locator, {})


def used(counts: Any) -> Usage | None:
    """Tokens of a call, by whichever of the usual names; None where none is counted."""
    if not isinstance(counts, dict):
        return None
    details = counts.get("prompt_tokens_details") or counts.get("input_tokens_details") or {}
    cached = counted(details, "cached_tokens") or counted(
        counts, "cache_read_input_tokens", "cached_tokens"
    )
    sent, given = (
        "prompt_tokens input_tokens inputTokens input prompt",
        "completion_tokens output_tokens outputTokens output",
    )
    found = usage_of({**counts, "hit": cached}, sent, f"{given} completion", "hit")
    return found if found.prompt_tokens or found.completion_tokens else None
