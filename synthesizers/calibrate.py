"""Calibrate: the level of difficulty at which the policy of one role passes as often as the flow
asks for, found by playing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from msgspec.structs import replace

from synth.engine.context import Run
from synth.engine.funnel import counted
from synth.engine.numbers import counted_noun
from synth.engine.runs.stage_reports import commonest
from synth.engine.study.player import Player
from synth.ledger.ledger import StageRef
from synth.ledger.log.state import evidence_key
from synth.ledger.tables.row_validation import ended_line
from synth.ledger.views import connect
from synth.rollout.episode import EpisodeSpec
from synth.schemas.canonical import content_hash
from synth.schemas.environment import MakeTasks
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Difficulty
from synth.schemas.outcome import Outcome
from synth.schemas.stage import Plan, Shard
from synth.schemas.task import Task
from synth.stats.calibration import LEVEL_DIGITS, LevelPlayed, fitted, round_levels
from synth.synthesizers.episodes import played
from synth.synthesizers.made_tasks import refuse_mistyped

MOST_INVALID = 0.25
"""Share of a round's episodes that may end in a fault: beyond it what is left says little, since
faults prefer the long ones.
"""


@dataclass(frozen=True, slots=True)
class Placed:
    """An episode of a round: its level, and the work that plays it."""

    level: float
    work: EpisodeSpec


@dataclass(frozen=True, slots=True)
class Calibrate:
    """The stage `calibrate`, before `tasks`; its episodes are kept and paid for, but no other stage
    sees them.

    They are played as the flow's rollout plays: under its limits, by its trials in turn. `level`
    names the world's setting.
    """

    env: str
    env_config: Mapping[str, Any]
    level: str
    version: str
    difficulty: Difficulty
    player: Player
    trials: int
    name: str = "calibrate"
    start_state: str | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the level that is found."""
        return {
            "env": self.env,
            "config": self.env_config,
            "world": self.version,
            "target_pass_rate": self.difficulty.target_pass_rate,
            "episodes": self.difficulty.episodes,
            "trials": self.trials,
            **({} if self.start_state is None else {"start_state": self.start_state}),
            **self.player.identity(),
        }

    def inputs(self, run: Run) -> str:
        """Nothing comes before it."""
        return ""

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One shard, whose rounds follow from one another; none where the level is known."""
        episodes = self.difficulty.episodes
        shards = (
            []
            if (self.name, stage_key) in run.ledger.state.done
            else [Shard("rounds", (episodes,))]
        )
        return Plan(shards, units=episodes, unit="episodes")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Plays the rounds that are left. Raises `SynthError` where faults leave too few episodes
        with a verdict.
        """
        known, first, _ = self._known(run, stage_key)
        run.progress.step(len(known))
        for number in count(first):
            placed = self._round(run.make_tasks, number, known)
            if not placed:
                return
            await self._play(run, stage_key, shard, number, placed)
            if run.stopped is not None:
                return
            known += _verdicts(run, placed)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """The level, the pass rate that is expected there, its 95 % interval, and what both rest
        on.
        """
        known, rounds, faults = self._known(run, stage_key)
        target, curve = self.difficulty.target_pass_rate, fitted(known)
        level = round(curve.crossing(target), LEVEL_DIGITS)
        low, high = curve.interval(level)
        found = {
            "kind": "calibration",
            "finished": not self._round(run.make_tasks, rounds, known),
            "target_pass_rate": target,
            "reached": 0 < level < 1 or low <= target <= high,
            "level": level,
            "pass_rate": round(curve.rate(level), LEVEL_DIGITS),
            "interval": [round(low, LEVEL_DIGITS), round(high, LEVEL_DIGITS)],
            "against": self.difficulty.against,
            "policy": self.player.role.policy.identity,
            "model": self.player.role.policy.model,
            "episodes": len(known),
            "passed": sum(episode.passed for episode in known),
            "faults": faults,
        }
        if found["finished"]:
            run.progress.say(f"{self.name}: {summary(found)}")
        return found

    def found(self, run: Run) -> Mapping[str, Any] | None:
        """The current flow's level, once the stage is done."""
        line = run.ledger.state.stages.get(self.name)
        return None if line is None else run.ledger.state.done.get((self.name, line.stage_key))

    def _known(self, run: Run, stage_key: str) -> tuple[list[LevelPlayed], int, int]:
        """The verdicts of all rounds that are done, how many those are, and how many of their
        episodes ended in a fault.
        """
        known: list[LevelPlayed] = []
        number = faults = 0
        while (evidence_key(stage_key), str(number)) in run.ledger.refresh().named:
            placed = self._round(run.make_tasks, number, known)
            verdicts = _verdicts(run, placed)
            known += verdicts
            faults += len(placed) - len(verdicts)
            number += 1
        return known, number, faults

    def _round(
        self, make_tasks: MakeTasks, number: int, known: Sequence[LevelPlayed]
    ) -> list[Placed]:
        """A round's episodes: a function of the verdicts before it."""
        placed: list[Placed] = []
        for part, (level, size) in enumerate(
            round_levels(number, known, self.difficulty.target_pass_rate, self.difficulty.episodes)
        ):
            seed = int(content_hash(["calibration", self.player.seed, number, part])[:7], 16)
            for task in self._tasks(make_tasks, level, seed, size):
                place = [number, len(placed)]
                trial = len(placed) % self.trials
                work = self.player.at(task, self.version, trial, {"place": place})
                placed.append(Placed(level, work))
        return placed

    def _tasks(self, make_tasks: MakeTasks, level: float, seed: int, size: int) -> Sequence[Task]:
        try:
            tasks = make_tasks(self.env, {**self.env_config, self.level: level}, seed, size)
            if len(tasks) < size:
                raise ConfigError(
                    f"world {self.env!r}: make_tasks gave {len(tasks)} tasks where {size} are to "
                    "be played"
                )
            refuse_mistyped(tasks, self.env)
        except ConfigError as error:
            raise ConfigError(f"{self.name}: at {self.level} {level:g}: {error}") from error
        return tasks

    async def _play(
        self, run: Run, stage_key: str, shard: Shard, number: int, placed: Sequence[Placed]
    ) -> None:
        """Fills a round's open slots and commits them; the round is done once enough of all its
        slots have a verdict.
        """
        works = [work for entry in placed if (work := _left_to_do(run, entry.work)) is not None]
        run.progress.step(len(placed) - len(works))
        attempts = await played(run, shard.name, works, self.player.role.model, self.player.places)
        settled = {
            attempt.slot_id for attempt in attempts if attempt.outcome is not Outcome.INVALID
        }
        faulty = {work.slot_id for work in works} - settled
        enough = len(faulty) <= MOST_INVALID * len(placed)
        stored = run.ledger.tasks({work.task.task_id for work in works}, every=True)
        new = {work.task.task_id: work.task for work in works if work.task.task_id not in stored}
        ended = run.ledger.commit(
            StageRef(self.name, evidence_key(stage_key)),
            trajectories=attempts,
            tasks=list(new.values()),
            name=str(number) if enough and run.stopped is None else "",
        )
        for attempt in ended:
            run.progress.say(ended_line(attempt))
        if not enough and run.stopped is None:
            last = {attempt.slot_id: attempt for attempt in attempts if attempt.slot_id in faulty}
            faults = Counter(str(attempt.fault) for attempt in last.values())
            (detail, _), *_ = commonest(
                Counter(attempt.fault_detail or "unknown" for attempt in last.values())
            ).items()
            raise SynthError(
                f"{self.name}: {len(faulty)} of {len(placed)} episodes ended in a fault "
                f"({counted(faults)}), which says nothing about "
                f"the policy; the commonest: {detail}; mend it and run again, what was done is kept"
            )


