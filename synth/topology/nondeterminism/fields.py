"""Nondeterministic fields learned from replays: what an environment answers differently when the
same turns are done again (our definition).

A field is learned where it differed in at least two comparisons, and in at least half of those that
had it. Never learned is what anybody asks for: a value that stands in a task's goal, its check or
its known actions, or a field named like a column that the check looks at.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from synth.schemas import Observation, Task
from synth.text.json_values import json_in

LEAST, SHARE = 2, 0.5
"""Comparisons that a place must have differed in: so many, and such a share of those that had
it.
"""
Kind = Literal["field", "word"]


class Compared(msgspec.Struct, frozen=True):
    """One answer of a tool, as it was recorded and as it came again; without a tool, what the
    environment or a user said.
    """

    tool: str
    recorded: str
    replayed: str


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """What differed: a place in JSON answers (`field`), or a pattern in others (`word`).

    `compared`: replays that had the place; `differing`: of those, how many answered otherwise;
    `example`: a value as it was recorded and as it came again. `refused` says why it is not masked:
    checked_column, asked_for or seldom.
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
    """What tasks and their checks speak of: the names of the columns that are checked, and all
    texts and values, a line each.
    """

    names: frozenset[str] = frozenset()
    text: str = ""

    @classmethod
    def by(cls, tasks: Iterable[Task]) -> "Asked":
        """Goals, checks, known actions and scripts: whatever stands there may be what is asked for,
        in these tasks or in others of the environment.
        """
        names: set[str] = set()
        texts: set[str] = set()

        for task in tasks:
            for predicate in task.check.required if task.check is not None else ():
                names.update(name.casefold() for name in predicate.where)

            arguments = [
                call.arguments if call.parse_error is not None else call.parsed()
                for call in task.gold or ()
            ]
            spoken_of = msgspec.to_builtins([task.goal, task.check, arguments, task.script])
            texts.update(text.casefold().strip() for _, text in _scalars(spoken_of))

        texts -= {"", "null", "true", "false"}  # nearly every answer has them
        return cls(frozenset(names), "\n".join(sorted(texts)))

    def why(self, place: str, seen: Iterable[str]) -> str | None:
        """Why what stands at a place may not be masked, None where it may.

        `seen` are all values that were seen there: one that is asked for speaks for all.
        """
        name = re.split(r"[.\[\]]+", place.rstrip("[]"))[-1].casefold()
        if name and name in self.names:
            return "checked_column"

        # as a whole word: 5 is not asked for where 57 is
        told = {value.casefold().strip() for value in seen} - {""}
        words = (rf"(?<!\w){re.escape(value)}(?!\w)" for value in told)
        return "asked_for" if any(re.search(word, self.text) for word in words) else None


def nondeterministic_fields(pairs: Sequence[Compared], asked: Asked) -> list[Field]:
    """What differed anywhere, sorted; those without `refused` are to be masked.

    A comparison counts once at a place, however many entries of a list stand there.
    """
    import polars as pl

    rows = [(at, pair.tool, *row) for at, pair in enumerate(pairs) for row in _rows(pair)]
    if not rows:
        return []

    differs = pl.col("before") != pl.col("after")
    found = (
        pl.DataFrame(rows, ["pair", "tool", "kind", "place", "before", "after"], orient="row")
        .group_by("tool", "kind", "place")
        .agg(
            compared=pl.col("pair").n_unique(),
            differing=pl.col("pair").filter(differs).n_unique(),
            example=pl.concat_list("before", "after").filter(differs).first(),
            seen=pl.col("before").append(pl.col("after")).unique(),
        )
        .filter(pl.col("differing") > 0)
        .sort("tool", "kind", "place")
    )

    # asked of the values only once the counts are known: most places never differ
    return [
        msgspec.convert({**row, "refused": _refused(row, asked)}, Field)
        for row in found.iter_rows(named=True)
    ]


def _refused(row: Mapping[str, Any], asked: Asked) -> str | None:
    """Why a place that differed is not masked; None where it is."""
    place = row["place"] if row["kind"] == "field" else ""
    seldom = row["differing"] < max(LEAST, SHARE * row["compared"])
    return asked.why(place, row["seen"]) or ("seldom" if seldom else None)


def as_masks(
    found: Iterable[Field],
) -> tuple[Mapping[str, frozenset[str]], Mapping[str, tuple[str, ...]]]:
    """`Nondeterminism.fields` and `Nondeterminism.words` of what was learned; what was refused is
    in neither.
    """
    places: dict[Kind, dict[str, set[str]]] = {"field": {}, "word": {}}

    for one in found:
        if one.refused is None:
            places[one.kind].setdefault(one.tool, set()).add(one.place)

    fields = {tool: frozenset(of_tool) for tool, of_tool in places["field"].items()}
    words = {tool: tuple(sorted(of_tool)) for tool, of_tool in places["word"].items()}
    return fields, words


def tool_of(observation: Observation, called: Mapping[str, str]) -> str:
    """Whose answer an observation is; empty for what no tool said."""
    return observation.name or called.get(observation.call_id or "", "")


def _rows(pair: Compared) -> Iterator[tuple[Kind, str, str, str]]:
    """(kind, place, before, after) of what stands where in both answers; nothing for answers of
    another shape, which differ in more than their values.
    """
    recorded = _scalars_in(pair.recorded)
    replayed = _scalars_in(pair.replayed)

    if recorded is None and replayed is None:
        yield from _words(pair.recorded.split(), pair.replayed.split())
    elif [place for place, _ in recorded or ()] == [place for place, _ in replayed or ()]:
        for (place, before), (_, after) in zip(recorded or (), replayed or (), strict=True):
            yield "field", place, before, after


def _scalars_in(text: str) -> list[tuple[str, str]] | None:
    """(place, text) of the scalars of a JSON object or list; None for other texts, and for what is
    nested too deeply to be read.
    """
    value = json_in(text)
    try:
        return None if value is None else list(_scalars(value))
    except RecursionError:
        return None


def _scalars(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """(place, text) of the scalars of a JSON value, in the order of their keys; a place is that of
    `masking.without`.
    """
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _scalars(value[key], f"{at}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item, f"{at}[]")
    else:
        yield at, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _words(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[Kind, str, str, str]]:
    """Every word of two texts of as many words: its place is the word before it, and its own shape
    where both share one.
    """
    if len(one) != len(other):
        return

    for at, (before, after) in enumerate(zip(one, other, strict=True)):
        # a word that follows another word than before stands at another place
        if _shape(before) == _shape(after) and (not at or one[at - 1] == other[at - 1]):
            follows = rf"(?<={re.escape(one[at - 1])}\s)" if at else r"\A"
            yield "word", follows + _shape(before), before, after


def _shape(word: str) -> str:
    """A pattern for words built like this one: runs of digits and of letters of either case.

    `a81f` gives `[a-z]+\\d+[a-z]+`, which `q7z` fits and `A81F` does not.
    """
    runs = re.findall(r"(\d+)|([a-z]+)|([A-Z]+)|([^\dA-Za-z])", word)
    return "".join(
        r"\d+" if digits else "[a-z]+" if lower else "[A-Z]+" if upper else re.escape(other)
        for digits, lower, upper, other in runs
    )
