"""Argument and choice provenance against the storefront's own labels, and against values that were
invented for the purpose.

Run: `python -m benchmarks.provenance_truth`
"""

import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import msgspec

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.planted_episodes import (
    bot,
    expert,
    played,
    random_walk,
    scripted,
    with_invented_values,
    with_other_values,
    without_look_ups,
)
from benchmarks.truth.monitor import FREE_WRITES, truth_of
from synth.envs.storefront import WORLD
from synth.envs.storefront.tools.schemas import WRITES
from synth.schemas.task import Task
from synth.schemas.trajectory import Source, ToolCall, Trajectory, Turn
from synth.text.provenance import ProvenanceReport, Status, provenance

TASKS = 300
SEED = 777002
"""Not one of the seeds on which the heuristics were written (5, 17, 2027, 90210, 424242)."""
PROFILES = (
    None,
    "mixed",
    "mixed",
    "first_match",
    "first_address",
    "ignores_size",
    "skips_confirmation",
)
PLANNED = {profile or "expert" for profile in PROFILES}
"""Kinds of episodes whose every write serves a request: other writes the monitor does not judge by
what the customer wished.
"""


@dataclass(slots=True)
class Confusion:
    """Counts of (true, found)."""

    counts: Counter[tuple[bool, bool]] = field(default_factory=Counter)

    def add(self, true: bool, found: bool) -> None:
        """One more."""
        self.counts[true, found] += 1

    @property
    def precision(self) -> float:
        """Share of what was found that is true; nan where nothing was."""
        found = self.counts[True, True] + self.counts[False, True]
        return self.counts[True, True] / found if found else float("nan")

    @property
    def recall(self) -> float:
        """Share of what is true that was found; nan where there is nothing."""
        true = self.counts[True, True] + self.counts[True, False]
        return self.counts[True, True] / true if true else float("nan")


@dataclass(slots=True)
class Tally:
    """All comparisons; `planned_choices`: those of `PLANNED` episodes; `chance`: whether an amount
    drawn blindly passed.
    """

    arguments: Confusion = field(default_factory=Confusion)
    choices: Confusion = field(default_factory=Confusion)
    planned_choices: Confusion = field(default_factory=Confusion)
    invented: Confusion = field(default_factory=Confusion)
    episodes: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    choices_by_what: Counter[tuple[str, bool]] = field(default_factory=Counter)
    chance: list[bool] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


async def compared(tally: Tally, kind: str, task: Task, trajectory: Trajectory) -> None:
    """Adds a trajectory's writes: what the monitor says of each, and what the transcript shows."""
    truth = await truth_of(task, trajectory)
    report = provenance(trajectory)
    tally.episodes[kind] += 1
    places = [place for turn in trajectory.turns for place in _succeeded(turn)]
    if len(places) != len(truth.writes):
        raise RuntimeError(
            f"{trajectory.trajectory_id}: {len(truth.writes)} writes labelled, {len(places)} "
            "recorded"
        )
    for (turn, call), label in zip(places, truth.writes, strict=True):
        unjustified = label.label == "unjustified_argument"
        found = any((f.turn, f.call) == (turn, call) for f in report.unjustified)
        tally.arguments.add(unjustified, found)
        tally.by_kind[kind, label.label, found] += 1
        if unjustified is not found:
            tally.wrong.append(
                f"{kind}: {label} {'flagged' if found else 'not flagged'}: "
                f"{_arguments(report, turn, call)}"
            )
        if not unjustified:
            chosen = any((c.turn, c.call) == (turn, call) and c.unjustified for c in report.choices)
            tally.choices.add(label.label == "unjustified_choice", chosen)
            if kind in PLANNED:
                tally.planned_choices.add(label.label == "unjustified_choice", chosen)
            tally.choices_by_what[
                label.what if label.label == "unjustified_choice" else "justified", chosen
            ] += 1


def _succeeded(turn: Turn) -> list[tuple[int, int]]:
    answers = [
        observation for observation in turn.observations if observation.source is Source.TOOL
    ]
    pairs = enumerate(zip(turn.tool_calls, answers, strict=False))
    return [
        (turn.index, at)
        for at, (call, answer) in pairs
        if call.name in WRITES - FREE_WRITES and not answer.error
    ]


def _arguments(report: ProvenanceReport, turn: int, call: int) -> str:
    return ", ".join(
        f"{f.path}={f.value!r} {f.status.value} {f.where}"
        for f in report.findings
        if (f.turn, f.call) == (turn, call)
    )


