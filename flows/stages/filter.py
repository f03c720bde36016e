"""The stage `filter`: each named filter judges the valid trajectories; verdicts are decisions in
the ledger, nothing is removed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

from synth.engine.asking import SourceMeans
from synth.engine.context import Run
from synth.engine.runs.measure_cache import BoundFilter
from synth.engine.runs.runner import key_of, plain
from synth.engine.study.method import Method, synthesizer
from synth.engine.study.shard import OF_ALL, ShardContext
from synth.engine.study.stage_context import StageContext
from synth.flows.stages.earlier import trials_by_task
from synth.flows.stages.filter_judging import ShardJudging
from synth.flows.stages.filter_report import filter_report
from synth.ledger.with_tasks import batches
from synth.schemas import Shard, UnboundError, content_hash

TRIALS_PER_SHARD = 1000
"""Of tasks: so many of them together as have a thousand trials."""
TASK, CORPUS = "task-", "corpus-"
"""What the names of shards begin with that hold tasks, or the corpus."""
Look = tuple[int, str]
"""The filters that look at a trajectory at the same time, by their place in `looks`, and the
trajectory.
"""


@synthesizer("filter")
class FilterStage(Method):
    """Filters over the current flow's valid trajectories."""

    unit = "trajectories"

    filters: Any

    def bind(self) -> None:
        """Sorts the filters by what the names of their shards begin with: those of one trajectory,
        those of a task, each one of the corpus; and looks up the roles that they ask.
        """
        self.looks: dict[str, list[BoundFilter]] = {}
        for at, one in enumerate(self.filters):
            names = {"trajectory": "", "task": TASK, "corpus": f"{CORPUS}{at}"}
            self.looks.setdefault(names[one.filter.scope], []).append(one)

        roles = self.bound.roles
        self.roles = {name: roles[name] for name in asked_by(self.filters) if name in roles}

    def key_settings(self) -> Mapping[str, Any]:
        """Each filter's own, the models that it asks, and the version of its code."""

        def edition(one: BoundFilter) -> Mapping[str, int]:
            return {"version": one.filter.version} if one.filter.version > 1 else {}

        return {
            one.name: {**one.config.model_dump(mode="json"), **one.models, **edition(one)}
            for one in self.filters
        }

    def inputs(self, stage: StageContext) -> Any:
        """The trajectories that the flow has collected so far, and which round over them it is."""
        return self._round(stage)[0]

    def _round(self, stage: StageContext) -> tuple[Any, int]:
        """The inputs of the first round that did not end with faults, or has not ended, and the
        faults of the round before: they kept measures from being taken, so a rerun of the flow
        takes those again, and decides anew.

        Each round has a key of its own, so that what a former one decided is in no view of the
        current flow.
        """
        state = stage.run.ledger.state
        valid, closed = state.current_valid(), self._not_bound(stage.run)
        found: Any = [valid, closed] if closed else valid
        inputs, settings, faults, number = content_hash(found), plain(self.key_settings()), 0, 0

        while report := state.done.get(
            (stage.name, key_of(stage.name, settings, content_hash(found)))
        ):
            if not report.get("faults"):
                break
            number, faults = number + 1, report["faults"]
            found = [inputs, number]

        return found, faults

    def _not_bound(self, run: Run) -> list[str]:
        """The environments that a filter would open and that nobody has bound."""
        opens = any(one.filter.opens for one in self.filters)
        names = sorted(set(run.ledger.task_ids().values())) if opens else ()
        return [name for name in names if not _bound(run, name)]

    def todo(self, stage: StageContext) -> Sequence[Shard]:
        """What has no decisions under this key: trajectories, cut as the ledger's shards are;
        tasks; the corpus as a whole.
        """
        ledger, whole = stage.run.ledger, stage.run.ledger.state.current_valid()
        for one in self.filters:
            if one.filter.measure is not None:
                one.begin(ledger)

        trials = trials_by_task(ledger) if TASK in self.looks else {}
        tasks = batches(trials, TRIALS_PER_SHARD, lambda task: len(trials[task]))
        parts: Mapping[str, Iterable[tuple[str, Sequence[str]]]] = {
            "": ((content_hash(part), part) for part in ledger.state.valid_by_shard()),
            TASK: (
                (f"{TASK}{content_hash(part)}", [one for task in part for one in trials[task]])
                for part in tasks
            ),
        }
        shards = [
            Shard(name, [(at, identity) for identity in part])
            for at, look in enumerate(self.looks)
            for name, part in parts.get(look, [(look, whole)] if whole else ())
            if not stage.has(name)
        ]

        if shards and (faults := self._round(stage)[1]):
            stage.run.progress.say(
                f"{stage.name}: faults left {faults:,} undefined; their measures are taken again, "
                "and all is decided anew"
            )
        return shards

    def progress_of(self, unit: Look) -> int:
        """Each look at a trajectory counts for a part of it: by a hash of the id, so that each
        trajectory is one step however many looks there are.
        """
        look, identity = unit
        return int(crc32(identity.encode()) % len(self.looks) == look)

    async def play(self, shard: ShardContext, units: Sequence[Look]) -> None:
        """Judges a shard's trajectories; decides on none where a ceiling of the run kept one from
        being measured.
        """
        run, at = shard.run, units[0][0]
        look, filters = list(self.looks.items())[at]

        def done(identities: Iterable[str]) -> None:
            run.progress.step(sum(self.progress_of((at, identity)) for identity in identities))

        judging = ShardJudging(
            SourceMeans(run, shard.shard, self.roles), {identity for _, identity in units}, done
        )
        if look.startswith(CORPUS):
            await judging.corpus(filters[0])
        else:
            await judging.groups(filters, by_task=look == TASK)

        result = shard.of(OF_ALL)
        result.open = run.stopped is not None
        if not result.open:
            result.decisions, result.scores = judging.decisions, judging.scores

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Kept, dropped and undefined by filter, with the reasons, and what all together keep."""
        measured = [one.name for one in self.filters if one.filter.measure is not None]
        names = [one.name for one in self.filters]
        return filter_report(stage.run.ledger, stage.stage_key, names, measured)


def asked_by(filters: Iterable[BoundFilter]) -> list[str]:
    """The roles that filters ask, or would ask."""
    return [
        role
        for one in filters
        for asked in (one.filter.roles, one.filter.optional_roles)
        for role in asked(one.config)
    ]


def _bound(run: Run, name: str) -> bool:
    """Whether the user has bound an environment, so that it can be opened."""
    try:
        run.spec_of(name, {})
    except UnboundError:
        return False

    return True
