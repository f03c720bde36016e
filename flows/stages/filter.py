"""The stage `filter`: each named filter judges the valid trajectories; verdicts are decisions in
the ledger, nothing is removed.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import msgspec

from synth.engine.asking import SourceMeans
from synth.engine.context import Role, Run
from synth.engine.measured import BoundFilter, begin_measures, faulty, measured, stored
from synth.flows.stages.filter_report import NOTE, filter_report
from synth.flows.stages.filter_rounds import open_round
from synth.flows.stages.pieces import pieces
from synth.ledger.ledger import Decision, Score, StageRef
from synth.ledger.with_tasks import with_tasks
from synth.schemas.canonical import content_hash
from synth.schemas.errors import UnboundError
from synth.schemas.filter import Case, Cases, FilterResult, Measure
from synth.schemas.measures import Text
from synth.schemas.stage import Plan, Shard
from synth.schemas.verdict import Verdict

TRIALS_PER_SHARD = 1000
CHUNK = 500
TASK, CORPUS = "task-", "corpus-"
Rows = tuple[list[Decision], list[Score]]


@dataclass(frozen=True, slots=True)
class FilterStage:
    """Filters over the current flow's valid trajectories; `roles` are the models that they ask."""

    name: str
    filters: Sequence[BoundFilter]
    roles: Mapping[str, Role] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Each filter's own, and the models that it asks."""
        return {
            named.name: {**named.config.model_dump(mode="json"), **self._models(named)}
            for named in self.filters
        }

    def _models(self, named: BoundFilter) -> Mapping[str, Any]:
        names = [*named.filter.roles(named.config), *named.filter.optional_roles(named.config)]
        asked = {name: self.roles[name].policy for name in names if name in self.roles}
        return {
            f"model of {name}": [policy.model, dict(policy.sampling)]
            for name, policy in asked.items()
        }

    def inputs(self, run: Run) -> str:
        """The trajectories that the flow has collected so far, and which round over them it is."""
        return self._round(run)[0]

    def _round(self, run: Run) -> tuple[str, int]:
        valid, closed = run.ledger.state.current_valid(), self._not_bound(run)
        return open_round(
            run.ledger, self.name, self.settings, content_hash([valid, closed] if closed else valid)
        )

    def _not_bound(self, run: Run) -> list[str]:
        """The environments that a filter would open and that nobody has bound."""
        if not any(named.filter.opens for named in self.filters):
            return []
        return sorted(name for name in set(run.ledger.task_ids().values()) if not _bound(run, name))

    def plan(self, run: Run, stage_key: str) -> Plan:
        """What has no decisions under this key: trajectories, cut as the ledger's shards are;
        tasks; the corpus as a whole.
        """
        for named in self.filters:
            if named.filter.measure is not None:
                begin_measures(run.ledger, named, self._models(named))
        scopes = [named.filter.scope for named in self.filters]
        parts = run.ledger.state.valid_by_shard()
        shards = (
            [Shard(content_hash(part), part) for part in parts] if "trajectory" in scopes else []
        )
        trials = self._trials(run) if "task" in scopes else {}
        shards += [
            Shard(f"{TASK}{content_hash(part)}", part)
            for part in pieces(trials, lambda task: len(trials[task]), TRIALS_PER_SHARD)
        ]
        whole = run.ledger.state.current_valid()
        shards += [
            Shard(f"{CORPUS}{at}", whole)
            for at, named in enumerate(self.filters)
            if named.filter.scope == "corpus" and whole
        ]
        left = [shard for shard in shards if (stage_key, shard.name) not in run.ledger.state.named]
        if left and (faults := self._round(run)[1]):
            run.progress.say(
                f"{self.name}: faults left {faults:,} undefined; their measures are taken again, "
                "and all is decided anew"
            )
        units = sum(
            self._counted(
                shard.name,
                [one for task in shard.items for one in trials[task]]
                if shard.name.startswith(TASK)
                else shard.items,
            )
            for shard in left
        )
        return Plan(left, (), units, "trajectories")

    def _counted(self, shard: str, identities: Iterable[str]) -> int:
        """Units of progress: every filter of a corpus, those of a task and those of one trajectory
        look at all; each counts a part.
        """
        scopes = [named.filter.scope for named in self.filters]
        alone = [scope for scope in ("trajectory", "task") if scope in scopes]
        looks = [*alone, *(f"{CORPUS}{at}" for at, one in enumerate(scopes) if one == "corpus")]
        this = (
            shard
            if shard.startswith(CORPUS)
            else "task"
            if shard.startswith(TASK)
            else "trajectory"
        )
        return sum(
            crc32(identity.encode()) % len(looks) == looks.index(this) for identity in identities
        )

    def _trials(self, run: Run) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for record in run.ledger.records():
            if record["fault"] is None:
                found.setdefault(record["task_id"], []).append(record["trajectory_id"])
        return found

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Judges a shard's trajectories and commits the decisions; none where a ceiling of the run
        kept one from being measured.
        """
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        means = SourceMeans(run, shard.name, self.roles)
        if shard.name.startswith(TASK):
            decisions, scores = await self._of_tasks(run, means, shard)
        elif shard.name.startswith(CORPUS):
            decisions, scores = await self._of_corpus(
                run, means, self.filters[int(shard.name.removeprefix(CORPUS))], shard
            )
        else:
            decisions, scores = await self._of_each(run, means, shard), []
        if run.stopped is None:
            run.ledger.commit(
                StageRef(self.name, stage_key), decisions=decisions, scores=scores, name=shard.name
            )

    async def _of_each(self, run: Run, means: SourceMeans, shard: Shard) -> list[Decision]:
        decisions: list[Decision] = []
        alone = [named for named in self.filters if named.filter.scope == "trajectory"]
        for chunk in _chunks(_cases(run, set(shard.items))):
            for named in alone:
                for case in await measured(named, chunk, means, self._models(named)):
                    if run.stopped is not None:
                        return []
                    await asyncio.sleep(
                        0
                    )  # worlds that never suspend would keep an interrupt waiting
                    decisions.append(
                        _decision(
                            case.trajectory.trajectory_id,
                            named.name,
                            await named.filter.judge(case, named.config),
                        )
                    )
            run.progress.step(
                self._counted(shard.name, [case.trajectory.trajectory_id for case in chunk])
            )
        return decisions

    async def _of_tasks(self, run: Run, means: SourceMeans, shard: Shard) -> Rows:
        wanted = set(shard.items)
        of_them = {
            r["trajectory_id"]
            for r in run.ledger.records()
            if r["task_id"] in wanted and r["fault"] is None
        }
        cases = list(_cases(run, of_them))
        decisions: list[Decision] = []
        scores: list[Score] = []
        for named in (named for named in self.filters if named.filter.scope == "task"):
            trials: dict[str, list[Case]] = {}
            for case in await measured(named, cases, means, self._models(named)):
                trials.setdefault(case.trajectory.task_id, []).append(case)
            for task in sorted(trials):
                if run.stopped is not None:
                    return [], []
                await asyncio.sleep(0)
                found = await _found(named, trials[task])
                decisions += _decisions(
                    named, [c.trajectory.trajectory_id for c in trials[task]], found.verdicts
                )
                scores += _scores(named, found)
        run.progress.step(
            self._counted(shard.name, [case.trajectory.trajectory_id for case in cases])
        )
        return decisions, scores

    async def _of_corpus(
        self, run: Run, means: SourceMeans, named: BoundFilter, shard: Shard
    ) -> Rows:
        wanted = set(shard.items)
        models = self._models(named)
        not_kept: dict[str, Sequence[Measure]] = {}
        if named.filter.measure is not None:
            for chunk in _chunks(_cases(run, wanted)):
                taken = await measured(named, chunk, means, models)
                not_kept |= {
                    case.trajectory.trajectory_id: case.measures
                    for case in taken
                    if faulty(case.measures)
                }
        if run.stopped is not None:
            return [], []

        def begin() -> Iterator[Case]:
            for chunk in _chunks(_cases(run, wanted)):
                ids = [case.trajectory.trajectory_id for case in chunk]
                taken = (
                    stored(run.ledger, named, named.measures_ref(models).stage_key, ids)
                    if named.filter.measure is not None
                    else {}
                )
                for identity, case in zip(ids, chunk, strict=True):
                    yield msgspec.structs.replace(
                        case, measures=tuple(taken.get(identity) or not_kept.get(identity, ()))
                    )

        found = await _found(named, Cases(begin, len(wanted)))
        run.progress.step(self._counted(shard.name, wanted))
        return _decisions(named, sorted(wanted), found.verdicts), _scores(named, found)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Kept, dropped and undefined by filter, with the reasons, and what all together keep."""
        measured_by = [named.name for named in self.filters if named.filter.measure is not None]
        return filter_report(
            run.ledger, stage_key, [named.name for named in self.filters], measured_by
        )


