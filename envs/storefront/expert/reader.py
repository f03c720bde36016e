"""What an agent can know of a customer's wishes: read from the words of the goal, and from what the
customer says later. No script is looked at.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
from msgspec import structs

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.expert.sentences import (
    WORDS,
    Said,
    added,
    item,
    kind_of,
    order,
    pattern,
    where,
    wordings,
)

_SPEAKER = re.compile(r"Hello, this is (?P<name>[^\n]+?)\.(?P<rest>[^\n]*)")
_SLOT = re.compile(r" My (\w+) is (\S.*?)\.(?= My \w+ is | I have )")
_COUNT = re.compile(r"(?: My \w+ is \S.*?\.)* I have (?P<count>one|\d+) requests?:")
_REQUEST = re.compile(r"(\d+)\. (.+)")


@dataclass(frozen=True)
class ReadGoal:
    """Who speaks and what they gave away of themselves, as far as that was understood, and their
    requests: none where any of the words were not.
    """

    slots: dict[str, str | None] = field(default_factory=dict)
    requests: tuple[Request, ...] = ()


@lru_cache(maxsize=4096)
def read_goal(goal: str) -> ReadGoal:
    """The first words of a customer: who speaks, and the requests as a numbered list."""
    first, *lines = goal.split("\n")
    speaker = _SPEAKER.fullmatch(first)

    if speaker is None:
        return ReadGoal()

    slots: dict[str, str | None] = {"name": speaker["name"], **dict(_SLOT.findall(speaker["rest"]))}
    count = _COUNT.fullmatch(speaker["rest"])
    numbered = [_REQUEST.fullmatch(line) for line in lines]
    read = [read_request(int(line[1]), line[2]) for line in numbered if line is not None]
    requests = tuple(request for request in read if request is not None)
    numbers = [request.number for request in requests]
    announced = 0 if count is None else 1 if count["count"] == "one" else int(count["count"])

    # a part that is not understood may change all the rest
    if announced == 0 or len(lines) != announced or len(set(numbers)) != announced:
        return ReadGoal(slots)

    return ReadGoal(slots, requests)


def read_request(number: int, text: str) -> Request | None:
    """A request in the customer's words; None where they are not understood."""
    for name, words in wordings():
        found = words.fullmatch(text)
        said = None if found is None else _fields(name, found.groupdict())

        if said is not None:
            return msgspec.convert({"number": number, "text": text, **said}, Request)

    return None


def _fields(name: str, found: dict[str, str]) -> Said | None:
    """The fields of a request, from the parts of a wording; None where a part makes no sense."""
    kind = kind_of(name)
    said: Said = {"kind": kind}
    readers = {"order": order, "item": item, "where": where}

    for place, text in found.items():
        if place == "rest":
            continue
        # what is wanted, a note and an id stand for themselves
        part = readers[place](text) if place in readers else {place: text}

        if part is None:
            return None

        said |= part

    if "giver" in said:
        giver = said.pop("giver")
        said |= {} if "order_id" in said else {"gift_of": giver}
    if name == "former_price":
        said["former"] = True

    more = added(kind, found["rest"], said.get("wanted"))

    return None if more is None else said | more


@lru_cache(maxsize=1)
def _changes() -> Sequence[tuple[str, re.Pattern[str]]]:
    """How a change of mind is said, by the kind of request that it is made to."""
    said = {kind: pattern(words, number=r"\d+") for kind, words in WORDS["changes"].items()}

    return [*said.items(), ("", pattern(WORDS["withdrawn"], number=r"\d+"))]


def standing(requests: Sequence[Request], heard: Sequence[str]) -> tuple[Request, ...]:
    """The requests as they stand after the customer said all this."""
    now = {request.number: request for request in requests}

    for text in heard:
        for kind, words in _changes():
            found = words.fullmatch(text)

            if found is None or int(found["number"]) not in now:
                continue

            number = int(found["number"])

            if not kind:
                del now[number]
            else:
                now[number] = _changed(now[number], kind, found["wanted"], text)

    return tuple(now.values())


def _changed(request: Request, kind: str, wanted: str, text: str) -> Request:
    """A request with another wish in its place."""
    changed = msgspec.convert({**msgspec.to_builtins(request), "kind": kind}, Request)

    return structs.replace(changed, wanted=wanted, text=text)
