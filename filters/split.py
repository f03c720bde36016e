"""The filter `split`: holds trajectories out for measuring, by environment, template, entities or
policy of their root task, never by row.

Every value of an attribute (this seed of an environment, that template) is on one side, drawn by
hash; a task with a held-out value of any of the attributes is held out, so that nothing held out
occurs in training.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from pydantic import Field, model_validator

from synth.filters.lineage import TaskLineage
from synth.schemas import Case, Cases, Filter, FilterSettings, Origin, Task, Verdict, canonical_json
from synth.stats.minhash import LEAST_SIMILARITY, NearIndex
from synth.text.similarity import shared_openings, shingles, spoken

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "world": ("env_config.world_seed", "seed"),
    "template": ("difficulty.template", "difficulty.kinds", "difficulty.kind"),
    "entities": ("script.name", "script.entities"),
    "policy": ("env_config.rules", "env_config.policy", "env_config.variant"),
    "task": ("goal",),
}
"""Attribute -> where in a task its value stands: the first path that is there."""


class SplitConfig(FilterSettings):
    """`share` of the values of each attribute in `by` is held out; with several attributes more of
    the tasks are.

    `attributes`: further ones, or other places for those that are known (dotted paths into the
    task). `seed` draws another split. `leak_similarity`: a training transcript this similar
    (Jaccard of word triples) to one that is held out goes over to it, and so on; None: not looked
    for.
    """

    share: float = Field(default=0.1, gt=0, lt=1)
    by: tuple[str, ...] = Field(default=("world",), min_length=1)
    attributes: Mapping[str, tuple[str, ...]] = {}
    seed: int = 0
    leak_similarity: float | None = Field(default=0.8, ge=LEAST_SIMILARITY, le=1)

    @model_validator(mode="after")
    def _known(self) -> "SplitConfig":
        for name in self.by:
            if name not in self.places:
                raise ValueError(
                    f"by: no attribute {name!r}; known: {', '.join(sorted(self.places))}; others "
                    "go into `attributes`"
                )

        return self

    @property
    def places(self) -> Mapping[str, tuple[str, ...]]:
        """Where the value of each attribute stands."""
        return {**ATTRIBUTES, **self.attributes}


async def split(cases: Cases, config: SplitConfig) -> Mapping[str, Verdict]:
    """Keep `train`, drop `held_out` and `leak`; undefined where the ledger has no task, or one
    without any of the attributes.

    Rows descend from a task through `parent_id` and `Task.parent`: any held-out ancestor holds them
    out. What an environment itself has held out stays so.
    """
    # a first pass decides on tasks, a second one on rows: a child may come before its parent
    lineage = TaskLineage()
    sides: dict[str, str | None] = {}

    for case in cases:
        lineage.add(case)
        if case.task is not None and sides.get(case.trajectory.task_id) is None:
            sides[case.trajectory.task_id] = _why_held_out(case.task, case, config)

    verdicts = {
        case.trajectory.trajectory_id: _verdict(case, config, lineage, sides) for case in cases
    }
    if config.leak_similarity is not None:
        _move_leaks(cases, config.leak_similarity, lineage, verdicts)

    return verdicts


def held_out(seed: int, attribute: str, value: object, share: float) -> bool:
    """Whether a value of an attribute is held out: the same on every machine, whatever else there
    is.
    """
    # by hash and not by lot: a value falls on its side whatever tasks come later
    drawn = blake2b(canonical_json(["split", seed, attribute, value]), digest_size=8).digest()
    return int.from_bytes(drawn) < share * 2**64


def _values(task: Task, config: SplitConfig) -> dict[str, Any]:
    """Attribute -> value, of those in `by` that a task has: the first place where there is one."""
    seed = None if task.origin is Origin.IMPORT else task.seed  # an import's seed says nothing
    plain = msgspec.to_builtins(task) | {"seed": seed}
    found = {}

    for name in config.by:
        values = (_at(plain, path) for path in config.places[name])
        value = next((value for value in values if value is not None), None)
        if value is not None:
            # seed 7 of one environment has nothing to do with seed 7 of another
            found[name] = [task.env, value] if name == "world" else value

    return found


def _at(value: Any, path: str) -> Any:
    """What stands at a dotted path, None where nothing does."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _why_held_out(task: Task, case: Case, config: SplitConfig) -> str | None:
    """The attribute whose value is held out, None for a task of the training side."""
    if task.split not in (None, "train") or case.trajectory.held_out:
        return "its_own_split"

    for name, value in _values(task, config).items():
        if held_out(config.seed, name, value, config.share):
            return name

    return None


def _verdict(
    case: Case, config: SplitConfig, lineage: TaskLineage, sides: Mapping[str, str | None]
) -> Verdict:
    """By the row itself, its task, and all that it descends from; `sides`: task -> why it is held
    out.
    """
    if case.trajectory.held_out:
        return Verdict(False, "held_out", detail={"by": "its_own_split"})

    for task in lineage.tasks(case.trajectory):
        why = sides.get(task)
        if why is not None:
            root = {} if task == case.trajectory.task_id else {"root_task": task}
            return Verdict(False, "held_out", detail={"by": why, **root})

    if case.task is None:
        return Verdict(None, "no_task")

    return Verdict(True, "train") if _values(case.task, config) else Verdict(None, "no_attribute")


def _move_leaks(
    cases: Cases, similarity: float, lineage: TaskLineage, verdicts: dict[str, Verdict]
) -> None:
    """Brings clusters of near duplicates that lie on both sides to the held-out side, with all rows
    of their root tasks.
    """
    # instructions that stand before all tasks make none of them similar
    shared = shared_openings(case.trajectory for case in cases)
    rows: list[tuple[str, str]] = []

    with NearIndex(similarity) as index:
        for trajectory in (case.trajectory for case in cases):
            rows.append((trajectory.trajectory_id, lineage.tasks(trajectory)[-1]))
            index.add(shingles(spoken(trajectory, shared)))

        index.close_adding()
        _spread(index, rows, verdicts)


def _spread(
    index: NearIndex, rows: Sequence[tuple[str, str]], verdicts: dict[str, Verdict]
) -> None:
    """From what is held out to all that is similar to it, and so on, until nothing more is found.

    `rows`: the id and the root task of each document. A whole root task goes over with the first of
    its rows, since its other rows are as near to what is held out.
    """
    of_root: dict[str, list[int]] = defaultdict(list)

    # only what is still outside can be found, by what is held out
    waiting: list[int] = []

    for at, (identity, root) in enumerate(rows):
        of_root[root].append(at)
        if verdicts[identity].keep is False:
            waiting.append(at)
        else:
            index.open(at)

    for at in waiting:  # it grows while it is walked
        for similar, found in index.similar(at):
            for other in of_root[rows[similar][1]]:
                identity = rows[other][0]
                if verdicts[identity].keep is not False:
                    score = found if other == similar else None
                    verdicts[identity] = Verdict(False, "leak", score, {"of": rows[at][0]})
                    waiting.append(other)


FILTER = Filter(SplitConfig, split, scope="corpus")
