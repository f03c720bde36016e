"""What a file that no importer reads looks like, and what could be done with it."""

import re
from difflib import get_close_matches
from typing import Any

from synth.importers.batch_lines import is_answer, is_request
from synth.importers.chats.columns import is_chat, parsed
from synth.importers.chats.envelopes import speaker_of
from synth.importers.chats.words import COLUMNS, NAMES, VERDICTS
from synth.importers.labelling.annotations import are_annotations
from synth.importers.labelling.reports import is_swe_instances
from synth.importers.records import Record, inside, is_object

_KINDS = {
    "md": "Markdown: a description, no trajectories",
    "txt": "plain text",
    "csv": "a CSV without a column that is known: rename one to `messages`",
    "tsv": "tab-separated: convert it to CSV, JSON lines or Parquet",
    "yaml": "YAML: convert it to JSON",
    "yml": "YAML: convert it to JSON",
    "pkl": "a pickle, which could run commands: write it as JSON lines",
    "db": "a database: write its rows as JSON lines or Parquet",
    "sqlite": "a database: write its rows as JSON lines or Parquet",
    "log": "a log of text: logs are read where each line is JSON",
    "html": "a web page",
    "py": "a program",
    "patch": "a patch, no trajectory",
    "diff": "a patch, no trajectory",
}


def other_kind(name: str) -> str:
    """What a file that is no JSON is by its name, as the end of a message."""
    kind = _KINDS.get(name.rpartition(".")[2].lower())
    return f": {kind or 'JSON, JSON lines, Parquet, Arrow and CSV are read'}"


def shape(value: Any, keys: int = 8) -> str:
    """A record's outline: its first keys, or its type."""
    if isinstance(value, dict):
        return "object with " + ", ".join(repr(key) for key in list(value)[:keys])

    if isinstance(value, list):
        return "array of " + (shape(value[0]) if value else "nothing")
    return f"JSON {type(value).__name__}"


def nearest(value: Any) -> str:
    """What such a record could be, and which option reads it."""
    if not isinstance(value, dict):
        return "records are objects: one for each line, in an array, or a row of a table each"
    if is_answer(value):
        return "answers of a batch: import the file of their requests with them"
    if any(map(_is_response, _within(value))):
        return "a response without what was sent: log the request, or its messages, beside it"
    for key, held in value.items():
        if key in COLUMNS["messages"]:
            continue
        held = parsed(held)
        if is_chat(held):
            if not any(speaker_of(one) == "assistant" for one in held):
                return f"{key!r} asks and nothing answers: a task, no trajectory"
            return f"a chat stands under {key!r}: --column messages={key}"
        inner = held.items() if isinstance(held, dict) else ()
        for name, one in inner:
            if is_chat(parsed(one)):
                return f"a chat stands under {key}.{name}: --column messages={key}.{name}"

    if are_verdicts(value):
        return "verdicts without trajectories: --labels FILE, beside the trajectories"
    if is_object(value, instruction=str, output=str):
        return "a question and an answer (Alpaca): no trajectory; write them as messages"
    if any(_SPOKEN.match(str(value.get(key))) for key in ("chosen", "text")):
        return "texts with their speakers in them (`Human:`): write them as messages"
    if set(value) <= {"text", "meta", "id", "source"} and "text" in value:
        return "plain text without speakers: no trajectory"
    if value.get("object") == "chat.completion.chunk":
        return "chunks of a stream: log whole answers"

    if is_object(value, question=str, answer=str):
        return "a question and an answer: no trajectory; write them as messages"
    return _under(value)


def _is_response(value: Any) -> bool:
    named = inside(value, "object") in ("chat.completion", "response", "text_completion")
    return named and (is_object(value, choices=list) or is_object(value, output=list))


def _within(value: dict[str, Any]) -> list[Any]:
    """A record, and the first of each list that it holds."""
    return [value, *(one[0] for one in value.values() if isinstance(one, list) and one)]


_FEW = 4
_SPOKEN = re.compile(r"\s*#*\s*(human|user|assistant)\b\W*:", re.IGNORECASE)


def _under(value: dict[str, Any]) -> str:
    """What stands where messages might."""
    known = COLUMNS["messages"]
    for key, held in value.items():
        if key in known:
            needs = "each needs a speaker (`role`, `from`) that is known, and what was said"
            return f"{key!r} is {_outline(parsed(held))}, no messages: {needs}"
    near = [str(key) for key in value if get_close_matches(str(key), known, 1, 0.8)]
    lists = (str(key) for key, held in value.items() if _holds_objects(parsed(held)))
    for key in (*near, *lists):
        held = _outline(parsed(value[key]))
        return f"{key!r} is {held}; where these are the messages: --column messages={key}"
    return "no messages in it: --column messages=KEY says where they are, --format NAME what it is"


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _outline(value: Any) -> str:
    """A value under a key in a few words."""
    if isinstance(value, list):
        return f"a list of {shape(value[0], _FEW)}" if value else "an empty list"
    return shape(value, _FEW) if isinstance(value, dict) else f"a JSON {type(value).__name__}"


def describes(value: Any) -> str | None:
    """What a record says of the data beside it, where it is no data itself."""
    if not isinstance(value, dict):
        return None
    if is_request(value):
        return "the requests of a batch: imported with its output file they are joined to that"
    if are_annotations(value):
        return "scores of traces, brought to those that are imported with them"
    if "_data_files" in value or ("splits" in value and len(value) <= 2):
        return "the state of a saved data set: its .arrow files are read"
    if is_object(value, "form", written_by=str, kind=str):
        return "describes an export of synth: its rows are read"
    if value and all(is_object(one, file_name=str) for one in value.values()):
        return "names the files of a data set (LLaMA-Factory): its rows are read"
    if "features" in value and ("citation" in value or "splits" in value):
        return "describes a data set: its files of rows are read"
    return None


def are_verdicts(value: Any) -> bool:
    """Whether a record holds verdicts of trajectories that lie elsewhere."""
    if not isinstance(value, dict):
        return False
    if is_object(value, result=dict) and "type" in value["result"]:
        return False  # what a batch of Anthropic's API gave back
    named = any(key in value for key in NAMES)
    judged = any(key in value for key in (*VERDICTS, "reward", "score"))
    return _is_report(value) or (named and judged)


def _is_report(value: dict[str, Any]) -> bool:
    if any(isinstance(value.get(key), list) for key in ("resolved_ids", "resolved")):
        return True
    if "verifier_result" in value or is_object(value, "n_total_trials", "stats"):
        return True
    return is_swe_instances(value)


def saw(record: Record) -> str:
    """By what a file's format was told: how its records lie in it, and the keys of the first."""
    place = record.locator
    held = next((kind for start, kind in _HELD.items() if place.startswith(start)), "a JSON array")
    return f"{held}; {shape(record.value)}"


_HELD = {
    "line": "JSON lines",
    "row": "a table",
    "file": "one JSON document",
    "object": "objects one after the other",
}
