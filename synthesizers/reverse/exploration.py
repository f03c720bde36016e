"""Seeded walks through a world without a task: what was done, what it changed, what the world
refused.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from types import MappingProxyType

from synth.envs.fact_pattern import zone_of
from synth.rollout.answers import stepped
from synth.schemas.canonical import content_hash
from synth.schemas.check import Facts
from synth.schemas.environment import AgentTurn, Env, Opening, Response
from synth.schemas.reverse import Change, Operation
from synth.schemas.task import Task
from synth.schemas.trajectory import Source, Turn
from synth.synthesizers.reverse.experience import (
    Effect,
    Experience,
    Signature,
    signature_of,
    tool_of,
)

NOT_ASKED_FOR = frozenset({"free", "generated"})
"""Zones of a world's facts that no goal is about."""
DENIED = re.compile(r"^denied: ([\w.-]+):")
"""How a world says that a rule forbids a call: the beginning of the error that answers it."""


@dataclass(frozen=True)
class WalkStep:
    """One turn of a walk: its record, all facts that it changed and those of them that a goal can
    be about, by which rule it was refused, whether it ended the walk, and what else its tool could
    have done.
    """

    record: Turn
    turn: AgentTurn
    changed: Mapping[str, Change]
    asked: Mapping[str, Change]
    denied: str | None
    done: bool
    others: tuple[AgentTurn, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """What the turn was answered by tools and world, without errors."""
        answers = self.record.observations
        return tuple(
            seen.content for seen in answers if not seen.error and seen.source is not Source.USER
        )


@dataclass(frozen=True)
class Walk:
    """Turns from a start, with the facts before and after."""

    opening: Opening
    start: Facts
    end: Facts
    steps: tuple[WalkStep, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns with what was observed."""
        return tuple(step.record for step in self.steps)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The steps that changed what a goal can be about, or were refused."""
        return tuple(
            Operation(step.record.index, step.turn, step.asked, step.denied)
            for step in self.steps
            if step.asked or step.denied is not None
        )

    @cached_property
    def reads(self) -> tuple[Operation, ...]:
        """The calls that changed nothing of it, and were answered with something that had not been
        shown before.
        """
        return tuple(
            Operation(at, step.turn, {}, shown=step.shown)
            for at, step in enumerate(self.steps)
            if not step.asked and step.turn.tool_calls and _is_new(self.steps[: at + 1])
        )


async def played(
    env: Env,
    turns: Sequence[AgentTurn],
    task: Task | None = None,
    zones: Mapping[str, str] = MappingProxyType({}),
) -> Walk:
    """The turns, done from a task's start, or from the start of an exploration."""
    opening = await env.reset(task)
    start: Facts = dict(await env.facts())
    facts = start
    steps = []
    for at, turn in enumerate(turns):
        step, facts = await _step(env, at, turn, facts, zones)
        steps.append(step)
    return Walk(opening, start, facts, tuple(steps))


async def explored(
    env: Env, zones: Mapping[str, str], steps: int, draw: Random, experience: Experience
) -> Walk:
    """Walks at most `steps` turns: affordances by weight, none again in the same state, nor where
    it did nothing before in this walk.

    `experience` is added to.
    """
    opening = await env.reset(None)
    start: Facts = dict(await env.facts())
    facts = start
    offered = list(await env.affordances())
    walked: list[WalkStep] = []
    idle: set[Signature] = set()
    done: set[tuple[Signature, str]] = set()
    while len(walked) < steps:
        state, known = content_hash(facts), {signature_of(turn) for turn in offered}
        never = idle | {deed for deed, at in done if at == state}
        turn = experience.draw([turn for turn in offered if signature_of(turn) not in never], draw)
        if turn is None:
            break
        deed = signature_of(turn)
        done.add((deed, state))
        others = tuple(
            other
            for other in offered
            if tool_of(other) == tool_of(turn) and signature_of(other) != deed
        )
        step, facts = await _step(env, len(walked), turn, facts, zones)
        walked.append(replace(step, others=others))
        offered = [] if step.done else list(await env.affordances())
        came: dict[Effect, bool] = {
            "changed": bool(step.asked),
            "opened": not known.issuperset(map(signature_of, offered)),
            "showed": _is_new(walked),
            "ended": step.done,
            "denied": step.denied is not None,
        }
        experience.note(turn, step.record.observations, {name for name, so in came.items() if so})
        if not step.changed:
            idle.add(deed)
        await asyncio.sleep(0)
    return Walk(opening, start, facts, tuple(walked))


def changes(before: Facts, after: Facts) -> dict[str, Change]:
    """The paths whose values differ; None where a path did not exist."""
    if before == after:
        return {}
    paths = sorted({path for path, _ in before.items() ^ after.items()})
    return {path: Change(before.get(path), after.get(path)) for path in paths}


def of_goals(changed: Mapping[str, Change], zones: Mapping[str, str]) -> dict[str, Change]:
    """Those of the changed facts that a goal can be about."""
    return {
        path: change
        for path, change in changed.items()
        if zone_of(zones, path) not in NOT_ASKED_FOR
    }


async def _step(
    env: Env, at: int, turn: AgentTurn, before: Facts, zones: Mapping[str, str]
) -> tuple[WalkStep, Facts]:
    """A turn done, and the facts after it."""
    response = await stepped(env.step(turn), at, turn.tool_calls)
    after = dict(await env.facts())
    changed, seen = changes(before, after), response.observations
    record = Turn(at, turn.content, turn.tool_calls, seen, state_key=response.state_key)
    denied = None if changed else _refused(response)
    return WalkStep(record, turn, changed, of_goals(changed, zones), denied, response.done), after


def _is_new(steps: Sequence[WalkStep]) -> bool:
    """Whether the last of the steps showed something that none before it had shown."""
    *before, last = steps
    return bool(last.shown) and all(step.shown != last.shown for step in before)


def _refused(response: Response) -> str | None:
    """The rule by which the world refused a turn, or None."""
    said = (DENIED.match(seen.content) for seen in response.observations if seen.error)
    return next((rule[1] for rule in said if rule is not None), None)
