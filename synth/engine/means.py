"""What a filter's measure may use besides the trajectory: the flow's language models, by role, and
its scoring models.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from synth.engine.asking import Answer, RoleClient, RoleRequest
from synth.engine.context import Role, Run
from synth.ledger.role_reply import RoleReply
from synth.schemas.errors import ConfigError
from synth.schemas.model import Completion, ScoringModel

T = TypeVar("T")


class SourceMeans:
    """Of one shard. `replies` are what roles have answered so far, for the ledger."""

    def __init__(self, run: Run, shard: str, roles: Mapping[str, Role]) -> None:
        self.run = run
        self.replies: list[RoleReply] = []
        self._shard = shard
        self._roles = roles
        self._asking: dict[str, RoleClient] = {}

    def has(self, role: str) -> bool:
        """Whether the flow names a model for a role."""
        found = self._roles.get(role)
        return found is not None and found.model is not None

    def role(self, name: str) -> Role:
        """Who plays a role. Raises `ConfigError` where the flow has no model for it."""
        if not self.has(name):
            raise ConfigError(
                f"no model plays {name!r}: add `{name}: {{model: ...}}` to the flow's models"
            )
        return self._roles[name]

    async def ask(
        self, name: str, question: RoleRequest, read: Callable[[Completion], T]
    ) -> Answer[T]:
        """Asks a role's model; see `Asking.ask`. An answer with neither value nor fault nor
        problem: a ceiling kept it from being asked.
        """
        if name not in self._asking:
            self._asking[name] = RoleClient(self.run, self._shard, name, self.role(name))
        answer = await self._asking[name].ask(question, read)
        self.replies.extend(answer.replies)
        return answer

    def scoring(self, name: str) -> ScoringModel:
        """A role's model as one that gives probabilities. Raises `ConfigError` where its engine
        gives none.
        """
        opening = self.role(name).open_scoring
        if opening is None:
            raise ConfigError(f"{name!r} gives no probabilities")
        return self.run.scoring(name, opening)
