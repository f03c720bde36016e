"""The stage `topology`: the trials of each task as one graph, with what it says about steps, trials
and the task, as rows.
"""

import re
from asyncio import to_thread
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, field_validator

from synth.engine.context import Run
from synth.flows.stages.learning_volatile import learned_fields
from synth.flows.stages.pieces import pieces
from synth.ledger.graph_rows import Edge, Node
from synth.ledger.journal import state_folder
from synth.ledger.ledger import Ledger, Score, StageRef
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.schemas.canonical import content_hash
from synth.schemas.measures import Potentials
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Trajectory
from synth.topology.embeddings import Embed, kept_sentence_encoder, missing
from synth.topology.graph import BASE
from synth.topology.keys import Level
from synth.topology.nondeterminism.fields import Field as NondeterministicField
from synth.topology.nondeterminism.fields import as_masks
from synth.topology.nondeterminism.masking import DEFAULTS, Nondeterminism
from synth.topology.of_task import task_rows
from synth.topology.semantic import SIMILARITY, merges

TRIALS_PER_SHARD = 1000
VOLATILE = "volatile_field"
"""Score of a world: 1 for a field that its answers are masked by, 0 for one that differed and is
not masked, with the reason.
"""
LEARNED = 4
LEARNING = "volatile fields"
"""The piece of the stage's work that comes before all shards."""


