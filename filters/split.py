"""Which trajectories are kept for measuring: by world, template, entities or policy of their root
task, never by row.

Every value of an attribute (this world seed, that template) is on one side, drawn by hash; a task
with a held-out value of any of the
attributes is held out, so that nothing held out occurs in training.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from pydantic import Field, model_validator

from synth.filters.lineage import TaskLineage
from synth.schemas.canonical import canonical_json
from synth.schemas.filter import Case, Cases, Filter, FilterSettings
from synth.schemas.task import Origin, Task
from synth.schemas.verdict import Verdict
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
    task). `seed` draws another split.
    `leak_similarity`: a training transcript this similar (Jaccard of word triples) to one that is
    held out goes over to it, and so on;
    None: not looked for.
    """

    share: float = Field(default=0.1, gt=0, lt=1)
    by: tuple[str, ...] = Field(default=("world",), min_length=1)
    attributes: Mapping[str, tuple[str, ...]] = {}
    seed: int = 0
    leak_similarity: float | None = Field(default=0.8, ge=LEAST_SIMILARITY, le=1)

    @model_validator(mode="after")
    def _known(self) -> "SplitConfig":
        known = {**ATTRIBUTES, **self.attributes}
        for name in self.by:
            if name not in known:
                raise ValueError(
                    f"by: no attribute {name!r}; known: {', '.join(sorted(known))}; others go "
                    "into `attributes`"
                )
        return self


async def split(cases: Cases, config: SplitConfig) -> Mapping[str, Verdict]:
    """Keep `train`, drop `held_out` and `leak`; undefined where the ledger has no task, or one
    without any of the attributes.

    Rows descend from a task through `parent_id` and `Task.parent`: any held-out ancestor holds them
    out. What a world itself has held
    out stays so.
    """
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
    drawn = blake2b(canonical_json(["split", seed, attribute, value]), digest_size=8).digest()
    return int.from_bytes(drawn) < share * 2**64


def values_of(task: Task, config: SplitConfig) -> dict[str, Any]:
    """The attributes that a task has."""
    plain = {
        **msgspec.to_builtins(task),
        "seed": None if task.origin is Origin.IMPORT else task.seed,
    }  # an import's seed says nothing
    known = {**ATTRIBUTES, **config.attributes}
    found = {}
    for name in config.by:
        value = next(
            (value for path in known[name] if (value := _at(plain, path)) is not None), None
        )
        if value is not None:
            found[name] = [task.env, value] if name == "world" else value
    return found


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _why_held_out(task: Task, case: Case, config: SplitConfig) -> str | None:
    if task.split not in (None, "train") or case.trajectory.held_out:
        return "its_own_split"
    return next(
        (
            name
            for name, value in values_of(task, config).items()
            if held_out(config.seed, name, value, config.share)
        ),
        None,
    )


def _verdict(
    case: Case, config: SplitConfig, lineage: TaskLineage, sides: Mapping[str, str | None]
) -> Verdict:
    if case.trajectory.held_out:
        return Verdict(False, "held_out", detail={"by": "its_own_split"})
    for task in lineage.tasks(case.trajectory):
        why = sides.get(task)
        if why is not None:
            return Verdict(
                False,
                "held_out",
                detail={
                    "by": why,
                    **({} if task == case.trajectory.task_id else {"root_task": task}),
                },
            )
    if case.task is None:
        return Verdict(None, "no_task")
    return Verdict(True, "train") if values_of(case.task, config) else Verdict(None, "no_attribute")


def _move_leaks(
    cases: Cases, similarity: float, lineage: TaskLineage, verdicts: dict[str, Verdict]
) -> None:
    """Brings clusters of near duplicates that lie on both sides to the held-out side, with all rows
    of their root tasks.
    """
    shared = shared_openings(
        (c.trajectory.task_id, o.content) for c in cases for o in c.trajectory.opening
    )
    identities: list[str] = []
    roots: list[str] = []
    with NearIndex(similarity) as index:
        for case in cases:
            identities.append(case.trajectory.trajectory_id)
            roots.append(list(lineage.tasks(case.trajectory))[-1])
            index.add(shingles(spoken(case.trajectory, shared)))
        index.close_adding()
        outside = [
            at for at, identity in enumerate(identities) if verdicts[identity].keep is not False
        ]
        for at in outside:
            index.open(at)
        _spread(index, identities, roots, verdicts)


def _spread(
    index: NearIndex, identities: Sequence[str], roots: Sequence[str], verdicts: dict[str, Verdict]
) -> None:
    of_root: dict[str, list[int]] = {}
    for at, root in enumerate(roots):
        of_root.setdefault(root, []).append(at)
    waiting = deque(
        at for at, identity in enumerate(identities) if verdicts[identity].keep is False
    )
    while waiting:
        at = waiting.popleft()
        for similar, found in index.similar(at):
            for other in of_root[roots[similar]]:
                if verdicts[identities[other]].keep is not False:
                    verdicts[identities[other]] = Verdict(
                        False, "leak", found if other == similar else None, {"of": identities[at]}
                    )
                    waiting.append(other)


FILTER = Filter(SplitConfig, split, scope="corpus")
