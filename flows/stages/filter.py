"""The stage `filter`: each named filter judges the valid trajectories; verdicts are decisions in
the ledger, nothing is removed.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from synth.engine.asking import SourceMeans
from synth.engine.context import Role, Run
from synth.engine.measure_cache import BoundFilter, Measures, faulty, measured, with_measures
from synth.engine.runner import key_of, plain
from synth.flows.stages.filter_report import NOTE, filter_report
from synth.flows.stages.pieces import pieces, trials_by_task
from synth.ledger.ledger import Decision, Score, StageRef
from synth.ledger.manifest import Json
from synth.ledger.with_tasks import batches, with_tasks
from synth.schemas.canonical import content_hash
from synth.schemas.errors import UnboundError
from synth.schemas.filter import Case, Cases, FilterResult
from synth.schemas.measures import Text
from synth.schemas.stage import Plan, Shard
from synth.schemas.verdict import Verdict

TRIALS_PER_SHARD = 1000
CHUNK = 500
TASK, CORPUS = "task-", "corpus-"
"""What the names of shards begin with that hold tasks, or the corpus."""


class _Rows:
    """What a shard's filters decided and found."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.scores: list[Score] = []

    def add(self, name: str, identities: Sequence[str], found: FilterResult) -> None:
        """Takes in what a filter says of these trajectories, and what it found beside that; its
        lines are scores of the filter itself (`note`).
        """
        for identity in identities:
            said = found.verdicts.get(identity, Verdict(None, "not_judged"))
            self.decisions.append(
                Decision(identity, name, said.keep, said.reason, said.score, said.detail or None)
            )
        self.scores += [
            Score(f"filter:{name}", NOTE, None, at, Text(line))
            for at, line in enumerate(found.notes)
        ]
        self.scores += [
            Score(subject, one.metric, one.value, one.turn, one.about)
            for subject, measures in sorted(found.measures.items())
            for one in measures
        ]