def _bound(run: Run, name: str) -> bool:
    try:
        run.spec_of(name, {})
    except UnboundError:
        return False
    return True


async def _found(named: BoundFilter, cases: Sequence[Case] | Cases) -> FilterResult:
    found: FilterResult | Mapping[str, Verdict] = await named.filter.judge(cases, named.config)
    return found if isinstance(found, FilterResult) else FilterResult(found)


def _scores(named: BoundFilter, found: FilterResult) -> list[Score]:
    """What a filter found beside its verdicts; its lines are scores of the filter itself
    (`note`).
    """
    notes = [
        Score(f"filter:{named.name}", NOTE, None, at, Text(line))
        for at, line in enumerate(found.notes)
    ]
    numbers = [
        Score(subject, one.metric, one.value, one.turn, one.about)
        for subject, measures in sorted(found.measures.items())
        for one in measures
    ]
    return notes + numbers


def _cases(run: Run, wanted: set[str]) -> Iterator[Case]:
    for trajectory, task in with_tasks(run.ledger, run.ledger.trajectories(wanted)):
        yield Case(trajectory, task, run.world)


def _chunks(cases: Iterator[Case]) -> Iterator[list[Case]]:
    return pieces(cases, lambda case: 1, CHUNK)


def _decisions(
    named: BoundFilter, identities: Sequence[str], verdicts: Mapping[str, Verdict]
) -> list[Decision]:
    return [
        _decision(identity, named.name, verdicts.get(identity, Verdict(None, "not_judged")))
        for identity in identities
    ]


def _decision(identity: str, name: str, verdict: Verdict) -> Decision:
    return Decision(
        identity, name, verdict.keep, verdict.reason, verdict.score, verdict.detail or None
    )
