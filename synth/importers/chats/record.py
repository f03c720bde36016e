"""A record that holds a chat -> a trajectory: its messages, tools, and what it claims."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.agents.swe_runs import swe_benchmark
from synth.importers.attempt import count_labels, entry, stated_end
from synth.importers.chats.columns import (
    answer_of,
    as_compared,
    chat_of,
    column,
    messages_of,
    opened,
    parsed,
)
from synth.importers.chats.dialogue import dialogue
from synth.importers.chats.tools import tools_in_text, tools_of
from synth.importers.contexts.compaction import contexts, goes_on, in_places
from synth.importers.conversation import ConversationBuilder, heard
from synth.importers.files.splits import split_of
from synth.importers.identity.known import benchmark_beside
from synth.importers.labelling.masks import masked, names_turns, without_loss
from synth.importers.records import (
    Entry,
    Found,
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    each,
    inside,
    is_object,
)
from synth.importers.verdicts import claimed
from synth.schemas import Conversation, Source, content_hash

STEP = "step_label"
"""Metric of the labels of single turns."""
PREFERRED = "preferred"
"""Metric of the labels that say which of two answers somebody preferred."""


def chats(record: Record, settings: ImportSettings, *, name: str) -> Found:
    """The chat of a record; of a comparison, both its answers after what came before them."""
    record = replace(record, value=as_compared(record.value))
    value = record.value
    if not is_object(value):
        return _chat(record, messages_of(value, settings.columns), settings, name=name)

    sides = [key for key in ("chosen", "rejected") if key in value]
    before = _prompt(value)
    if sides and (before is not None or chat_of(value) or chat_of(value[sides[0]])):
        return _compared(record, settings, sides, before or chat_of(value) or [], name)
    if isinstance(parsed(value.get("step_messages")), list):
        return _steps(record, settings, name)

    label = value.get("kto_tag")
    if before is not None and (answer := answer_of(value)) is not None:
        messages = [*_context(before), *_side(answer)]
        label = value.get("label", label)
    else:
        messages = messages_of(value, settings.columns)
    marks = _preferred(label) if isinstance(label, bool) else ()
    return _chat(record, messages, settings, name=name, marks=marks)


def _preferred(is_preferred: bool) -> tuple[ImportedLabel, ...]:
    """The label that says whether somebody preferred an answer."""
    return (ImportedLabel(PREFERRED, float(is_preferred)),)


def _steps(record: Record, settings: ImportSettings, name: str) -> Found:
    """Labelled steps after their context: a label for each of the last answers."""
    value = record.value
    before, after = (parsed(value.get(key)) for key in ("prompt_messages", "step_messages"))
    messages = [*_context(before or []), *after]
    answers = sum(is_object(one) and one.get("role") == "assistant" for one in messages)
    labels = [float(one) for one in value.get("labels") or ()]
    first = answers - len(labels)
    marks = [ImportedLabel(STEP, one, first + at) for at, one in enumerate(labels)]
    return _chat(record, messages, settings, name=name, marks=marks)


def _compared(
    record: Record, settings: ImportSettings, sides: list[str], before: list[Any], name: str
) -> Iterator[Entry]:
    """Each side of a comparison, with a label that says which was preferred."""
    shared = {key: one for key, one in record.value.items() if key not in ("chosen", "rejected")}
    for side in sides:
        messages = [*_context(before), *_side(record.value[side])]
        part = record.part(side, shared | {"messages": messages})
        marks = _preferred(side == "chosen")
        read = partial(_chat, messages=messages, settings=settings, name=name, marks=marks)
        yield from each([part], read)


def _context(messages: list[Any]) -> list[Any]:
    """What stood before an answer that is trained on: it carries no loss itself."""
    return [one | {"training": False} if is_object(one) else one for one in messages]


def _prompt(value: Object) -> list[Any] | None:
    """What stands before the answers, as messages."""
    prompt = opened(value.get("prompt"))
    if isinstance(prompt, str) and prompt:
        return [{"role": "user", "content": prompt}]
    return prompt if isinstance(prompt, list) and prompt else None


def _side(value: Any) -> list[Any]:
    value = opened(value)
    if isinstance(value, str):
        return [{"role": "assistant", "content": value}]
    return value if isinstance(value, list) else [value]


def _chat(
    record: Record,
    messages: list[Any],
    settings: ImportSettings,
    *,
    name: str,
    marks: Sequence[ImportedLabel] = (),
) -> list[Entry]:
    value: Object = record.value if is_object(record.value) else {}
    told = partial(column, value, mapped=settings.columns)
    system = parsed(told("system"))
    chat = dialogue(messages, inside(system, "parts", list) or system)  # Gemini's has parts
    parts = contexts(chat.messages)
    if len(parts) > 1 and names_turns(value):
        raise ValueError("masked_turns of a chat that was compacted: whose turns are they?")
    read = partial(_told, settings=settings, name=name, marks=marks)
    return [read(part, context) for part, context, _ in in_places(record, parts)]


def _told(
    record: Record,
    messages: list[Object],
    *,
    settings: ImportSettings,
    name: str,
    marks: Sequence[ImportedLabel],
) -> Entry:
    """The trajectory of one context of a chat."""
    value = record.value if is_object(record.value) else {}
    told = partial(column, value, mapped=settings.columns)
    conversation = ConversationBuilder.of(messages).conversation()
    conversation = masked(conversation, without_loss(value, len(conversation.turns)))
    passed, reward = _judged(value, settings)
    if any(mark.metric == PREFERRED for mark in marks):
        passed = reward = None  # an answer that somebody preferred is no attempt that was judged
    split, model, exit_word = told("split"), told("model"), told("exit")

    # what was first said, under the system prompt that stood before it
    prompt = conversation.system_prompt or ""
    said = (one.content for one in heard(conversation) if one.source is not Source.TOOL)

    return entry(
        record,
        name,
        conversation,
        continued=goes_on(messages),
        goal=next(filter(None, said), prompt),
        benchmark=_benchmark(value, conversation),
        split=split if isinstance(split, str) else split_of(record.file),
        task={"env_config": {"system_prompt": content_hash(prompt)}},
        marks=[*marks, *count_labels(conversation)],
        passed=passed,
        reward=reward,
        end=stated_end(value.get("outcome") if exit_word is None else exit_word),
        fault_detail=str(exit_word),
        model=model if isinstance(model, str) else None,
        tools=_tools(told("tools"), prompt),
        no_turns="no assistant message",
    )


def _judged(value: Object, settings: ImportSettings) -> tuple[bool | None, float | None]:
    """The verdict that a record claims, and its reward."""
    told = partial(column, value, mapped=settings.columns)
    reward = msgspec.convert(told("reward"), bool | float | None, strict=False)
    reward = float(reward) if isinstance(reward, bool) else reward
    return claimed(value, told("success"), reward, settings), reward


def _benchmark(value: Object, conversation: Conversation) -> str | None:
    """What the record calls its benchmark, or the one that its instance or its task is of."""
    stated, instance = inside(value, "benchmark", str), inside(value, "instance_id", str)
    swe = swe_benchmark(instance, value.get("image"), conversation.turns) if instance else None
    return stated or swe or benchmark_beside(value)


def _tools(stated: Any, prompt: str) -> tuple[Object, ...]:
    """The schemas that a record has, or its system prompt tells."""
    listed = msgspec.convert(tools_of(stated), tuple[Object, ...])
    return listed or tools_in_text(prompt)
