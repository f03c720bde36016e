"""What a model is shown: the tools, read from `data/tools.yaml`, with what is wrong with arguments
in words; and the written policy, half of which tools enforce while half only stands there.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.policy import RULE_IDS, TIERS, Rules
from synth.schemas import ToolSchema

Checker = Callable[[Any, str], str | None]
"""(value, name of the argument) -> what is wrong, or None."""
_SHIPPED = texts("tools")
MONEY_WRITES: tuple[str, ...] = tuple(_SHIPPED["money_writes"])
"""The writes that need the customer's agreement (R2)."""
MESSAGE = "message"
"""The argument that is for the customer's eyes alone."""
MAX_TEXT = 20_000
_UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a string"),
    "integer": ((int,), "an integer"),
    "number": ((int, float), "a number"),
    "array": ((list,), "an array"),
    "object": ((dict,), "an object"),
}
"""Type of a schema -> the Python types of its values, and its name."""


def _schema(name: str, tool: Mapping[str, Any]) -> ToolSchema:
    """A tool as a chat model's request has it."""
    properties = tool["properties"]

    parameters = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in tool.get("optional", ())],
        "additionalProperties": False,
    }

    named = {"name": name, "description": tool["description"], "parameters": parameters}

    return {"type": "function", "function": named}


def _silent(name: str, tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool that speaks to the customer, without its `message`."""
    kept = {key: of for key, of in tool["properties"].items() if key != MESSAGE}
    said = _SHIPPED["silent"].get(name, tool["description"])
    return {**tool, "properties": kept, "description": said}


def compiled(schema: Mapping[str, Any]) -> Checker:
    """A checker for the subset of JSON schema that the tools use: string, integer, number, array,
    object.
    """
    return partial(_problem, schema)


def _problem(
    schema: Mapping[str, Any],
    value: Any,
    name: str,
) -> str | None:
    """The first thing that is wrong with a value, or None."""
    return next(_problems(schema, value, name), None)


def _problems(schema: Mapping[str, Any], value: Any, name: str) -> Iterator[str]:
    """What is wrong with a value, by the type that its schema names."""
    types, called = _TYPES[schema["type"]]

    # a bool is an int to Python, and no number to JSON
    if type(value) not in types:
        yield f"{name} must be {called}, not {_shown(value)}"
    elif types == (str,):
        yield from _of_text(schema, value, name)
    elif types == (list,):
        least, most = schema["minItems"], schema["maxItems"]

        if not least <= len(value) <= most:
            yield f"{name} must have {least} to {most} items, not {len(value)}"

        for place, entry in enumerate(value):
            yield from _problems(schema["items"], entry, f"{name}[{place}]")

        if len(set(map(str, value))) < len(value):
            yield f"{name} names an item twice"
    elif types == (dict,):
        yield from _of_object(schema, value, name)
    else:
        least, most = schema["minimum"], schema["maximum"]

        if not least <= value <= most:
            yield f"{name} must lie between {least} and {most}, not {_shown(value)}"


def _of_text(
    schema: Mapping[str, Any],
    value: str,
    name: str,
) -> Iterator[str]:
    """What is wrong with a text: no choice, too long, empty, or unreadable."""
    if "enum" in schema:
        if value not in schema["enum"]:
            yield f"{name} must be one of {', '.join(sorted(schema['enum']))}, not {_shown(value)}"
    elif len(value) > schema["maxLength"]:
        longest = schema["maxLength"]
        yield f"{name} has {len(value)} characters, at most {longest} are allowed"
    elif not value.strip():
        yield f"{name} must not be empty"
    elif _UNREADABLE.search(value):
        yield f"{name} contains control characters"


def _of_object(
    schema: Mapping[str, Any],
    value: dict[str, Any],
    name: str,
) -> Iterator[str]:
    """What is wrong with an object: missing, unknown, or wrong entries."""
    known = schema.get("properties", {})
    least = schema.get("minProperties", 0)
    most = schema.get("maxProperties", 100)

    yield from (f"{key} is missing" for key in schema.get("required", ()) if key not in value)

    if not least <= len(value) <= most:
        yield f"{name} must have {least} to {most} entries, not {len(value)}"

    for key, entry in value.items():
        part = known.get(key, schema["additionalProperties"])

        if not part:
            yield f"{_shown(key)} is not an argument; allowed: {', '.join(sorted(known))}"
        elif part is not True:
            of = key if key in known else f"{name}[{_shown(key)}]"
            yield from _problems(part, entry, of)


def _shown(value: Any) -> str:
    """A value as a message has it: short, and without characters that no terminal shows."""
    text = repr(value)

    return ascii(text if len(text) <= 40 else text[:37] + "...")[1:-1]


READ_TOOLS, WRITE_TOOLS, TALK_TOOLS = (
    tuple(_schema(name, tool) for name, tool in _SHIPPED[part].items())
    for part in ("read", "write", "talk")
)
TOOLS: tuple[ToolSchema, ...] = READ_TOOLS + WRITE_TOOLS + TALK_TOOLS
SILENT_TOOLS: tuple[ToolSchema, ...] = (
    *READ_TOOLS,
    *WRITE_TOOLS,
    *(
        _schema(name, _silent(name, tool))
        for name, tool in _SHIPPED["talk"].items()
        if name != "reply"
    ),
)
"""Those of a desk without words: nothing can be said but by what tools settle."""
WRITES = frozenset(_SHIPPED["write"])
TALKS = frozenset(_SHIPPED["talk"])
CHECKERS, SILENT_CHECKERS = (
    {tool["function"]["name"]: compiled(tool["function"]["parameters"]) for tool in tools}
    for tools in (TOOLS, SILENT_TOOLS)
)
FACTORS: tuple[str, ...] = tuple(
    _SHIPPED["read"]["verify_identity"]["properties"]["factor"]["enum"]
)
_TELL = _SHIPPED["talk"]["tell_customer"]["properties"]
FACTS: dict[str, tuple[str, dict[str, Any]]] = {
    fact: (kind, _TELL[fact]) for fact, kind in _SHIPPED["facts"].items()
}
"""What the customer can be told, each with the type of such a fact in a check, and its schema."""


_POLICY = texts("policy")
TOPICS: tuple[str, ...] = tuple(_POLICY["topics"])


def rule_texts(rules: Rules, style: str = "plain") -> dict[str, str]:
    """Every rule in force in words, by its id; `terse` says the same in other and fewer words,
    `verbose` adds why.
    """
    values = {
        "windows": ", ".join(f"{tier} {rules.window_days[tier]} days" for tier in TIERS),
        "sale": ", ".join(rules.final_sale),
        "limit": rules.refund_limit_cents // 100,
        "money": rules.compensation_cents // 100,
        "days": rules.late_days,
    }

    texts_of = _POLICY["terse" if style == "terse" else "plain"]
    why = _POLICY["why"] if style == "verbose" else {}

    return {
        rule: " ".join(filter(None, (texts_of[rule].format(**values), why.get(rule))))
        for rule in RULE_IDS
        if rule in rules.in_force
    }


def topic_text(
    rules: Rules,
    topic: str,
    style: str = "plain",
) -> str:
    """The rules of one topic, one per line."""
    worded = rule_texts(rules, style)

    return (
        "\n".join(f"{rule}: {worded[rule]}" for rule in _POLICY["topics"][topic] if rule in worded)
        or "There is no rule about this."
    )


def system_prompt(rules: Rules, style: str = "plain", *, silent: bool = False) -> str:
    """What the agent is told before the customer speaks; of a `silent` desk that there is no
    text.
    """
    policy = "\n".join(f"{rule}: {text}" for rule, text in rule_texts(rules, style).items())

    words = _POLICY["silent" if silent else "words"]
    return str(_POLICY["system"].format(today=rules.today, policy=policy, words=words))
