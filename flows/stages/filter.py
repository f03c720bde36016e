"""The stage `filter`: each named filter judges the valid trajectories; verdicts are decisions in
the ledger, nothing is removed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from zlib import crc32

from synth.engine.asking import SourceMeans
from synth.engine.context import Role, Run
from synth.engine.runs.measure_cache import BoundFilter
from synth.engine.runs.runner import key_of, plain
from synth.flows.stages.filter_judging import ShardJudgements, judge_corpus, judge_groups
from synth.flows.stages.filter_report import filter_report
from synth.flows.stages.task_trials import trials_by_task
from synth.ledger.ledger import StageRef
from synth.ledger.log.manifest import Json
from synth.ledger.with_tasks import batches
from synth.schemas.canonical import content_hash
from synth.schemas.errors import UnboundError
from synth.schemas.stage import Plan, Shard

TRIALS_PER_SHARD = 1000
"""Of tasks: so many of them together as have a thousand trials."""

TASK, CORPUS = "task-", "corpus-"
"""What the names of shards begin with that hold tasks, or the corpus."""


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
        """The look that a shard belongs to: the longest name that its own begins with."""
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

        # a round that ended without faults, or has not ended, is the one to be done
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
            for part in batches(trials, TRIALS_PER_SHARD, lambda task: len(trials[task]))
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

        # by a hash of the id, so that each trajectory is one unit however many looks there are
        return sum(crc32(identity.encode()) % len(looks) == this for identity in identities)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Judges a shard's trajectories and commits the decisions; none where a ceiling of the run
        kept one from being measured.
        """
        ledger = run.ledger
        if (stage_key, shard.name) in ledger.refresh().named:
            return

        means, judged = SourceMeans(run, shard.name, self.roles), ShardJudgements()
        look, done = self._look(shard.name), partial(self._step, run, shard.name)
        filters = self._looks()[look]

        if look.startswith(CORPUS):
            await judge_corpus(means, set(shard.items), filters[0], judged, done)
        else:
            trials = trials_by_task(ledger) if look == TASK else {}
            wanted = set(_trajectories(shard, trials))
            await judge_groups(means, wanted, filters, judged, done, by_task=look == TASK)

        if run.stopped is None:
            ref = StageRef(self.name, stage_key)
            ledger.commit(ref, decisions=judged.decisions, scores=judged.scores, name=shard.name)

    def _step(self, run: Run, shard: str, identities: Iterable[str]) -> None:
        """Tells the progress what was judged."""
        run.progress.step(self._counted(shard, identities))

    def report(self, run: Run, stage_key: str) -> Json:
        """Kept, dropped and undefined by filter, with the reasons, and what all together keep."""
        measured_by = [one.name for one in self.filters if one.filter.measure is not None]
        names = [one.name for one in self.filters]
        return filter_report(run.ledger, stage_key, names, measured_by)


def _bound(run: Run, name: str) -> bool:
    """Whether the user has bound an environment, so that it can be opened."""
    try:
        run.spec_of(name, {})
    except UnboundError:
        return False

    return True


def _trajectories(shard: Shard, trials: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The trajectories of a shard, whose items may be tasks."""
    if not shard.name.startswith(TASK):
        return shard.items
    return [identity for task in shard.items for identity in trials[task]]
