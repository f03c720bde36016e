"""The stage `topology`: the trials of each task as one graph, with what it says about steps, trials
and the task, as rows.
"""

import re
from asyncio import to_thread
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any

import msgspec
from pydantic import AfterValidator, Field

from synth.engine.study.method import Method, method_report, synthesizer
from synth.engine.study.shard import OF_ALL, ShardContext
from synth.engine.study.stage_context import StageContext
from synth.flows.stages.earlier import trials_by_task
from synth.flows.stages.nondeterminism import learned_fields
from synth.ledger.ledger import Score, StoredLedger
from synth.ledger.storage.journal import state_folder
from synth.ledger.typed import read
from synth.ledger.with_tasks import batches
from synth.schemas import Potentials, Shard, Trajectory, content_hash
from synth.topology.embeddings import Embed, kept_sentence_encoder, missing
from synth.topology.graph import BASE
from synth.topology.keys import Level
from synth.topology.nondeterminism.fields import Field as NondeterministicField
from synth.topology.nondeterminism.fields import as_masks
from synth.topology.nondeterminism.masking import DEFAULTS, Nondeterminism
from synth.topology.of_task import task_rows
from synth.topology.potential import SEEN
from synth.topology.semantic import SIMILARITY, merges


def installed(level: Level) -> Level:
    """Raises `ValueError` where level `semantic` lacks its encoder."""
    told = missing() if level == "semantic" else None
    if told is not None:
        raise ValueError(told)
    return level


def patterns_of_something(patterns: dict[str, str]) -> dict[str, str]:
    """Raises `ValueError` for what is no regular expression, and for what matches between any two
    characters.
    """
    for name, pattern in patterns.items():
        try:
            found = re.compile(pattern).match("")
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"{name}: {pattern!r} is no regular expression: {error}") from error

        if found is not None:
            raise ValueError(
                f"{name}: {pattern!r} matches the empty text, and so stands between any two "
                "characters; ask for one at least"
            )

    return patterns


TRIALS_PER_SHARD = 1000
"""As many as one process holds in memory with all their turns; the graphs of a shard are built one
after the other.
"""

VOLATILE = "volatile_field"
"""Score of an environment: 1 for a field that its answers are masked by, 0 for one that differed
and is not masked, with the reason.
"""

# two metrics of a task: its pass rate, and the share of nodes that one trial alone has visited
_GROUPS = """
SELECT
    count(*) FILTER (metric = 'pass_rate'),
    count(*) FILTER (metric = 'pass_rate' AND value > 0 AND value < 1),
    avg(value) FILTER (metric = 'singletons')
FROM scores_all
WHERE stage_key = ?
"""

LEARNED = 4
"""Trials of each environment that are done again where the flow does not say how many."""
LEARNING = "volatile fields"
"""The piece of the stage's work that comes before all shards."""
Patterns = Annotated[dict[str, str], AfterValidator(patterns_of_something)]
TaskTrials = tuple[str, list[str]]
Learned = Sequence[tuple[str, NondeterministicField]]
"""Fields, each with its environment."""


