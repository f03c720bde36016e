"""A run of SWE-agent that was saved without its history: the steps say what the history would."""

from collections.abc import Iterator
from typing import Any

from synth.importers.conversation import note_of
from synth.importers.records import Object, inside, is_object


def has_steps_alone(value: Any) -> bool:
    """Whether a document holds steps of an agent in a shell, and no history."""
    steps = inside(value, "trajectory", list) or []
    return (
        is_object(value, trajectory=list, info=dict)
        and "history" not in value
        and bool(steps)
        and all(is_object(one, "action", "observation") for one in steps)
        and any(is_object(steps[0], key) for key in ("response", "thought"))
    )


def with_history(value: Object) -> Object:
    """The document with the history that its steps tell: what the first one was asked, then each
    answer, and what the shell said to it but for the last, which stands in its step.
    """
    return value | {"history": list(_history(value["trajectory"]))}


def _history(steps: list[Object]) -> Iterator[Object]:
    asked = inside(steps[0], "query", list)
    # the answers rest on what nobody can see: a note, behind which no turn carries loss
    yield from asked or [{"role": "user", "content": note_of("query"), "agent": "main"}]
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        answer = step.get("response") or step.get("thought") or ""
        told = {key: step.get(key) for key in ("thought", "action", "tool_calls", "tool_call_ids")}
        yield {"role": "assistant", "content": answer, "agent": "main", **told}
        if after is None:
            return
        ids = step.get("tool_call_ids")
        role = "tool" if ids else "user"
        content = step.get("observation") or ""
        yield {"role": role, "content": content, "agent": "main", "tool_call_ids": ids}
