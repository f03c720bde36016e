"""The stage `topology`: the trials of each task as one graph, with what it says about steps, trials
and the task, as rows.
"""

from asyncio import to_thread
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import msgspec

from synth.engine.context import Run
from synth.flows.stages.nondeterminism import learned_fields
from synth.flows.stages.task_trials import trials_by_task
from synth.flows.stages.topology_settings import TopologySettings
from synth.ledger.ledger import Ledger, Score, StageRef
from synth.ledger.storage.journal import state_folder
from synth.ledger.tables.graph_rows import Edge, Node
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.ledger.with_tasks import batches
from synth.schemas.canonical import content_hash
from synth.schemas.measures import Potentials
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Trajectory
from synth.topology.embeddings import Embed, kept_sentence_encoder
from synth.topology.graph import BASE
from synth.topology.nondeterminism.fields import Field as NondeterministicField
from synth.topology.nondeterminism.masking import Nondeterminism
from synth.topology.of_task import task_rows
from synth.topology.semantic import merges

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


@dataclass(frozen=True, slots=True)
class TopologyStage:
    """Over the current flow's base trials."""

    name: str
    config: TopologySettings

    @property
    def settings(self) -> Mapping[str, Any]:
        """All of them that count at this level."""
        return self.config.model_dump(
            exclude=None if self.config.level == "semantic" else {"similarity"}
        )

    def inputs(self, run: Run) -> str:
        """The trajectories that the flow has collected so far."""
        return content_hash(run.ledger.state.current_valid())

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Tasks in the order of their first trial, so many together as have a thousand trials:
        neighbours lie in the same files.
        """
        by_task = trials_by_task(run.ledger, BASE)
        cut = batches(by_task.items(), TRIALS_PER_SHARD, lambda one: len(one[1]))
        shards = [Shard(content_hash([task for task, _ in part]), part) for part in cut]
        left = [shard for shard in shards if (stage_key, shard.name) not in run.ledger.state.named]
        units = sum(len(trials) for shard in left for _, trials in shard.items)

        # one at a time: building a graph keeps a core busy, and holds a shard's trials
        return Plan(left, (), units, "trials", at_once=1)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """The rows of a shard's tasks."""
        ledger, level = run.ledger, self.config.level
        if (stage_key, shard.name) in ledger.refresh().named:
            return

        trials: dict[str, list[Trajectory]] = {task: [] for task, _ in shard.items}
        wanted = {identity for _, identities in shard.items for identity in identities}
        for trajectory in ledger.trajectories(wanted):
            trials[trajectory.task_id].append(trajectory)

        nondeterminism, usual = await self._nondeterminism(run, stage_key), self.config.usual
        merging = None
        if level == "semantic":
            merging = partial(merges, embed=_embed(), threshold=self.config.similarity)

        nodes: list[Node] = []
        edges: list[Edge] = []
        scores: list[Score] = []
        for task, found in trials.items():
            # on a thread, so that the loop can give signs of life meanwhile
            rows = await to_thread(
                task_rows,
                task,
                found,
                level=level,
                nondeterminism=nondeterminism.get(found[0].env, usual) if found else usual,
                group=self.config.group,
                merging=merging,
            )

            nodes += rows.nodes
            edges += rows.edges
            scores += rows.scores
            run.progress.step(len(found))

        ref = StageRef(self.name, stage_key)
        ledger.commit(ref, nodes=nodes, edges=edges, scores=scores, name=shard.name)

    async def _nondeterminism(self, run: Run, stage_key: str) -> dict[str, Nondeterminism]:
        """Environment -> what its answers are masked by, learned once and kept in the ledger; those
        that taught nothing are not in it.
        """
        count = LEARNED if self.config.learn is None else self.config.learn
        if count and (stage_key, LEARNING) not in run.ledger.refresh().named:
            by_task = trials_by_task(run.ledger, BASE)
            every = self.config.learn is not None
            rows = [
                Score(environment, VOLATILE, float(one.refused is None), detail=one)
                for environment, fields in (
                    await learned_fields(run, by_task, count, every=every)
                ).items()
                for one in fields
            ]
            run.ledger.commit(StageRef(self.name, stage_key), scores=rows, name=LEARNING)

        return self.config.masks(_learned(run.ledger, stage_key))

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Tasks, those with both outcomes, and how much the trials have in common."""
        with connect(run.ledger) as connection:
            ((tasks, mixed, singletons),) = connection.execute(_GROUPS, [stage_key]).fetchall()
        potentials = list(read(run.ledger, Potentials, ("potential",), stage_key=stage_key))

        # a donor is another trial of the same task that came by the same state
        known = sum(row.value is not None for row in potentials)
        alone = sum(row.about.donors == 0 for row in potentials)

        also = [f"{mixed:,} of {tasks:,} groups of trials have both outcomes"]

        if singletons is not None:
            also.append(f"{singletons:.0%} of the nodes were visited by one trial alone")

        for _, one in _fields(run.ledger, stage_key):
            place = f"{one.tool or 'an answer'} {one.place}"
            also.append(
                f"{place} differs each time it is answered, and is masked"
                if one.refused is None
                else f"{place} differed in {one.differing} of {one.compared} replays, and is "
                f"not masked: {one.refused}"
            )

        few = len(potentials) - known - alone
        unknown = {"alone in its task": alone, "too few turns in common": few}

        return {
            "kind": "method",
            "unit": "trials",
            "attempted": len(potentials),
            "verified": known,
            "rejected": {reason: count for reason, count in unknown.items() if count},
            "also": also,
        }


@lru_cache(maxsize=1)
def _embed() -> Embed:
    """The encoder of this process, with what was embedded before on this machine."""
    return kept_sentence_encoder(state_folder())


def masking_of(ledger: Ledger, task_id: str) -> Nondeterminism:
    """What the current flow's stage masks in the answers of a task's environment; the defaults
    where no such stage ran.
    """
    for line in ledger.state.stages.values():
        # a stage is known by its settings, whatever it is called; one level alone has a similarity
        differing = TopologySettings.model_fields.keys() ^ line.settings.keys()
        if differing <= {"similarity"}:
            # the level is of no matter here, and `semantic` would ask for its encoder
            config = TopologySettings.model_validate({**line.settings, "level": "exact"})
            masks = config.masks(_fields(ledger, line.stage_key))
            return masks.get(ledger.task_ids().get(task_id, ""), config.usual)

    return Nondeterminism()


def _fields(ledger: Ledger, stage_key: str) -> list[tuple[str, NondeterministicField]]:
    """The fields that a stage has learned, each with its environment, in one order."""
    found = read(ledger, NondeterministicField, (VOLATILE,), stage_key=stage_key)

    return sorted(
        {(row.subject_id, row.about) for row in found},
        key=lambda one: (one[0], msgspec.json.encode(one[1])),
    )


@lru_cache(maxsize=1)
def _learned(ledger: Ledger, stage_key: str) -> list[tuple[str, NondeterministicField]]:
    """The fields, once they are learned, for all shards: asked of the ledger once, since every
    shard makes its tables longer.
    """
    return _fields(ledger, stage_key)
