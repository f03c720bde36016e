"""Formats whose record is one chat, told apart by the shape of its messages."""

from collections.abc import Callable
from functools import partial
from typing import Any

from synth.importers.chats.columns import answer_of, as_compared, chat_of, is_chat, opened, parsed
from synth.importers.chats.envelopes import unwrapped
from synth.importers.chats.record import chats
from synth.importers.frameworks.ui_messages import recognises_message
from synth.importers.named_tasks import as_named
from synth.importers.records import Format, by_record, is_object

_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}
_SWE_KEYS = (
    "resolved",
    "target",
    "exit_status",
    "model_patch",
    "generated_patch",
    "patch",
    "git_patch",
    "test_result",
    "trajectory",
    "traj_id",
    "eval_logs",
)


def _is_sharegpt(value: Any) -> bool:
    return any(is_object(one, "from", "value") for one in chat_of(value) or ())


def _is_hermes(value: Any) -> bool:
    """Calls in tags, within the text of an answer."""
    messages = chat_of(value) or ()
    texts = (one.get("value", one.get("content")) for one in messages if isinstance(one, dict))
    return any(isinstance(text, str) and "<tool_call>" in text for text in texts)


def _is_ai_sdk(value: Any) -> bool:
    """Messages of the Vercel AI SDK: steps with their calls, or parts with a `toolCallId`."""
    messages = chat_of(value) or ()
    held = (one.get("content") for one in messages if isinstance(one, dict))
    parts = (part for content in held if isinstance(content, list) for part in content)
    return any(is_object(part, "toolCallId", type=str) for part in parts) or any(
        map(recognises_message, messages)
    )


def _is_anthropic(value: Any) -> bool:
    """Blocks of calls and results within the content, or tools with an `input_schema`."""
    messages = chat_of(value)
    if messages is None:
        return False
    tools = parsed(value.get("tools")) if isinstance(value, dict) else None
    if isinstance(tools, list) and any(is_object(one, "name", "input_schema") for one in tools):
        return True

    contents = (unwrapped(one).get("content") for one in messages if isinstance(one, dict))
    return any(
        isinstance(part, dict) and part.get("type") in _BLOCKS
        for content in contents
        if isinstance(content, list)
        for part in content
    )


def _is_swe(value: Any) -> bool:
    """A chat with the name of its SWE instance, and what came of it."""
    named = is_object(value, instance_id=str) and any(key in value for key in _SWE_KEYS)
    return named and chat_of(value) is not None


def _is_compared(value: Any) -> bool:
    """Two answers, or one, after a prompt of messages; or labelled steps after theirs."""
    value = as_compared(value)
    if not isinstance(value, dict):
        return False
    prompt = opened(value.get("prompt"))
    if is_chat(parsed(value.get("step_messages"))):
        return True
    if "chosen" in value and "rejected" in value:
        return bool(prompt) or chat_of(value) is not None or is_chat(parsed(value["chosen"]))
    if isinstance(prompt, str) and prompt:  # both as texts
        return isinstance(answer_of(value), str)
    return is_chat(prompt) and answer_of(value) is not None


def _is_openai(value: Any) -> bool:
    """Chat messages under `messages`, or alone, with OpenAI's roles and nested calls; flat calls
    and `requestor` are other formats' (tau2).
    """
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not messages:
        return False

    for message in messages:
        if not is_object(message, role=str) or "requestor" in message:
            return False

        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            return False

        if any(isinstance(call, dict) and "function" not in call for call in calls):
            return False

    return True


def _is_any(value: Any) -> bool:
    """A chat under any key that is known; calls with a `requestor` are tau2's."""
    messages = chat_of(value)
    return messages is not None and not any("requestor" in one for one in messages)


def _format(name: str, recognises: Callable[[Any], bool]) -> Format:
    return by_record(recognises, partial(chats, name=name), as_named)


COMPARED = _format("comparisons", _is_compared)
SWE = _format("swe_logs", _is_swe)
AI_SDK = _format("ai_sdk", _is_ai_sdk)
ANTHROPIC = _format("anthropic_messages", _is_anthropic)
HERMES = _format("hermes", _is_hermes)
SHAREGPT = _format("sharegpt", _is_sharegpt)
OPENAI = _format("openai_messages", _is_openai)
MESSAGES = _format("messages", _is_any)