def summary(found: Mapping[str, Any]) -> str:
    """For instance: level 0.47: explorer passes 0.5 (0.43 to 0.57), 200 episodes."""
    low, high = found["interval"]
    words = (
        f"level {found['level']:g}: {found['against']} passes {found['pass_rate']:.2f} "
        f"({low:.2f} to {high:.2f})"
    )
    words += f", {counted_noun(found['episodes'], 'episode')}"
    words += f" and {counted_noun(found['faults'], 'fault')}" if found["faults"] else ""
    return (
        words
        if found["reached"]
        else f"{words}; no level reaches {found['target_pass_rate']:g}, this is the nearest"
    )


def _valid(run: Run, slot: str) -> str | None:
    state = run.ledger.state.slots.get(slot)
    return state.valid.trajectory_id if state is not None and state.valid is not None else None


def _left_to_do(run: Run, work: EpisodeSpec) -> EpisodeSpec | None:
    """The work with the number of its next attempt; None where the slot is settled. Any fault is
    tried again until the round is done.
    """
    state = run.ledger.state.slots.get(work.slot_id)
    if state is None:
        return work
    return None if state.valid is not None else replace(work, first_attempt=state.attempts)


def _verdicts(run: Run, placed: Sequence[Placed]) -> list[LevelPlayed]:
    """What came of a round, in its order; episodes that ended in a fault say nothing."""
    with connect(run.ledger) as connection:
        rows = connection.execute(
            "SELECT trajectory_id, outcome FROM trajectories_all WHERE synthesizer = 'calibration'"
        ).fetchall()
    outcomes: dict[str, str] = dict(rows)
    valid = [(entry.level, _valid(run, entry.work.slot_id)) for entry in placed]
    return [
        LevelPlayed(level, outcomes[identity] == Outcome.SUCCESS)
        for level, identity in valid
        if identity is not None
    ]
