"""What a shard's explorations have learned about a world's tools: which change it, which open new
ways, which do nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence, Set
from random import Random
from typing import Literal

from synth.envs.normalise import normalised_text
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Observation

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
Effect = Literal["changed", "opened", "showed", "ended", "denied"]
"""Of a turn: it changed what a goal can be about, opened new ways, showed something new, ended the
walk, was refused.
"""


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

    def note(self, turn: AgentTurn, answers: Sequence[Observation], effects: Set[Effect]) -> None:
        """Takes in what a turn came to. One without effect whose tool has been answered alike
        before is a no-op.
        """
        tool = tool_of(turn)
        self._counts.update((tool, effect) for effect in ("taken", *effects))
        if effects.isdisjoint(("changed", "opened", "showed")):
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
