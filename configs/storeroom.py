"""Things on shelves, to be fetched: an environment as a class, in which one or two calls solve a
task.
"""

from typing import Annotated, Literal

from pydantic import Field

from synth import Call, Require, Task, ToolEnv, tool

THINGS = ("rope", "paint", "nails", "lamp", "soap", "wire", "glue", "tape")
SHELVES = range(1, 9)
Thing = Literal["rope", "paint", "nails", "lamp", "soap", "wire", "glue", "tape"]


class Storeroom(ToolEnv):
    """You fetch things from a storeroom. If you are not told the shelf, find it. Then fetch."""

    version, licence = "1", "Apache-2.0"
    unsaid: Annotated[int, Field(ge=1, le=100)] = 2  # one task in so many does not say the shelf

    def start(self, task: Task | None) -> str:
        """Every thing on a shelf of its own, by the task's seed; nothing is fetched."""
        self.shelves = dict(zip(THINGS, self.rng.sample(SHELVES, len(SHELVES)), strict=True))
        self.fetched: str | None = None
        return task.goal if task else "Look around."

    @tool(read_only=True)
    def find(self, thing: Thing) -> str:
        """Say on which shelf a thing is."""
        return f"The {thing} is on shelf {self.shelves[thing]}."

    @tool(ends=True)
    def fetch(self, thing: Thing, shelf: Literal[1, 2, 3, 4, 5, 6, 7, 8]) -> str:
        """Fetch a thing from its shelf. This can be done once."""
        there = self.shelves[thing] == shelf
        self.fetched = thing if there else "nothing"
        return f"Fetched {self.fetched}."

    def tasks(self, seed: int, count: int) -> list[Task]:
        """The goal says the shelf (one call), or now and then it does not (two)."""
        said = [at % self.unsaid != self.unsaid - 1 for at in range(count)]
        return [self.task(seed + at, told=told) for at, told in enumerate(said)]

    def task(self, seed: int, *, told: bool) -> Task:
        """One thing to fetch, with the calls that do it."""
        thing = THINGS[seed % len(THINGS)]
        shelf = self.begun(seed).shelves[thing]
        goal = f"Find the {thing}, then fetch it."
        gold: list[Call] = [("find", {"thing": thing})]
        gold.append(("fetch", {"thing": thing, "shelf": shelf}))
        if told:
            goal, gold = f"Fetch the {thing} from shelf {shelf}, please.", gold[1:]
        return Task.new(self, seed, goal, Require("fetched", thing), gold=gold)

    def affordances(self) -> list[Call]:
        """Every call there is, for policies that choose at random."""
        fetched = [("fetch", {"thing": one, "shelf": n}) for one in THINGS for n in SHELVES]
        return [*(("find", {"thing": one}) for one in THINGS), *fetched]
