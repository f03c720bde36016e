"""Volatile fields learned from replays: what a world answers differently when the same turns are
done again (our definition).

A field is learned where it differed in at least two comparisons, and in at least half of those that
had it. Never learned is what anybody
asks for: a value that stands in a task's goal, its check or its known actions, or a field named
like a column that the check looks at.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from synth.schemas.task import Task
from synth.schemas.trajectory import Observation

LEAST, SHARE = 2, 0.5
Kind = Literal["field", "word"]


class Compared(msgspec.Struct, frozen=True):
    """One answer of a tool, as it was recorded and as it came again."""

    tool: str
    recorded: str
    replayed: str


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """What differed: a place in JSON answers (`field`), or a pattern in others (`word`). `refused`
    says why it is not volatile.
    """

    tool: str
    kind: Kind
    place: str
    compared: int
    differing: int
    example: tuple[str, str]
    refused: str | None = None


@dataclass(frozen=True)
class Asked:
    """What tasks and their checks speak of: values, the names of the columns that are checked, and
    all texts together.
    """

    values: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    text: str = ""

    @classmethod
    def by(cls, tasks: Iterable[Task]) -> "Asked":
        """Goals, checks, and known actions."""
        values: set[str] = set()
        names: set[str] = set()
        texts: list[str] = []
        for task in tasks:
            texts.append(task.goal)
            check = task.check
            for predicate in check.required if check is not None else ():
                names.update(name.casefold() for name in predicate.where)
            arguments = [
                call.arguments if call.parse_error is not None else call.parsed()
                for call in task.gold or ()
            ]
            values.update(
                _scalars([msgspec.to_builtins(check), arguments, msgspec.to_builtins(task.script)])
            )
        texts += values
        return cls(frozenset(values), frozenset(names), "\n".join(texts).casefold())

    def why(self, place: str, seen: Iterable[str]) -> str | None:
        """Why what stands at a place may not be masked, None where it may."""
        name = re.split(r"[.\[\]]+", place.rstrip("[]"))[-1].casefold()
        if name and name in self.names:
            return "checked_column"
        for value in seen:
            told = value.casefold().strip()
            if told and (
                told in self.values
                or re.search(rf"(?<!\w){re.escape(told)}(?!\w)", self.text) is not None
            ):
                return "asked_for"
        return None


@dataclass
class _Count:
    compared: int = 0
    differing: int = 0
    seen: dict[str, None] = field(default_factory=dict)
    example: tuple[str, str] = ("", "")

    def add(self, values: Sequence[tuple[str, str]]) -> None:
        """The values of one answer at this place, as recorded and as they came again."""
        self.compared += 1
        self.seen.update(dict.fromkeys(value for pair in values for value in pair))
        differing = next((pair for pair in values if pair[0] != pair[1]), None)
        if differing is not None:
            self.differing += 1
            self.example = self.example if self.differing > 1 else differing


def volatile_fields(pairs: Sequence[Compared], asked: Asked) -> list[Field]:
    """What differed anywhere, sorted; those without `refused` are to be masked."""
    counts: dict[tuple[str, Kind, str], _Count] = {}
    for pair in pairs:
        for (kind, place), values in _places(pair).items():
            counts.setdefault((pair.tool, kind, place), _Count()).add(values)
    found = []
    for (tool, kind, place), count in sorted(counts.items()):
        if not count.differing:
            continue
        seldom = (
            "seldom"
            if count.differing < LEAST or count.differing < SHARE * count.compared
            else None
        )
        refused = asked.why(place if kind == "field" else "", count.seen) or seldom
        found.append(
            Field(
                tool=tool,
                kind=kind,
                place=place,
                compared=count.compared,
                differing=count.differing,
                example=count.example,
                refused=refused,
            )
        )
    return found


def _places(pair: Compared) -> Mapping[tuple[Kind, str], list[tuple[str, str]]]:
    """What stands where in both answers; nothing for answers of another shape, which differ in more
    than their values.
    """
    recorded, replayed = _leaves(pair.recorded), _leaves(pair.replayed)
    found: dict[tuple[Kind, str], list[tuple[str, str]]] = {}
    if recorded is None and replayed is None:
        for place, before, after in _words(pair):
            found.setdefault(("word", place), []).append((before, after))
    elif (
        recorded is not None
        and replayed is not None
        and [at for at, _ in recorded] == [at for at, _ in replayed]
    ):
        for (at, before), (_, after) in zip(recorded, replayed, strict=True):
            found.setdefault(("field", at), []).append((before, after))
    return found


def as_masks(
    found: Iterable[Field],
) -> tuple[Mapping[str, frozenset[str]], Mapping[str, tuple[str, ...]]]:
    """`Volatile.fields` and `Volatile.words` of what was learned."""
    fields: dict[str, set[str]] = {}
    words: dict[str, list[str]] = {}
    for one in found:
        if one.refused is None and one.kind == "field":
            fields.setdefault(one.tool, set()).add(one.place)
        elif one.refused is None:
            words.setdefault(one.tool, []).append(one.place)
    return {tool: frozenset(places) for tool, places in fields.items()}, {
        tool: tuple(sorted(places)) for tool, places in words.items()
    }


def tool_of(observation: Observation, called: Mapping[str, str]) -> str:
    """Whose answer an observation is; empty for what no tool said."""
    return observation.name or called.get(observation.call_id or "", "")


def _leaves(text: str) -> list[tuple[str, str]] | None:
    """The scalars of a JSON text with their places, in order; None for other texts."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return list(_scalars_at(msgspec.json.decode(text), ""))
    except (msgspec.DecodeError, RecursionError):
        return None


def _scalars_at(value: Any, at: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _scalars_at(value[key], f"{at}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _scalars_at(item, f"{at}[]")
    else:
        yield at, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _scalars(value: Any) -> set[str]:
    """The scalars anywhere in a value, but for those that nearly every answer has."""
    found = {text.casefold().strip() for _, text in _scalars_at(value, "")}
    return found - {"", "null", "true", "false"}


def _words(pair: Compared) -> Iterable[tuple[str, str, str]]:
    """Every word with its place, where both texts have as many: the word before it, and its own
    shape where both share one.
    """
    one, other = pair.recorded.split(), pair.replayed.split()
    if len(one) != len(other):
        return
    for index, (before, after) in enumerate(zip(one, other, strict=True)):
        if shape(before) == shape(after) and (not index or one[index - 1] == other[index - 1]):
            yield (
                (rf"(?<={re.escape(one[index - 1])}\s)" if index else r"\A") + shape(before),
                before,
                after,
            )


def shape(word: str) -> str:
    """A pattern for words built like this one: runs of digits and of letters of either case."""
    kinds = re.findall(r"\d+|[a-z]+|[A-Z]+|[^\dA-Za-z]", word)
    return "".join(
        r"\d+"
        if part[0].isdigit()
        else "[a-z]+"
        if part[0].islower()
        else "[A-Z]+"
        if part[0].isupper()
        else re.escape(part)
        for part in kinds
    )
