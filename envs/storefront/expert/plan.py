"""What the expert's planning stands on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.expert.belief import Belief, call_signature
from synth.envs.storefront.expert.profiles import Strategy
from synth.envs.storefront.world.rules import Rules
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall

Call = tuple[str, dict[str, Any]]
"""A tool's name and its arguments."""


def turn_of(at: int, calls: Sequence[Call]) -> AgentTurn:
    """The calls as the turn with this number; thoughts are left empty."""
    made = (
        ToolCall(f"call_{at}_{place}", name, canonical_json(arguments).decode())
        for place, (name, arguments) in enumerate(calls)
    )
    return AgentTurn(tool_calls=tuple(made))


@dataclass(frozen=True, slots=True)
class Plan:
    """Belief, the requests as stated, the policy of the system prompt, the way of working, and the
    misconceptions held.
    """

    belief: Belief
    requests: tuple[Request, ...]
    rules: Rules
    today: str
    strategy: Strategy
    wrong: frozenset[str]

    def can(self, call: Call) -> bool:
        """Whether this call has not failed before."""
        return call_signature(*call) not in self.belief.failed

    def forbids(self, rule: str) -> bool:
        """Whether the planner holds to a rule; `never_denies` holds to none that stands in the way
        of a wish.
        """
        return rule in self.rules.in_force and "never_denies" not in self.wrong