@dataclass(frozen=True, slots=True)
class FilterStage:
    """Filters over the current flow's valid trajectories; `roles` are the models that they ask."""

    name: str
    filters: Sequence[BoundFilter]
    roles: Mapping[str, Role] = field(default_factory=dict)

    @property
    def settings(self) -> Json:
        """Each filter's own, and the models that it asks."""
        return {
            one.name: {**one.config.model_dump(mode="json"), **one.models} for one in self.filters
        }

    def _looks(self) -> dict[str, list[BoundFilter]]:
        """The filters that look at a trajectory at the same time, by what the names of their shards
        begin with: those of one trajectory, those of a task, each one of the corpus.
        """
        found: dict[str, list[BoundFilter]] = {}
        for at, one in enumerate(self.filters):
            names = {"trajectory": "", "task": TASK, "corpus": f"{CORPUS}{at}"}
            found.setdefault(names[one.filter.scope], []).append(one)
        return found

    def _look(self, shard: str) -> str:
        return max((name for name in self._looks() if shard.startswith(name)), key=len)

    def inputs(self, run: Run) -> str:
        """The trajectories that the flow has collected so far, and which round over them it is."""
        return self._round(run)[0]

    def _round(self, run: Run) -> tuple[str, int]:
        """The inputs of the first round that did not end with faults, or has not ended, and the
        faults of the round before: they kept measures from being taken, so a rerun of the flow
        takes those again, and decides anew.

        Each round has a key of its own, so that what a former one decided is in no view of the
        current flow.
        """
        valid, closed = run.ledger.state.current_valid(), self._not_bound(run)
        inputs = content_hash([valid, closed] if closed else valid)
        settings, found, faults, number = plain(self.settings), inputs, 0, 0
        done = run.ledger.state.done
        while report := done.get((self.name, key_of(self.name, settings, found))):
            if not report.get("faults"):
                break
            number, faults = number + 1, report["faults"]
            found = content_hash([inputs, number])
        return found, faults

    def _not_bound(self, run: Run) -> list[str]:
        """The environments that a filter would open and that nobody has bound."""
        if not any(one.filter.opens for one in self.filters):
            return []
        return sorted(name for name in set(run.ledger.task_ids().values()) if not _bound(run, name))

    def plan(self, run: Run, stage_key: str) -> Plan:
        """What has no decisions under this key: trajectories, cut as the ledger's shards are;
        tasks; the corpus as a whole.
        """
        for one in self.filters:
            if one.filter.measure is not None:
                one.begin(run.ledger)
        state, looks = run.ledger.state, self._looks()
        parts = state.valid_by_shard() if "" in looks else []
        shards = [Shard(content_hash(part), part) for part in parts]
        trials = trials_by_task(run.ledger) if TASK in looks else {}
        shards += [
            Shard(f"{TASK}{content_hash(part)}", part)
            for part in pieces(trials, lambda task: len(trials[task]), TRIALS_PER_SHARD)
        ]
        if whole := state.current_valid():
            shards += [Shard(name, whole) for name in looks if name.startswith(CORPUS)]
        left = [shard for shard in shards if (stage_key, shard.name) not in state.named]
        if left and (faults := self._round(run)[1]):
            run.progress.say(
                f"{self.name}: faults left {faults:,} undefined; their measures are taken again, "
                "and all is decided anew"
            )
        units = sum(self._counted(shard.name, _trajectories(shard, trials)) for shard in left)
        return Plan(left, (), units, "trajectories")

    def _counted(self, shard: str, identities: Iterable[str]) -> int:
        """Units of progress: each look at a trajectory counts for a part of them."""
        looks = list(self._looks())
        this = looks.index(self._look(shard))
        return sum(crc32(identity.encode()) % len(looks) == this for identity in identities)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Judges a shard's trajectories and commits the decisions; none where a ceiling of the run
        kept one from being measured.
        """
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        means, rows, look = (
            SourceMeans(run, shard.name, self.roles),
            _Rows(),
            self._look(shard.name),
        )
        filters = self._looks()[look]
        if look.startswith(CORPUS):
            await self._judge_corpus(means, shard, filters[0], rows)
        else:
            await self._judge_groups(means, shard, filters, rows)
        if run.stopped is None:
            ref = StageRef(self.name, stage_key)
            run.ledger.commit(ref, decisions=rows.decisions, scores=rows.scores, name=shard.name)

    async def _judge_groups(
        self, means: SourceMeans, shard: Shard, filters: Sequence[BoundFilter], rows: _Rows
    ) -> None:
        """The filters that judge trajectories one by one, or the trials of each task together."""
        run, by_task = means.run, shard.name.startswith(TASK)
        wanted = set(_trajectories(shard, trials_by_task(run.ledger) if by_task else {}))
        for chunk in batches(_cases(run, wanted), len(wanted) if by_task else CHUNK):
            for one in filters:
                groups: dict[str, list[Case]] = {}
                for case in await measured(one, chunk, means):
                    trial = case.trajectory
                    key = trial.task_id if by_task else trial.trajectory_id
                    groups.setdefault(key, []).append(case)
                for key in sorted(groups) if by_task else groups:
                    if run.stopped is not None:
                        return
                    await asyncio.sleep(0)  # worlds that never suspend would hold up an interrupt
                    rows.add(one.name, _ids(groups[key]), await _judged(one, groups[key]))
            run.progress.step(self._counted(shard.name, _ids(chunk)))

    async def _judge_corpus(
        self, means: SourceMeans, shard: Shard, one: BoundFilter, rows: _Rows
    ) -> None:
        """A filter that judges all trajectories together; a few hundred are in memory at a time."""
        run, wanted, not_kept = means.run, set(shard.items), Measures()
        measures = one.filter.measure is not None
        for chunk in batches(_cases(run, wanted), CHUNK) if measures else ():
            for case in await measured(one, chunk, means):
                if faulty(case.measures):
                    not_kept[case.trajectory.trajectory_id] = case.measures
        if run.stopped is not None:
            return

        def begin() -> Iterator[Case]:
            for chunk in batches(_cases(run, wanted), CHUNK):
                taken = one.stored(run.ledger, _ids(chunk)) if measures else {}
                found = not_kept | taken
                yield from (with_measures(case, found) for case in chunk)

        rows.add(one.name, sorted(wanted), await _judged(one, Cases(begin, len(wanted))))
        run.progress.step(self._counted(shard.name, wanted))

    def report(self, run: Run, stage_key: str) -> Json:
        """Kept, dropped and undefined by filter, with the reasons, and what all together keep."""
        measured_by = [one.name for one in self.filters if one.filter.measure is not None]
        names = [one.name for one in self.filters]
        return filter_report(run.ledger, stage_key, names, measured_by)


def _bound(run: Run, name: str) -> bool:
    try:
        run.spec_of(name, {})
    except UnboundError:
        return False
    return True


def _ids(cases: Iterable[Case]) -> list[str]:
    return [case.trajectory.trajectory_id for case in cases]


def _trajectories(shard: Shard, trials: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The trajectories of a shard, whose items may be tasks."""
    if not shard.name.startswith(TASK):
        return shard.items
    return [identity for task in shard.items for identity in trials[task]]


def _cases(run: Run, wanted: set[str]) -> Iterator[Case]:
    for trajectory, task in with_tasks(run.ledger, run.ledger.trajectories(wanted)):
        yield Case(trajectory, task, run.world)


async def _judged(one: BoundFilter, cases: Sequence[Case] | Cases) -> FilterResult:
    """What a filter says of cases that it judges together, or of a single one."""
    if isinstance(cases, Cases) or one.filter.scope != "trajectory":
        found: FilterResult | Mapping[str, Verdict] = await one.filter.judge(cases, one.config)
        return found if isinstance(found, FilterResult) else FilterResult(found)
    (case,) = cases
    verdict: Verdict = await one.filter.judge(case, one.config)
    return FilterResult({case.trajectory.trajectory_id: verdict})
