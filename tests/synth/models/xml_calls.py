"""Calls as the template of Qwen3-Coder writes them."""

import json
from typing import Any

from synth.text.calls.reading import read_calls


def tool(name: str, /, **properties: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": properties}},
    }


PAY = tool(
    "pay",
    sum={"type": "number"},
    to={"type": "string"},
    urgent={"type": "boolean"},
    items={"type": "array"},
    note={},
)


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


def written(name: str, arguments: dict[str, Any]) -> str:
    """As the template of Qwen3-Coder has it: containers as JSON, all else as Python's `str`."""
    parameters = [
        f"<parameter={key}>\n{_as_text(value)}\n</parameter>\n" for key, value in arguments.items()
    ]
    return f"<tool_call>\n<function={name}>\n{''.join(parameters)}</function>\n</tool_call>"


def found(text: str, *tools: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(call.name, call.parsed()) for call in read_calls(text, tools).calls]
