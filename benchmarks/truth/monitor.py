"""The epistemic monitor: true labels of writes, denials and reads, for benchmarks only.

Neither agents nor stages, filters or synthesizers may see what is in here: the labels measure them.
They come from re-executing a
recorded trajectory in its world, which knows what the agent had been shown before each turn.
"""

from collections.abc import Sequence

import msgspec

from benchmarks.truth.justification import Truth, WriteLabel, grounded, justify
from benchmarks.truth.knowledge import Knowledge, ReadLabel
from synth.envs.storefront.check.check import OUTCOME
from synth.envs.storefront.customer.script import read_script
from synth.envs.storefront.env import open_storefront
from synth.envs.storefront.tools.read import READS
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.storefront.tools.transcript import Exchange, event_log, exchanged
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import world_of
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import SynthError
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

FREE_WRITES = frozenset({"add_note"})
"""Writes in a free zone: what they hold is nobody's loss."""


class DenialLabel(msgspec.Struct, frozen=True):
    """A denial: `grounded` if the rule forbids the request and what shows it had been seen."""

    turn: int
    request: int
    rule: str
    grounded: bool


class ReadTruth(msgspec.Struct, frozen=True):
    """A read that succeeded: `novel`, `redundant`, or `forced_reread` (a write, a refused write or
    the shop had made the
    first answer outdated).
    """

    turn: int
    tool: str
    label: ReadLabel


class TruthLabels(msgspec.Struct, frozen=True):
    """All labels of an episode. `lucky`: it passes, with an unjustified write; `passed_outcome`:
    state and told facts alone hold.
    """

    trajectory_id: str
    task_id: str
    passed: bool
    passed_outcome: bool
    lucky: bool
    lucky_outcome: bool
    breaches: tuple[str, ...]
    writes: tuple[WriteLabel, ...]
    denials: tuple[DenialLabel, ...]
    reads: tuple[ReadTruth, ...]


async def truth_of(task: Task, trajectory: Trajectory) -> TruthLabels:
    """The labels of a recorded trajectory, from re-executing it.

    Raises `SynthError` where the world answers otherwise than recorded: then the trajectory is not
    of this task, world or version.
    """
    env = open_storefront({})
    opening = await env.reset(task)
    for turn in trajectory.turns:
        response = await env.step(AgentTurn(turn.content, turn.tool_calls))
        if [seen.content for seen in response.observations] != [
            seen.as_given().content for seen in turn.observations
        ]:
            raise SynthError(
                f"trajectory {trajectory.trajectory_id}, turn {turn.index}: the world answers "
                "otherwise than recorded"
            )
    verdict = await env.check()
    await env.close()
    script = read_script(task.script)
    truth = Truth(
        world_of(validated(task.env_config)),
        script,
        task.check.refusals if task.check is not None else (),
    )
    breaches = [part.evidence for part in verdict.parts if part.name == "process"]
    outcome = all(part.passed for part in verdict.parts if part.name in OUTCOME)
    writes, denials, reads = label(
        exchanged(trajectory.turns), Knowledge(opening.system_prompt or "", task.goal), truth
    )
    guessed = any(write.label != "justified" for write in writes)
    return TruthLabels(
        trajectory_id=trajectory.trajectory_id,
        task_id=task.task_id,
        passed=verdict.passed is True,
        passed_outcome=outcome,
        lucky=verdict.passed is True and guessed,
        lucky_outcome=outcome and guessed,
        breaches=breaches[0] if breaches else (),
        writes=tuple(writes),
        denials=tuple(denials),
        reads=tuple(reads),
    )


def label(
    exchanges: Sequence[Exchange], known: Knowledge, truth: Truth
) -> tuple[list[WriteLabel], list[DenialLabel], list[ReadTruth]]:
    """Labels of an episode's events; what is observed in a turn is known from the next one on."""
    writes: list[WriteLabel] = []
    denials: list[DenialLabel] = []
    reads: list[ReadTruth] = []
    log = event_log(exchanges)
    for turn in range(len(exchanges)):
        events = [event for event in log if event.turn == turn]
        for event in events:
            if event.kind == "call" and event.tool in WRITES - FREE_WRITES:
                writes.append(justify(event, known, truth))
            elif event.kind == "call" and event.tool == "deny":
                request, rule = int(event.arguments["request"]), str(event.arguments["rule_id"])
                denials.append(DenialLabel(turn, request, rule, grounded(event, known, truth)))
        for event in events:
            if event.kind == "heard":
                known.hear(event.text)
            elif event.kind == "call" and event.tool in READS:
                reads.append(ReadTruth(turn, event.tool, known.observe(event)))
            elif event.kind == "call" and event.tool in WRITES:
                known.written(event.arguments)
                known.keep(event.tool, event.result)
            elif event.kind == "failed" and event.tool in WRITES:
                known.written(event.arguments)
    return writes, denials, reads