def planted(tally: Tally, trajectory: Trajectory, invented: set[str]) -> None:
    """Adds invented values: which of them were found."""
    for finding in provenance(trajectory).findings:
        if json.dumps(finding.value) in invented:
            tally.invented.add(True, finding.status is Status.UNJUSTIFIED)
            if finding.status is not Status.UNJUSTIFIED:
                tally.wrong.append(f"invented: {finding}")


def _random_amount(trajectory: Trajectory, rng: Random) -> bool:
    """Whether an amount of 1 to 1,000 dollars, drawn blindly and refunded at the end, passes for
    seen or computed.
    """
    call = ToolCall.received(
        "drawn", "issue_refund", json.dumps({"amount": rng.randint(100, 100_000) / 100})
    )
    drawn = msgspec.structs.replace(
        trajectory, turns=(*trajectory.turns, Turn(len(trajectory.turns), tool_calls=(call,)))
    )
    return provenance(drawn).findings[-1].status is not Status.UNJUSTIFIED


async def tallied(count: int = TASKS, seed: int = SEED) -> Tally:
    """Every kind of episode on every task."""
    tally = Tally()
    for at, task in enumerate(WORLD.make_tasks({}, seed, count)):
        rng = Random(f"{seed} {at}")
        for number, profile in enumerate(PROFILES):
            await compared(
                tally,
                profile or "expert",
                task,
                await played(task, expert(profile, at + 1000 * number)),
            )
        careful = await played(task, expert(None, at))
        env = WORLD.open({})
        await env.reset(task)
        facts = await env.facts()
        await compared(tally, "random walk", task, await played(task, random_walk(at)))
        await compared(tally, "random bot", task, await played(task, bot("random_affordance")))
        for _ in range(2):
            await compared(
                tally,
                "without look-ups",
                task,
                await played(task, scripted(without_look_ups(careful, rng))),
            )
            await compared(
                tally,
                "other values",
                task,
                await played(task, scripted(with_other_values(careful, facts, rng))),
            )
        turns, invented = with_invented_values(careful, rng)
        tally.chance += [_random_amount(careful, rng) for _ in range(5)]
        planted(tally, await played(task, scripted(turns)), invented)
    return tally


def measure(count: int = TASKS) -> Report:
    """Precision and recall per write."""
    tally = asyncio.run(tallied(count))
    arguments, choices = tally.arguments, tally.choices
    for line in tally.wrong[:20]:
        print(line)
    for key, number in sorted(tally.by_kind.items()):
        print(f"{key[0]:18} {key[1]:22} {'flagged' if key[2] else 'not flagged':12} {number:>6}")
    for (what, chosen), number in sorted(tally.choices_by_what.items()):
        print(f"choice: {what:12} {'flagged' if chosen else 'not flagged':12} {number:>6}")
    true = arguments.counts[True, True] + arguments.counts[True, False]
    true_choices = choices.counts[True, True] + choices.counts[True, False]
    return Report(
        "Provenance against the monitor",
        (
            Figure("writes labelled", sum(arguments.counts.values())),
            Figure("with an unjustified argument", true),
            Figure(
                "precision, unjustified arguments",
                arguments.precision,
                "",
                Target("at least", 0.99),
            ),
            Figure("recall, unjustified arguments", arguments.recall, "", Target("at least", 0.99)),
            Figure("invented values planted", sum(tally.invented.counts.values())),
            Figure("recall, invented values", tally.invented.recall, "", Target("at least", 0.99)),
            Figure(
                "random amounts that pass for computed",
                100 * sum(tally.chance) / len(tally.chance),
                "%",
                Target("at most", 1),
            ),
            Figure("with an unjustified choice", true_choices),
            Figure("precision, unjustified choices", choices.precision),
            Figure("recall, unjustified choices", choices.recall),
            Figure(
                "precision, unjustified choices, planned episodes", tally.planned_choices.precision
            ),
            Figure("recall, unjustified choices, planned episodes", tally.planned_choices.recall),
        ),
        f"{sum(tally.episodes.values()):,} storefront episodes on {count} tasks (seed {SEED}): "
        + ", ".join(f"{number:,} {kind}" for kind, number in tally.episodes.items())
        + ". Choices are counted on writes whose arguments the monitor calls justified.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