class TopologySettings(BaseModel):
    """`level`: how turns are merged; `group`: trials per task in the RL that tasks are ranked for.

    `similarity` is what texts must reach to be one at level semantic.
    `learn` trials of each world are done again, to learn what it answers differently each time;
    left out, four of each deterministic one.
    `masked` and `generated` add to what observations differ in without meaning it: name -> regular
    expression (docs/topology.md).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level = "exact"
    similarity: float = Field(default=SIMILARITY, gt=0, le=1)
    group: int = Field(default=8, ge=2, le=1024)
    learn: int | None = Field(default=None, ge=0, le=1000)
    masked: dict[str, str] = {}
    generated: dict[str, str] = {}

    @field_validator("level")
    @classmethod
    def _installed(cls, level: Level) -> Level:
        told = missing() if level == "semantic" else None
        if told is not None:
            raise ValueError(told)
        return level

    @field_validator("masked", "generated")
    @classmethod
    def _patterns_of_something(cls, patterns: dict[str, str]) -> dict[str, str]:
        for name, pattern in patterns.items():
            try:
                found = re.compile(pattern).match("")
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(
                    f"{name}: {pattern!r} is no regular expression: {error}"
                ) from error
            if found is not None:
                raise ValueError(
                    f"{name}: {pattern!r} matches the empty text, and so stands between any two "
                    "characters; ask for one at least"
                )
        return patterns


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
        by_task: dict[str, list[str]] = {}
        for record in run.ledger.records():
            if record["synthesizer"] in BASE and record["fault"] is None:
                by_task.setdefault(record["task_id"], []).append(record["trajectory_id"])
        cut = pieces(by_task.items(), lambda one: len(one[1]), TRIALS_PER_SHARD)
        shards = [Shard(content_hash([task for task, _ in part]), part) for part in cut]
        left = [shard for shard in shards if (stage_key, shard.name) not in run.ledger.state.named]
        return Plan(
            left,
            (),
            sum(len(trials) for shard in left for _, trials in shard.items),
            "trials",
            at_once=1,
        )

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """The rows of a shard's tasks."""
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        trials: dict[str, list[Trajectory]] = {task: [] for task, _ in shard.items}
        for trajectory in run.ledger.trajectories(
            {identity for _, identities in shard.items for identity in identities}
        ):
            trials[trajectory.task_id].append(trajectory)
        nondeterminism = await self._nondeterminism(run, stage_key)
        level, usual = (
            self.config.level,
            Nondeterminism({**DEFAULTS, **self.config.masked}, self.config.generated),
        )
        merging = (
            partial(merges, embed=_embed(), threshold=self.config.similarity)
            if level == "semantic"
            else None
        )
        nodes: list[Node] = []
        edges: list[Edge] = []
        scores: list[Score] = []
        for task, found in trials.items():
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
        run.ledger.commit(
            StageRef(self.name, stage_key), nodes=nodes, edges=edges, scores=scores, name=shard.name
        )

    async def _nondeterminism(self, run: Run, stage_key: str) -> dict[str, Nondeterminism]:
        """World -> what its answers are masked by, learned once and kept in the ledger; worlds that
        taught nothing are not in it.
        """
        count = LEARNED if self.config.learn is None else self.config.learn
        if count and (stage_key, LEARNING) not in run.ledger.refresh().named:
            trials = [
                record["trajectory_id"]
                for record in run.ledger.records()
                if record["synthesizer"] in BASE and not record["fault"]
            ]
            learned = await learned_fields(run, trials, count, every=self.config.learn is not None)
            rows = [
                Score(world, VOLATILE, float(one.refused is None), detail=one)
                for world, fields in learned.items()
                for one in fields
            ]
            run.ledger.commit(StageRef(self.name, stage_key), scores=rows, name=LEARNING)
        return _as_nondeterminism(_learned(run.ledger, stage_key), self.config)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Tasks, those with both outcomes, and how much the trials have in common."""
        key = f"stage_key = '{stage_key}'"
        with connect(run.ledger) as connection:
            (tasks, mixed, singletons) = connection.execute(
                "SELECT count(*) FILTER (metric = 'pass_rate'), count(*) FILTER (metric = "
                "'pass_rate' AND value > 0 AND value < 1), "
                f"avg(value) FILTER (metric = 'singletons') FROM scores_all WHERE {key}"
            ).fetchall()[0]
        potentials = [
            (row.value is not None, row.about.donors == 0)
            for row in read(run.ledger, Potentials, ("potential",), stage_key=stage_key)
        ]
        trials, (known, alone) = len(potentials), map(sum, zip((0, 0), *potentials, strict=True))
        also = [f"{mixed:,} of {tasks:,} groups of trials have both outcomes"]
        also += (
            [f"{singletons:.0%} of the nodes were visited by one trial alone"]
            if singletons is not None
            else []
        )
        for _, one in _fields(run.ledger, stage_key):
            place = f"{one.tool or 'an answer'} {one.place}"
            also.append(
                f"{place} differs each time it is answered, and is masked"
                if one.refused is None
                else f"{place} differed in {one.differing} of {one.compared} replays, and is "
                f"not masked: {one.refused}"
            )
        unknown = {"alone in its task": alone, "too few turns in common": trials - known - alone}
        rejected = {reason: count for reason, count in unknown.items() if count}
        return {
            "kind": "method",
            "unit": "trials",
            "attempted": trials,
            "verified": known,
            "rejected": rejected,
            "also": also,
        }


@lru_cache(maxsize=1)
def _embed() -> Embed:
    """The encoder of this process, with what was embedded before on this machine."""
    return kept_sentence_encoder(state_folder())


def masking_of(ledger: Ledger, task_id: str) -> Nondeterminism:
    """What the current flow's stage masks in the answers of a task's world; the defaults where no
    such stage ran.
    """
    for line in ledger.state.stages.values():
        if line.settings.keys() == TopologySettings.model_fields.keys() - (
            {"similarity"} - line.settings.keys()
        ):
            config = TopologySettings.model_validate({**line.settings, "level": "exact"})
            usual = Nondeterminism({**DEFAULTS, **config.masked}, config.generated)
            masks = _as_nondeterminism(_fields(ledger, line.stage_key), config)
            return masks.get(ledger.task_ids().get(task_id, ""), usual)
    return Nondeterminism()


def _as_nondeterminism(
    fields: Iterable[tuple[str, NondeterministicField]], config: TopologySettings
) -> dict[str, Nondeterminism]:
    """World -> what its answers are masked by, for the worlds that taught something."""
    found: dict[str, list[NondeterministicField]] = {}
    for world, field in fields:
        found.setdefault(world, []).append(field)
    masked = {**DEFAULTS, **config.masked}
    return {
        world: Nondeterminism(masked, config.generated, *as_masks(kept))
        for world, kept in found.items()
    }


def _fields(ledger: Ledger, stage_key: str) -> list[tuple[str, NondeterministicField]]:
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
