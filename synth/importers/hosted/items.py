"""Items of OpenAI's Responses API that are calls which the provider ran: each holds its call and,
where the client asked for it, what the tool gave back.
"""

import json
from collections.abc import Callable
from typing import Any

from synth.importers.conversation import PAGES, note_of, tool_call
from synth.importers.hosted.shown import shown
from synth.importers.records import WORDS, Object, inside

_NAMES: dict[str, str] = WORDS["response_items"]["hosted"]


def is_hosted(kind: str) -> bool:
    """Whether items of a kind are calls that the provider ran."""
    return kind in _NAMES


def item_call(item: Object) -> Object:
    """The call, named after its tool; its arguments as far as the item has them."""
    name = _NAMES[item["type"]] or item.get("name")
    return tool_call(item.get("id"), name, _asked(item))


def _asked(item: Object) -> Any:
    action = item.get("action")
    if isinstance(action, dict):
        return {key: one for key, one in action.items() if key != "sources"}
    if item.get("arguments") is not None:
        return item["arguments"]
    if item.get("revised_prompt"):
        return {"prompt": item["revised_prompt"]}
    return {key: item[key] for key in ("code", "queries", "query") if item.get(key) is not None}


def item_result(item: Object) -> tuple[str, bool]:
    """What the tool gave back, and whether it failed; a note stands for what was not logged."""
    failed = item.get("status") in ("failed", "incomplete") or bool(item.get("error"))
    return _RESULTS[item["type"]](item), failed


def _of_search(item: Object) -> str:
    """Pages are never in the log, at most their addresses."""
    sources = inside(item, "action.sources", list)
    return "\n".join([*([shown(sources)] if sources else ()), note_of(PAGES)])


def _of_files(item: Object) -> str:
    results = item.get("results")
    return note_of("file_search_result") if results is None else shown(results)


def _of_code(item: Object) -> str:
    outputs = item.get("outputs")
    if not isinstance(outputs, list):
        return note_of("code_interpreter_output")
    logs = (one.get("logs") if isinstance(one, dict) else None for one in outputs)
    told = zip(outputs, logs, strict=True)
    return "\n".join(log if isinstance(log, str) else _noted(one) for one, log in told)


def _noted(output: Any) -> str:
    return note_of(str(inside(output, "type") or "output"))


def _of_image(item: Object) -> str:
    return note_of("image")


def _of_mcp(item: Object) -> str:
    told = item.get("error") or item.get("output")
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False) if told else ""


_RESULTS: dict[str, Callable[[Object], str]] = {
    "web_search_call": _of_search,
    "file_search_call": _of_files,
    "code_interpreter_call": _of_code,
    "image_generation_call": _of_image,
    "mcp_call": _of_mcp,
}
