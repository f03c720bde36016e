"""Actions by convention: ReAct and Act, JSON in the text or in a fence, a command in a fence.

The same words may stand in an answer to a person, so that whoever reads these looks at what
answered them (`synth.importers.actions.reading`).
"""

import json
import re
from typing import Any

from synth.importers.actions.markup import Call, Written, named_call
from synth.importers.records import WORDS

_ACTION = re.compile(
    r"^[ \t]*(?:\*\*)?Act(?:ion)?(?:[ \t]*\d+)?[ \t]*:(?:\*\*)?[ \t]*\n?(?P<action>.*)\Z",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_INPUT = re.compile(
    r"\A\s*(?P<name>[^\n]+?)\s*\n+[ \t]*(?:\*\*)?Action[ _]Input(?:[ \t]*\d+)?[ \t]*:(?:\*\*)?"
    r"[ \t]*(?P<input>.*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_BRACKETS = re.compile(r"\A\s*(?P<name>[A-Za-z_][\w.-]*)\[(?P<input>.*)\]\s*\Z", re.DOTALL)
_OBSERVED = re.compile(r"\n[ \t]*Observation[ \t]*\d*[ \t]*:.*\Z", re.DOTALL)
_FENCE = re.compile(r"```(?P<language>[\w+-]*)[ \t]*\n(?P<body>.*?)\n?```", re.DOTALL)
_NAMED_FENCE = re.compile(
    r"\A(?P<name>\w+)[ \t]*\n+```[\w+-]*[ \t]*\n(?P<body>.*?)\n?```\s*\Z", re.DOTALL
)
_SHELLS = ("bash", "sh", "shell", "mswea_bash_command", "zsh")
_COMMANDS = frozenset(WORDS["actions"]["commands"].split())
SHELL = "bash"
"""The tool that commands in fences are calls of."""
FREE = "act"
"""The tool of an action that is written in words, and names none."""


def by_convention(text: str) -> Written | None:
    """The one action of a text; None where it has none, or more than one."""
    return _react(text) or _json_body(text) or by_command(text) or _bare_fence(text)


def command(text: str, pattern: re.Pattern[str] = _FENCE) -> Written | None:
    """The one command that stands in a fence, as agents with a shell alone write it."""
    found = list(pattern.finditer(text))
    if len(found) != 1:
        return None
    named = "body" if "body" in pattern.groupindex else 1
    around = (text[: found[0].start()] + text[found[0].end() :]).strip()
    return Written(((SHELL, {"command": found[0][named]}),), around, "fence")


def _react(text: str) -> Written | None:
    """`Action: name`, `Action Input: ...`; `Action: name[argument]`; `Action:` and JSON; words."""
    found = _ACTION.search(text)
    if found is None:
        return None

    action = _OBSERVED.sub("", found["action"]).strip()
    call = _action(action)
    if call is None:
        return None
    return Written((call,), text[: found.start()].strip(), "react")


def _action(action: str) -> Call | None:
    fenced = _FENCE.search(action)
    value = _loaded(fenced["body"] if fenced else action)
    if isinstance(value, dict):
        try:
            return named_call(value)
        except ValueError:
            return None

    parts = _INPUT.match(action)
    if parts is not None:
        value = _loaded(parts["input"])
        given = value if isinstance(value, dict) else {"input": parts["input"].strip()}
        return parts["name"].strip("`* "), given

    named = _NAMED_FENCE.match(action)
    if named is not None:
        return named["name"], {"input": named["body"]}
    brackets = _BRACKETS.match(action)
    if brackets is not None:
        return brackets["name"], {"input": brackets["input"]}
    first = action.split("\n", 1)[0].strip()
    return (FREE, {"action": action}) if first and not first.startswith(("{", "[")) else None


def _json_body(text: str) -> Written | None:
    """JSON that names a tool, and is all of the text or of its one fence."""
    fences = [one for one in _FENCE.finditer(text) if one["language"] in ("json", "", "tool_call")]
    body = fences[0]["body"] if len(fences) == 1 else text
    value = _loaded(body)
    if not isinstance(value, dict) or not set(value) & _SAID_OF_CALLS:
        return None
    try:
        call = named_call(value)
    except ValueError:
        return None

    around = (text[: fences[0].start()] + text[fences[0].end() :]).strip() if fences else ""
    return Written((call,), around, "json")


_SAID_OF_CALLS = {"arguments", "args", "action_input", "parameters", "params", "kwargs"}
"""Keys without which an object with a name is no call."""


def by_command(text: str) -> Written | None:
    """The one command of a text, in a fence of a shell."""
    found = [one for one in _FENCE.finditer(text) if one["language"].lower() in _SHELLS]
    return command(text) if len(found) == 1 else None


def _bare_fence(text: str) -> Written | None:
    """The one fence of a text, where it names no language: SWE-agent writes its commands so."""
    if [one["language"] for one in _FENCE.finditer(text)] != [""]:
        return None
    written = command(text)
    if written is None:
        return None
    told = str(written.calls[0][1]["command"]).strip()
    # a command of the agent's interface, and none of a shell
    calls = ((told, {}),) if told in _COMMANDS else written.calls
    return Written(calls, written.around, "bare_fence")


def _loaded(text: str) -> Any:
    try:
        return json.loads(text.strip())
    except (ValueError, RecursionError):
        return None
