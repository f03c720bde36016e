"""Calls of a model -> conversations: each call repeats what came before it, so that the longest
ones hold the others (`chains.py`).
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from synth.importers.actions.reading import read_actions
from synth.importers.attempt import count_labels, entry
from synth.importers.contexts.compaction import answered_in, goes_on
from synth.importers.conversation import ConversationBuilder
from synth.importers.records import (
    UNEXPECTED,
    Entry,
    Format,
    ImportedLabel,
    ImportSettings,
    Record,
    Records,
    Rejection,
    each,
    explained,
    joined_record,
)
from synth.importers.traces.chains import CallChain, chained
from synth.importers.traces.model_call import ModelCall, TraceNote, TraceNotes
from synth.schemas import content_hash

_MOST_CALLS = 20_000
"""Calls without a group that are held: these are closed together, in the order of the file."""
_OPEN = 2_000
"""Groups that are held open: beyond that the one that was quiet for longest is closed."""


Told = ModelCall | TraceNote | Rejection
"""What is read in a record of a log: a call, what a trace says beside its calls, or why not."""
Read = Callable[[Record], Iterator[Told]]


def by_call(name: str, recognises: Callable[[Any], bool], reader: Callable[[], Read]) -> Format:
    """A format whose records hold calls of a model; each file has a `reader` of its own."""

    def entries(records: Records, settings: ImportSettings) -> Iterator[Entry]:
        return _conversations(name, reader(), records)

    return Format(recognises, entries)


def _conversations(name: str, read: Read, records: Records) -> Iterator[Entry]:
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
                yield from _closed(name, groups.pop(group), notes)
            elif len(groups) > _OPEN:
                yield from _closed(name, groups.popitem(last=False)[1], notes)

    for calls in groups.values():
        yield from _closed(name, calls, notes)
    if first is not None and not told:
        yield first.rejected("no_calls", "no call of a model in this record, nor in any after it")


def _closed(name: str, calls: list[ModelCall], notes: TraceNotes) -> Iterator[Entry]:
    """The conversations of one group, in the order in which they began."""
    calls = [call for call in calls if not call.whole] or calls
    if all(call.order is not None for call in calls):
        calls = sorted(calls, key=lambda call: _moment(str(call.order)))

    parts = ((call, part) for call in calls for part in answered_in(call.sent, call.given))
    chains = chained([replace(call, sent=sent, given=given) for call, (sent, given) in parts])
    for chain, inner in zip(chains, _inner(chains, calls), strict=True):
        read = partial(_entry, name=name, chain=chain, notes=notes, inner=inner)
        yield from each([chain.calls[-1].record], read)


def _inner(chains: Sequence[CallChain], calls: Sequence[ModelCall]) -> list[bool]:
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


def _entry(record: Record, *, name: str, chain: CallChain, notes: TraceNotes, inner: bool) -> Entry:
    """The trajectory of a chain, of whose last call the record is; a score of the whole is none of
    an `inner` conversation.
    """
    calls, last = chain.calls, chain.calls[-1]
    builder = ConversationBuilder.of(chain.messages)
    read_actions(builder.messages)
    given = {id(one) for call in calls for one in call.given}

    # an answer whose call is not in the log was not seen to be sampled here
    unseen = sum(one["role"] == "assistant" and id(one) not in given for one in builder.messages)
    conversation = builder.conversation()
    prompt = conversation.system_prompt or ""
    called = tuple(dict.fromkeys(name for call in calls for name in call.names))
    noted, named = notes.of(called)
    marks = _once([*(mark for call in calls for mark in call.marks), *noted], inner=inner)

    return entry(
        record if len(calls) == 1 else _together(calls),
        name,
        conversation,
        continued=goes_on(chain.messages),
        task={"env_config": {"system_prompt": content_hash(prompt)}},
        end=last.end,
        model=next((one.model for one in reversed(calls) if one.model), None),
        sampling=last.sampling,
        tools=next((one.tools for one in reversed(calls) if one.tools), ()),
        marks=[*marks, *count_labels(conversation, answers_without_a_call=unseen)],
        no_turns="no answer of the model",
        names=(*called, *named),
    )


def _once(marks: Sequence[ImportedLabel], *, inner: bool) -> list[ImportedLabel]:
    """Each label once, since each call of a trace repeats the trace's."""
    found: list[ImportedLabel] = []
    for mark in marks:
        mark = replace(mark, score=None) if inner else mark
        found += [] if mark in found else [mark]
    return found


def _together(calls: Sequence[ModelCall]) -> Record:
    """The records of a conversation as one, at the place of the last: in a log that has grown, a
    conversation that went on is another one.
    """
    records = list({id(call.record): call.record for call in calls}.values())
    return joined_record(records, records[-1].locator, {})
