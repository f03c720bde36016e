"""Calibrate: finds, by playing, the level of difficulty at which the policy of one role passes as
often as the flow asks for.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from synth.engine.funnel import counted
from synth.engine.numbers import counted_noun
from synth.engine.runs.stage_reports import commonest
from synth.engine.study.method import Method, synthesizer
from synth.engine.study.player import Player, trial_settings
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.rollout.episode import EpisodeSpec
from synth.schemas import ConfigError, Outcome, Shard, SynthError, Task, Trajectory, content_hash
from synth.stats.calibration import LEVEL_DIGITS, LevelPlayed, fitted, round_levels
from synth.synthesizers.tasks import refuse_mistyped

MOST_INVALID = 0.25
"""The share of a round's episodes that may end in a fault. Faults hit long episodes more often, so
a round that has lost more of them says little about the pass rate.
"""


LevelEpisode = tuple[float, EpisodeSpec]
"""The level of an episode, and the specification that plays it."""


@synthesizer("calibration")
class Calibrate(Method):
    """The stage `calibrate`, before `tasks`; its settings are the flow's `env.difficulty`.

    The ledger keeps its episodes, but no other stage sees them. They are played under the limits of
    the flow's rollout, by its trials in turn.
    """

    unit = "episodes"
    needs_env = True

    target_pass_rate: float
    against: str
    episodes: int

    def cast(self) -> Player:
        """The role of `against`, with the limits of the flow's rollout."""
        role = self.bound.roles.get(self.against)
        if role is None:
            known = ", ".join(self.bound.roles) or "none"
            raise ConfigError(
                f"env.difficulty.against: no role {self.against!r} among the flow's models "
                f"({known})"
            )

        self.live = trial_settings(self.bound.flow, self.against).live
        return self.playing(self.against, role)

    def bind(self) -> None:
        """Looks up the setting of the environment that makes its tasks harder. Raises `ConfigError`
        where it has none, or the flow sets it itself.
        """

        env = self.bound.env
        self.level = self.bound.entry.level
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
        """The settings that determine the level."""
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
        """All episodes are one unit, since each round follows from the one before."""
        return [self.episodes]

    def cut(self, units: Sequence[int]) -> Sequence[Shard]:
        """One shard holds all rounds."""
        return [Shard("rounds", units)]

    def left(self, stage: StageContext, units: Sequence[int]) -> Sequence[int]:
        """Nothing is left once the level is known."""
        return () if stage.finished else units

    def progress_of(self, unit: int) -> int:
        """Progress counts episodes."""
        return unit

    async def play(self, shard: ShardContext, units: Sequence[int]) -> None:
        """Plays the rounds that are left. Raises `SynthError` where faults leave too few episodes
        with a verdict.
        """

        known, first, _ = self._known(shard)
        shard.run.progress.step(len(known))
        # the flow shows tasks of the level that is found, none of a level on the way to it
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
        """Fills the open slots of a round and commits them; the round is done once enough of its
        slots have a verdict.
        """

        specs = [spec for _, spec in placed]
        found = await shard.episodes.attempted(specs, self.player)
        new = [attempts.made for attempts in found.values() if not attempts.known]
        shard.run.progress.step(len(found) - len(new))
        tasks = {spec.task.task_id: spec.task for spec in specs}
        stored = shard.tasks(tasks, every=True)
        result = shard.of(str(number))

        result.trajectories += [attempt for attempts in new for attempt in attempts]
        result.tasks += [task for identity, task in tasks.items() if identity not in stored]

        faulty = [made[-1] for made in new if made[-1].outcome is Outcome.INVALID]
        lost = len(specs) - len(found) + len(faulty)
        enough = lost <= MOST_INVALID * len(placed)
        stopped = shard.run.stopped is not None
        # a round that is not done keeps what it has: a rerun plays the rest alone
        shard.commit(part=str(number) if enough and not stopped else "")
        if not enough and not stopped:
            raise SynthError(_too_many_faults(shard.name, lost, len(placed), faulty))

    def _known(self, stage: StageContext) -> tuple[list[LevelPlayed], int, int]:
        """(the verdicts of all finished rounds, the number of these rounds, how many of their
        episodes ended in a fault).
        """

        known: list[LevelPlayed] = []
        number = faults = 0

        # rounds are replayed in thought: each follows from the verdicts before it
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
        """Lays out the episodes of a round; they depend on nothing but the verdicts before it."""
        placed: list[LevelEpisode] = []
        levels = round_levels(number, known, self.target_pass_rate, self.episodes)

        for part, (level, size) in enumerate(levels):
            # each level of each round has tasks of its own, which a rerun makes again
            digest = content_hash(["calibration", self.player.seed, number, part])
            for task in self._tasks(stage, level, int(digest[:7], 16), size):
                at = len(placed)
                also = {"place": [number, at]}
                spec = self.player.episode(stage.run, task, at % self.trials, also)
                placed.append((level, spec))

        return placed

    def _tasks(self, stage: StageContext, level: float, seed: int, size: int) -> Sequence[Task]:
        """Makes the tasks of one level; its errors name the level."""
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
        """The verdicts of a round in its order, without episodes that ended in a fault."""
        sql = "SELECT trajectory_id, outcome FROM trajectories_all WHERE synthesizer = ?"
        outcomes: dict[str, str] = dict(stage.select(sql, self.method))
        slots = [(level, stage.slot(spec.slot_id)) for level, spec in placed]
        return [
            LevelPlayed(level, outcomes[slot.valid.trajectory_id] == Outcome.SUCCESS)
            for level, slot in slots
            if slot is not None and slot.valid is not None
        ]

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """The level, its expected pass rate with a 95 % interval, and the counts behind them."""
        known, rounds, faults = self._known(stage)
        target = self.target_pass_rate
        curve = fitted(known)
        level = round(curve.crossing(target), LEVEL_DIGITS)
        low, high = curve.interval(level)
        policy = self.player.role.policy
        found = {
            "kind": "calibration",
            "finished": not self._round(stage, rounds, known),
            "target_pass_rate": target,
            "reached": 0 < level < 1 or low <= target <= high,
            "level": level,
            "pass_rate": round(curve.rate(level), LEVEL_DIGITS),
            "interval": [round(low, LEVEL_DIGITS), round(high, LEVEL_DIGITS)],
            "against": self.against,
            "policy": policy.identity,
            "model": policy.model,
            "episodes": len(known),
            "passed": sum(episode.passed for episode in known),
            "faults": faults,
        }

        if found["finished"]:
            stage.run.progress.say(f"{stage.name}: {_summary(found)}")

        return found


def _too_many_faults(stage: str, lost: int, of: int, faulty: Sequence[Trajectory]) -> str:
    """The error of a round without enough verdicts, with the commonest fault."""
    faults = Counter(str(attempt.fault) for attempt in faulty)
    details = Counter(attempt.fault_detail or "unknown" for attempt in faulty)
    detail = next(iter(commonest(details)))

    return (
        f"{stage}: {lost} of {of} episodes ended in a fault ({counted(faults)}), which says "
        f"nothing about the policy; the commonest: {detail}; mend it and run again, what was done "
        "is kept"
    )


def _summary(found: Mapping[str, Any]) -> str:
    """One line, such as "level 0.47: explorer passes 0.5 (0.43 to 0.57), 200 episodes"."""
    low, high = found["interval"]
    words = (
        f"level {found['level']:g}: {found['against']} passes {found['pass_rate']:.2f} "
        f"({low:.2f} to {high:.2f}), {counted_noun(found['episodes'], 'episode')}"
    )
    words += f" and {counted_noun(found['faults'], 'fault')}" if found["faults"] else ""
    if found["reached"]:
        return words

    return f"{words}; no level reaches {found['target_pass_rate']:g}, this is the nearest"
