"""`python -m benchmarks.gates.goals`: how often a task of an exploration is solved by its world's
expert from texts that are not its goal: another task's goal, letters, nothing, its words in another
order, one value of a request exchanged, another customer's name over a request that changes
something (what anybody may look up has the same answer for all). Baseline: an expert that plans
from the script passes all of them.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from random import Random

from benchmarks.gates.table import Rate
from synth.envs.conformance.finding import ConformanceRig
from synth.envs.world import EnvEntry
from synth.flows.parts import world
from synth.schemas import Draft, NoGoal, Task, Window
from synth.stats.intervals import clopper_pearson
from synth.synthesizers.reverse.check_predicates import check_in
from synth.synthesizers.reverse.deriving import exploration_tasks
from synth.synthesizers.reverse.exploration import Experience
from synth.synthesizers.reverse.goal_tests import passes_with
from synth.synthesizers.reverse.ground import Ground

EXPLORATIONS = {"storefront": 36, "sql": 36, "textworld": 5}
MOST_TURNS = 60
VALUE = re.compile(r"\b[A-Z]{1,2}-\d+\b|\b[A-Z]{3,}\d+\b|(?<=[a-z] )\d+\b|(?<=[a-z] )[A-Z][a-z]+\b")
"""Ids, codes, numbers and names inside a sentence; not the numbers of a list."""
REQUESTS = re.compile(r"^1\. ", re.MULTILINE)
"""Where the requests of a goal begin that says first who speaks."""
TARGET = "<= 5 %"


def rows() -> list[Rate]:
    """All sources and texts."""
    return [rate for source in EXPLORATIONS for rate in asyncio.run(measured(source))]


async def measured(source: str) -> list[Rate]:
    """The rates of one world."""
    entry = world(source)
    tasks = await derived(entry, source, EXPLORATIONS[source])
    hits: dict[str, list[bool]] = {}

    for number, task in enumerate(tasks):
        bench = ConformanceRig(entry, task.env_config, task.seed, (task,))

        for what, text in texts_of(task, tasks, number):
            passed = await passes_with(bench, task, text, MOST_TURNS)
            hits.setdefault(what, []).append(passed)

    return [
        Rate(source, "T8 reads goals", what, sum(found), len(found), TARGET)
        for what, found in hits.items()
    ]


def texts_of(task: Task, tasks: Sequence[Task], number: int) -> Iterator[tuple[str, str]]:
    """(what it is, a text that is not the task's goal)."""
    draw = Random(f"goals {number}")
    goal, words = task.goal, task.goal.split()
    others = [one.goal for one in tasks if one.goal != goal and one.check != task.check]
    drawn = draw.sample(words, len(words))

    yield "letters pass", "".join(draw.sample(goal, len(goal))).strip()
    yield "blank passes", " "

    if others:
        yield "another task's goal passes", draw.choice(others)
    if drawn != words:
        yield "shuffled words pass", " ".join(drawn)

    begun = REQUESTS.search(goal)
    start = 0 if begun is None else begun.start()
    swapped = _swapped(goal, others, draw, range(start, len(goal)))

    if swapped is not None:
        yield "one value swapped passes", swapped

    named = _swapped(goal, others, draw, range(start))
    if named is not None and task.check is not None and check_in(task).required:
        yield "another customer's name passes", named


def _swapped(goal: str, others: Sequence[str], draw: Random, where: range) -> str | None:
    """The goal with one of its values there exchanged for one of the same form in another goal."""
    places = [one for one in VALUE.finditer(goal) if one.start() in where]
    draw.shuffle(places)
    known = {value for other in others for value in VALUE.findall(other)}

    for place in places:
        form = re.sub(r"\d+", "0", re.sub(r"[a-z]+", "a", place[0]))
        alike = sorted(
            value
            for value in known
            if value not in goal and re.sub(r"\d+", "0", re.sub(r"[a-z]+", "a", value)) == form
        )

        if alike:
            return f"{goal[: place.start()]}{draw.choice(alike)}{goal[place.end() :]}"

    return None


def swapped(line: str, draw: Random) -> str | None:
    """A line with the digits or the letters of one of its values drawn anew; None without one."""
    places = list(VALUE.finditer(line))
    if not places:
        return None

    place = draw.choice(places)
    old = place[0]
    new = re.sub(r"\d", lambda one: str((int(one[0]) + draw.randint(1, 8)) % 9 + 1), old)
    new = new if new != old else f"{old[0]}{old[1:][::-1]}x"

    return f"{line[: place.start()]}{new}{line[place.end() :]}"


async def derived(entry: EnvEntry, name: str, explorations: int) -> list[Task]:
    """The tasks of some explorations, those with T8 undefined among them."""
    experience, found = Experience(), list[Task]()

    async def write(window: Window) -> Draft | NoGoal:
        return NoGoal("no_rules") if entry.write_goal is None else entry.write_goal(window)

    for seed in range(explorations):
        config = {} if entry.exploring is None else entry.exploring({}, seed)
        ground = Ground(entry, name, config, seed, None, None, f"x/{seed}", 4, True, write)
        tasks, _ = await exploration_tasks(ground, 25, 12, 2, experience)
        found += tasks

    return found


def main() -> None:
    """Prints the rates with their bounds."""
    for source in EXPLORATIONS:
        for rate in asyncio.run(measured(source)):
            bound = clopper_pearson(rate.hits, rate.n, level=0.9)[1]
            of = f"{rate.hits:3} of {rate.n:3}, at most {100 * bound:.1f} % (95 %)"
            print(f"{source:11} {rate.what:28} {of}", flush=True)


if __name__ == "__main__":
    main()
