"""A seeded walk through a world without a task: what was done, what it changed, what the world
refused.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from synth.envs.fact_pattern import zone_of
from synth.rollout.answers import stepped
from synth.schemas.canonical import content_hash
from synth.schemas.check import Facts
from synth.schemas.environment import AgentTurn, Env, Opening, Response
from synth.schemas.reverse import Change, Operation
from synth.schemas.trajectory import Observation, Source, Turn
from synth.synthesizers.reverse.experience import Experience, Signature, signature_of, tool_of

NOT_ASKED_FOR = frozenset({"free", "generated"})
"""Zones of a world's facts that no goal is about."""
DENIED = re.compile(r"^denied: ([\w.-]+):")
"""How a world says that a rule forbids a call: the beginning of the error that answers it."""


@dataclass(frozen=True)
class Step:
    """One turn of a walk: its record, all facts that it changed, by which rule it was refused, and
    what else its tool could have done.
    """

    record: Turn
    turn: AgentTurn
    changed: Mapping[str, Change]
    denied: str | None
    others: tuple[AgentTurn, ...]


@dataclass(frozen=True)
class Exploration:
    """A walk from the world's start; `operations` are its steps that changed what a goal can be
    about, or were refused; `reads` those
    that changed nothing of it, and were answered with something that had not been shown before.
    """

    opening: Opening
    start: Facts
    steps: tuple[Step, ...]
    operations: tuple[Operation, ...]
    reads: tuple[Operation, ...] = ()

    @property
    def walk(self) -> tuple[Turn, ...]:
        """All turns with what was observed."""
        return tuple(step.record for step in self.steps)


async def explored(
    env: Env, zones: Mapping[str, str], steps: int, draw: Random, experience: Experience
) -> Exploration:
    """Walks at most `steps` turns: affordances by weight, none again in the same state, nor where
    it did nothing before in this walk.

    `experience` is added to.
    """
    opening = await env.reset(None)
    start = before = dict(await env.facts())
    offered = list(await env.affordances())
    walked: list[Step] = []
    idle: set[Signature] = set()
    done: set[tuple[Signature, str]] = set()
    seen: set[tuple[str, ...]] = set()
    new: list[int] = []
    while len(walked) < steps:
        state = content_hash(before)
        turn = experience.draw(
            [
                t
                for t in offered
                if signature_of(t) not in idle and (signature_of(t), state) not in done
            ],
            draw,
        )
        if turn is None:
            break
        done.add((signature_of(turn), state))
        response = await stepped(env.step(turn), len(walked), turn.tool_calls)
        after = dict(await env.facts())
        changed = changes(before, after)
        denied = refused(response) if not changed else None
        others = tuple(
            other
            for other in offered
            if tool_of(other) == tool_of(turn) and signature_of(other) != signature_of(turn)
        )
        record = Turn(
            len(walked),
            turn.content,
            turn.tool_calls,
            response.observations,
            state_key=response.state_key,
        )
        walked.append(Step(record, turn, changed, denied, others))
        answer = shown(response.observations)
        if answer and answer not in seen:
            new.append(len(walked) - 1)
        known = {signature_of(turn) for turn in offered}
        offered = [] if response.done else list(await env.affordances())
        experience.note(
            turn,
            response.observations,
            changed=bool(of_goals(changed, zones)),
            opened=bool({signature_of(turn) for turn in offered} - known),
            showed=bool(answer) and answer not in seen,
            ended=response.done,
            denied=denied is not None,
        )
        seen.add(answer)
        if not changed:
            idle.add(signature_of(turn))
        before = after
        await asyncio.sleep(0)
    found = [
        Operation(at, step.turn, of_goals(step.changed, zones), step.denied)
        for at, step in enumerate(walked)
        if of_goals(step.changed, zones) or step.denied is not None
    ]
    reads = tuple(
        Operation(at, walked[at].turn, {}, shown=shown(walked[at].record.observations))
        for at in new
        if walked[at].turn.tool_calls and not of_goals(walked[at].changed, zones)
    )
    return Exploration(opening, start, tuple(walked), tuple(found), reads)


def shown(observations: Sequence[Observation]) -> tuple[str, ...]:
    """What a turn was answered by tools and world, without errors."""
    return tuple(
        seen.content for seen in observations if not seen.error and seen.source is not Source.USER
    )


def refused(response: Response) -> str | None:
    """The rule by which the world refused a turn, or None."""
    said = (
        DENIED.match(observation.content)
        for observation in response.observations
        if observation.error
    )
    return next((rule[1] for rule in said if rule is not None), None)


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
