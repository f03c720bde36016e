"""Trajectories given to the filters of one shard: one by one, the trials of a task together, or all
of them.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from synth.engine.asking import SourceMeans
from synth.engine.context import Run
from synth.engine.runs.measure_cache import BoundFilter, Measures, faulty, measured, with_measures
from synth.flows.stages.filter_report import NOTE
from synth.ledger.ledger import Decision, Score
from synth.ledger.with_tasks import batches, with_tasks
from synth.schemas.filter import Case, Cases, FilterResult
from synth.schemas.measures import Text
from synth.schemas.verdict import Verdict

CHUNK = 500
"""Trajectories in memory."""


class ShardJudgements:
    """What the filters of a shard decided and found."""

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


async def judge_groups(
    means: SourceMeans,
    wanted: set[str],
    filters: Sequence[BoundFilter],
    judged: ShardJudgements,
    done: Callable[[Iterable[str]], None],
    *,
    by_task: bool,
) -> None:
    """Filters that judge trajectories one by one, or the trials of each task together; `done` is
    told the trajectories that all of them have judged.
    """
    run = means.run

    # the trials of a task must not be torn apart, and a shard of tasks is small enough as a whole
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
                # environments that never suspend would keep an interrupt waiting
                await asyncio.sleep(0)
                judged.add(one.name, _ids(groups[key]), await _said(one, groups[key]))
        done(_ids(chunk))


async def judge_corpus(
    means: SourceMeans,
    wanted: set[str],
    one: BoundFilter,
    judged: ShardJudgements,
    done: Callable[[Iterable[str]], None],
) -> None:
    """A filter that judges all trajectories together; a few hundred are in memory at a time."""
    run, not_kept = means.run, Measures()

    # measured first, and read again as the filter goes over the corpus, so that the measures of all
    # are never in memory; those that a fault spoiled are kept nowhere else
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

    judged.add(one.name, sorted(wanted), await _said(one, Cases(begin, len(wanted))))
    done(wanted)


def _cases(run: Run, wanted: set[str]) -> Iterator[Case]:
    """Trajectories beside their tasks, as filters are given them."""
    for trajectory, task in with_tasks(run.ledger, run.ledger.trajectories(wanted)):
        yield Case(trajectory, task, run.world)


def _ids(cases: Iterable[Case]) -> list[str]:
    """The trajectories of some cases."""
    return [case.trajectory.trajectory_id for case in cases]


async def _said(one: BoundFilter, cases: Sequence[Case] | Cases) -> FilterResult:
    """What a filter says of cases that it judges together, or of a single one."""
    if isinstance(cases, Cases) or one.filter.scope != "trajectory":
        found: FilterResult | Mapping[str, Verdict] = await one.filter.judge(cases, one.config)
        return found if isinstance(found, FilterResult) else FilterResult(found)

    (case,) = cases
    verdict: Verdict = await one.filter.judge(case, one.config)

    return FilterResult({case.trajectory.trajectory_id: verdict})
