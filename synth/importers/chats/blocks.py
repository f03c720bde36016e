"""One message of any dialect: OpenAI, Anthropic, Gemini, LangChain, OpenTelemetry, ShareGPT.

Each reads into the same parts: text, thoughts, calls, answers to calls, and what is kept unread.
"""

import json
from typing import Any

import msgspec

from synth.importers.chats.envelopes import named_speaker, unwrapped
from synth.importers.chats.tool_parts import ToolAnswer, answer_in, call_of, given_in, text_in
from synth.importers.chats.words import CALLING, PARTS, ROLES
from synth.importers.conversation import UNREAD_MASK, text_of
from synth.importers.records import Object

_WORDS = ("content", "value", "text", "parts", "message", "system_prompt")


class Said(msgspec.Struct):
    """A message, read. `texts` are its parts that are text; `unread` are kept as they stand."""

    role: str
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Object] = []
    answers: list[ToolAnswer] = []
    unread: list[Any] = []
    mask: str | None = None
    name: str | None = None

    @property
    def text(self) -> str | None:
        """The text; None where there is none at all."""
        return "".join(self.texts) if self.texts else None


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
    content = next((message[key] for key in _WORDS if message.get(key) is not None), None)

    if (named or "").lower() in CALLING and isinstance(content, str):
        _called(found, content)
    elif role == "tool" and not _holds_answers(content):
        found.answers.append(answer_in(message, content))
    else:
        _read(found, content)

    if found.text is None and isinstance(message.get("refusal"), str):
        found.texts.append(message["refusal"])

    _beside(found, message)
    return found


def _holds_answers(content: Any) -> bool:
    parts = content if isinstance(content, list) else []
    return any(PARTS.get(_kind(part)) == "results" for part in parts)


def _kind(part: Any) -> str:
    """The kind of a part; Gemini's have a key for each kind."""
    if not isinstance(part, dict):
        return "text" if isinstance(part, str) else ""
    if isinstance(part.get("type"), str):
        return str(part["type"])
    keys = ("functionCall", "functionResponse", "toolUse", "toolResult", "text")
    return next((key for key in keys if key in part), "")


def _called(found: Said, content: str) -> None:
    """Content that is a call as JSON, or a list of them; else it is text."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None

    values = value if isinstance(value, list) else [value]
    calls = [call_of(one) for one in values]
    if calls and all(calls):
        found.calls += [one for one in calls if one]
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
    kind = _kind(part)
    what = PARTS.get(kind)

    if isinstance(part, str):
        found.texts.append(part)
    elif what == "thoughts" or (isinstance(part, dict) and part.get("thought") is True):
        named = (kind, "thinking", "text", "content", "reasoning", "summary")
        told = next((part[key] for key in named if isinstance(part.get(key), str)), None)
        found.thoughts += [told] if told else []
        if told is None or part.get("signature"):
            found.unread.append(part)
    elif what == "texts":
        keys = ("text", "content", "value")
        found.texts += [next((part[key] for key in keys if isinstance(part.get(key), str)), "")]
    elif what == "calls" and (call := call_of(part)) is not None:
        found.calls.append(call)
    elif what == "results":
        inner = part.get("functionResponse") or part.get("toolResult") or part
        found.answers.append(answer_in(inner, given_in(inner)))
    elif what in ("opaque", "silent"):
        found.unread.append(part)
        found.mask = UNREAD_MASK if what == "opaque" else found.mask
    else:
        found.texts.append(text_of([part]))


def _beside(found: Said, message: Object) -> None:
    """Calls and thoughts that stand beside the content."""
    if found.role != "assistant":
        return

    extra = message.get("additional_kwargs")
    for holder in (message, extra if isinstance(extra, dict) else {}):
        calls = holder.get("tool_calls") or holder.get("toolCalls")
        if isinstance(calls, str):
            calls = json.loads(calls)
        if calls is not None and not isinstance(calls, list):
            raise ValueError("tool_calls is no list")
        if not found.calls and not calls and isinstance(holder.get("function_call"), dict):
            calls = [holder["function_call"]]
        if calls and not found.calls:
            for place, one in enumerate(calls):
                call = call_of(json.loads(one) if isinstance(one, str) else one)
                if call is None:
                    raise ValueError(f"tool_calls[{place}] has no function with a name")
                found.calls.append(call)

        for one in holder.get("invalid_tool_calls") or ():
            call = call_of(one)
            found.calls += [call] if call is not None else []

        keys = ("reasoning_content", "reasoningContent", "reasoning", "thinking", "thought")
        if not found.thoughts:
            told = (holder.get(key) for key in keys)
            found.thoughts += [next((one for one in told if isinstance(one, str) and one), "")]
            found.thoughts = [one for one in found.thoughts if one]
