"""Records of streams."""

from typing import Any


def command(number: int, text: str, output: str, code: int = 0) -> dict[str, Any]:
    """A command that has ended."""
    item = {"id": f"item_{number}", "type": "command_execution", "command": text}
    return {
        "type": "item.completed",
        "item": {**item, "aggregated_output": output, "exit_code": code},
    }


def words(number: int, kind: str, text: str) -> dict[str, Any]:
    """Words of the agent."""
    return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, "text": text}}


STREAM: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    words(0, "reasoning", "Look."),
    {"type": "item.started", "item": {"id": "item_1", "type": "command_execution"}},
    command(1, "ls", "a.py"),
    words(2, "agent_message", "Once more."),
    command(3, "cat a.py", "no", 1),
    words(4, "agent_message", "Done."),
    {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 4}},
]
