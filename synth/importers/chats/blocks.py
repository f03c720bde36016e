"""One message of any dialect: OpenAI, Anthropic, Gemini, LangChain, OpenTelemetry, ShareGPT.

Each reads into the same parts: text, thoughts, calls, answers to calls, and what is kept unread.
"""

import json
from contextlib import suppress
from typing import Any

from synth.importers.actions.markup import json_or_python
from synth.importers.chats.envelopes import named_speaker, unwrapped
from synth.importers.chats.said import Said
from synth.importers.chats.tool_parts import (
    answer_in,
    call_of,
    given_in,
    text_in,
    text_within,
)
from synth.importers.chats.words import CALLING, PARTS, ROLES
from synth.importers.hosted.parts import hosted_call, hosted_result, is_connector
from synth.importers.records import Object, first_of, inside
from synth.schemas import PROVIDER_MASK

_WORDS = ("content", "value", "text", "parts", "message", "system_prompt")


def said(message: Object) -> Said:
    """What a message says. Raises `ValueError` for one that cannot be read."""
    message = unwrapped(message)
    named = named_speaker(message)
    role = ROLES.get((named or "").lower())
    if role is None:
        raise ValueError(
            f"role {named!r} is none of system, developer, user, assistant, tool, function"
        )

    found = Said(role, name=text_in(message.get("name")))
    content = _content(message)

    if (named or "").lower() in CALLING and isinstance(content, str):
        _called(found, content)
    elif role == "tool" and not _holds_answers(content):
        found.answers.append(answer_in(message, content))
    else:
        _read(found, content)

    if found.text is None and isinstance(message.get("refusal"), str):
        found.texts.append(message["refusal"])

    if found.role == "assistant":
        found.beside(message)
    return found


def _content(message: Object) -> Any:
    """What a message says: its parts where text beside them repeats them; an empty text where
    nothing else says more.
    """
    held = [message[key] for key in _WORDS if message.get(key) is not None]
    parts = message.get("parts")
    if isinstance(parts, list) and parts and isinstance(held[0], str):
        texts = "".join(text_within(part) or "" for part in parts)
        return parts if texts or not held[0] else [held[0], *parts]
    return next((one for one in held if one not in ("", [])), held[0] if held else None)


def _holds_answers(content: Any) -> bool:
    parts = content if isinstance(content, list) else []
    return any(PARTS.get(_kind(part)) == "results" for part in parts)


def _kind(part: Any) -> str:
    """The kind of a part; Gemini's have a key for each kind."""
    if not isinstance(part, dict):
        return "text" if isinstance(part, str) else ""
    if isinstance(part.get("type"), str):
        return str(part["type"])
    keys = ("functionCall", "functionResponse", "toolUse", "toolResult", "reasoningContent", "text")
    return next((key for key in keys if key in part), "")


def _called(found: Said, content: str) -> None:
    """Content that is a call as JSON, or as Python prints one, or a list of them; else it is
    text.
    """
    value = None
    with suppress(ValueError, RecursionError):
        value = json_or_python(content)
    values = value if isinstance(value, list) else [value]
    calls = [call_of(one) for one in values]
    if calls and all(calls):
        found.calls += [one for one in calls if one]
        found.called = True
    else:
        found.texts.append(content)


def _read(found: Said, content: Any) -> None:
    """Content that is text, a part or a list of parts."""
    if isinstance(content, dict):
        parts = content.get("parts")
        typed = [content] if _kind(content) else json.dumps(content, ensure_ascii=False)
        content = parts if isinstance(parts, list) else typed
    if content is None or isinstance(content, str):
        found.texts += [] if content is None else [content]
        return
    if not isinstance(content, list):
        raise ValueError(f"content is {type(content).__name__}, neither text nor a list of parts")

    only_texts = all(PARTS.get(_kind(part)) == "texts" for part in content)
    for part in content:
        before = len(found.texts)
        _part(found, part)
        if not only_texts and before and len(found.texts) > before:
            found.texts[-1] = f"\n{found.texts[-1]}"


def _part(found: Said, part: Any) -> None:
    kind = _kind(part) or (next(iter(part), "") if isinstance(part, dict) else "")
    what = PARTS.get(kind)

    if isinstance(part, str):
        found.texts.append(part)
    elif _hosted(found, part):
        found.unread.append(part)
    elif what == "thoughts" or (isinstance(part, dict) and part.get("thought") is True):
        _think(found, part, kind)
    elif what == "texts" and (told := text_within(part)) is not None:
        found.texts.append(told)
    elif what == "calls" and (call := call_of(part)) is not None:
        found.calls.append(call)
    elif what == "results":
        inner = part.get("functionResponse") or part.get("toolResult") or part
        found.answers.append(answer_in(inner, given_in(inner)))
    elif what == "silent":
        found.unread.append(part)
    elif kind == "refusal" and isinstance(part.get(kind), str):
        found.texts.append(part[kind])
    else:
        found.texts.append(found.leave(part, kind))


def _hosted(found: Said, part: Any) -> bool:
    """Takes a call that the provider ran, or its result; whether a part is one."""
    call = hosted_call(part) if found.role == "assistant" else None
    result = hosted_result(part)
    if call is not None:
        found.calls.append(call)
        found.mask = found.mask if is_connector(part) else PROVIDER_MASK
    if result is not None:
        found.answers.append(result)
    return call is not None or result is not None


def _think(found: Said, part: Any, kind: str) -> None:
    """A thought; signatures, and thoughts that are held back, are kept as they stand."""
    named = (kind, "thinking", "text", "content", "reasoning", "summary")
    inner = inside(part, "reasoningContent.reasoningText", dict) or part  # Bedrock
    told = first_of(inner, named, str)
    found.thoughts += [told] if told else []
    if told is None or inner.get("signature"):
        found.unread.append(part)
