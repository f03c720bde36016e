"""Claude Code session logs (JSON lines): one trajectory per stretch of context that the model saw.

A compaction begins a new stretch, whose opening is the summary; sub-agents (sidechains) and
conversations begun anew in the same file are trajectories of their own; branches that the user went
back on are rejections. The logs hold neither the system prompt nor the tools.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from synth.importers.agents.claude_code_lines import Line, is_streamed, line_of
from synth.importers.agents.claude_code_threads import stretches
from synth.importers.attempt import OPEN_END, count_labels, entry
from synth.importers.conversation import (
    COPIED_MASK,
    UNREAD_MASK,
    ConversationBuilder,
    counted,
    joined,
    text_of,
    tool_call,
)
from synth.importers.hosted.parts import hosted_call, hosted_result, is_connector
from synth.importers.records import (
    WHOLE,
    WORDS,
    Entry,
    Format,
    ImportSettings,
    Object,
    Record,
    Records,
    Rejection,
    each,
    inside,
    is_object,
    one_line,
)
from synth.schemas import PROVIDER_MASK, Conversation, Fault, SampledBy, Termination, Usage

_SPEAKS = ("user", "assistant")
_SILENT = frozenset(WORDS["claude_code"]["silent"].split())
_SYNTHETIC = "<synthetic>"
_HARNESS = tuple(WORDS["claude_code"]["harness"])
# all of them were sent: fresh, written to the cache, read from it
_SENT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def recognises(value: Any) -> bool:
    """A message with its session, or one of the lines that may stand before the first."""
    if not is_object(value, type=str):
        return False

    if is_streamed(value):
        return True
    if value["type"] in (*_SPEAKS, "system", "progress", "attachment"):
        return "sessionId" in value and ("uuid" in value or "parentUuid" in value)
    return WORDS["claude_code"]["before"].get(value["type"]) in value


def trajectories(records: Records, settings: ImportSettings) -> Iterator[Entry]:
    """The stretches of one session file, which is read whole before the first is given."""
    files: list[str] = []
    lines: list[Record] = []

    def take(record: Record) -> Rejection | None:
        files.append(record.file)
        line = line_of(record.value)
        if line.type == "summary" and line.message is not None:  # older versions'
            line.type, line.is_compact_summary = "user", True
        speaks = line.type in _SPEAKS
        if not speaks and line.type not in _SILENT:
            return record.rejected("unknown_line", f"a line of type {one_line(line.type)!r}")

        if speaks and line.message is None:
            raise ValueError(f"a line of type {line.type!r} without message")

        line.message = line.message if speaks else None
        if speaks or line.is_boundary or line.uuid is not None:
            lines.append(replace(record, value=line))
        return None

    yield from each(records, take)
    parts = list(stretches(lines))
    if files and not parts:
        yield Rejection(files[0], WHOLE, "no_turns", "no message of the model")

    yield from each(parts, _read)


FORMAT = Format(recognises, trajectories)


def _read(record: Record) -> Entry:
    conversation = _conversation(record.value)
    lines = [one.value for one in record.value]

    # replies that the program wrote itself name a model that is none
    models = dict.fromkeys(
        line.message.model for line in lines if line.type == "assistant" and line.message.model
    )
    models.pop(_SYNTHETIC, None)

    # the last reply is the program's report that the model could not be reached
    broke = lines[-1].is_api_error_message

    return entry(
        record,
        "claude_code",
        conversation,
        env="claude_code/subagent" if lines[0].is_sidechain else None,
        # a sub-agent makes no attempt at the task itself, wherever its context begins
        continued=not (lines[0].is_sidechain or record.locator.endswith("/0")),
        marks=count_labels(conversation),
        no_turns="no message of the model in this stretch of the session",
        end=(Termination.FAULT, Fault.MODEL) if broke else OPEN_END,
        fault_detail=one_line(text_of(lines[-1].message.content)) if broke else None,
        model=", ".join(models) or None,
    )


def _conversation(records: Iterable[Record]) -> Conversation:
    """The lines as a conversation: the lines of one reply (one `message.id`) are one message, in
    the place of its first line. Raises `ValueError`.
    """
    chat = ConversationBuilder()
    replies: dict[str, Object] = {}

    for record in records:
        line, message = record.value, record.value.message
        parts = message.content
        if not isinstance(parts, list):
            parts = [{"type": "text", "text": text_of(parts)}]

        name = message.id or record.locator

        if line.type == "user":
            _hear(chat, line, parts)
            continue

        _add(chat, replies, name, line, parts)
        if name not in replies:
            continue
        note = replies[name]["note"]
        if message.usage is not None:  # every line of a reply repeats its tokens: the last counts
            sent = [counted(message.usage, kind) for kind in _SENT]
            given = counted(message.usage, "output_tokens")
            note["usage"] = Usage(sum(sent), given, sent[-1], 1)

        if message.model == _SYNTHETIC or line.is_api_error_message:
            note.update(mask="written_by_harness", sampled_by=SampledBy.CANNED)

    return chat.conversation()


def _add(
    chat: ConversationBuilder, replies: dict[str, Object], name: str, line: Line, parts: list[Any]
) -> None:
    """Adds blocks to the reply of a name; behind the result of a tool that the provider ran another
    one begins.
    """
    if name not in replies and not parts:
        replies[name] = chat.answer()
    for part in parts:
        result = hosted_result(part)
        if result is not None:
            chat.result(result.content, result.call_id, error=result.error)
            replies.pop(name, None)
            continue
        if name not in replies:
            replies[name] = chat.answer(mask=COPIED_MASK if line.copied else None)
        _write(replies[name], part)


def _write(answer: Object, part: Any) -> None:
    """Adds a block to a reply; thinking blocks stay in `raw` with their signatures."""
    note, kind, run = answer["note"], inside(part, "type"), hosted_call(part)

    if kind == "text":
        answer["content"] = joined(answer["content"], text_of([part]))
    elif kind == "tool_use":
        call = tool_call(part.get("id"), part.get("name"), part.get("input"))
        answer["tool_calls"].append(call)
    elif run is not None:
        answer["tool_calls"].append(run)
        note.setdefault("raw", []).append(part)
        note["mask"] = note["mask"] or (None if is_connector(part) else PROVIDER_MASK)
    else:
        note.setdefault("raw", []).append(part)
        thought = str(inside(part, "thinking") or "") if kind == "thinking" else None
        answer["reasoning_content"] = joined(answer["reasoning_content"], thought)
        if kind not in ("thinking", "redacted_thinking"):
            note["mask"] = note["mask"] or UNREAD_MASK


def _hear(chat: ConversationBuilder, line: Line, parts: Iterable[Any]) -> None:
    """A user line: results of tools, and what the user said (or the program in the user's name):
    what one of them said in several parts is one message.
    """
    said: list[tuple[bool, list[Any]]] = []
    for part in parts:
        if inside(part, "type") == "tool_result":
            failed = part.get("is_error") is True
            chat.result(part.get("content"), part.get("tool_use_id"), error=failed)
            continue

        of_program = line.is_meta or line.is_compact_summary
        by_program = of_program or text_of([part]).lstrip().startswith(_HARNESS)
        if said and said[-1][0] is bool(by_program):
            said[-1][1].append(part)
        else:
            said.append((bool(by_program), [part]))

    for by_program, told in said:
        if by_program:
            chat.harness(told)
        else:
            chat.say("user", told)
