"""Trajectories given to the filters of one shard: one by one, the trials of a task together, or all
of them.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from synth.boundary import guard_part
from synth.engine.asking import SourceMeans
from synth.engine.runs.measure_cache import BoundFilter, Measures, faulty, measured, with_measures
from synth.flows.stages.filter_report import NOTE
from synth.ledger.ledger import Decision, Score
from synth.ledger.with_tasks import batches, with_tasks
from synth.schemas import Case, Cases, ConfigError, FilterResult, Text, Verdict

CHUNK = 500
"""Trajectories in memory."""


@dataclass(frozen=True)
class ShardJudging:
    """The trajectories of a shard, and what its filters decide and find; `done` is told those that
    all of them have judged.
    """

    means: SourceMeans
    wanted: set[str]
    done: Callable[[Iterable[str]], None]
    decisions: list[Decision] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)

    async def groups(self, filters: Sequence[BoundFilter], *, by_task: bool) -> None:
        """Filters that judge trajectories one by one, or the trials of each task together."""
        # the trials of a task must not be torn apart, and a shard of tasks is small as a whole
        for chunk in self._chunks(len(self.wanted) if by_task else CHUNK):
            for one in filters:
                groups: dict[str, list[Case]] = {}
                for case in await measured(one, chunk, self.means):
                    trial = case.trajectory
                    key = trial.task_id if by_task else trial.trajectory_id
                    groups.setdefault(key, []).append(case)

                for key in sorted(groups) if by_task else groups:
                    if self.means.run.stopped is not None:
                        return
                    # environments that never suspend would keep an interrupt waiting
                    await asyncio.sleep(0)
                    await self._judge(one, groups[key], _ids(groups[key]))
            self.done(_ids(chunk))

    async def corpus(self, one: BoundFilter) -> None:
        """A filter that judges all trajectories together; a few hundred are in memory at a time."""
        ledger, not_kept = self.means.run.ledger, Measures()

        # measured first, and read again as the filter goes over the corpus, so that the measures
        # of all are never in memory; those that a fault spoiled are kept nowhere else
        measures = one.filter.measure is not None

        for chunk in self._chunks() if measures else ():
            for case in await measured(one, chunk, self.means):
                if faulty(case.measures):
                    not_kept[case.trajectory.trajectory_id] = case.measures

        if self.means.run.stopped is not None:
            return

        def begin() -> Iterator[Case]:
            for chunk in self._chunks():
                found = not_kept | (one.stored(ledger, _ids(chunk)) if measures else {})
                yield from (with_measures(case, found) for case in chunk)

        await self._judge(one, Cases(begin, len(self.wanted)), sorted(self.wanted))
        self.done(self.wanted)

    def _chunks(self, size: int = CHUNK) -> Iterator[list[Case]]:
        """The trajectories beside their tasks, so many at a time."""
        run = self.means.run
        found = with_tasks(run.ledger, run.ledger.trajectories(self.wanted))
        return batches((Case(trial, task, run.world) for trial, task in found), size)

    async def _judge(
        self, one: BoundFilter, cases: Sequence[Case] | Cases, identities: Sequence[str]
    ) -> None:
        """Takes in what a filter says of cases that it judges together, or of a single one, and
        what it found beside that; its lines are scores of the filter itself (`note`). Raises
        `ConfigError` where the filter breaks, or says what is no verdict.
        """
        single, what = one.filter.scope == "trajectory", f"filter {one.name!r}"
        about = f"{what}, trajectory {identities[0]}" if single else what
        asked = next(iter(cases)) if single else cases
        found = await guard_part(about, lambda: one.filter.judge(asked, one.config))
        verdicts = {identities[0]: found} if single else found
        result = verdicts if isinstance(verdicts, FilterResult) else FilterResult(verdicts)

        for identity in identities:
            said = result.verdicts.get(identity, Verdict(None, "not_judged"))
            self.decisions.append(_decision(one.name, identity, said))

        self.scores.extend(
            Score(f"filter:{one.name}", NOTE, None, at, Text(line))
            for at, line in enumerate(result.notes)
        )
        self.scores.extend(
            Score(subject, measure.metric, measure.value, measure.turn, measure.about)
            for subject, measures in sorted(result.measures.items())
            for measure in measures
        )


def _ids(cases: Iterable[Case]) -> list[str]:
    """The trajectories of some cases."""
    return [case.trajectory.trajectory_id for case in cases]


def _decision(name: str, identity: str, said: object) -> Decision:
    """A filter's verdict on a trajectory. Raises `ConfigError` for what is none."""
    if not isinstance(said, Verdict):
        kind = type(said).__name__
        raise ConfigError(f"filter {name!r}, trajectory {identity}: gave a {kind}, not a Verdict")
    return Decision(identity, name, said.keep, said.reason, said.score, said.detail or None)
