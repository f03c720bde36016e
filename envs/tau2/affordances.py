"""Calls that make sense on a telecom ticket: each tool with values that the databases hold, of the
customer whose phone it is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from synth.schemas import Facts, ToolSchema

PERMISSIONS = ("sms", "storage", "phone", "network")
AMOUNTS = (1.0, 2.0)
WORDS = {"reason": "asked for", "summary": "The ticket could not be solved."}


def possible(tools: Sequence[ToolSchema], facts: Facts) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(tool, arguments), in the order of the tools; one that takes what nobody knows is left
    out.
    """
    known = _values(facts)
    for tool in (one["function"] for one in tools):
        names = tool["parameters"].get("required", [])
        lists = [known.get(name) or _choices(tool["parameters"], name) for name in names]
        for values in product(*lists):
            yield tool["name"], dict(zip(names, values, strict=True))


def _values(facts: Facts) -> dict[str, Sequence[Any]]:
    """What could stand for an argument, by its name."""
    number = facts.get("surroundings/now/phone_number")
    lines = [
        path.split("/")[1]
        for path, value in facts.items()
        if path.startswith("line/") and path.endswith("/phone_number") and value == number
    ]
    owners = [
        path.split("/")[1]
        for path, value in facts.items()
        if path.startswith("customer/") and path.endswith("/line_ids") and _holds(value, lines)
    ]
    bills = [
        one for owner in owners for one in json.loads(str(facts[f"customer/{owner}/bill_ids"]))
    ]
    apps = json.loads(str(facts.get("phone/now/app_statuses") or "{}"))
    return {
        "phone_number": [number] if number else [],
        "line_id": lines,
        "customer_id": owners,
        "bill_id": bills,
        "id": [*owners, *lines, *bills],
        **_of_owners(facts, owners),
        "app_name": list(apps),
        "permission": PERMISSIONS,
        "gb_amount": AMOUNTS,
        **{name: [text] for name, text in WORDS.items()},
    }


def _of_owners(facts: Facts, owners: Sequence[str]) -> dict[str, Sequence[Any]]:
    columns = {"full_name": "full_name", "dob": "date_of_birth"}
    return {
        name: [facts[f"customer/{owner}/{column}"] for owner in owners]
        for name, column in columns.items()
    }


def _holds(value: Any, lines: Sequence[str]) -> bool:
    return any(line in json.loads(str(value)) for line in lines)


def _choices(parameters: Mapping[str, Any], name: str) -> Sequence[Any]:
    """The enumeration of an argument, also where it stands under another name."""
    about = parameters["properties"][name]
    kinds = [about, *about.get("anyOf", ()), *about.get("allOf", ())]
    named = [
        parameters.get("$defs", {}).get(str(one.get("$ref", "")).split("/")[-1]) for one in kinds
    ]
    return [choice for one in (*kinds, *named) for choice in (one or {}).get("enum", ())]