@synthesizer("topology", version=2)
class TopologyStage(Method):
    """Over the current flow's base trials. `level`: how turns are merged; `group`: trials per task
    in the RL that tasks are ranked for.

    `similarity` is what texts must reach to be one at level semantic.
    `learn` trials of each environment are done again, to learn what it answers differently each
    time; left out, four of each deterministic one.
    `masked` and `generated` add to what observations differ in without meaning it: name -> regular
    expression (docs/topology.md).
    """

    unit = "trials"
    # one at a time: building a graph keeps a core busy, and holds a shard's trials
    at_once = 1

    level: Annotated[Level, AfterValidator(installed)] = "exact"
    similarity: float = Field(default=SIMILARITY, gt=0, le=1)
    group: int = Field(default=8, ge=2, le=1024)
    learn: int | None = Field(default=None, ge=0, le=1000)
    masked: Patterns = {}  # noqa: RUF012 - a default of pydantic's, which copies it
    generated: Patterns = {}  # noqa: RUF012

    def key_settings(self) -> Mapping[str, Any]:
        """All of them that count at this level."""
        unused = set() if self.level == "semantic" else {"similarity"}
        return self.settings.model_dump(exclude=unused)

    def inputs(self, stage: StageContext) -> Any:
        """The trajectories that the flow has collected so far."""
        return stage.run.ledger.state.current_valid()

    def units(self, stage: StageContext) -> Sequence[TaskTrials]:
        """The tasks in the order of their first trial: neighbours lie in the same files."""
        return list(trials_by_task(stage.run.ledger, BASE).items())

    def cut(self, units: Sequence[TaskTrials]) -> Iterator[Shard]:
        """So many tasks together as have a thousand trials."""
        for part in batches(units, TRIALS_PER_SHARD, self.progress_of):
            yield Shard(content_hash([task for task, _ in part]), part)

    def progress_of(self, unit: TaskTrials) -> int:
        """Progress counts trials."""
        return len(unit[1])

    async def play(self, shard: ShardContext, units: Sequence[TaskTrials]) -> None:
        """The rows of a shard's tasks."""
        trials: dict[str, list[Trajectory]] = {task: [] for task, _ in units}
        wanted = {identity for _, identities in units for identity in identities}
        for trajectory in shard.run.ledger.trajectories(wanted):
            trials[trajectory.task_id].append(trajectory)

        nondeterminism, usual = await self._nondeterminism(shard), self.masking(())
        merging = None
        if self.level == "semantic":
            merging = partial(merges, embed=_embed(), threshold=self.similarity)

        result = shard.of(OF_ALL)
        for task, found in trials.items():
            # on a thread, so that the loop can give signs of life meanwhile
            rows = await to_thread(
                task_rows,
                task,
                found,
                level=self.level,
                nondeterminism=nondeterminism.get(found[0].env, usual) if found else usual,
                group=self.group,
                merging=merging,
            )

            result.nodes += rows.nodes
            result.edges += rows.edges
            result.scores += rows.scores
            shard.run.progress.step(len(found))

    async def _nondeterminism(self, shard: ShardContext) -> Mapping[str, Nondeterminism]:
        """Environment -> what its answers are masked by, learned once and kept in the ledger."""
        count, every = (LEARNED, False) if self.learn is None else (self.learn, True)
        if count and not shard.has(LEARNING):
            by_task = trials_by_task(shard.run.ledger, BASE)
            learned = await learned_fields(shard.run, by_task, count, every=every)
            shard.of(LEARNING).scores += [
                Score(environment, VOLATILE, float(one.refused is None), detail=one)
                for environment, fields in learned.items()
                for one in fields
            ]
            shard.commit(LEARNING)

        return self.masks(_learned(shard.run.ledger, shard.stage_key))

    def masking(self, fields: Sequence[NondeterministicField]) -> Nondeterminism:
        """The masks of an environment that taught these fields."""
        return Nondeterminism({**DEFAULTS, **self.masked}, self.generated, *as_masks(fields))

    def masks(self, learned: Learned) -> Mapping[str, Nondeterminism]:
        """Environment -> what its answers are masked by, for those that taught something."""
        return {
            environment: self.masking([one for name, one in learned if name == environment])
            for environment, _ in learned
        }

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Tasks, those with both outcomes, and how much the trials have in common."""
        ledger, key = stage.run.ledger, stage.stage_key
        ((tasks, mixed, singletons),) = stage.select(_GROUPS, key)
        potentials = list(read(ledger, Potentials, ("potential",), stage_key=key))

        # a donor is another trial of the same task that came by the same state
        known = sum(row.about.seen >= SEEN for row in potentials)
        alone = sum(row.about.donors == 0 for row in potentials)

        also = [f"{mixed:,} of {tasks:,} groups of trials have both outcomes"]

        if singletons is not None:
            also.append(f"{singletons:.0%} of the nodes were visited by one trial alone")

        for _, one in _fields(ledger, key):
            place = f"{one.tool or 'an answer'} {one.place}"
            also.append(
                f"{place} differs each time it is answered, and is masked"
                if one.refused is None
                else f"{place} differed in {one.differing} of {one.compared} replays, and is "
                f"not masked: {one.refused}"
            )

        few = len(potentials) - known - alone
        unknown = {"alone in its task": alone, "too few turns in common": few}
        return method_report("trials", len(potentials), known, unknown, also=also)


@lru_cache(maxsize=1)
def _embed() -> Embed:
    """The encoder of this process, with what was embedded before on this machine."""
    return kept_sentence_encoder(state_folder())


def masking_of(ledger: StoredLedger, task_id: str) -> Nondeterminism:
    """What the current flow's stage masks in the answers of a task's environment; the defaults
    where no such stage ran.
    """
    for line in ledger.state.stages.values():
        # a stage is known by its settings, whatever it is called; one level alone has a similarity
        differing = TopologyStage.config.model_fields.keys() ^ line.settings.keys()
        if differing <= {"similarity"}:
            # the level is of no matter here, and `semantic` would ask for its encoder
            stage = TopologyStage(**{**line.settings, "level": "exact"})
            masks = stage.masks(_fields(ledger, line.stage_key))
            return masks.get(ledger.task_ids().get(task_id, ""), stage.masking(()))

    return Nondeterminism()


def _fields(ledger: StoredLedger, stage_key: str) -> Learned:
    """The fields that a stage has learned, in one order."""
    found = read(ledger, NondeterministicField, (VOLATILE,), stage_key=stage_key)

    return sorted(
        {(row.subject_id, row.about) for row in found},
        key=lambda one: (one[0], msgspec.json.encode(one[1])),
    )


@lru_cache(maxsize=1)
def _learned(ledger: StoredLedger, stage_key: str) -> Learned:
    """The fields, once they are learned, for all shards: asked of the ledger once, since every
    shard makes its tables longer.
    """
    return _fields(ledger, stage_key)
