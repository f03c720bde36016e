"""`python -m benchmarks.gates.raw_calls`: calls read from raw text, and refusals, on real replies
(../shared/data) and on calls of our worlds.

Every recorded call is written anew in each form of each family, with the recorded words before it,
and must come back as it was; texts of real models without a call are read with the same tools:
whatever is found in them is a call that their harness lost, or a false alarm (docs/models.md says
which). The baseline reads what was read before: JSON and
parameters in <tool_call>. A refusal in words before any call is a false alarm where its trial
later made one.
"""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gates.table import Rate, table
from synth.schemas import ToolCall, argument_error
from synth.text.calls.reading import read_calls
from synth.text.refusals import refuses
from tests.synth.text.calls.written import FORMS

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SOURCES = ("tau1_retail", "agentrx_tau", "tau2_retail", "tau2_airline", "tau2_grok", "tau2_es")
MOST = 150
"""Calls and texts of a source: evenly drawn."""
BEFORE = ("hermes", "fenced_hermes", "qwen_coder")
Message = Mapping[str, Any]


def rows() -> list[Rate]:
    """Misses by form, false alarms; none where the data is absent."""
    found: list[Rate] = []
    for source in SOURCES if DATA.is_dir() else ():
        found += of_source(source)
    return found


def of_source(source: str) -> Iterator[Rate]:
    """The rates of one source."""
    trials = list(_conversations(source))
    calls, texts = _calls(trials), _texts(trials)
    tools = _tools(calls)
    some = calls[:: max(1, len(calls) // MOST)]

    tried = [(name, call) for name in FORMS for call in some]
    missed = sum(not _comes_back(name, call, tools) for name, call in tried)
    yield Rate(source, "raw calls", "misses, all forms", missed, len(tried), "0 %")
    old = sum(name not in BEFORE for name, _ in tried)
    yield Rate(source, "raw calls", "misses of the baseline", old, len(tried), "")

    alarms = sum(bool(read_calls(text, tools).calls) for text in texts)
    yield Rate(source, "raw calls", "texts read as calls", alarms, len(texts), "calls only")
    first = [text for trial in trials for text in _before_any_call(trial)]
    said = sum(map(refuses, first))
    yield Rate(source, "refusals", "taken for refusals, act later", said, len(first), "<= 1 %")


def texts_of(source: str) -> list[str]:
    """What agents of a source said where they called nothing, evenly drawn."""
    return _texts(list(_conversations(source)))


def _comes_back(form: str, call: tuple[str, dict[str, Any]], tools: Sequence[Any]) -> bool:
    """Whether a call that is written in a form is read as it was."""
    found = read_calls(f"Let me look.\n{FORMS[form](*call)}", tools).calls
    return [(one.name, _value(one)) for one in found] == [call]


def _value(call: ToolCall) -> Any:
    return None if call.parse_error is not None else call.parsed()


def _calls(trials: Sequence[Sequence[Message]]) -> list[tuple[str, dict[str, Any]]]:
    """All recorded calls whose arguments are an object."""
    found = []
    for message in (one for trial in trials for one in trial):
        for call in message.get("tool_calls") or ():
            function = call.get("function", call)
            arguments = function.get("arguments")
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            if argument_error(text) is None:
                found.append((function["name"], json.loads(text)))
    return found


def _tools(calls: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The tools as far as the calls tell them, with the types of what they were given."""
    kinds: dict[str, dict[str, Any]] = {}
    names = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}
    for name, arguments in calls:
        properties = kinds.setdefault(name, {})
        for key, value in arguments.items():
            kind = names.get(type(value), "object")
            seen = properties.setdefault(key, {"type": []})["type"]
            seen += [] if kind in seen else [kind]
    return [
        {"type": "function", "function": {"name": name, "parameters": {"properties": properties}}}
        for name, properties in kinds.items()
    ]


def _texts(trials: Sequence[Sequence[Message]]) -> list[str]:
    """What agents said where they called nothing."""
    found = [
        str(message["content"])
        for trial in trials
        for message in trial
        if message.get("role") == "assistant"
        and message.get("content")
        and not message.get("tool_calls")
    ]
    return found[:: max(1, len(found) // (10 * MOST))]


def _before_any_call(trial: Sequence[Message]) -> Iterator[str]:
    """What an agent said before its first call, of trials that have one."""
    called = [at for at, message in enumerate(trial) if message.get("tool_calls")]
    for message in trial[: called[0]] if called else ():
        if message.get("role") == "assistant" and message.get("content"):
            yield str(message["content"])


def _conversations(source: str) -> Iterator[Sequence[Message]]:
    """The messages of each trial of a source."""
    for path in sorted((DATA / source).glob("*.gz")):
        text = gzip.decompress(path.read_bytes()).decode()
        read = [json.loads(line) for line in text.splitlines()] if ".jsonl" in path.name else None
        found = read if read is not None else json.loads(text)
        for record in found.get("simulations", ()) if isinstance(found, dict) else found:
            yield record.get("traj") or record.get("messages") or ()


def main() -> None:
    """Prints the rates; no text of the data."""
    print("\n".join(table(rows())))


if __name__ == "__main__":
    main()
