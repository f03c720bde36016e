"""Calibrate: the level of difficulty at which the policy of one role passes as often as the flow
asks for, found by playing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from synth.engine.funnel import counted
from synth.engine.numbers import counted_noun
from synth.engine.stage_reports import commonest
from synth.engine.study.method import Method, synthesizer
from synth.engine.study.player import Player, places_for, trial_settings
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.rollout.episode import EpisodeSpec
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.outcome import Outcome
from synth.schemas.stage import Shard
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.stats.calibration import LEVEL_DIGITS, LevelPlayed, fitted, round_levels
from synth.synthesizers.tasks import refuse_mistyped

MOST_INVALID = 0.25
"""Share of a round's episodes that may end in a fault: beyond it what is left says little, since
faults prefer the long ones.
"""


LevelEpisode = tuple[float, EpisodeSpec]
"""An episode of a round: its level, and the work that plays it."""


@synthesizer("calibration")
class Calibrate(Method):
    """The stage `calibrate`, before `tasks`; its settings are the flow's `env.difficulty`. Its
    episodes are kept and paid for, but no other stage sees them. They are played as the flow's
    rollout plays: under its limits, by its trials in turn.
    """

    unit = "episodes"
    needs_env = True

    target_pass_rate: float
    against: str
    episodes: int

    def cast(self) -> Player:
        """Who is calibrated against, as the rollout plays it."""
        role = self.bound.roles.get(self.against)
        if role is None:
            known = ", ".join(self.bound.roles) or "none"
            raise ConfigError(
                f"env.difficulty.against: no role {self.against!r} among the flow's models "
                f"({known})"
            )
        trials = trial_settings(self.bound.flow, self.against)
        places = places_for(trials.live, role)
        return Player(self.against, role, trials.limits, places, self.bound.flow.seed, self.method)

    def bind(self) -> None:
        """The environment's level, which the flow leaves open."""
        env, self.level = self.bound.env, self.bound.entry.level
        if self.level is None:
            raise ConfigError(
                f"env.difficulty: world {env.name!r} has no setting that makes its tasks harder "
                "(EnvEntry.level); leave it out"
            )
        if self.level in env.settings():
            raise ConfigError(
                f"env.{self.level} and env.difficulty both say how hard the tasks are; leave one "
                "of them out"
            )
        self.trials = trial_settings(self.bound.flow, self.against).trials
        self._start = self.bound.start_state()

    def key_settings(self) -> Mapping[str, Any]:
        """What determines the level that is found."""
        env = self.bound.env
        return {
            "env": env.name,
            "config": env.settings(),
            "world": self.bound.entry.spec.version,
            "target_pass_rate": self.target_pass_rate,
            "episodes": self.episodes,
            "trials": self.trials,
            **({} if self._start is None else {"start_state": self._start}),
            **self.player.identity(),
        }

    def units(self, stage: StageContext) -> Sequence[int]:
        """Rounds follow from one another, so that they are one unit."""
        return [self.episodes]

    def cut(self, units: Sequence[int]) -> Sequence[Shard]:
        """One shard."""
        return [Shard("rounds", units)]

    def left(self, stage: StageContext, units: Sequence[int]) -> Sequence[int]:
        """Nothing where the level is known."""
        return () if stage.finished else units

    def progress_of(self, unit: int) -> int:
        """Episodes."""
        return unit

    async def play(self, shard: ShardContext, units: Sequence[int]) -> None:
        """Plays the rounds that are left. Raises `SynthError` where faults leave too few episodes
        with a verdict.
        """
        known, first, _ = self._known(shard)
        shard.run.progress.step(len(known))
        shard.hidden = True
        for number in count(first):
            placed = self._round(shard, number, known)
            if not placed:
                return
            await self._play(shard, number, placed)
            if shard.run.stopped is not None:
                shard.of(shard.shard).open = True
                return
            known += self._verdicts(shard, placed)

    async def _play(self, shard: ShardContext, number: int, placed: Sequence[LevelEpisode]) -> None:
        """Fills a round's open slots and commits them; the round is done once enough of all its
        slots have a verdict.
        """
        specs = [spec for _, spec in placed]
        found = await shard.episodes.attempted(specs, self.player)
        new = [attempts.made for attempts in found.values() if not attempts.known]
        shard.run.progress.step(len(found) - len(new))
        tasks = {spec.task.task_id: spec.task for spec in specs}
        stored, result = shard.tasks(tasks, every=True), shard.of(str(number))
        result.trajectories += [attempt for attempts in new for attempt in attempts]
        result.tasks += [task for identity, task in tasks.items() if identity not in stored]

        faulty = [made[-1] for made in new if made[-1].outcome is Outcome.INVALID]
        lost = len(specs) - len(found) + len(faulty)
        enough, stopped = lost <= MOST_INVALID * len(placed), shard.run.stopped is not None
        shard.commit(part=str(number) if enough and not stopped else "")
        if not enough and not stopped:
            raise SynthError(_too_many_faults(shard.name, lost, len(placed), faulty))

    def _known(self, stage: StageContext) -> tuple[list[LevelPlayed], int, int]:
        """The verdicts of all rounds that are done, how many those are, and how many of their
        episodes ended in a fault.
        """
        known: list[LevelPlayed] = []
        number = faults = 0
        while stage.has(str(number)):
            placed = self._round(stage, number, known)
            verdicts = self._verdicts(stage, placed)
            known += verdicts
            faults += len(placed) - len(verdicts)
            number += 1
        return known, number, faults

    def _round(
        self, stage: StageContext, number: int, known: Sequence[LevelPlayed]
    ) -> list[LevelEpisode]:
        """A round's episodes: a function of the verdicts before it."""
        placed: list[LevelEpisode] = []
        levels = round_levels(number, known, self.target_pass_rate, self.episodes)
        for part, (level, size) in enumerate(levels):
            seed = int(content_hash(["calibration", self.player.seed, number, part])[:7], 16)
            for task in self._tasks(stage, level, seed, size):
                also, trial = {"place": [number, len(placed)]}, len(placed) % self.trials
                spec = self.player.episode(stage.run, task, trial, also)
                placed.append((level, spec))
        return placed

    def _tasks(self, stage: StageContext, level: float, seed: int, size: int) -> Sequence[Task]:
        env = self.bound.env
        try:
            config = {**env.settings(), self.level: level}
            tasks = stage.run.make_tasks(env.name, config, seed, size)
            if len(tasks) < size:
                raise ConfigError(
                    f"world {env.name!r}: make_tasks gave {len(tasks)} tasks where {size} are to "
                    "be played"
                )
            refuse_mistyped(tasks, env.name)
        except ConfigError as error:
            raise ConfigError(f"{stage.name}: at {self.level} {level:g}: {error}") from error
        return tasks

    def _verdicts(self, stage: StageContext, placed: Sequence[LevelEpisode]) -> list[LevelPlayed]:
        """What came of a round, in its order; episodes that ended in a fault say nothing."""
        sql = "SELECT trajectory_id, outcome FROM trajectories_all WHERE synthesizer = ?"
        outcomes: dict[str, str] = dict(stage.select(sql, self.method))
        slots = [(level, stage.slot(spec.slot_id)) for level, spec in placed]
        return [
            LevelPlayed(level, outcomes[slot.valid.trajectory_id] == Outcome.SUCCESS)
            for level, slot in slots
            if slot is not None and slot.valid is not None
        ]

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """The level, the pass rate that is expected there, its 95 % interval, and what both rest
        on.
        """
        known, rounds, faults = self._known(stage)
        target, curve = self.target_pass_rate, fitted(known)
        level = round(curve.crossing(target), LEVEL_DIGITS)
        low, high = curve.interval(level)
        found = {
            "kind": "calibration",
            "finished": not self._round(stage, rounds, known),
            "target_pass_rate": target,
            "reached": 0 < level < 1 or low <= target <= high,
            "level": level,
            "pass_rate": round(curve.rate(level), LEVEL_DIGITS),
            "interval": [round(low, LEVEL_DIGITS), round(high, LEVEL_DIGITS)],
            "against": self.against,
            "policy": self.player.role.policy.identity,
            "model": self.player.role.policy.model,
            "episodes": len(known),
            "passed": sum(episode.passed for episode in known),
            "faults": faults,
        }
        if found["finished"]:
            stage.run.progress.say(f"{stage.name}: {_summary(found)}")
        return found


def _too_many_faults(stage: str, lost: int, of: int, faulty: Sequence[Trajectory]) -> str:
    """Why a round gives no verdict, with the commonest fault."""
    faults = Counter(str(attempt.fault) for attempt in faulty)
    (detail, _), *_ = commonest(
        Counter(attempt.fault_detail or "unknown" for attempt in faulty)
    ).items()
    return (
        f"{stage}: {lost} of {of} episodes ended in a fault ({counted(faults)}), which says "
        f"nothing about the policy; the commonest: {detail}; mend it and run again, what was done "
        "is kept"
    )


def _summary(found: Mapping[str, Any]) -> str:
    """For instance: level 0.47: explorer passes 0.5 (0.43 to 0.57), 200 episodes."""
    low, high = found["interval"]
    words = (
        f"level {found['level']:g}: {found['against']} passes {found['pass_rate']:.2f} "
        f"({low:.2f} to {high:.2f}), {counted_noun(found['episodes'], 'episode')}"
    )
    words += f" and {counted_noun(found['faults'], 'fault')}" if found["faults"] else ""
    if found["reached"]:
        return words
    return f"{words}; no level reaches {found['target_pass_rate']:g}, this is the nearest"
