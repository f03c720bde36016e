"""`python -m benchmarks.gates.wordings`: of the windows that become tasks in the words of rules,
how many do so when a model words the goal; and what is accepted that says something else.

The model is a script: `data/wordings.yaml` puts each line into other words, by styles. It has two
tries where a model has three, and reads nothing of why the first was refused. Each wording is also
given with its words
shuffled, with one value exchanged, and with a request left out: none may be accepted. Baseline: a
gate that accepts every wording has 100 % of each.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from benchmarks.gates.goals import swapped
from benchmarks.gates.table import Rate, table
from synth.envs.world import EnvEntry
from synth.flows.parts import world
from synth.schemas import Draft, NoGoal, Task, Window
from synth.synthesizers.reverse.deriving import exploration_tasks
from synth.synthesizers.reverse.exploration import Experience
from synth.synthesizers.reverse.ground import Ground

EXPLORATIONS = {"storefront": 5, "sql": 6, "textworld": 4}
STYLES = ("polite", "terse", "reordered", "filler")
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_NUMBER = re.compile(r"^\d+\. ")


class Rule(msgspec.Struct, frozen=True):
    """A line as it is given, and how a style puts it."""

    style: str
    says: str
    now: str
    again: str = ""
    """What it writes when it is told that the first words were refused; empty: the same."""


@cache
def rules() -> dict[str, list[Rule]]:
    """The rules by world."""
    place = Path(__file__).parent / "data" / "wordings.yaml"
    return msgspec.yaml.decode(place.read_bytes(), type=dict[str, list[Rule]])


@dataclass
class Written:
    """What a scripted writer did: lines by whether its style had words for them, what was refused,
    and what else was accepted.
    """

    lines: Counter[bool] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)


def requests_of(source: str, draft: Draft) -> list[str]:
    """The lines that a model is asked to put into other words."""
    lines = draft.goal.splitlines()
    if source == "storefront":
        return [_NUMBER.sub("", line) for line in lines[1:]]

    return _SENTENCE.split(draft.goal) if source == "textworld" else lines


def worded(source: str, style: str, line: str, *, again: bool = False) -> str | None:
    """A line in a style; None where the style has no words for it."""
    for rule in rules()[source]:
        found = re.search(rf"^{rule.says}", line) if rule.style == style else None
        if found is not None:
            now = (rule.again if again else "") or rule.now
            text = found.expand(now) + line[found.end() :]
            return text[0].upper() + text[1:]

    return None


async def played(source: str, style: str | None) -> tuple[list[Task], Written]:
    """The tasks of the explorations in a style's words; None: in those of the rules."""
    entry, written, experience = world(source), Written(), Experience()
    tasks: list[Task] = []

    async def write(window: Window) -> Draft | NoGoal:
        draft = NoGoal("no_rules") if entry.write_goal is None else entry.write_goal(window)
        if isinstance(draft, NoGoal) or style is None:
            return draft

        return _in_style(entry, source, style, draft, written)

    for seed in range(EXPLORATIONS[source]):
        config = {} if entry.exploring is None else entry.exploring({}, seed)
        ground = Ground(entry, source, config, seed, None, None, f"x/{seed}", 4, True, write)
        found, _ = await exploration_tasks(ground, 25, 12, 2, experience)
        tasks += found

    return tasks, written


def _in_style(
    entry: EnvEntry, source: str, style: str, draft: Draft, written: Written
) -> Draft | NoGoal:
    """The draft in a style's words, where the world accepts these; wrong ones are tried beside."""
    lines = requests_of(source, draft)
    said = [worded(source, style, line) for line in lines]
    written.lines.update(one is not None for one in said)
    # a model has words for each line; a script that has none leaves the line as it is
    texts = [one or line for one, line in zip(said, lines, strict=True)]

    for what, wrong in _wrong(texts):
        written.tried[what] += 1
        written.accepted[what] += not isinstance(accepted(entry, draft, wrong), NoGoal)

    found = accepted(entry, draft, texts)
    if isinstance(found, NoGoal):
        written.refused.append(f"{texts}: {found.reason}")
        once_more = (worded(source, style, one, again=True) or one for one in lines)
        found = accepted(entry, draft, list(once_more))

    return found


def accepted(entry: EnvEntry, draft: Draft, lines: list[str]) -> Draft | NoGoal:
    """The draft in these words, or why they are refused."""
    if entry.reword is None:
        return NoGoal("no rewording")

    try:
        return entry.reword(draft, lines)
    except ValueError as error:
        return NoGoal(str(error))


def _wrong(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """(what, lines that say something else)."""
    draw = Random(f"wrong {lines}")
    first, *others = lines
    words = first.split()
    shuffled = draw.sample(words, len(words))
    exchanged = swapped(first, draw)

    yield "blank", [" " for _ in lines]
    yield "one left out", others
    if shuffled != words:
        yield "words shuffled", [" ".join(shuffled), *others]
    if exchanged is not None:
        yield "one value exchanged", [exchanged, *others]


def rows() -> list[Rate]:
    """All worlds and styles."""
    return [rate for source in EXPLORATIONS for rate in asyncio.run(measured(source))]


async def measured(source: str, *, tell: bool = False) -> list[Rate]:
    """The rates of a world."""
    by_rules, _ = await played(source, None)
    tried, wrong = Counter[str](), Counter[str]()
    found: list[Rate] = []

    for style in STYLES:
        tasks, written = await played(source, style)
        gate, few = f"a model words goals, {style}", min(len(tasks), len(by_rules))
        read = sum(_read(task) == "in the model's words" for task in tasks)
        found += [
            Rate(source, gate, "verify, of as many as by rules", few, len(by_rules), ">= 50 %"),
            Rate(source, gate, "of these the expert solves from the wording", read, len(tasks), ""),
        ]
        tried += written.tried
        wrong += written.accepted
        if tell:
            print(source, style, dict(written.lines), *written.refused[:6], sep="\n  ", flush=True)

    return [
        *found,
        *(
            Rate(source, "a model words goals", f"accepted: {what}", wrong[what], n, "<= 5 %")
            for what, n in tried.items()
        ),
    ]


def _read(task: Task) -> str:
    """In whose words T8 was passed."""
    t8 = (task.difficulty or {}).get("tests", {}).get("T8", {})
    return str(t8.get("read", ""))


def main(sources: Iterable[str] = EXPLORATIONS) -> None:
    """Prints the table, world by world."""
    rates = [rate for source in sources for rate in asyncio.run(measured(source, tell=True))]
    print("\n".join(table(rates)))


if __name__ == "__main__":
    main()
