"""What a shard's explorations have learned about a world's tools: which change it, which open new
ways, which do nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

from synth.envs.normalise import normalised_text
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Observation

CHANGING, OPENING, OTHER = 10.0, 3.0, 1.0
"""Weights of tools: that change the state or are untried, after whose calls more can be done, and
of all others (A2, step 2).
"""
LEAST_SHARE = 0.1
"""Of its weight a tool keeps however often it did nothing."""
_VALUE = re.compile(r"\b[\w.@-]*\d[\w.@:-]*\b")
_WORDS = re.compile(r"\s+")
LONGEST_TEMPLATE = 300

Signature = tuple[tuple[str, str], ...]
"""A turn as names and arguments of its calls."""


def signature_of(turn: AgentTurn) -> Signature:
    """What two turns must have in common to be the same deed."""
    return tuple((call.name, call.arguments) for call in turn.tool_calls) or (
        ("", turn.content or ""),
    )


def tool_of(turn: AgentTurn) -> str:
    """The tool of a turn's first call; empty for text."""
    return turn.tool_calls[0].name if turn.tool_calls else ""


def template(observations: Sequence[Observation]) -> str:
    """Answers with numbers and identifiers masked."""
    text = " ".join(normalised_text(observation.content) for observation in observations)
    return _WORDS.sub(" ", _VALUE.sub("#", text))[:LONGEST_TEMPLATE]


class Experience:
    """Counts by tool, and the pool of no-ops by (tool, template of the answer); grows from walk to
    walk, in their order.
    """

    def __init__(self) -> None:
        self.taken = Counter[str]()
        self.changed = Counter[str]()
        self.opened = Counter[str]()
        self.ended = Counter[str]()
        self.denied = Counter[str]()
        self._no_ops = Counter[str]()
        self._pool: set[tuple[str, str]] = set()

    def note(
        self,
        turn: AgentTurn,
        answers: Sequence[Observation],
        *,
        changed: bool,
        opened: bool,
        showed: bool = False,
        ended: bool,
        denied: bool,
    ) -> None:
        """Takes in what a turn came to. One without effect whose tool has been answered alike
        before is a no-op.
        """
        tool = tool_of(turn)
        self.taken[tool] += 1
        self.changed[tool] += changed
        self.opened[tool] += opened
        self.ended[tool] += ended
        self.denied[tool] += denied
        if not (changed or opened or showed):
            at = (tool, template(answers))
            self._no_ops[tool] += at in self._pool
            self._pool.add(at)

    def weight(self, tool: str) -> float:
        """How readily a tool is drawn; 0 for one that ends the walk and changes nothing else."""
        taken = self.taken[tool]
        if taken and self.ended[tool] == taken and not self.changed[tool]:
            return 0.0
        known = (
            CHANGING
            if not taken or self.changed[tool] or self.denied[tool]
            else OPENING
            if self.opened[tool]
            else OTHER
        )
        return known * max(LEAST_SHARE, 1 - self._no_ops[tool] / taken) if taken else known

    def draw(self, turns: Sequence[AgentTurn], draw: Random) -> AgentTurn | None:
        """One of the turns: its tool by weight, then its arguments, each as likely; None where none
        may be drawn.
        """
        by_tool: dict[str, list[AgentTurn]] = {}
        for turn in turns:
            by_tool.setdefault(tool_of(turn), []).append(turn)
        tools = [tool for tool in by_tool if self.weight(tool) > 0]
        if not tools:
            return None
        return draw.choice(by_tool[draw.choices(tools, [self.weight(tool) for tool in tools])[0]])
