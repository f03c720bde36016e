"""Seeded walks through an environment without a task: what was done, what it changed, what was
refused; and what a shard's walks have learned about its tools.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from types import MappingProxyType

from synth.envs.normalise import normalised_text
from synth.rollout.answers import stepped
from synth.schemas.canonical import content_hash
from synth.schemas.check import Facts
from synth.schemas.environment import AgentTurn, Env, Opening
from synth.schemas.reverse import Change, Operation
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, Turn
from synth.synthesizers.reverse.check_predicates import changes, of_goals

DENIED = re.compile(r"^denied: ([\w.-]+):")
"""How an environment says that a rule forbids a call: the beginning of the error that answers it."""
CHANGING, OPENING, OTHER = 10.0, 3.0, 1.0
"""Weights of tools: that change the state or are untried, after whose calls more can be done, and
of all others (A2, step 2).
"""
LEAST_SHARE = 0.1
"""Of its weight a tool keeps however often it did nothing."""
LONGEST_TEMPLATE = 300
_VALUE = re.compile(r"\b[\w.@-]*\d[\w.@:-]*\b")
_WORDS = re.compile(r"\s+")
Signature = tuple[tuple[str, str], ...]
"""A turn as names and arguments of its calls."""


def signature_of(turn: AgentTurn) -> Signature:
    """What two turns must have in common to be the same deed."""
    calls = tuple((call.name, call.arguments) for call in turn.tool_calls)
    return calls or (("", turn.content or ""),)


def tool_of(turn: AgentTurn) -> str:
    """The tool of a turn's first call; empty for text."""
    return turn.tool_calls[0].name if turn.tool_calls else ""


def template(observations: Sequence[Observation]) -> str:
    """Answers with numbers and identifiers masked."""
    text = " ".join(normalised_text(observation.content) for observation in observations)
    return _WORDS.sub(" ", _VALUE.sub("#", text))[:LONGEST_TEMPLATE]


class Experience:
    """What each tool came to how often, and the answers without effect; grows from walk to walk, in
    their order.
    """

    def __init__(self) -> None:
        self._counts = Counter[tuple[str, str]]()
        self._no_ops: set[tuple[str, str]] = set()

    def note(self, turn: AgentTurn, answers: Sequence[Observation], effects: Iterable[str]) -> None:
        """Takes in what a turn came to: it `changed` what a goal can be about, `opened` new ways,
        `showed` something new, `ended` the walk, was `denied`. One without effect whose tool has
        been answered alike before is a no-op.
        """
        tool, found = tool_of(turn), {"taken", *effects}
        self._counts.update((tool, effect) for effect in found)
        if found.isdisjoint(("changed", "opened", "showed")):
            no_op = (tool, template(answers))
            self._counts[tool, "no_op"] += no_op in self._no_ops
            self._no_ops.add(no_op)

    def weight(self, tool: str) -> float:
        """How readily a tool is drawn; 0 for one that ends the walk and changes nothing else."""
        taken, changed = self._counts[tool, "taken"], self._counts[tool, "changed"]
        if taken and self._counts[tool, "ended"] == taken and not changed:
            return 0.0
        opened = OPENING if self._counts[tool, "opened"] else OTHER
        known = CHANGING if not taken or changed or self._counts[tool, "denied"] else opened
        return known * max(LEAST_SHARE, 1 - self._counts[tool, "no_op"] / max(taken, 1))

    def draw(self, turns: Sequence[AgentTurn], draw: Random) -> AgentTurn | None:
        """One of the turns: its tool by weight, then its arguments, each as likely; None where none
        may be drawn.
        """
        by_tool: dict[str, list[AgentTurn]] = {}
        for turn in turns:
            by_tool.setdefault(tool_of(turn), []).append(turn)
        weights = {tool: weight for tool in by_tool if (weight := self.weight(tool)) > 0}
        if not weights:
            return None
        (tool,) = draw.choices(list(weights), list(weights.values()))
        return draw.choice(by_tool[tool])


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
        """What the turn was answered by tools and environment, without errors."""
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
    facts, steps = start, list[WalkStep]()
    for turn in turns:
        step, facts = await _step(env, len(steps), turn, facts, zones)
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
    facts, walked = start, list[WalkStep]()
    offered = list(await env.affordances())
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
        alike = [other for other in offered if tool_of(other) == tool_of(turn)]
        others = tuple(other for other in alike if signature_of(other) != deed)
        step, facts = await _step(env, len(walked), turn, facts, zones)
        walked.append(replace(step, others=others))

        offered = [] if step.done else list(await env.affordances())
        opened = not known.issuperset(map(signature_of, offered))
        experience.note(turn, step.record.observations, _effects(walked, opened=opened))
        if not step.changed:
            idle.add(deed)
        await asyncio.sleep(0)
    return Walk(opening, start, facts, tuple(walked))


def _effects(steps: Sequence[WalkStep], *, opened: bool) -> list[str]:
    """What the last of the steps came to, in the words of `Experience.note`."""
    last = steps[-1]
    came = {
        "changed": bool(last.asked),
        "opened": opened,
        "showed": _is_new(steps),
        "ended": last.done,
        "denied": last.denied is not None,
    }
    return [effect for effect, so in came.items() if so]


async def _step(
    env: Env, at: int, turn: AgentTurn, before: Facts, zones: Mapping[str, str]
) -> tuple[WalkStep, Facts]:
    """A turn done, and the facts after it."""
    response = await stepped(env.step(turn), at, turn.tool_calls)
    after = dict(await env.facts())
    changed, seen = changes(before, after), response.observations
    record = Turn(at, turn.content, turn.tool_calls, seen, state_key=response.state_key)
    rules = [] if changed else [DENIED.match(one.content) for one in seen if one.error]
    denied = next((rule[1] for rule in rules if rule is not None), None)
    return WalkStep(record, turn, changed, of_goals(changed, zones), denied, response.done), after


def _is_new(steps: Sequence[WalkStep]) -> bool:
    """Whether the last of the steps showed something that none before it had shown."""
    *before, last = steps
    return bool(last.shown) and all(step.shown != last.shown for step in before)
