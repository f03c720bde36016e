"""Walks through an environment at random, without a task, and records what each step changed or why
it was refused; the walks of a shard learn which tools do something.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from types import MappingProxyType

from synth.envs.normalise import normalised_text
from synth.rollout.answers import stepped
from synth.schemas import (
    AgentTurn,
    Change,
    Check,
    Env,
    Facts,
    Observation,
    Opening,
    Operation,
    Source,
    Task,
    Turn,
    content_hash,
)
from synth.synthesizers.reverse.check_predicates import changes, of_goals

DENIED = re.compile(r"^denied: ([\w.-]+):")
"""The beginning of an error that names the rule by which the environment forbids a call."""
CHANGING, OPENING, OTHER = 10.0, 3.0, 1.0
"""Weights of tools: that change the state or are untried, that open further actions, and of all
others (A2, step 2).
"""
LEAST_SHARE = 0.1
"""The share of its weight that a tool keeps however often it did nothing."""
LONGEST_TEMPLATE = 300
"""Characters of an answer that tell it from others."""
_VALUE = re.compile(r"\b[\w.@-]*\d[\w.@:-]*\b")
_WORDS = re.compile(r"\s+")
ANY = ""
"""The state in which a turn is not tried again, once it has done nothing: any."""
Signature = tuple[tuple[str, str], ...]
"""A turn as names and arguments of its calls."""


def signature_of(turn: AgentTurn) -> Signature:
    """Equal for turns that do the same."""
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
    """Counts the effects of each tool, and remembers answers without effect, and goals, each with
    its check and the turns that it was written for; it grows from walk to walk, in their order.
    """

    def __init__(self) -> None:
        self.goals: dict[str, tuple[Check, Sequence[AgentTurn]]] = {}
        self._counts = Counter[tuple[str, str]]()
        self._no_ops: set[tuple[str, str]] = set()

    def note(
        self,
        turn: AgentTurn,
        answers: Sequence[Observation],
        effects: Iterable[str],
    ) -> None:
        """Counts the effects of a turn: it `changed` facts of goals, `opened` further actions,
        `showed` something new, `ended` the walk, was `denied`. A turn without effect whose tool has
        been answered alike before is a no-op.
        """

        tool = tool_of(turn)
        found = {"taken", *effects}
        self._counts.update((tool, effect) for effect in found)

        if found.isdisjoint(("changed", "opened", "showed")):
            no_op = (tool, template(answers))
            self._counts[tool, "no_op"] += no_op in self._no_ops
            self._no_ops.add(no_op)

    def weight(self, tool: str) -> float:
        """The weight of a tool in the draw; 0 for one that ends the walk and changes nothing
        else.
        """

        taken = self._counts[tool, "taken"]
        changed = self._counts[tool, "changed"]

        if taken and self._counts[tool, "ended"] == taken and not changed:
            return 0.0

        opened = OPENING if self._counts[tool, "opened"] else OTHER
        # an untried tool is as good as one that changes something
        known = CHANGING if not taken or changed or self._counts[tool, "denied"] else opened

        no_ops = self._counts[tool, "no_op"] / max(taken, 1)

        return known * max(LEAST_SHARE, 1 - no_ops)

    def draw(
        self,
        turns: Sequence[AgentTurn],
        draw: Random,
    ) -> AgentTurn | None:
        """Draws a tool by weight, then one of its turns uniformly; None where none may be drawn."""
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
    """One turn of a walk: its record, the facts that it changed, those of them that a goal can be
    about (`asked`), the rule that refused it, whether it ended the walk, and the other actions that
    its tool offered.
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
        """The answers of tools and environment, without errors."""
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
        """The steps that changed facts of goals, or were refused."""
        return tuple(
            Operation(step.record.index, step.turn, step.asked, step.denied)
            for step in self.steps
            if step.asked or step.denied is not None
        )

    @cached_property
    def reads(self) -> tuple[Operation, ...]:
        """The calls that changed no facts of goals, and were answered with something new."""
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
    """Does the turns, from a task's start or from the start of an exploration."""
    opening = await env.reset(task)
    start: Facts = dict(await env.facts())
    facts = start
    steps = list[WalkStep]()

    for turn in turns:
        step, facts = await _step(env, len(steps), turn, facts, zones)
        steps.append(step)

    return Walk(opening, start, facts, tuple(steps))


async def explored(
    env: Env, zones: Mapping[str, str], steps: int, draw: Random, experience: Experience
) -> Walk:
    """Walks at most `steps` turns: draws affordances by weight, but none again in the same state,
    nor one that did nothing before in this walk.

    It adds to `experience`.
    """

    opening = await env.reset(None)
    start: Facts = dict(await env.facts())
    facts = start
    walked: list[WalkStep] = []
    offered = list(await env.affordances())
    tried: defaultdict[Signature, set[str]] = defaultdict(set)

    while len(walked) < steps:
        state = content_hash(facts)
        known = {signature_of(turn) for turn in offered}
        fresh = [turn for turn in offered if tried[signature_of(turn)].isdisjoint((state, ANY))]
        turn = experience.draw(fresh, draw)

        if turn is None:
            break

        deed = signature_of(turn)
        # mutants of T5 are made of these
        alike = (other for other in offered if tool_of(other) == tool_of(turn))
        others = tuple(other for other in alike if signature_of(other) != deed)
        step, facts = await _step(env, len(walked), turn, facts, zones)
        walked.append(replace(step, others=others))
        tried[deed] |= {state} if step.changed else {state, ANY}

        offered = [] if step.done else list(await env.affordances())
        # a turn that makes further actions possible is worth repeating elsewhere
        opened = not known.issuperset(map(signature_of, offered))
        experience.note(turn, step.record.observations, _effects(walked, opened=opened))
        await asyncio.sleep(0)

    return Walk(opening, start, facts, tuple(walked))


def _effects(steps: Sequence[WalkStep], *, opened: bool) -> list[str]:
    """The effects of the last step, in the words of `Experience.note`."""
    last = steps[-1]
    effects = {
        "changed": bool(last.asked),
        "opened": opened,
        "showed": _is_new(steps),
        "ended": last.done,
        "denied": last.denied is not None,
    }

    return [effect for effect, came in effects.items() if came]


async def _step(
    env: Env, at: int, turn: AgentTurn, before: Facts, zones: Mapping[str, str]
) -> tuple[WalkStep, Facts]:
    """Does a turn, and reads the facts after it."""
    response = await stepped(env.step(turn), at, turn.tool_calls)
    after = dict(await env.facts())
    changed = changes(before, after)
    seen = response.observations
    record = Turn(
        at,
        turn.content,
        turn.tool_calls,
        seen,
        state_key=response.state_key,
    )

    # a refusal that changed something was none
    rules = [] if changed else [DENIED.match(one.content) for one in seen if one.error]
    denied = next((rule[1] for rule in rules if rule is not None), None)
    asked = of_goals(changed, zones)

    return WalkStep(record, turn, changed, asked, denied, response.done), after


def _is_new(steps: Sequence[WalkStep]) -> bool:
    """Whether the last of the steps showed something that none before it had shown."""
    *before, last = steps
    return bool(last.shown) and all(step.shown != last.shown for step in before)
