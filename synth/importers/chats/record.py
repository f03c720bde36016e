"""A record that holds a chat -> a trajectory: its messages, tools, and what it claims."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.agents.swe_runs import swe_benchmark
from synth.importers.attempt import OPEN_END, End, count_labels, end_of, entry
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
from synth.importers.chats.words import ENDS
from synth.importers.contexts.compaction import CONTINUED, contexts, goes_on, in_places
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
    sides = [key for key in ("chosen", "rejected") if key in value] if _is_dict(value) else []
    before = _prompt(value) if _is_dict(value) else None

    if sides and (before is not None or chat_of(value) or chat_of(value[sides[0]])):
        return _compared(record, settings, sides, before or chat_of(value) or [], name)
    if _is_dict(value) and isinstance(parsed(value.get("step_messages")), list):
        return _steps(record, settings, name)
    if before is not None and (answer := answer_of(value)) is not None:
        messages = [*_context(before), *_side(answer)]
        label = value.get("label", value.get("kto_tag"))
        marks = [ImportedLabel(PREFERRED, float(label))] if isinstance(label, bool) else []
        return _chat(record, messages, settings, name=name, marks=marks)

    messages = messages_of(value, settings.columns)
    label = value.get("kto_tag") if _is_dict(value) else None
    marks = [ImportedLabel(PREFERRED, float(label))] if isinstance(label, bool) else []
    return _chat(record, messages, settings, name=name, marks=marks)


def _steps(record: Record, settings: ImportSettings, name: str) -> Found:
    """Labelled steps after their context: a label for each of the last answers."""
    value = record.value
    before, after = (parsed(value.get(key)) for key in ("prompt_messages", "step_messages"))
    messages = [*_context(before or []), *after]
    answers = sum(_is_dict(one) and one.get("role") == "assistant" for one in messages)
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
        marks = [ImportedLabel(PREFERRED, float(side == "chosen"))]
        read = partial(_chat, messages=messages, settings=settings, name=name, marks=marks)
        yield from each([part], read)


def _context(messages: list[Any]) -> list[Any]:
    """What stood before an answer that is trained on: it carries no loss itself."""
    return [one | {"training": False} if _is_dict(one) else one for one in messages]


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
    marks: list[ImportedLabel] | None = None,
) -> list[Entry]:
    value: Object = record.value if _is_dict(record.value) else {}
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
    marks: list[ImportedLabel] | None,
) -> Entry:
    """The trajectory of one context of a chat."""
    value = record.value if _is_dict(record.value) else {}
    told = partial(column, value, mapped=settings.columns)
    conversation = ConversationBuilder.of(messages).conversation()
    conversation = masked(conversation, without_loss(value, len(conversation.turns)))
    reward = msgspec.convert(told("reward"), bool | float | None, strict=False)
    reward = float(reward) if isinstance(reward, bool) else reward
    passed = claimed(value, told("success"), reward, settings)
    if any(mark.metric == PREFERRED for mark in marks or ()):
        passed = reward = None  # an answer that somebody preferred is no attempt that was judged

    # what was first said, under the system prompt that stood before it
    prompt = conversation.system_prompt or ""
    said = (one.content for one in heard(conversation) if one.source is not Source.TOOL)

    return entry(
        record,
        name,
        conversation,
        env=f"{name}/{CONTINUED}" if goes_on(messages) else None,
        goal=next(filter(None, said), prompt),
        benchmark=_benchmark(value, conversation),
        split=told("split") if isinstance(told("split"), str) else split_of(record.file),
        task={"env_config": {"system_prompt": content_hash(prompt)}},
        marks=[*(marks or ()), *count_labels(conversation)],
        passed=passed,
        reward=reward,
        end=stated_end(value.get("outcome") if told("exit") is None else told("exit")),
        fault_detail=str(told("exit")),
        model=told("model") if isinstance(told("model"), str) else None,
        tools=_tools(told("tools"), prompt),
        no_turns="no assistant message",
    )


def _benchmark(value: Object, conversation: Conversation) -> str | None:
    """What the record calls its benchmark, or the one that its instance or its task is of."""
    stated, instance = inside(value, "benchmark", str), inside(value, "instance_id", str)
    swe = swe_benchmark(instance, value.get("image"), conversation.turns) if instance else None
    return stated or swe or benchmark_beside(value)


def _tools(stated: Any, prompt: str) -> tuple[Object, ...]:
    """The schemas that a record has, or its system prompt tells."""
    listed = msgspec.convert(tools_of(stated), tuple[Object, ...])
    return listed or tools_in_text(prompt)


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def stated_end(said: Any) -> End:
    """How the record says that the attempt ended; open where it uses no word that is known."""
    word = said.strip().lower() if isinstance(said, str) else ""
    if word.startswith("submitted (") and word.endswith(")"):
        word = word[len("submitted (") : -1]
    return end_of(ENDS[word]) if word in ENDS else OPEN_END
