"""Actions by convention: ReAct and Act, JSON in the text or in a fence, a command in a fence.

The same words may stand in an answer to a person, so that whoever reads these looks at what
answered them (`synth.importers.actions.reading`).
"""

import json
import re
from collections.abc import Callable
from typing import Any

from synth.importers.actions.elements import in_elements
from synth.importers.actions.markup import (
    BESIDE,
    Call,
    Written,
    is_of_document,
    json_or_python,
    named_call,
    outside,
)
from synth.importers.actions.pythonic import in_python
from synth.importers.records import WORDS

_ACTION = re.compile(
    r"^[ \t]*(?:\*\*)?Act(?:ion)?(?:[ \t]*\d+)?[ \t]*:(?:\*\*)?[ \t]*\n?(?P<action>.*)\Z",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_INPUT = re.compile(
    r"(?P<name>[^\n]+)\n\s*(?:\*\*)?Action[ _]Input(?:[ \t]*\d+)?[ \t]*:(?:\*\*)?"
    r"[ \t]*(?P<input>.*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_BRACKETS = re.compile(r"\A\s*(?P<name>[^\W\d][\w.-]*)\[(?P<input>.*)\]\s*\Z", re.DOTALL)
_CALLED = re.compile(r"\A\s*(?P<name>[^\W\d][\w.-]*)\((?P<input>.*)\)\s*\Z", re.DOTALL)
_OBSERVED = re.compile(r"\n[ \t]*Observation[ \t]*\d*[ \t]*:.*\Z", re.DOTALL)
_FENCE = re.compile(r"```(?P<language>[\w+-]*)[ \t]*\n(?P<body>.*?)\n?```", re.DOTALL)
_NAMED_FENCE = re.compile(
    r"\A(?P<name>\w+)[ \t]*\n+```[\w+-]*[ \t]*\n(?P<body>.*?)\n?```\s*\Z", re.DOTALL
)
_SHELLS = ("bash", "sh", "shell", "mswea_bash_command", "zsh")
_COMMANDS = frozenset(WORDS["actions"]["commands"].split())
_JSON = ("json", "", "tool_call")
_LANGUAGES = frozenset(WORDS["actions"]["languages"].split())
CODE = "code"
"""What programs in fences are called: people are shown such too."""
SHELL = "bash"
"""The tool that commands in fences are calls of."""
FREE = "act"
"""The tool of an action that is written in words, and names none."""


def by_convention(text: str) -> Written | None:
    """The one action of a text; None where it has none, or more than one."""
    reads = (_react, _in_tag, _json_body, in_python, by_command, _bare_fence, _code, _in_line)
    return next(filter(None, (read(text) for read in reads)), None) or in_elements(text)


def _react(text: str) -> Written | None:
    """`Action: name`, `Action Input: ...`; `Action: name[argument]`; `Action:` and JSON; words.
    Several of them are as many calls, where each names its tool.
    """
    found = _ACTION.search(text)
    if found is None or is_of_document(text[: found.start()]):
        return None

    whole = _OBSERVED.sub("", found["action"])
    calls = [_action(one.strip()) for one in _AGAIN.split(whole)]
    if None in calls or any(call and call[0] == FREE for call in calls):
        calls = [_action(whole.strip())]  # a line of an argument may begin so too
    if None in calls:
        return None
    kind = "thought" if _THOUGHT.match(text) else "react"
    return Written(tuple(filter(None, calls)), text[: found.start()].strip(), kind)


_AGAIN = re.compile(
    r"^[ \t]*(?:\*\*)?Act(?:ion)?(?:[ \t]*\d+)?[ \t]*:(?:\*\*)?", re.MULTILINE | re.I
)
_THOUGHT = re.compile(r"\s*(?:\*\*)?(?:Thoughts?|Think)[ \t]*\d*[ \t]*:", re.IGNORECASE)


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
        text = parts["input"].strip()
        # an object that breaks off is kept as it was written, and is no argument of its own
        written = text if text.startswith("{") else {"input": text}
        return parts["name"].strip().strip("`* "), value if isinstance(value, dict) else written

    named = _NAMED_FENCE.match(action)
    if named is not None:
        return named["name"], {"input": named["body"]}
    one = _BRACKETS.match(action) or _CALLED.match(action)
    if one is not None:
        listed = in_python(f"[{action.strip()}]")
        return listed.calls[0] if listed else (one["name"], {"input": one["input"]})
    first = action.split("\n", 1)[0].strip()
    return (FREE, {"action": action}) if first and not first.startswith(("{", "[")) else None


def _json_body(text: str) -> Written | None:
    """JSON that names a tool, or a list of such, and is all of the text or of its fences."""
    fences = [one for one in _FENCE.finditer(text) if one["language"].lower() in _JSON]
    values = [_loaded(one["body"], json_or_python) for one in fences] or [_loaded(text)]
    held: list[Any] = []
    for value in values:
        listed = value.get("tool_calls") if isinstance(value, dict) else value
        held += listed if isinstance(listed, list) else [value]
    try:
        calls = tuple(named_call(one) for one in held if _says_call(one))
    except ValueError:
        return None
    if not calls or len(calls) < len(held):
        return None

    around = outside(text, fences) if fences else ""
    objects = (value for value in values if isinstance(value, dict))
    told = [value.get(key) for value in objects for key in BESIDE]
    said = [one for one in told if isinstance(one, str) and one]
    return Written(calls, "\n".join(filter(None, [around.strip(), *said])), "json")


_SAID_OF_CALLS = {"arguments", "args", "action_input", "parameters", "params", "kwargs"}
"""Keys without which an object with a name is no call."""


def _says_call(value: Any) -> bool:
    """Whether an object holds arguments, or an object that does, or an act beside a thought."""
    if not isinstance(value, dict):
        return False
    thinks = {"action", "tool"} & {*value} and {*BESIDE} & {*value}
    return bool({*value} & _SAID_OF_CALLS or thinks) or any(
        isinstance(one, dict) and {*one} & _SAID_OF_CALLS for one in value.values()
    )


def by_command(text: str) -> Written | None:
    """The one command of a text, in a fence of a shell."""
    fence = _only(_FENCE, text)
    if fence is None or fence["language"].lower() not in _SHELLS:
        return None
    return Written(((SHELL, {"command": fence["body"]}),), outside(text, [fence]).strip(), "fence")


def _bare_fence(text: str) -> Written | None:
    """The one fence of a text, where it names no language: SWE-agent writes its commands so."""
    fence = _only(_FENCE, text)
    if fence is None or fence["language"]:
        return None
    told = fence["body"].strip()
    # a command of the agent's interface, and none of a shell
    call = (told, {}) if told in _COMMANDS else (SHELL, {"command": fence["body"]})
    return Written((call,), outside(text, [fence]).strip(), "bare_fence")


def _in_tag(text: str) -> Written | None:
    """The one action between tags of that name, as agents of browsers write it."""
    found = _only(_TAG, text)
    call = None if found is None else _action(found["action"].strip())
    if found is None or call is None:
        return None
    return Written((call,), outside(text, [found]).strip(), "react")


_TAG = re.compile(r"<action>(?P<action>[^<]*)</action>")


def _in_line(text: str) -> Written | None:
    """The one act in a fence within a line, as WebArena's agents write it."""
    found = _only(_LINE, text) if text.count("```") == 2 else None
    if found is None:
        return None
    call = (FREE, {"action": found["action"]})
    return Written((call,), outside(text, [found]).strip(), "fence_in_line")


_LINE = re.compile(r"```(?P<action>[^`\n]+)```")


def _code(text: str) -> Written | None:
    """The one fence of a text, in a language of programs: CodeAct writes its actions so."""
    fence = _only(_FENCE, text)
    if fence is None or fence["language"].lower() not in _LANGUAGES:
        return None
    call = (fence["language"], {"code": fence["body"]})
    return Written((call,), outside(text, [fence]).strip(), CODE)


def _only(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The one match of a text; None where it has none, or several."""
    found = list(pattern.finditer(text))
    return found[0] if len(found) == 1 else None


def _loaded(text: str, read: Callable[[str], Any] = json.loads) -> Any:
    try:
        return read(text.strip())
    except (ValueError, RecursionError):
        return None
