"""A class of tools whose tasks have gold calls, so that its expert plays these and nothing else."""

from typing import Literal

from synth import Call, Require, Task, ToolEnv, tool

THINGS, PLACES = ("rake", "hose", "spade"), ("hook", "crate", "bench")


class Shed(ToolEnv):
    """You tidy a shed."""

    version, licence = "1", "Apache-2.0"

    def start(self, task: Task | None) -> str:
        """Everything lies on the floor."""
        self.where = dict.fromkeys(THINGS, "floor")
        return task.goal if task else "Tidy up."

    @tool
    def put(
        self, thing: Literal["rake", "hose", "spade"], place: Literal["hook", "crate", "bench"]
    ) -> str:
        """Put a thing somewhere."""
        self.where[thing] = place
        return f"The {thing} is on the {place}."

    def tasks(self, seed: int, count: int) -> list[Task]:
        """One thing to a place."""
        return [self._task(seed + at) for at in range(count)]

    def _task(self, seed: int) -> Task:
        thing, place = THINGS[seed % 3], PLACES[seed // 3 % 3]
        gold: list[Call] = [("put", {"thing": thing, "place": place})]
        required = Require(f"where.{thing}", place)
        return Task.new(self, seed, f"Put the {thing} on the {place}.", required, gold=gold)

    def affordances(self) -> list[Call]:
        """Every call there is."""
        return [("put", {"thing": one, "place": to}) for one in THINGS for to in PLACES]
