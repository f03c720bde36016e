"""A policy written as one function: its keyword parameters are the settings that a flow may
give.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Concatenate, ParamSpec

from pydantic import BaseModel

from synth.schemas import Act, AgentTurn, Authorship, Policy, PolicySpec, View, strictly
from synth.schemas.text.settings import given, keyword_settings

P = ParamSpec("P")
Deciding = Callable[Concatenate[View, P], Awaitable[AgentTurn]]


def policy(
    *, version: int = 1, deterministic: bool = False
) -> "Callable[[Deciding[P]], FunctionPolicy]":
    """Makes `async def greet(view: View, *, words: str = "Hello") -> AgentTurn` a policy, in a flow
    `policy: package.module:greet`.

    What it writes counts as scripted. Keyword parameters are its settings, as those of `@filter`.
    Raise `version` where the function decides otherwise than before: its trials are then played
    anew. `deterministic`: it always does the same where it has seen the same. A policy that draws,
    keeps something between turns or asks a model is a `PolicySpec`. Raises `ConfigError` for a
    function that cannot be one.
    """

    def made(function: Deciding[P]) -> FunctionPolicy:
        config = keyword_settings(function, "policy", "view")
        return FunctionPolicy(function, config, version, deterministic)

    return made


class FunctionPolicy:
    """What gives the `PolicySpec` of a function with the settings of a flow."""

    def __init__(
        self,
        function: Callable[..., Awaitable[AgentTurn]],
        config: type[BaseModel],
        version: int,
        deterministic: bool,
    ) -> None:
        self.config = config
        self._function = function
        self._version = version
        self._deterministic = deterministic

    def __call__(
        self, settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
    ) -> PolicySpec:
        """Raises pydantic's `ValidationError` for settings that the function does not take."""
        config = strictly(self.config, dict(settings))
        name = self._function.__name__

        def opened(episode: object) -> Policy:
            return _Decided(self._function, given(config))

        return PolicySpec(
            name=name,
            authorship=Authorship.SCRIPTED,
            identity={
                "policy": f"{self._function.__module__}:{name}",
                "version": self._version,
                "settings": config.model_dump(mode="json"),
            },
            open=opened,
            deterministic=self._deterministic,
        )


class _Decided:
    """One episode of a function's decisions."""

    def __init__(
        self, function: Callable[..., Awaitable[AgentTurn]], settings: Mapping[str, Any]
    ) -> None:
        self._function = function
        self._settings = settings

    async def act(self, view: View) -> Act:
        """What the function says; anything else than a turn is a fault of the policy."""
        return Act(turn=await self._function(view, **self._settings))
