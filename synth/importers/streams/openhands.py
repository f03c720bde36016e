"""OpenHands: events of its server (`action`/`observation`) and of its SDK (`kind`), as a document,
as lines, or within the output of an evaluation (`instance_id`, `history`, `test_result`).

Actions of one answer of the model are one turn; an error or a rejection answers its call too.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from synth.importers.agents.swe_runs import swe_benchmark
from synth.importers.attempt import OPEN_END, End, count_labels, entry, in_order, stated_end
from synth.importers.contexts.compaction import in_places
from synth.importers.conversation import COPIED_MASK, ConversationBuilder
from synth.importers.records import (
    Entry,
    Format,
    Object,
    Record,
    Records,
    Rejection,
    each,
    first_of,
    inside,
    joined_record,
)
from synth.importers.streams.event_facts import EventFacts, recognised
from synth.importers.streams.events import read_events
from synth.importers.verdicts import was_not_evaluated


def recognises(value: Any) -> bool:
    """An event, a list of events, or a run with a `history` of them."""
    if isinstance(value, list):
        return any(recognised(one) for one in value[:5])
    if isinstance(value, dict):
        held = first_of(value, _HISTORIES, list)
        if held:
            return any(recognised(one) for one in _flat(held)[:5])
    return recognised(value)


_HISTORIES = ("history", "events", "trajectory")


def _runs(records: Records) -> Iterator[Entry]:
    """A trajectory for each run; single events of a file are one run."""
    lines: list[Record] = []
    for record in records:
        if isinstance(record, Rejection):
            yield record
        elif recognised(record.value) or not recognises(record.value):
            if not isinstance(record.value, dict):
                yield record.rejected("bad_record", "no event of OpenHands")
                continue
            lines.append(record)
        else:
            yield from each([record], _run)

    if lines:
        whole = joined_record(lines, lines[0].locator, [line.value for line in lines])
        yield from each([whole], _run)


FORMAT = Format(recognises, lambda records, settings: in_order(_runs(records)))


def _flat(events: list[Any]) -> list[Any]:
    """Events; older histories are pairs of an action and what was observed, if anything was."""
    held = (event if isinstance(event, list) else [event] for event in events)
    return [one for pair in held for one in pair if one is not None]


def _run(record: Record) -> list[Entry]:
    value = record.value
    about: Object = value if isinstance(value, dict) else {}
    events = first_of(about, _HISTORIES, list)

    chat = ConversationBuilder()
    told = read_events(chat, _flat(value if events is None else events))
    parts = [one for one in (*told.before, chat.messages) if _says_more(one)] or [[]]
    held = list(in_places(record, parts))
    found = [_context(one, about, told, is_last=one is held[-1]) for one in held]
    for at, messages in enumerate(told.beside):
        # what names the run, for verdicts that lie elsewhere, does not name it
        part = replace(record, locator=f"{record.locator}/delegates/{at}", value=None)
        found.append(_delegate(part, messages, told))
    return found


def _says_more(messages: list[Object]) -> bool:
    """Whether a context has an answer that none before it has."""
    answers = (one for one in messages if one["role"] == "assistant")
    return any(one["note"].get("mask") != COPIED_MASK for one in answers)


def _context(
    placed: tuple[Record, list[Object], bool], about: Object, told: EventFacts, *, is_last: bool
) -> Entry:
    """The trajectory of one context: what the model saw up to where events were taken out of it, or
    to the end. Each of them has the verdict of the run.
    """
    part, messages, continued = placed
    conversation = ConversationBuilder.of(messages).conversation()
    instance = inside(about, "instance_id", str)

    return entry(
        part,
        "openhands",
        conversation,
        continued=continued,
        goal=_goal(about),
        benchmark=swe_benchmark(instance, turns=conversation.turns) if instance else None,
        passed=_resolved(about),
        end=_end(told.state, about.get("error")) if is_last else OPEN_END,
        fault_detail=str(told.state or inside(about, "error") or ""),
        model=told.model or inside(about, "metadata.llm_config.model", str),
        tools=tuple(told.tools),
        marks=count_labels(conversation),
        names=(instance,),
    )


def _delegate(part: Record, messages: list[Object], told: EventFacts) -> Entry:
    """The trajectory of an agent that was handed a task: nobody has judged what it did."""
    conversation = ConversationBuilder.of(messages).conversation()
    return entry(
        part,
        "openhands",
        conversation,
        end=OPEN_END,
        model=told.model,
        marks=count_labels(conversation),
        no_turns="an agent that was handed a task and did nothing",
    )


def _goal(about: Object) -> str | None:
    told = about.get("instruction")
    return told if isinstance(told, str) and told else None


def _resolved(about: Object) -> bool | None:
    """The verdict of an evaluation, where its report stands in the record and it did not break."""
    if was_not_evaluated(about):
        return None
    paths = (
        *("resolved", "report.resolved", "test_result.report.resolved"),
        *("test_result.resolved", "fine_grained_report.resolved"),
    )
    found = (inside(about, path) for path in paths)
    return next((bool(one) for one in found if isinstance(one, bool | int)), None)


def _end(state: str | None, error: Any) -> End:
    """How the run ended: by the error of the evaluation, else by the agent's last state."""
    word = (error if isinstance(error, str) and error else state or "").lower()
    if "stuck" in word:
        return stated_end("stuck")
    if "maximum iteration" in word or "max_iterations" in word:
        return stated_end("max_iterations")
    if error or word == "error":
        return stated_end("error")
    return stated_end("finished") if word in ("finished", "awaiting_user_input") else OPEN_END
